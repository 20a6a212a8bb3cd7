"""libtilevm's C interface (docs/c_api.md) as ctypes sees it."""

from __future__ import annotations

import ctypes
import os
import pathlib
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_void_p

HERE = pathlib.Path(__file__).resolve().parent


class CParameter(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("type", c_char_p), ("role", c_int), ("rank", c_int), ("shape", POINTER(c_int64)),
                ("bytes", c_size_t)]


class CEntry(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("is_pipeline", c_int), ("count", c_size_t), ("parameters", POINTER(CParameter))]


class CArgument(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("bytes", c_size_t)]


SIGNATURES = {
    "tilevm_version": (c_char_p, []),
    "tilevm_message": (c_char_p, []),
    "tilevm_prints": (c_char_p, []),
    "tilevm_open": (c_int, [c_char_p, c_char_p, POINTER(c_char_p), c_char_p, POINTER(c_void_p)]),
    "tilevm_open_file": (c_int, [c_char_p, POINTER(c_char_p), c_char_p, POINTER(c_void_p)]),
    "tilevm_close": (None, [c_void_p]),
    "tilevm_warnings": (c_char_p, [c_void_p]),
    "tilevm_entries": (POINTER(CEntry), [c_void_p, POINTER(c_size_t)]),
    "tilevm_run": (c_int, [c_void_p, c_char_p, c_char_p, POINTER(CArgument), c_size_t]),
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
        getattr(library, function).restype = result
        getattr(library, function).argtypes = arguments
    return library


LIBRARY = _open()


def version() -> str:
    """Of the library: "0.1.0"."""
    return LIBRARY.tilevm_version().decode()
