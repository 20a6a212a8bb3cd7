"""compressed-tensors' formats (llm-compressor, vLLM): pack-quantized integers, FP8 and INT8, NVFP4 and MXFP4; and FP8 in
blocks of checkpoints without it, whose scales are `weight_scale_inv` (DeepSeek).

pack-quantized: `weight_packed` [outputs, words] of int32, codes plus 2^(bits - 1) of neighbouring inputs one after the other
(before compressed-tensors 0.18: as many as a word has room for whole); `weight_scale` [outputs, groups];
`weight_zero_point` [words of outputs, groups] likewise; `weight_shape`. float-quantized: `weight` [outputs, inputs] of 8
bits. NVFP4, MXFP4: `weight_packed` [outputs, inputs / 2] of uint8, the even input in the low half.
"""

from __future__ import annotations

import math
from typing import Any, Callable

from ._bits import decoded, numpy_bytes, repacked, stream, whole_stream, words_by_row
from ._errors import CheckpointError
from ._gptq import DTYPES, Read, _as_words
from ._weight import PackedWeight

Has = Callable[[str], bool]


def _scale(read: Read, key: str, name: str, outputs: int, inputs: int, block: tuple[int, int]) -> tuple[Any, str, int]:
    """Scales as [groups, outputs], their type, and how many inputs share one. `block` is [outputs, inputs] of a scale in
    blocks; (0, group) for groups of a row, (0, 0) for what the shape tells."""
    import numpy

    array, type_ = read(key)
    if type_ not in DTYPES:
        raise CheckpointError(f"`{key}` is {type_}; it is F16, BF16 or F32", tensor=name)
    high, wide = block
    if high:
        if array.shape != (-(-outputs // high), -(-inputs // wide)):
            raise CheckpointError(f"`{key}` has the shape {list(array.shape)}; blocks of {high} x {wide} of {outputs} x {inputs} weights "
                                  f"have {[-(-outputs // high), -(-inputs // wide)]}", tensor=name)
        return numpy.ascontiguousarray(numpy.repeat(array, high, axis=0)[:outputs].T), type_, wide
    if array.size == 1:
        return numpy.repeat(array.reshape(1, 1), outputs, axis=1), type_, inputs
    if array.shape == (outputs,):
        array = array.reshape(outputs, 1)
    groups = array.shape[-1]
    group = wide or (inputs // groups if groups and inputs % groups == 0 else 0)
    if array.ndim != 2 or array.shape[0] != outputs or not group or -(-inputs // group) != groups:
        raise CheckpointError(f"`{key}` has the shape {list(array.shape)}, which does not fit {outputs} x {inputs} weights"
                              + (f" in groups of {wide}" if wide else ""), tensor=name)
    return numpy.ascontiguousarray(array.T), type_, group


def _shape(read: Read, name: str) -> tuple[int, int]:
    array, type_ = read("weight_shape")
    if type_ not in ("I32", "I64") or array.shape != (2,) or array.min() < 1 or array.max() >= 1 << 31:
        raise CheckpointError(f"`weight_shape` is {type_}{list(array.shape)}; it is two positive numbers", tensor=name)
    return int(array[0]), int(array[1])


def _unit_of(words: int, inputs: int, bits: int, name: str) -> Any:
    """How codes of a row lie in so many words."""
    if words == -(-inputs * bits // 32):
        return whole_stream(bits)
    if words == -(-inputs // (32 // bits)):
        return stream(bits, 1, 32 // bits)
    raise CheckpointError(f"rows of {inputs} codes of {bits} bits take {-(-inputs * bits // 32)} words; `weight_packed` has {words}",
                          tensor=name)


def read_packed(name: str, read: Read, has: Has, bits: int, group: int = 0) -> PackedWeight:
    """A module of pack-quantized. CheckpointError: other shapes or types."""
    import numpy

    outputs, inputs = _shape(read, name)
    array, type_ = read("weight_packed")
    if not 1 <= bits <= 8 or type_ not in ("I32", "U32") or array.ndim != 2 or array.shape[0] != outputs:
        raise CheckpointError(f"`weight_packed` is {type_}{list(array.shape)}, of codes of {bits} bits of {outputs} x {inputs} weights",
                              tensor=name)
    words = array.shape[1]
    unit = _unit_of(words, inputs, bits, name)
    scale, kind, group = _scale(read, "weight_scale", name, outputs, inputs, (0, max(group, 0)))
    pitch = 4 * words
    units = words_by_row(numpy_bytes(array), unit, pitch, 0, 4 * unit.words)
    codes = repacked(units, unit, -(-words // unit.words), inputs, outputs, bits)
    weight = PackedWeight(name, "pack-quantized", f"u{bits}", inputs, outputs, group, DTYPES[kind], codes, {"scale": scale},
                          types={"scale": kind}, notes={"dense": unit.words > 1 or 32 % bits == 0})
    weight.notes["scale_shape"] = list(read("weight_scale")[0].shape)
    if has("weight_zero_point"):
        weight.notes["zeros"] = True
        zero = _zero_points(read, name, bits, scale.shape)
        if not (zero == 1 << bits - 1).all():
            weight.arrays["zero"] = zero
    if has("weight_g_idx"):
        from ._gptq import _order

        g_idx, kind = read("weight_g_idx")
        if kind not in ("I32", "I64") or g_idx.shape != (inputs,) or g_idx.min() < 0 or g_idx.max() >= scale.shape[0]:
            raise CheckpointError(f"`weight_g_idx` is {kind}{list(g_idx.shape)}; it has the group of each of {inputs} inputs", tensor=name)
        _order(weight, numpy.asarray(g_idx))
    return weight


def _zero_points(read: Read, name: str, bits: int, shape: Any) -> Any:
    """[groups, outputs] of uint8, as much above the codes' middle as the format's are above 0."""
    import numpy

    groups, outputs = shape
    array, type_ = read("weight_zero_point")
    if type_ == "I8" and array.shape == (outputs, groups):
        return numpy.ascontiguousarray((array.astype("int16") + (1 << bits - 1)).astype("uint8").T)
    if type_ != "I32" or array.ndim != 2 or array.shape[1] != groups:
        raise CheckpointError(f"`weight_zero_point` is {type_}{list(array.shape)}; it has {groups} columns of I32", tensor=name)
    columns = numpy.ascontiguousarray(array.T).view("<u4")
    if array.shape[0] == -(-outputs * bits // 32):
        return numpy.ascontiguousarray(decoded(columns, bits, outputs))
    if array.shape[0] == -(-outputs // (32 // bits)):  # before 0.18
        shifts = numpy.arange(32 // bits, dtype="<u4") * bits
        codes = columns[:, :, None] >> shifts & numpy.uint32((1 << bits) - 1)
        return codes.reshape(groups, -1)[:, :outputs].astype("uint8")
    raise CheckpointError(f"`weight_zero_point` has {array.shape[0]} rows, which do not fit {outputs} codes of {bits} bits", tensor=name)


EIGHT = {"F8_E4M3": "f8e4m3", "F8_E5M2": "f8e5m2", "I8": "i8"}


def read_eight(name: str, read: Read, has: Has, block: tuple[int, int] = (0, 0), key: str = "weight_scale",
               dtype: str = "") -> PackedWeight:
    """A module of float-quantized, int-quantized or naive-quantized: `weight` has 8 bits. `dtype` is that of the
    dequantised weight, by default the scale's. CheckpointError: other shapes or types."""
    import numpy

    array, type_ = read("weight")
    if type_ not in EIGHT or array.ndim != 2 or not array.size:
        raise CheckpointError(f"`weight` is {type_}{list(array.shape)}; it is a matrix of F8_E4M3, F8_E5M2 or I8", tensor=name)
    outputs, inputs = array.shape
    scale, kind, group = _scale(read, key, name, outputs, inputs, block)
    unit = stream(8, 1)
    codes = repacked(words_by_row(numpy_bytes(array), unit, inputs, 0, 4), unit, -(-inputs // 4), inputs, outputs, 8)
    weight = PackedWeight(name, "fp8" if type_ != "I8" else "int8", EIGHT[type_], inputs, outputs, group, dtype or DTYPES[kind], codes,
                          {"scale": scale}, types={"scale": kind}, notes={"type": type_, "block": list(block), "key": key, "scale_shape": list(read(key)[0].shape)})
    if has("weight_zero_point"):
        zero, kind = read("weight_zero_point")
        if zero.any():
            if type_ != "I8" or kind != "I8":
                raise CheckpointError(f"`weight_zero_point` is {kind} of {type_} weights", tensor=name)
            weight.type = "u8"
            weight.codes = weight.codes ^ numpy.uint8(128)
            wide = numpy.broadcast_to(zero.reshape(-1, zero.shape[-1] if zero.ndim == 2 else 1), (outputs, scale.shape[0]))
            weight.arrays["zero"] = numpy.ascontiguousarray((wide.astype("int16") + 128).astype("uint8").T)
    return weight


def read_fp4(name: str, read: Read, kind: str) -> PackedWeight:
    """A module of nvfp4-pack-quantized or mxfp4-pack-quantized. CheckpointError: other shapes or types."""
    import numpy

    array, type_ = read("weight_packed")
    if type_ != "U8" or array.ndim != 2 or not array.size:
        raise CheckpointError(f"`weight_packed` is {type_}{list(array.shape)}; it is a matrix of U8", tensor=name)
    outputs, inputs = array.shape[0], 2 * array.shape[1]
    group = 16 if kind == "nvfp4" else 32
    scale, scale_type = read("weight_scale")
    wanted = ("F8_E4M3",) if kind == "nvfp4" else ("U8", "F8_E8M0")
    if scale_type not in wanted or scale.shape != (outputs, -(-inputs // group)) or inputs % group:
        raise CheckpointError(f"`weight_scale` is {scale_type}{list(scale.shape)}; {kind} of {outputs} x {inputs} weights has {wanted[0]}"
                              f"{[outputs, inputs // group]}", tensor=name)
    unit = stream(4, 1)
    codes = repacked(words_by_row(numpy_bytes(array), unit, inputs // 2, 0, 4), unit, -(-inputs // 8), inputs, outputs, 4)
    scale = numpy.ascontiguousarray(scale.T)
    if kind == "mxfp4":
        return PackedWeight(name, "mxfp4", "f4e2m1", inputs, outputs, group, "bf16", codes, {"scale": scale}, "e8m0",
                            notes={"type": scale_type})
    whole, whole_type = read("weight_global_scale")
    if whole_type != "F32" or whole.size != 1:
        raise CheckpointError(f"`weight_global_scale` is {whole_type}{list(whole.shape)}; it is one F32", tensor=name)
    return PackedWeight(name, "nvfp4", "f4e2m1", inputs, outputs, group, "bf16", codes, {"scale": whole.reshape(1), "subscale": scale},
                        "global", types={"subscale": "F8_E4M3"})


def _scale_of(weight: PackedWeight) -> tuple[Any, str]:
    """Scales in the format's shape."""
    import numpy

    shape, high = tuple(weight.notes["scale_shape"]), weight.notes.get("block", [0])[0]
    scale = weight.arrays["scale"][:, ::high] if high else weight.arrays["scale"]
    if math.prod(shape) == 1:
        scale = scale[:1, :1]
    return numpy.ascontiguousarray(scale.T).reshape(shape), weight.types["scale"]


def write_compressed(weight: PackedWeight) -> dict[str, tuple[Any, str]]:
    """The tensors of a module of these formats. CheckpointError: the weight is of another one."""
    import numpy

    rows = numpy.ascontiguousarray(weight.rows().T)
    if weight.format in ("nvfp4", "mxfp4"):
        found: dict[str, tuple[Any, str]] = {"weight_packed": (rows[:, ::2] | rows[:, 1::2] << 4, "U8")}
        if weight.format == "mxfp4":
            found["weight_scale"] = (numpy.ascontiguousarray(weight.arrays["scale"].T), str(weight.notes["type"]))
        else:
            found["weight_scale"] = (numpy.ascontiguousarray(weight.arrays["subscale"].T), "F8_E4M3")
            found["weight_global_scale"] = (weight.arrays["scale"], "F32")
        return found
    if weight.format in ("fp8", "int8"):
        flip = numpy.uint8(128 if weight.type == "u8" else 0)
        found = {"weight": ((rows ^ flip).view("int8") if weight.format == "int8" else rows, str(weight.notes["type"])),
                 str(weight.notes["key"]): _scale_of(weight)}
        if "zero" in weight.arrays:
            found["weight_zero_point"] = ((weight.arrays["zero"] ^ numpy.uint8(128)).view("int8").T.copy(), "I8")
        return found
    if weight.format != "pack-quantized":
        raise CheckpointError(f"compressed-tensors has no {weight.format}", tensor=weight.name)
    if set(weight.arrays) & {"perm", "g_idx"} or not weight.notes["dense"]:
        raise CheckpointError("weights in another order, and codes with free bits, are read and not written", tensor=weight.name)
    found = {"weight_packed": (_as_words(rows, weight.bits), "I32"), "weight_scale": _scale_of(weight),
             "weight_shape": (numpy.array([weight.outputs, weight.inputs], "int64"), "I64")}
    if weight.notes.get("zeros"):
        from ._gptq import _zeros_of

        found["weight_zero_point"] = (numpy.ascontiguousarray(_as_words(_zeros_of(weight), weight.bits).T), "I32")
    return found
