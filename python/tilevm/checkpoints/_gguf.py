"""GGUF's block formats (ggml): each row of a tensor is a sequence of blocks of 32 or 256 weights.

| type | block | bytes, in their order |
|---|---|---|
| Q4_0 | 32 | d f16; 16 of codes: low halves are weights 0 to 15, high halves 16 to 31; w = d (q - 8) |
| Q4_1 | 32 | d, m f16; codes as Q4_0; w = d q + m |
| Q5_0, Q5_1 | 32 | as Q4_0 and Q4_1 with 4 bytes before the codes, whose bit i is the fifth of weight i; Q5_0: q - 16 |
| Q8_0 | 32 | d f16; 32 of int8; w = d q |
| Q2_K | 256 | 16 of scales: low half s, high half m of 16 weights; 64 of codes; d, dmin f16; w = (d s) q - (dmin m) |
| Q3_K | 256 | 32 of third bits, 64 of codes, 12 of 16 scales of 6 bits, d f16; w = (d (s - 32)) (q - 4) |
| Q4_K | 256 | d, dmin f16; 12 of 8 scales and 8 minima of 6 bits; 128 of codes; w = (d s) q - (dmin m) |
| Q5_K | 256 | as Q4_K with 32 of fifth bits before the codes |
| Q6_K | 256 | 128 of low halves, 64 of upper bits, 16 of int8 scales, d f16; w = (d s) (q - 32) |
| MXFP4 | 32 | e, 16 of codes as Q4_0; w = 2^(e - 128) times twice the number of f4e2m1 |

Products are of float32, each rounded. Where ggml's C code has one multiply-add for d q + m, as compilers may make it,
its last bit can differ; the reference here is the package gguf.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional

from ._bits import Field, Unit, copied, numpy_bytes, repacked, stream, words_by_row
from ._errors import CheckpointError
from ._weight import PackedWeight


def _halves(first: int) -> list[Field]:
    """32 codes in 16 bytes from a word on."""
    return [Field(first + i % 16 // 4, 8 * (i % 4) + 4 * (i // 16), 4) for i in range(32)]


def _fifths(first: int, at: int) -> list[Field]:
    """A bit of each of 32 codes in a word."""
    return [Field(first, i, 1, at) for i in range(32)]


def _joined(*parts: list[Field]) -> tuple[tuple[Field, ...], ...]:
    return tuple(zip(*parts))


def _strips(first: int, width: int, at: int = 0, words: int = 8, count: int = 256) -> list[Field]:
    """Codes of `width` bits in strips of 4 * words bytes: the bytes' low bits are so many weights, the next bits the next."""
    run = 4 * words
    strip = run * (8 // width)
    return [Field(first + i // strip * words + i % run // 4, 8 * (i % 4) + width * (i % strip // run), width, at)
            for i in range(count)]


class Rows(NamedTuple):
    """Rows of blocks: their bytes, and how many rows, blocks of a row and bytes of a block there are."""

    data: Any
    outputs: int
    blocks: int
    bytes: int

    def number(self, type_: str, at: int) -> Any:
        """The number of one of NumPy's types at byte `at` of each block, [blocks, outputs]."""
        import numpy

        return copied(numpy.ndarray((self.blocks, self.outputs), type_, self.data, at, (self.bytes, self.blocks * self.bytes)))

    def f16(self, at: int) -> Any:
        """The f16 at byte `at` of each block, [blocks, outputs]."""
        return self.number("<f2", at)

    def codes(self, unit: Unit, at: int) -> Any:
        """Codes of a unit that begins at byte `at` of each block, a byte each, [blocks, codes of a block, outputs]."""
        count = len(unit.codes)
        units = words_by_row(self.data, unit, self.blocks * self.bytes, at, self.bytes)
        return repacked(units, unit, self.blocks, self.blocks * count, self.outputs, 8).reshape(self.blocks, count, self.outputs)


class Block(NamedTuple):
    """A block format: its bytes, where its codes are in them, and the codes' type; `read` gives the arrays of a PackedWeight."""

    weights: int
    bytes: int
    first: int
    unit: Unit
    type: str
    group: int
    read: Callable[[Rows], dict[str, Any]]
    write: Callable[[PackedWeight], dict[int, Any]]
    form: str = "plain"
    offset: int = 0


def _bytes_of(array: Any) -> Any:
    """[blocks, outputs] of f16 as [outputs, blocks, 2] bytes."""
    import numpy

    return numpy.ascontiguousarray(array.T).view(numpy.uint8).reshape(array.shape[1], array.shape[0], 2)


def _by_group(codes: Any) -> Any:
    """[blocks, groups of a block, outputs] as [groups, outputs]."""
    import numpy

    return numpy.ascontiguousarray(codes).reshape(-1, codes.shape[2])


def _by_block(array: Any, count: int) -> Any:
    """The way back."""
    return array.T.reshape(array.shape[1], -1, count)


def _d(at: int = 0) -> Callable[[Rows], dict[str, Any]]:
    return lambda rows: {"scale": rows.f16(at)}


def _dm(rows: Rows) -> dict[str, Any]:
    return {"scale": rows.f16(0), "min": rows.f16(2)}


def _write_d(weight: PackedWeight) -> dict[int, Any]:
    return {0: _bytes_of(weight.arrays["scale"])}


def _write_dm(weight: PackedWeight) -> dict[int, Any]:
    return {0: _bytes_of(weight.arrays["scale"]), 2: _bytes_of(weight.arrays["min"])}


# Scales and minima of the groups of a block: of 4 bits in the halves of bytes, and of 6 bits, whose upper two are elsewhere.
_Q2_SCALES = Unit(4, tuple((Field(i // 4, 8 * (i % 4) + shift, 4),) for shift in (0, 4) for i in range(16)))
_Q3_SCALES = Unit(3, tuple((Field(i % 8 // 4, 8 * (i % 4) + 4 * (i // 8), 4), Field(2, 8 * (i % 4) + 2 * (i // 4), 2, 4)) for i in range(16)))
_Q4_SCALES = Unit(3, (*((Field(word, 8 * i, 6),) for word in (0, 1) for i in range(4)),
                      *((Field(2, 8 * i + 4 * word, 4), Field(word, 8 * i + 6, 2, 4)) for word in (0, 1) for i in range(4))))


def _q2_k(rows: Rows) -> dict[str, Any]:
    codes = rows.codes(_Q2_SCALES, 0)
    return {"scale": rows.f16(80), "min": rows.f16(82), "subscale": _by_group(codes[:, :16]), "submin": _by_group(codes[:, 16:])}


def _write_q2_k(weight: PackedWeight) -> dict[int, Any]:
    a = weight.arrays
    return {0: _by_block(a["subscale"], 16) | _by_block(a["submin"], 16) << 4, 80: _bytes_of(a["scale"]), 82: _bytes_of(a["min"])}


def _q3_k(rows: Rows) -> dict[str, Any]:
    import numpy

    codes = _by_group(rows.codes(_Q3_SCALES, 96)).view("int8")
    return {"scale": rows.f16(108), "subscale": numpy.subtract(codes, numpy.int8(32), out=codes)}


def _write_q3_k(weight: PackedWeight) -> dict[int, Any]:
    import numpy

    s = (_by_block(weight.arrays["subscale"], 16) + numpy.int8(32)).astype("uint8")
    low = s[:, :, :8] & 15 | (s[:, :, 8:] & 15) << 4
    high = numpy.bitwise_or.reduce([(s[:, :, 4 * i:4 * i + 4] >> 4) << 2 * i for i in range(4)], axis=0)
    return {96: low, 104: high, 108: _bytes_of(weight.arrays["scale"])}


def _q4_k(rows: Rows) -> dict[str, Any]:
    import numpy

    codes = rows.codes(_Q4_SCALES, 4)
    scale, low = [numpy.concatenate([codes[:, i:i + 4], codes[:, i + 8:i + 12]], axis=1) for i in (0, 4)]
    return {"scale": rows.f16(0), "min": rows.f16(2), "subscale": _by_group(scale), "submin": _by_group(low)}


def _write_q4_k(weight: PackedWeight) -> dict[int, Any]:
    import numpy

    s, m = _by_block(weight.arrays["subscale"], 8), _by_block(weight.arrays["submin"], 8)
    a = s[:, :, :4] | (s[:, :, 4:] & 0x30) << 2
    b = m[:, :, :4] | (m[:, :, 4:] & 0x30) << 2
    c = s[:, :, 4:] & 15 | (m[:, :, 4:] & 15) << 4
    return {0: _bytes_of(weight.arrays["scale"]), 2: _bytes_of(weight.arrays["min"]), 4: numpy.concatenate([a, b, c], axis=2)}


def _q6_k(rows: Rows) -> dict[str, Any]:
    return {"scale": rows.f16(208), "subscale": _by_group(rows.codes(stream(8, 4), 192)).view("int8")}


def _write_q6_k(weight: PackedWeight) -> dict[int, Any]:
    return {192: _by_block(weight.arrays["subscale"], 16).view("uint8"), 208: _bytes_of(weight.arrays["scale"])}


def _write_e(weight: PackedWeight) -> dict[int, Any]:
    return {0: weight.arrays["scale"].T[:, :, None]}


def _q6_fields() -> Unit:
    """Q6_K has for each 128 weights 64 bytes of low halves and 32 of upper bits."""
    low = [Field(16 * (i // 128) + i % 64 // 4, 8 * (i % 4) + 4 * (i % 128 // 64), 4) for i in range(256)]
    return Unit(48, _joined(low, _strips(32, 2, 4)))


_Q4, _Q5 = Unit(4, _joined(_halves(0))), Unit(5, _joined(_halves(1), _fifths(0, 4)))
_Q8 = Unit(8, tuple((Field(i // 4, 8 * (i % 4), 8),) for i in range(32)))
_Q4_K = _joined(_strips(0, 4))
_Q5_K = _joined(_strips(8, 4), [Field(i % 32 // 4, 8 * (i % 4) + i // 32, 1, 4) for i in range(256)])
_Q3_K = _joined(_strips(8, 2), [Field(i % 32 // 4, 8 * (i % 4) + i // 32, 1, 2) for i in range(256)])

BLOCKS = {
    "Q4_0": Block(32, 18, 2, _Q4, "u4", 32, _d(), _write_d),
    "Q4_1": Block(32, 20, 4, _Q4, "u4", 32, _dm, _write_dm),
    "Q5_0": Block(32, 22, 2, _Q5, "u5", 32, _d(), _write_d),
    "Q5_1": Block(32, 24, 4, _Q5, "u5", 32, _dm, _write_dm),
    "Q8_0": Block(32, 34, 2, _Q8, "i8", 32, _d(), _write_d),
    "Q2_K": Block(256, 84, 16, Unit(16, _joined(_strips(0, 2))), "u2", 16, _q2_k, _write_q2_k, "super"),
    "Q3_K": Block(256, 110, 0, Unit(24, _Q3_K), "u3", 16, _q3_k, _write_q3_k, "super"),
    "Q4_K": Block(256, 144, 16, Unit(32, _Q4_K), "u4", 32, _q4_k, _write_q4_k, "super"),
    "Q5_K": Block(256, 176, 16, Unit(40, _Q5_K), "u5", 32, _q4_k, _write_q4_k, "super"),
    "Q6_K": Block(256, 210, 0, _q6_fields(), "u6", 16, _q6_k, _write_q6_k, "super"),
    "MXFP4": Block(32, 17, 1, _Q4, "f4e2m1", 32, lambda rows: {"scale": rows.number("u1", 0)}, _write_e, "e8m0_half"),
}


def read_block(name: str, type_: str, data: Any, inputs: int, outputs: int) -> PackedWeight:
    """A tensor of a GGUF file: `data` are its bytes. CheckpointError: they are not those of the shape."""
    block = BLOCKS[type_]
    blocks = inputs // block.weights
    if inputs % block.weights or not outputs or not inputs or data.size != outputs * blocks * block.bytes:
        raise CheckpointError(f"{type_}[{outputs}, {inputs}] takes {outputs * blocks * block.bytes} bytes of whole blocks; it has "
                              f"{data.size}", tensor=name)
    pitch = blocks * block.bytes
    units = words_by_row(data, block.unit, pitch, block.first, block.bytes)
    codes = repacked(units, block.unit, blocks, inputs, outputs, int(block.type[1]))
    arrays = block.read(Rows(data.reshape(-1), outputs, blocks, block.bytes))
    weight = PackedWeight(name, f"gguf {type_}", block.type, inputs, outputs, block.group, "f32", codes, arrays, block.form)
    if block.form == "e8m0_half":
        import numpy

        weight.arrays["table"] = numpy.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], "float32")
    return weight


def write_block(weight: PackedWeight) -> Any:
    """The bytes of a tensor of a GGUF file, [outputs, bytes]. CheckpointError: the weight is none of GGUF."""
    import numpy

    kind: Optional[Block] = BLOCKS.get(weight.format[5:]) if weight.format.startswith("gguf ") else None
    if kind is None:
        raise CheckpointError(f"GGUF has no {weight.format}", tensor=weight.name)
    blocks = weight.inputs // kind.weights
    words = numpy.zeros((weight.outputs, blocks, kind.unit.words), "<u4")
    rows = weight.rows().reshape(blocks, kind.weights, weight.outputs)
    for place, fields in enumerate(kind.unit.codes):
        code = rows[:, place].T.astype("<u4")
        for field in fields:
            words[:, :, field.word] |= (code >> field.at & numpy.uint32((1 << field.width) - 1)) << numpy.uint32(field.shift)
    out = numpy.zeros((weight.outputs, blocks, kind.bytes), numpy.uint8)
    out[:, :, kind.first:kind.first + 4 * kind.unit.words] = numpy_bytes(words).reshape(weight.outputs, blocks, -1)
    for at, part in kind.write(weight).items():
        out[:, :, at:at + part.shape[2]] = part
    return out.reshape(weight.outputs, -1)
