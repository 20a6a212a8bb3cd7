"""Elements of 1 to 8 bits in bytes: an element follows another after its bits, low bits first."""

from __future__ import annotations

from typing import Any


def _bits_of(dtype: str) -> int:
    digits = dtype[1:].split("e")[0]
    if dtype[:1] not in ("u", "i", "f") or not digits.isdigit() or not 1 <= int(digits) <= 8:
        raise ValueError(f"`{dtype}` is no type of 1 to 8 bits, as u4, i6 or f6e3m2 are")
    return int(digits)


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


def pack(values: Any, dtype: str) -> Any:
    """The bytes of integers of a type u1..u8 or i1..i8, or of the codes of a float type of at most 8 bits.

    Returns a flat array of uint8. ValueError: a value that the type does not hold.
    """
    import numpy

    bits = _bits_of(dtype)
    array = numpy.asarray(values)
    if array.dtype.kind not in "iub":
        raise ValueError(f"pack takes integers, which are codes where the type is a float; this is {array.dtype}")
    signed = dtype[0] == "i"
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if array.size and (int(array.min()) < least or int(array.max()) > most):
        raise ValueError(f"{dtype} holds {least} to {most}; the values go from {array.min()} to {array.max()}")
    return pack_codes(array.astype(numpy.int64), bits)


def unpack(data: Any, dtype: str, shape: Any) -> Any:
    """The elements of packed bytes: int8 for i1..i8, uint8 for the others, which are codes of floats too.

    ValueError: the bytes are not those of the shape.
    """
    import numpy

    bits = _bits_of(dtype)
    data = numpy.ascontiguousarray(data)
    if data.dtype != numpy.uint8:
        raise ValueError(f"unpack takes bytes, an array of uint8; this is {data.dtype}")
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    count = 1
    for extent in shape:
        count *= extent
    if data.size != (count * bits + 7) // 8:
        raise ValueError(f"{dtype}{list(shape)} takes {(count * bits + 7) // 8} bytes, these are {data.size}")
    codes = unpack_codes(data, bits, count).reshape(shape)
    if dtype[0] != "i":
        return codes
    return ((codes.astype(numpy.int16) ^ (1 << bits - 1)) - (1 << bits - 1)).astype(numpy.int8)
