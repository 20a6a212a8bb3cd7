"""libtilevm's C interface (docs/reference/c_api.md) as ctypes sees it."""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any

from ._errors import OF_STATUS, Diagnostic, Error, UsageError
from ._places import in_file, text_in_file

HERE = pathlib.Path(__file__).resolve().parent


class CParameter(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("type", c_char_p), ("role", c_int), ("rank", c_int), ("shape", POINTER(c_int64)),
                ("bytes", c_size_t)]


class CEntry(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("is_pipeline", c_int), ("count", c_size_t), ("parameters", POINTER(CParameter))]


class CArgument(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("bytes", c_size_t)]


class CRunOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("checks", c_char_p), ("threads", c_int), ("count_accesses", c_int),
                ("max_steps", c_uint64), ("control", c_void_p)]


STATUS, TEXT, WORDS = c_int, POINTER(c_char_p), POINTER(c_char_p)
SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "tilevm_version": (c_char_p, []),
    "tilevm_message": (c_char_p, []),
    "tilevm_message_in_color": (c_char_p, []),
    "tilevm_diagnostics": (c_char_p, []),
    "tilevm_prints": (c_char_p, []),
    "tilevm_counters": (c_char_p, []),
    "tilevm_open": (STATUS, [c_char_p, c_char_p, WORDS, c_char_p, POINTER(c_void_p)]),
    "tilevm_open_file_in": (STATUS, [c_char_p, WORDS, WORDS, c_char_p, POINTER(c_void_p)]),
    "tilevm_close": (None, [c_void_p]),
    "tilevm_warnings": (c_char_p, [c_void_p]),
    "tilevm_entries": (POINTER(CEntry), [c_void_p, POINTER(c_size_t)]),
    "tilevm_control_new": (c_void_p, []),
    "tilevm_control_stop": (None, [c_void_p]),
    "tilevm_control_free": (None, [c_void_p]),
    "tilevm_run_with": (STATUS, [c_void_p, c_char_p, c_char_p, POINTER(CArgument), c_size_t, POINTER(CRunOptions)]),
    "tilevm_stats": (STATUS, [c_void_p, c_char_p, WORDS, c_uint64, POINTER(CRunOptions), TEXT]),
    "tilevm_page": (STATUS, [c_void_p, c_char_p, WORDS, c_uint64, POINTER(CRunOptions), TEXT]),
    "tilevm_page_with": (STATUS, [c_void_p, c_char_p, POINTER(CArgument), c_size_t, POINTER(CRunOptions), TEXT]),
    "tilevm_explain": (STATUS, [c_void_p, TEXT]),
    "tilevm_sizes": (STATUS, [c_void_p, c_char_p, WORDS, TEXT]),
    "tilevm_layout": (STATUS, [c_char_p, c_char_p, TEXT]),
    "tilevm_target_of": (c_char_p, [c_int]),
    "tilevm_load_on": (STATUS, [c_void_p, c_char_p, c_int, POINTER(c_void_p)]),
    "tilevm_kernel_device": (c_int, [c_void_p]),
    "tilevm_kernel_may_overlap": (c_int, [c_void_p]),
    "tilevm_unload": (None, [c_void_p]),
    "tilevm_launch": (STATUS, [c_void_p, c_void_p, c_size_t, c_void_p]),
}


def _open() -> ctypes.CDLL:
    name = os.environ.get("TILEVM_LIBRARY")
    bundled = HERE / "lib" / "libtilevm.so"
    try:
        library = ctypes.CDLL(name or (str(bundled) if bundled.exists() else "libtilevm.so"))
    except OSError as error:
        raise ImportError(f"libtilevm cannot be opened ({error}); install it, or name the file in TILEVM_LIBRARY") \
            from None
    for function, (result, arguments) in SIGNATURES.items():
        try:
            found = getattr(library, function)
        except AttributeError:
            raise ImportError(f"{library._name} has no {function}: it is of another version than this package; install "
                              "both from one build") from None
        found.restype, found.argtypes = result, arguments
    return library


LIBRARY = _open()


def version() -> str:
    """The library's version: "0.2.0"."""
    return str(LIBRARY.tilevm_version().decode())


def diagnostics() -> tuple[Diagnostic, ...]:
    """What this thread's last call said of the program."""
    return in_file(tuple(Diagnostic.of(each) for each in json.loads(LIBRARY.tilevm_diagnostics())))


def check(status: int) -> None:
    """Raises what this thread's last call failed with."""
    if status != 0:
        message = LIBRARY.tilevm_message().decode(errors="replace")
        painted = LIBRARY.tilevm_message_in_color().decode(errors="replace")
        raise OF_STATUS.get(status, Error)(text_in_file(message), diagnostics(), text_in_file(painted))


def text_of(text: str, what: str) -> bytes:
    """A text as C takes it. UsageError: it holds what C cannot."""
    try:
        data = text.encode()
    except (AttributeError, UnicodeEncodeError) as error:
        raise UsageError(f"{what}: {error}") from None
    if b"\0" in data:
        raise UsageError(f"{what} has a zero character at place {data.index(0)}; remove it")
    return data


def words(texts: list[str]) -> Any:
    """Texts as an array that ends with NULL."""
    return (c_char_p * (len(texts) + 1))(*[text_of(text, "a name or value") for text in texts], None)


def report(function: Any, *arguments: Any) -> str:
    """What a function gives by its last parameter."""
    text = c_char_p()
    check(function(*arguments, ctypes.byref(text)))
    return (text.value or b"").decode(errors="replace")


def run_options(checks: str | None, threads: int, max_steps: int, counts: bool, control: Any) -> CRunOptions:
    """Options of a run. UsageError: a number that the library has no place for."""
    for name, number, most in (("threads", threads, 4096), ("max_steps", max_steps, 1 << 62)):
        if not isinstance(number, int) or not 0 <= number <= most:
            raise UsageError(f"`{name}` is {number!r}; it is an integer from 0 to {most}")
    return CRunOptions(ctypes.sizeof(CRunOptions), None if checks is None else text_of(checks, "`checks`"), threads, counts,
                       max_steps, control)


# A child of a fork has the parent's handles of CUDA, which do not work there.
forks = 0


def _note_fork() -> None:
    global forks
    forks += 1


os.register_at_fork(after_in_child=_note_fork)
