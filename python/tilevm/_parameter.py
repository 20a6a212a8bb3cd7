"""Parameters of an entry, and scalars that they take."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

from ._errors import UsageError

SCALARS: dict[str, Any] = {"bool": ctypes.c_uint8, "i32": ctypes.c_int32, "u32": ctypes.c_uint32,
                           "i64": ctypes.c_int64, "u64": ctypes.c_uint64, "f32": ctypes.c_float}


class Parameter(NamedTuple):
    """A parameter of an entry. `shape` is None where it is not constant, and of a scalar."""

    name: str
    type: str
    scalar: bool
    input: bool
    output: bool
    shape: tuple[int, ...] | None
    bytes: int

    def __str__(self) -> str:
        return f"{self.type}{list(self.shape)}" if self.shape is not None else self.type


def type_bits(name: str) -> int:
    """The bits of an element: 16 of "bf16", 6 of "f6e3m2", 4 of "u4"."""
    digits = ""
    for letter in name.lstrip("abcdefghijklmnopqrstuvwxyz"):
        if not letter.isdigit():
            break
        digits += letter
    return int(digits)


def with_shape(parameter: Parameter, shape: tuple[int, ...] | None) -> Parameter:
    """A tensor's parameter in one call, whose shape follows from the call."""
    if shape is None:
        return parameter
    count = 1
    for extent in shape:
        count *= extent
    return parameter._replace(shape=shape, bytes=(count * type_bits(parameter.type) + 7) // 8)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"an object of {type(value).__name__}"


def set_scalar(parameter: Parameter, holder: Any, value: Any) -> None:
    """Puts a number into a ctypes object of SCALARS. UsageError: the type does not hold it."""
    if parameter.type == "f32":
        try:
            holder.value = float(value)
        except (TypeError, ValueError, OverflowError):
            raise UsageError(f"`{parameter.name}` is a number, f32; it was given {_shown(value)}") from None
        return
    try:
        number = value.__index__()
    except (AttributeError, TypeError, ValueError):
        raise UsageError(f"`{parameter.name}` is an integer, {parameter.type}; it was given {_shown(value)}") from None
    holder.value = number
    if holder.value != number or (parameter.type == "bool" and number > 1):
        raise UsageError(f"`{parameter.name}` is {parameter.type}, which does not hold {number}")
