"""Codes of formats as packed codes in plain order, [inputs, outputs], which the layers take.

A format says where in a run of 32-bit words, a *unit*, the bits of the codes of some neighbouring inputs of one output are:
a code is the sum of its fields. Units are words of memory wherever the format has them; so one loop reads all formats, in
two threads, a tile of units and outputs at a time, whose bytes stay in a cache.

Codes of eight outputs are the bytes of a 64-bit word, so that NumPy shifts and masks eight at once.
"""

from __future__ import annotations

import concurrent.futures
import functools
import math
from typing import Any, Callable, NamedTuple

WORKERS = 2
CHUNK = 1 << 20  # codes of a step of what has no tiles
TILE = 1 << 20  # codes of a tile: they and what they are made of stay in a cache
TILE_OUTPUTS = 2048
PIECE = 1 << 18  # bytes that are shifted together


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


class Run(NamedTuple):
    """What bytes of the unit add to so many `codes`, from place `first` on every `step`-th: (byte >> shift) & mask, to the
    left for a negative shift. Their bytes are byte, byte + stride, .."""

    first: int
    step: int
    codes: int
    byte: int
    stride: int
    shift: int
    mask: int


def _parts_of(fields: tuple[Field, ...]) -> list[tuple[int, int, int]]:
    """The byte, shift and mask of each byte that a code has bits in."""
    found = []
    for field in fields:
        begin, width, at = 32 * field.word + field.shift, field.width, field.at
        while width > 0:
            byte, low = divmod(begin, 8)
            here = min(width, 8 - low)
            found.append((byte, low - at, ((1 << here) - 1) << at))
            begin, width, at = begin + here, width - here, at + here
    return found


@functools.lru_cache(maxsize=64)
def runs_of(unit: Unit) -> tuple[Run, ...]:
    """What makes the unit's codes, each code's first byte before its others: runs of places and bytes in equal steps."""
    alike: dict[Any, list[tuple[int, int]]] = {}
    for place, fields in enumerate(unit.codes):
        for i, (byte, shift, mask) in enumerate(_parts_of(fields)):
            alike.setdefault((i, shift, mask), []).append((place, byte))
    runs = []
    for (i, shift, mask), members in sorted(alike.items()):
        at = 0
        while at < len(members):
            count, step, stride = 1, 1, 1
            while at + count < len(members):
                gap = members[at + count][0] - members[at + count - 1][0], members[at + count][1] - members[at + count - 1][1]
                if gap[1] < 1 or (count > 1 and gap != (step, stride)):
                    break
                step, stride = gap
                count += 1
            runs.append(Run(members[at][0], step, count, members[at][1], stride, shift, mask))
            at += count
    return tuple(runs)


def _eight(value: int) -> Any:
    """A byte in each of the eight of a 64-bit word."""
    import numpy

    return numpy.uint64(value * 0x0101010101010101)


def _shifted(source: Any, run: Run, out: Any) -> None:
    """What a run adds, eight codes at once. Bits that a shift moves over the end of a byte are not those of its mask."""
    import numpy

    if run.shift > 0:
        source = numpy.right_shift(source, numpy.uint64(run.shift), out=out)
    elif run.shift < 0:
        source = numpy.left_shift(source, numpy.uint64(-run.shift), out=out)
    numpy.bitwise_and(source, _eight(run.mask), out=out)


def _bytes_of_units(words: Any, wide: int) -> Any:
    """The bytes of units [units, words, outputs] as [units, bytes, wide], `wide` at least the number of outputs."""
    import numpy

    count, each, outputs = words.shape
    data = words.view(numpy.uint8).reshape(count, each, outputs, 4)
    planes = numpy.empty((count, 4 * each, wide), numpy.uint8)
    for byte in range(4):
        planes[:, byte::4, :outputs] = data[..., byte]
    return planes


def codes_of_units(words: Any, unit: Unit) -> Any:
    """Codes of units [units, words, outputs] of uint32, as uint8 [units * codes, outputs]."""
    import numpy

    count, _, outputs = words.shape
    wide = -(-outputs // 8) * 8
    planes = _bytes_of_units(words, wide)
    runs = runs_of(unit)
    if runs == (Run(0, 1, 4 * unit.words, 0, 1, 0, 255),):
        return planes.reshape(-1, wide)[:, :outputs]
    codes = numpy.empty((count, len(unit.codes), wide), numpy.uint8)
    source, target, scratch = planes.view("<u8"), codes.view("<u8"), numpy.empty((0, 0, 0), "<u8")
    made: set[int] = set()  # places that have their first byte
    for run in runs:
        given = source[:, run.byte:run.byte + run.stride * run.codes:run.stride]
        out = target[:, run.first:run.first + run.step * run.codes:run.step]
        if run.first not in made:
            _shifted(given, run, out)
            made.update(range(run.first, run.first + run.step * run.codes, run.step))
            continue
        if scratch.shape != out.shape:
            scratch = numpy.empty(out.shape, "<u8")
        _shifted(given, run, scratch)
        numpy.bitwise_or(out, scratch, out=out)
    return codes.reshape(-1, wide)[:, :outputs]


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
        if 2 * bits <= 8:  # what the shift leaves of other codes is none of those that are kept
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


class Units(NamedTuple):
    """Units of a matrix: words(begin, end, first, last) are those of a range of units and one of outputs, [units, words, outputs]
    of uint32, and `wide` is how many outputs are best taken together."""

    words: Callable[[int, int, int, int], Any]
    wide: int


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


def copied(view: Any) -> Any:
    """The elements of a view, whose last dimension lies far apart in memory, in memory of their own."""
    import numpy

    out = numpy.empty(view.shape, view.dtype)

    def work(begin: int, end: int) -> None:
        out[..., begin:end] = view[..., begin:end]

    in_parallel(view.shape[-1], TILE_OUTPUTS // 8, work)
    return out


def _tiles(count: int, rows: int, outputs: int, wide: int) -> list[tuple[int, int, int, int]]:
    """Ranges of units and of outputs whose codes are about TILE."""
    wide = min(outputs, wide)
    step = max(1, TILE // (rows * wide))
    return [(begin, min(begin + step, count), first, min(first + wide, outputs))
            for begin in range(0, count, step) for first in range(0, outputs, wide)]


def repacked(units: Units, unit: Unit, count: int, inputs: int, outputs: int, bits: int) -> Any:
    """Packed codes [inputs, outputs] of `count` units for each output. Codes of inputs beyond the last are dropped."""
    import numpy

    rows = len(unit.codes)
    aligned = outputs % 8 == 0  # so that tiles are whole bytes
    made = numpy.empty((inputs, outputs * bits // 8) if aligned else (inputs, outputs), numpy.uint8)
    nibbles = aligned and bits == 4 and has_nibbles(unit)
    tiles = _tiles(count, rows, outputs, units.wide)

    def work(begin: int, end: int) -> None:
        for tile in tiles[begin:end]:
            first, last = tile[0] * rows, min(tile[1] * rows, inputs)
            if first >= last:
                continue
            words = units.words(*tile)
            if nibbles:
                part = packed_nibbles(words, unit)
            else:
                part = codes_of_units(words, unit)
                part = pack_rows(part, bits) if aligned else part.reshape(-1)
            part = part.reshape((tile[1] - tile[0]) * rows, -1)[:last - first]
            at = tile[2] * bits // 8 if aligned else tile[2]
            made[first:last, at:at + part.shape[1]] = part

    in_parallel(len(tiles), 1, work)
    return made.reshape(-1) if aligned else packed_codes(made, bits)


def packed_codes(rows: Any, bits: int) -> Any:
    """Packed bytes of any number of codes."""
    import numpy

    flat = numpy.ascontiguousarray(rows).reshape(-1)
    count = (flat.size * bits + 7) // 8
    return pack_rows(numpy.concatenate([flat, numpy.zeros(-flat.size % 8, numpy.uint8)]), bits)[:count]


def words_by_column(words: Any, unit: Unit) -> Units:
    """Units of a matrix [words, outputs]: GPTQ's."""
    def units(begin: int, end: int, first: int, last: int) -> Any:
        import numpy

        part = words[begin * unit.words:end * unit.words, first:last]
        missing = (end - begin) * unit.words - len(part)
        if missing:
            part = numpy.concatenate([part, numpy.zeros((missing, last - first), words.dtype)])
        return part.view("<u4").reshape(end - begin, unit.words, last - first)
    return Units(units, 4 * TILE_OUTPUTS)


def words_by_row(data: Any, unit: Unit, pitch: int, begins: int, stride: int) -> Units:
    """Units of rows of bytes, [outputs, pitch], one row for each output: the words of unit i begin at byte begins + i * stride
    of a row. Bytes may begin anywhere; those beyond a row are zero."""
    import numpy

    source = data.reshape(-1, pitch) if pitch else data.reshape(0, 0)

    def units(begin: int, end: int, first: int, last: int) -> Any:
        at = begins + begin * stride
        bytes_ = (end - begin - 1) * stride + 4 * unit.words
        # Rows an odd number of lines apart: of a power of two apart they would share a set of the cache.
        near = numpy.zeros((last - first, 64 * (-(-bytes_ // 64) | 1)), numpy.uint8)
        part = source[first:last, at:at + bytes_]
        near[:, :part.shape[1]] = part
        view = numpy.ndarray((end - begin, unit.words, last - first), "<u4", near, 0, (stride, 4, near.shape[1]))
        return numpy.ascontiguousarray(view)
    return Units(units, TILE_OUTPUTS)


def decoded(words: Any, bits: int, count: int) -> Any:
    """The codes of rows of words, [rows, count] of uint8: of zero points, which are few."""
    unit = whole_stream(bits)
    data = numpy_bytes(words)
    units = -(-count // len(unit.codes))
    got = codes_of_units(words_by_row(data, unit, data.size // max(len(words), 1), 0, 4 * unit.words).words(0, units, 0, len(words)), unit)
    return got[:count].T


def numpy_bytes(array: Any) -> Any:
    """The bytes of an array, flat."""
    import numpy

    return numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8)
