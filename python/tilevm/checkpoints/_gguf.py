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

from ._bits import Field, Unit, numpy_bytes, repacked, words_by_row
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


class Block(NamedTuple):
    """A block format: its bytes, where its codes are in them, and the codes' type; `read` takes the numbers of all blocks,
    [outputs, blocks, bytes], and gives arrays of a PackedWeight."""

    weights: int
    bytes: int
    first: int
    unit: Unit
    type: str
    group: int
    read: Callable[[Any], dict[str, Any]]
    write: Callable[[PackedWeight], dict[int, Any]]
    form: str = "plain"
    flip: int = 0
    offset: int = 0


def _f16(blocks: Any, at: int) -> Any:
    """A f16 of each block, [blocks, outputs]."""
    import numpy

    return numpy.ascontiguousarray(blocks[:, :, at:at + 2]).view("<f2")[:, :, 0].T.copy()


def _bytes_of(array: Any) -> Any:
    """[blocks, outputs] of f16 as [outputs, blocks, 2] bytes."""
    import numpy

    return numpy.ascontiguousarray(array.T).view(numpy.uint8).reshape(array.shape[1], array.shape[0], 2)


def _by_group(codes: Any) -> Any:
    """[outputs, blocks, groups of a block] as [groups, outputs]."""
    import numpy

    return numpy.ascontiguousarray(codes.reshape(len(codes), -1).T)


def _by_block(array: Any, count: int) -> Any:
    """The way back."""
    return array.T.reshape(array.shape[1], -1, count)


def _d(at: int = 0) -> Callable[[Any], dict[str, Any]]:
    return lambda blocks: {"scale": _f16(blocks, at)}


def _dm(blocks: Any) -> dict[str, Any]:
    return {"scale": _f16(blocks, 0), "min": _f16(blocks, 2)}


def _write_d(weight: PackedWeight) -> dict[int, Any]:
    return {0: _bytes_of(weight.arrays["scale"])}


def _write_dm(weight: PackedWeight) -> dict[int, Any]:
    return {0: _bytes_of(weight.arrays["scale"]), 2: _bytes_of(weight.arrays["min"])}


def _q2_k(blocks: Any) -> dict[str, Any]:
    packed = blocks[:, :, :16]
    return {"scale": _f16(blocks, 80), "min": _f16(blocks, 82), "subscale": _by_group(packed & 15), "submin": _by_group(packed >> 4)}


def _write_q2_k(weight: PackedWeight) -> dict[int, Any]:
    a = weight.arrays
    return {0: _by_block(a["subscale"], 16) | _by_block(a["submin"], 16) << 4, 80: _bytes_of(a["scale"]), 82: _bytes_of(a["min"])}


def _q3_k(blocks: Any) -> dict[str, Any]:
    import numpy

    low, high = blocks[:, :, 96:104], blocks[:, :, 104:108]
    four = numpy.concatenate([low & 15, low >> 4], axis=2)
    two = numpy.concatenate([high >> shift & 3 for shift in (0, 2, 4, 6)], axis=2)
    return {"scale": _f16(blocks, 108), "subscale": _by_group((four | two << 4).astype("int8") - numpy.int8(32))}


def _write_q3_k(weight: PackedWeight) -> dict[int, Any]:
    import numpy

    s = (_by_block(weight.arrays["subscale"], 16) + numpy.int8(32)).astype("uint8")
    low = s[:, :, :8] & 15 | (s[:, :, 8:] & 15) << 4
    high = numpy.bitwise_or.reduce([(s[:, :, 4 * i:4 * i + 4] >> 4) << 2 * i for i in range(4)], axis=0)
    return {96: low, 104: high, 108: _bytes_of(weight.arrays["scale"])}


def _q4_k(blocks: Any) -> dict[str, Any]:
    import numpy

    a, b, c = blocks[:, :, 4:8], blocks[:, :, 8:12], blocks[:, :, 12:16]
    scale = numpy.concatenate([a & 63, c & 15 | a >> 2 & 0x30], axis=2)
    low = numpy.concatenate([b & 63, c >> 4 | b >> 2 & 0x30], axis=2)
    return {"scale": _f16(blocks, 0), "min": _f16(blocks, 2), "subscale": _by_group(scale), "submin": _by_group(low)}


def _write_q4_k(weight: PackedWeight) -> dict[int, Any]:
    import numpy

    s, m = _by_block(weight.arrays["subscale"], 8), _by_block(weight.arrays["submin"], 8)
    a = s[:, :, :4] | (s[:, :, 4:] & 0x30) << 2
    b = m[:, :, :4] | (m[:, :, 4:] & 0x30) << 2
    c = s[:, :, 4:] & 15 | (m[:, :, 4:] & 15) << 4
    return {0: _bytes_of(weight.arrays["scale"]), 2: _bytes_of(weight.arrays["min"]), 4: numpy.concatenate([a, b, c], axis=2)}


def _q6_k(blocks: Any) -> dict[str, Any]:
    return {"scale": _f16(blocks, 208), "subscale": _by_group(blocks[:, :, 192:208].view("int8"))}


def _write_q6_k(weight: PackedWeight) -> dict[int, Any]:
    return {192: _by_block(weight.arrays["subscale"], 16).view("uint8"), 208: _bytes_of(weight.arrays["scale"])}


def _write_e(weight: PackedWeight) -> dict[int, Any]:
    return {0: weight.arrays["scale"].T[:, :, None]}


def _q6_fields() -> Unit:
    """Each 128 weights have 64 bytes of low halves and 32 of upper bits."""
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
    "MXFP4": Block(32, 17, 1, _Q4, "f4e2m1", 32, lambda blocks: {"scale": blocks[:, :, 0].T.copy()}, _write_e, "e8m0_half"),
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
    arrays = block.read(data.reshape(outputs, blocks, block.bytes))
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
