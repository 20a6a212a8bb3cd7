"""Codes of formats as packed codes in plain order, [inputs, outputs], which the layers take.

A format says where in a run of 32-bit words, a *unit*, the bits of the codes of some neighbouring inputs of one output are:
a code is the sum of its fields. Units are words of memory wherever the format has them; so one loop reads all formats, a
few megabytes at a time, in two threads.
"""

from __future__ import annotations

import concurrent.futures
import math
from typing import Any, Callable, NamedTuple

WORKERS = 2
CHUNK = 1 << 20  # codes that a step unpacks: they stay in a cache


class Field(NamedTuple):
    """`width` bits at bit `shift` of a word of the unit, which are the bits from `at` on of the code."""

    word: int
    shift: int
    width: int
    at: int = 0


class Unit(NamedTuple):
    """Where the codes of a unit are: of each code its fields, in the order of inputs. `words` is the unit's length."""

    words: int
    codes: tuple[tuple[Field, ...], ...]


def stream(bits: int, words: int, per_word: int = 0) -> Unit:
    """Codes one after the other from the low bits on, as in GPTQ and compressed-tensors. `per_word`: so many in each
    word, whose last bits are free."""
    if per_word:
        return Unit(1, tuple((Field(0, bits * i, bits),) for i in range(per_word)))
    codes = []
    for i in range(32 * words // bits):
        word, shift = divmod(bits * i, 32)
        low = min(bits, 32 - shift)
        fields = (Field(word, shift, low),)
        codes.append(fields if low == bits else (*fields, Field(word + 1, 0, bits - low, low)))
    return Unit(words, tuple(codes))


def whole_stream(bits: int) -> Unit:
    """The shortest stream without a rest."""
    return stream(bits, bits // math.gcd(bits, 32))


def _field(words: Any, field: Field) -> Any:
    """The bits of a field, as uint32, at their place in the code."""
    mask = (1 << field.width) - 1
    word = words[field.word]
    shift = field.shift - field.at
    if shift > 0:
        found = word >> shift
    elif shift < 0:
        found = word << -shift
    else:
        found = word.copy()
    found &= mask << field.at
    return found


def codes_of_units(words: Any, unit: Unit) -> Any:
    """Codes of units [units, words, outputs] of uint32, as uint8 [units * codes, outputs]."""
    import numpy

    count, _, outputs = words.shape
    codes = numpy.empty((count, len(unit.codes), outputs), numpy.uint8)
    columns = [words[:, i] for i in range(unit.words)]
    data = words.view(numpy.uint8).reshape(count, unit.words, outputs, 4)
    for place, fields in enumerate(unit.codes):
        first = fields[0]
        if first.width == 8 and first.shift % 8 == 0:
            codes[:, place] = data[:, first.word, :, first.shift // 8]
            continue
        found = _field(columns, first)
        for field in fields[1:]:
            found |= _field(columns, field)
        codes[:, place] = found
    return codes.reshape(count * len(unit.codes), outputs)


def pack_rows(codes: Any, bits: int) -> Any:
    """Packed bytes of codes, a flat array of uint8, whose number is a multiple of 8: eight codes in a 64-bit word are moved
    together."""
    import numpy

    flat = numpy.ascontiguousarray(codes).reshape(-1)
    if bits == 8:
        return flat
    x = flat.view("<u8")
    for width, have in ((8, bits), (16, 2 * bits), (32, 4 * bits)):
        low = sum(((1 << have) - 1) << i for i in range(0, 64, 2 * width))
        x = (x & numpy.uint64(low)) | ((x >> numpy.uint64(width - have)) & numpy.uint64(low << have))
    if bits == 4:
        return x.astype("<u4").view(numpy.uint8)
    return numpy.ascontiguousarray(x.view(numpy.uint8).reshape(-1, 8)[:, :bits]).reshape(-1)


def unpack_rows(data: Any, bits: int, count: int) -> Any:
    """Codes of packed bytes, a flat array of uint8."""
    import numpy

    if bits == 8:
        return data.reshape(-1)[:count]
    groups = -(-count // 8)
    wide = numpy.zeros((groups, 8), numpy.uint8)
    given = data.reshape(-1)[:groups * bits]
    if given.size < groups * bits:
        given = numpy.concatenate([given, numpy.zeros(groups * bits - given.size, numpy.uint8)])
    wide[:, :bits] = given.reshape(groups, bits)
    x = wide.reshape(-1).view("<u8")
    for width, have in ((32, 4 * bits), (16, 2 * bits), (8, bits)):
        low = sum(((1 << have) - 1) << i for i in range(0, 64, 2 * width))
        x = (x & numpy.uint64(low)) | ((x & numpy.uint64(low << have)) << numpy.uint64(width - have))
    return x.view(numpy.uint8)[:count]


def has_nibbles(unit: Unit) -> bool:
    """Whether a unit's words are nothing but codes of 4 bits in their places."""
    return len(unit.codes) == 8 * unit.words and all(len(f) == 1 and f[0].width == 4 and f[0].at == 0 and f[0].shift % 4 == 0
                                                     for f in unit.codes)


def packed_nibbles(words: Any, unit: Unit) -> Any:
    """Packed codes [units * codes, outputs] of 4 bits: 8 x 8 codes in 8 words are transposed by three exchanges, a multiple
    of 8 outputs at once."""
    import numpy

    count, _, outputs = words.shape
    x = words.view("<u8").reshape(count, unit.words, outputs // 8, 4)
    swapped = (x ^ x >> numpy.uint64(28)) & numpy.uint64(0xf0f0f0f0)
    x = x ^ swapped ^ swapped << numpy.uint64(28)
    for width, mask, pairs in ((8, 0x00ff00ff00ff00ff, ((0, 1), (2, 3))), (16, 0x0000ffff0000ffff, ((0, 2), (1, 3)))):
        for low, high in pairs:
            swapped = (x[..., low] >> numpy.uint64(width) ^ x[..., high]) & numpy.uint64(mask)
            x[..., high] ^= swapped
            x[..., low] ^= swapped << numpy.uint64(width)
    rows = x.view("<u4").reshape(count, unit.words, outputs // 8, 8)
    out = numpy.empty((count, len(unit.codes), outputs // 8), "<u4")
    for place, (field,) in enumerate(unit.codes):
        out[:, place] = rows[:, field.word, :, field.shift // 4]
    return out.reshape(-1).view(numpy.uint8)


def in_parallel(count: int, step: int, work: Callable[[int, int], None]) -> None:
    """Calls work(begin, end) for the pieces of a range, in a few threads: NumPy computes without Python's lock."""
    pieces = [(begin, min(begin + step, count)) for begin in range(0, count, step)]
    if len(pieces) < 2:
        for piece in pieces:
            work(*piece)
        return
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for _ in pool.map(lambda piece: work(*piece), pieces):
            pass


def repacked(units: Callable[[int, int], Any], unit: Unit, count: int, inputs: int, outputs: int, bits: int,
             flip: int = 0) -> Any:
    """Packed codes [inputs, outputs] of `count` units for each output. `units(begin, end)` gives their words, [units, words,
    outputs] of uint32. Codes of inputs beyond the last are dropped; `flip` inverts bits of each code."""
    import numpy

    rows = len(unit.codes)
    aligned = outputs * bits % 8 == 0 and (8 % bits == 0 or outputs % 8 == 0) and rows * outputs % 8 == 0
    packed = numpy.empty((inputs * outputs * bits + 7) // 8 if aligned else 0, numpy.uint8)
    whole = numpy.empty((0 if aligned else count * rows, outputs), numpy.uint8)
    nibbles = bits == 4 and outputs % 8 == 0 and not flip and has_nibbles(unit)

    def work(begin: int, end: int) -> None:
        if nibbles:
            at = begin * rows * outputs // 2
            part = packed[at:end * rows * outputs // 2]
            part[:] = packed_nibbles(units(begin, end), unit)[:part.size]
            return
        codes = codes_of_units(units(begin, end), unit)
        if flip:
            codes ^= numpy.uint8(flip)
        if not aligned:
            whole[begin * rows:end * rows] = codes
            return
        codes = codes[:max(0, min(inputs - begin * rows, len(codes)))]
        at = begin * rows * outputs * bits // 8
        flat = codes.reshape(-1)
        rest = -flat.size % 8
        if rest:
            flat = numpy.concatenate([flat, numpy.zeros(rest, numpy.uint8)])
        made = pack_rows(flat, bits)[:(codes.size * bits + 7) // 8]
        packed[at:at + made.size] = made

    in_parallel(count, max(1, CHUNK // (rows * outputs)), work)
    if aligned:
        return packed
    flat = whole[:inputs].reshape(-1)
    flat = numpy.concatenate([flat, numpy.zeros(-flat.size % 8, numpy.uint8)])
    return pack_rows(flat, bits)[:(inputs * outputs * bits + 7) // 8]


def words_by_column(words: Any, unit: Unit) -> Callable[[int, int], Any]:
    """Units of a matrix [words, outputs]: GPTQ's."""
    def units(begin: int, end: int) -> Any:
        import numpy

        part = words[begin * unit.words:end * unit.words]
        missing = (end - begin) * unit.words - len(part)
        if missing:
            part = numpy.concatenate([part, numpy.zeros((missing, words.shape[1]), words.dtype)])
        return part.view("<u4").reshape(end - begin, unit.words, words.shape[1])
    return units


def words_by_row(data: Any, unit: Unit, pitch: int, first: int, stride: int) -> Callable[[int, int], Any]:
    """Units of rows of bytes, [outputs, pitch], one row for each output: the words of unit i begin at byte first + i * stride
    of a row. Bytes may begin anywhere; those beyond a row are zero."""
    import numpy

    outputs = data.size // pitch if pitch else 0

    def units(begin: int, end: int) -> Any:
        count = end - begin
        over = first + (end - 1) * stride + 4 * unit.words - pitch
        source = data.reshape(outputs, pitch)
        if over > 0:
            at = first + begin * stride
            source = numpy.concatenate([source[:, at:], numpy.zeros((outputs, over), numpy.uint8)], axis=1)
            view = numpy.ndarray((count, unit.words, outputs), "<u4", source, 0, (stride, 4, source.shape[1]))
        else:
            view = numpy.ndarray((count, unit.words, outputs), "<u4", source, first + begin * stride, (stride, 4, pitch))
        return numpy.ascontiguousarray(view)
    return units


def decoded(words: Any, bits: int, count: int) -> Any:
    """The codes of rows of words, [rows, count] of uint8: of zero points, which are few."""
    unit = whole_stream(bits)
    data = numpy_bytes(words)
    units = -(-count // len(unit.codes))
    got = codes_of_units(words_by_row(data, unit, data.size // max(len(words), 1), 0, 4 * unit.words)(0, units), unit)
    return got[:count].T


def numpy_bytes(array: Any) -> Any:
    """The bytes of an array, flat."""
    import numpy

    return numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8)
