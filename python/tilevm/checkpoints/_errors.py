"""What is wrong with a checkpoint: always with the file, and with the tensor and the byte where they are known."""

from __future__ import annotations

import pathlib
from typing import Any, Optional

from .._errors import Error


class CheckpointError(Error, ValueError):
    """A checkpoint that cannot be read or written: `file`, `tensor` ("" where it is none's) and `byte`, the place in the file
    (None where there is none)."""

    def __init__(self, what: str, file: Any = "", tensor: str = "", byte: Optional[int] = None) -> None:
        self.what, self.file, self.tensor, self.byte = what, str(file), tensor, byte
        words = [pathlib.Path(self.file).name] if self.file else []
        if tensor:
            words.append(f"tensor `{shown(tensor)}`")
        if byte is not None:
            words.append(f"byte {byte}")
        super().__init__(", ".join(words) + (": " if words else "") + what)

    def __reduce__(self) -> Any:
        return type(self), (self.what, self.file, self.tensor, self.byte)


def shown(text: str, most: int = 120) -> str:
    """A name of a file that strangers wrote: no control characters, and not long."""
    plain = "".join(c if c.isprintable() else "?" for c in text[:most])
    return plain + (".." if len(text) > most else "")
