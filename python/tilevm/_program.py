"""What libtilevm has for a kernel: a program, and wishes that runs end."""

from __future__ import annotations

import ctypes
import os
from typing import Any

from ._errors import LimitError, UsageError
from ._library import LIBRARY, check, diagnostics, text_of, words


class Program:
    """A handle of a program, and what was said of it."""

    def __init__(self, recipe: tuple[Any, ...], defines: list[str], target: str | None) -> None:
        text, path = recipe[:2]
        self.handle = ctypes.c_void_p()
        wanted = None if target is None else text_of(target, "`target`")
        if text is None:
            if "\0" in path:
                raise UsageError("the path has a zero character; remove it")
            status = LIBRARY.tilevm_open_file_in(os.fsencode(path), words(list(recipe[5])), words(defines), wanted,
                                                 self.handle)
        else:
            status = LIBRARY.tilevm_open(text_of(text, "the program"), text_of(path, "`name`"), words(defines), wanted,
                                         self.handle)
        check(status)
        self.diagnostics = diagnostics()

    def __del__(self, close: Any = LIBRARY.tilevm_close) -> None:
        if getattr(self, "handle", None):
            close(self.handle)


class Control:
    """A wish that a run end early; it lives as long as the run."""

    def __init__(self) -> None:
        self.handle = LIBRARY.tilevm_control_new()
        if self.handle is None:
            raise LimitError("memory is short")

    def stop(self) -> None:
        LIBRARY.tilevm_control_stop(self.handle)

    def __del__(self, free: Any = LIBRARY.tilevm_control_free) -> None:
        if getattr(self, "handle", None):
            free(self.handle)
