"""Elements of 1 to 8 bits in bytes: an element follows another after its bits, low bits first."""

from __future__ import annotations

import re
import sys
from typing import Any

from ._host import is_torch
from ._types import ML_NAMES, SMALL_INTEGERS, SMALL_NAMES


def _bits_of(dtype: str) -> int:
    known = re.fullmatch(r"[iub]([1-8])|f([3-8])(?:e\d+m\d+u?)", dtype)
    if known is None:
        raise ValueError(f"`{dtype}` is not a type of 1 to 8 bits, as u4, i6, b1 or f6e3m2 are")
    return int(known[1] or known[2])


def pack_codes(codes: Any, bits: int) -> Any:
    """The bytes of codes of 1 to 8 bits, whatever they mean; a flat array of uint8."""
    import numpy

    column = codes.astype(numpy.uint8).reshape(-1, 1)
    return numpy.packbits(numpy.unpackbits(column, axis=1, bitorder="little")[:, :bits].reshape(-1), bitorder="little")


def unpack_codes(data: Any, bits: int, count: int) -> Any:
    """The codes of packed bytes, a flat array of uint8."""
    import numpy

    stream = numpy.unpackbits(data.reshape(-1), bitorder="little")[:count * bits].reshape(count, bits)
    return numpy.packbits(stream, axis=1, bitorder="little").reshape(-1)


def _array_of(values: Any) -> tuple[Any, str]:
    """Values as an array of NumPy, and the name of their type; of torch's 8-bit floats the codes."""
    import numpy

    if is_torch(values):
        name = str(values.dtype).removeprefix("torch.")
        values = values.detach().cpu()
        if name in ML_NAMES.values() and name != "bfloat16":
            return values.view(sys.modules["torch"].uint8).numpy(), name
        if name == "bfloat16":
            values = values.float()
        return values.numpy(), name
    if isinstance(values, numpy.ma.MaskedArray):
        raise ValueError("pack is given a masked array, whose mask the bytes do not have; pass x.filled(0), or x.data for what "
                         "is below the mask")
    array = numpy.asarray(values)
    return array, str(array.dtype.name)


def _way_to(dtype: str) -> str:
    known = {**SMALL_NAMES, **ML_NAMES}.get(dtype)
    if dtype[0] != "f":
        return "pass integers, as x.astype('int16')"
    return f"pass x.astype(ml_dtypes.{known}), or codes" if known is not None else "pass codes, the bits of each element"


def pack(values: Any, dtype: str) -> Any:
    """The bytes of integers of a type u1..u8 or i1..i8, of odd numbers of b1..b8, or of a float type of at most 8 bits:
    of numbers that ml_dtypes has of just that type, or of codes.

    Returns a flat array of uint8. ValueError: a value that the type does not hold, a masked array.
    """
    import numpy

    bits = _bits_of(dtype)
    array, name = _array_of(values)
    if dtype[0] == "f" and name == {**SMALL_NAMES, **ML_NAMES}.get(dtype):
        codes = numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8)
        return pack_codes(codes & numpy.uint8((1 << bits) - 1), bits)
    if name in SMALL_INTEGERS:
        array = array.astype(numpy.int64)
    if array.dtype.kind not in "iub" or name in ML_NAMES.values():
        raise ValueError(f"pack takes integers for {dtype}, which are codes where the type is a float; this is {name}; "
                         + _way_to(dtype))
    least, most = {"i": (-(1 << bits - 1), (1 << bits - 1) - 1), "b": (1 - (1 << bits), (1 << bits) - 1)}.get(
        dtype[0], (0, (1 << bits) - 1))
    if array.size and (int(array.min()) < least or int(array.max()) > most):
        raise ValueError(f"{dtype} holds {least} to {most}; the values go from {array.min()} to {array.max()}")
    wide = array.astype(numpy.int64)
    if dtype[0] == "b":
        if (wide % 2 == 0).any():
            raise ValueError(f"{dtype} holds odd numbers; {int(wide[wide % 2 == 0].flat[0])} is among the values")
        wide = (wide + most) // 2
    return pack_codes(wide, bits)


def unpack(data: Any, dtype: str, shape: Any) -> Any:
    """The elements of packed bytes: int8 for i1..i8, int16 for b1..b8, uint8 for the others, which are codes of floats too.

    ValueError: the bytes are not those of the shape.
    """
    import numpy

    bits = _bits_of(dtype)
    data, name = _array_of(data)
    data = numpy.ascontiguousarray(data)
    if name != "uint8":
        raise ValueError(f"unpack takes bytes, an array of uint8; this is {name}")
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    count = 1
    for extent in shape:
        count *= extent
    if data.size != (count * bits + 7) // 8:
        raise ValueError(f"{dtype}{list(shape)} takes {(count * bits + 7) // 8} bytes, these are {data.size}")
    codes = unpack_codes(data, bits, count).reshape(shape)
    if dtype[0] == "b":
        return 2 * codes.astype(numpy.int16) - ((1 << bits) - 1)
    if dtype[0] != "i":
        return codes
    return ((codes.astype(numpy.int16) ^ (1 << bits - 1)) - (1 << bits - 1)).astype(numpy.int8)
