"""Codes of 1 to 8 bits, a byte each, as packed bytes, one after the other from the low bits on, and the way back.

Eight codes are the bytes of a 64-bit word, which NumPy shifts and masks together, a piece of the array at a time that stays in a cache.
"""

from __future__ import annotations

from typing import Any

PIECE = 1 << 18  # bytes that are shifted together


def _repeated(value: int, width: int) -> int:
    """A value in each field of `width` bits of a 64-bit word."""
    return sum(value << at for at in range(0, 64, width))


def _columns(bits: int) -> list[tuple[int, str]]:
    """`bits` bytes as numbers of 4, 2 and 1 bytes: where each is, and NumPy's type."""
    found, at = [], 0
    for width, kind in ((4, "<u4"), (2, "<u2"), (1, "u1")):
        if bits & width:
            found.append((at, kind))
            at += width
    return found


def _packed_words(words: Any, bits: int, out: Any, scratch: Any) -> None:
    """The codes in the bytes of 64-bit words one after the other in `bits` bytes of each, in place after the first step."""
    import numpy

    for width in (8, 16, 32):
        have = width // 8 * bits
        numpy.right_shift(words, numpy.uint64(width - have), out=scratch)
        # The shift leaves bits of other codes. In codes of at most 4 bits the mask behind removes them all.
        if 2 * bits <= 8:
            numpy.bitwise_or(words, scratch, out=out)
            numpy.bitwise_and(out, numpy.uint64(_repeated((1 << 2 * have) - 1, 2 * width)), out=out)
        else:
            low = _repeated((1 << have) - 1, 2 * width)
            numpy.bitwise_and(scratch, numpy.uint64(low << have), out=scratch)
            numpy.bitwise_and(words, numpy.uint64(low), out=out)
            numpy.bitwise_or(out, scratch, out=out)
        words = out


def pack_rows(codes: Any, bits: int) -> Any:
    """Packed bytes of codes, a flat array of uint8, whose number is a multiple of 8."""
    import numpy

    flat = numpy.ascontiguousarray(codes).reshape(-1)
    if bits == 8:
        return flat
    words = flat.view("<u8")
    packed = numpy.empty(words.size * bits, numpy.uint8)
    piece = PIECE // 8
    first, second = numpy.empty(min(piece, words.size), "<u8"), numpy.empty(min(piece, words.size), "<u8")
    for begin in range(0, words.size, piece):
        part = words[begin:begin + piece]
        count = part.size
        made = packed[begin * bits:(begin + count) * bits]
        if bits == 2:  # the sum of shifts of four codes, whose last byte has them one after the other
            fours = numpy.multiply(part.view("<u4"), numpy.uint32(0x01041040), out=first[:count].view("<u4"))
            made[:] = fours.view(numpy.uint8)[3::4]
            continue
        _packed_words(part, bits, first[:count], second[:count])
        for at, kind in _columns(bits):
            numpy.ndarray((count,), kind, made, at, (bits,))[:] = numpy.ndarray((count,), kind, first, at, (8,))
    return packed


def unpack_rows(data: Any, bits: int, count: int) -> Any:
    """Codes of packed bytes, a flat array of uint8."""
    import numpy

    given = data.reshape(-1)
    if bits == 8:
        return given[:count]
    eights = -(-count // 8)
    given = given[:eights * bits]
    if given.size < eights * bits:
        given = numpy.concatenate([given, numpy.zeros(eights * bits - given.size, numpy.uint8)])
    given = numpy.ascontiguousarray(given)
    words = numpy.empty(eights, "<u8")
    piece = PIECE // 8
    scratch = numpy.empty(min(piece, eights), "<u8")
    for begin in range(0, eights, piece):
        part = words[begin:begin + piece]
        more = scratch[:part.size]
        part[:] = 0
        for at, kind in _columns(bits):
            numpy.ndarray(part.shape, kind, part, at, (8,))[:] = numpy.ndarray(part.shape, kind, given, begin * bits + at, (bits,))
        for width in (32, 16, 8):
            have = width // 8 * bits
            low = _repeated((1 << have) - 1, 2 * width)
            numpy.bitwise_and(part, numpy.uint64(low << have), out=more)
            numpy.left_shift(more, numpy.uint64(width - have), out=more)
            numpy.bitwise_and(part, numpy.uint64(low), out=part)
            numpy.bitwise_or(part, more, out=part)
    return words.view(numpy.uint8)[:count]


def packed_codes(rows: Any, bits: int) -> Any:
    """Packed bytes of any number of codes."""
    import numpy

    flat = numpy.ascontiguousarray(rows).reshape(-1)
    count = (flat.size * bits + 7) // 8
    return pack_rows(numpy.concatenate([flat, numpy.zeros(-flat.size % 8, numpy.uint8)]), bits)[:count]
