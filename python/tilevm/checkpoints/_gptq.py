"""GPTQ's and AWQ's tensors.

GPTQ (AutoGPTQ, GPTQModel): `qweight` [inputs * bits / 32, outputs] of int32, codes of neighbouring inputs one after the
other from the low bits on; `qzeros` [groups, outputs * bits / 32], zero points of neighbouring outputs likewise, less 1 in
checkpoints of version 1; `scales` [groups, outputs]; `g_idx` [inputs], the group of each input, in any order with act-order.

AWQ (AutoAWQ, version gemm): `qweight` [inputs, outputs / 8] of int32, codes of eight outputs in the order 0 2 4 6 1 3 5 7;
`qzeros` [groups, outputs / 8] likewise; `scales` [groups, outputs] of float16.
"""

from __future__ import annotations

from typing import Any, Callable

from ._bits import CHUNK, decoded, in_parallel, numpy_bytes, pack_rows, packed_codes, repacked, unpack_rows, whole_stream, words_by_column
from ._errors import CheckpointError
from ._weight import PackedWeight

Read = Callable[[str], tuple[Any, str]]  # an array of the module, and its type in the file
DTYPES = {"F16": "f16", "BF16": "bf16", "F32": "f32"}


def _scales(read: Read, key: str, name: str) -> tuple[Any, str]:
    array, type_ = read(key)
    if type_ not in DTYPES or array.ndim != 2:
        raise CheckpointError(f"`{key}` is {type_}{list(array.shape)}; it is a matrix of F16, BF16 or F32", tensor=name)
    return array, type_


def _words(read: Read, key: str, name: str) -> Any:
    array, type_ = read(key)
    if type_ not in ("I32", "U32") or array.ndim != 2:
        raise CheckpointError(f"`{key}` is {type_}{list(array.shape)}; it is a matrix of I32", tensor=name)
    return array.view("<u4")


def _fits(what: str, got: Any, wanted: Any, name: str) -> None:
    if tuple(got) != tuple(wanted):
        raise CheckpointError(f"`{what}` has the shape {list(got)}; that of the others asks for {list(wanted)}", tensor=name)


def read_gptq(name: str, read: Read, has: Callable[[str], bool], bits: int, version: int,
              group: int = 0) -> PackedWeight:
    """A module of a GPTQ checkpoint. `version` 1: a zero point is one more than what is stored, modulo 2^bits. `group`: how
    many inputs share a scale, all with -1; what the shapes tell with 0.

    CheckpointError: other shapes or types, a group that is not there."""
    import numpy

    if bits not in (2, 3, 4, 8):
        raise CheckpointError(f"codes of {bits} bits; GPTQ's continuous format has 2, 3, 4 and 8", tensor=name)
    words = _words(read, "qweight", name)
    scales, type_ = _scales(read, "scales", name)
    groups, outputs = scales.shape
    unit = whole_stream(bits)
    if words.shape[0] * 32 % bits or words.shape[1] != outputs or groups < 1 or outputs < 1 or not len(words):
        raise CheckpointError(f"`qweight` is {list(words.shape)} and `scales` {list(scales.shape)}, which do not fit", tensor=name)
    inputs = words.shape[0] * 32 // bits
    g_idx = None
    if has("g_idx"):
        g_idx, kind = read("g_idx")
        if kind not in ("I32", "I64") or g_idx.ndim != 1 or not inputs - 31 <= len(g_idx) <= inputs:
            raise CheckpointError(f"`g_idx` is {kind}{list(g_idx.shape)}; it has the group of each of {inputs} inputs", tensor=name)
        inputs = len(g_idx)
        if g_idx.min() < 0 or g_idx.max() >= groups:
            bad = int(numpy.argmax((g_idx < 0) | (g_idx >= groups)))
            raise CheckpointError(f"`g_idx`[{bad}] is {int(g_idx[bad])}, and there are {groups} groups", tensor=name)
    group = -(-inputs // groups) if group == 0 else inputs if group < 0 else group
    _fits("scales", scales.shape, (-(-inputs // group), outputs), name)
    zeros = _words(read, "qzeros", name)
    _fits("qzeros", zeros.shape, (groups, -(-outputs * bits // 32)), name)
    zero = decoded(zeros, bits, outputs)
    if version == 1:
        zero = (zero + numpy.uint8(1)) & numpy.uint8((1 << bits) - 1)
    codes = repacked(words_by_column(words, unit), unit, -(-len(words) // unit.words), inputs, outputs, bits)
    weight = PackedWeight(name, "gptq", f"u{bits}", inputs, outputs, group, DTYPES[type_], codes,
                          {"scale": scales}, types={"scale": type_}, notes={"version": version, "zeros": True})
    _order(weight, g_idx)
    _keep_zeros(weight, zero)
    return weight


def _order(weight: PackedWeight, g_idx: Any) -> None:
    """Puts rows of one group together, where groups have one size; else the groups of rows are kept."""
    import numpy

    plain = numpy.arange(weight.inputs) // weight.group
    if g_idx is None or numpy.array_equal(g_idx, plain):
        weight.notes["g_idx"] = g_idx is not None
        return
    order = numpy.argsort(g_idx, kind="stable")
    weight.notes["g_idx"] = True
    if not numpy.array_equal(g_idx[order], plain):
        weight.arrays["g_idx"] = g_idx.astype("<i4")
        return
    if weight.outputs * weight.bits % 8 == 0:  # rows are whole bytes
        weight.codes = weight.codes.reshape(weight.inputs, -1)[order].reshape(-1)
    else:
        weight.codes = packed_codes(weight.rows()[order], weight.bits)
    weight.arrays["perm"] = order.astype("<i4")


def _keep_zeros(weight: PackedWeight, zero: Any) -> None:
    """Zero points in the middle are those that unsigned codes have without any."""
    if not (zero == 1 << weight.bits - 1).all():
        weight.arrays["zero"] = zero


AWQ_SPREAD = ((8, 0x00ff00ff), (4, 0x0f0f0f0f))


def _in_order(words: Any) -> Any:
    """Words of eight codes in the order of their outputs."""
    import numpy

    even, odd = words & numpy.uint32(0xffff), words >> numpy.uint32(16)
    for shift, mask in AWQ_SPREAD:
        even = (even | even << numpy.uint32(shift)) & numpy.uint32(mask)
        odd = (odd | odd << numpy.uint32(shift)) & numpy.uint32(mask)
    return even | odd << numpy.uint32(4)


def _in_awq_order(words: Any) -> Any:
    """The way back."""
    import numpy

    even, odd = words & numpy.uint32(0x0f0f0f0f), words >> numpy.uint32(4) & numpy.uint32(0x0f0f0f0f)
    for shift, mask in ((4, 0x00ff00ff), (8, 0x0000ffff)):
        even = (even | even >> numpy.uint32(shift)) & numpy.uint32(mask)
        odd = (odd | odd >> numpy.uint32(shift)) & numpy.uint32(mask)
    return even | odd << numpy.uint32(16)


def read_awq(name: str, read: Read) -> PackedWeight:
    """A module of an AWQ checkpoint, version gemm, 4 bits. CheckpointError: other shapes or types."""
    import numpy

    words, zeros = _words(read, "qweight", name), _words(read, "qzeros", name)
    scales, type_ = _scales(read, "scales", name)
    inputs, outputs = words.shape[0], 8 * words.shape[1]
    groups = scales.shape[0]
    if not groups or not outputs or inputs % groups:
        raise CheckpointError(f"`qweight` is {list(words.shape)} and `scales` {list(scales.shape)}, which do not fit", tensor=name)
    _fits("scales", scales.shape, (groups, outputs), name)
    _fits("qzeros", zeros.shape, (groups, outputs // 8), name)
    codes = numpy.empty(words.size, "<u4")
    flat = words.reshape(-1)

    def work(begin: int, end: int) -> None:
        codes[begin:end] = _in_order(flat[begin:end])

    in_parallel(words.size, CHUNK // 8, work)
    weight = PackedWeight(name, "awq", "u4", inputs, outputs, inputs // groups, DTYPES[type_], codes.view(numpy.uint8),
                          {"scale": scales}, types={"scale": type_}, notes={"zeros": True})
    _keep_zeros(weight, unpack_rows(_in_order(zeros).view(numpy.uint8), 4, zeros.size * 8).reshape(groups, outputs))
    return weight


def _zeros_of(weight: PackedWeight) -> Any:
    import numpy

    zero = weight.arrays.get("zero")
    return zero if zero is not None else numpy.full(weight.arrays["scale"].shape, 1 << weight.bits - 1, numpy.uint8)


def write_gptq(weight: PackedWeight) -> dict[str, tuple[Any, str]]:
    """The tensors of a module of GPTQ's format: the arrays and their types. CheckpointError: the format does not have it."""
    import numpy

    if weight.type[0] != "u" or weight.form != "plain" or weight.flat or "min" in weight.arrays or "table" in weight.arrays or \
            weight.bits not in (2, 3, 4, 8):
        raise CheckpointError(f"GPTQ's format has no {weight.type} of the form {weight.form}", tensor=weight.name)
    bits, version = weight.bits, int(weight.notes.get("version", 2))
    rows = weight.rows()
    g_idx = weight.group_of_rows().astype("<i4")
    perm = weight.arrays.get("perm")
    if perm is not None:
        plain, groups = numpy.empty_like(rows), numpy.empty_like(g_idx)
        plain[perm], groups[perm] = rows, g_idx
        rows, g_idx = plain, groups
    zero = _zeros_of(weight)
    if version == 1:
        zero = (zero - numpy.uint8(1)) & numpy.uint8((1 << bits) - 1)
    found = {"qweight": (_as_words(rows.T, bits).T, "I32"), "qzeros": (_as_words(zero, bits), "I32"),
             "scales": (weight.arrays["scale"], weight.types["scale"])}
    if weight.notes.get("g_idx", True):
        found["g_idx"] = (g_idx, "I32")
    return found


def _as_words(rows: Any, bits: int) -> Any:
    """Codes of each row one after the other in words, [rows, words] of int32."""
    import numpy

    count = -(-rows.shape[1] * bits // 32)
    wide = numpy.zeros((rows.shape[0], -(-rows.shape[1] // 32) * 32), numpy.uint8)
    wide[:, :rows.shape[1]] = rows
    return numpy.ascontiguousarray(pack_rows(wide, bits).view("<i4").reshape(len(rows), -1)[:, :count])


def write_awq(weight: PackedWeight) -> dict[str, tuple[Any, str]]:
    """The tensors of a module of AWQ's format. CheckpointError: the format does not have it."""
    if weight.type != "u4" or weight.form != "plain" or set(weight.arrays) - {"scale", "zero"} or weight.outputs % 8:
        raise CheckpointError(f"AWQ's format has no {weight.type} of the form {weight.form} with {sorted(weight.arrays)}",
                              tensor=weight.name)
    words = _in_awq_order(numpy_bytes(weight.codes).view("<u4")).view("<i4").reshape(weight.inputs, -1)
    zeros = _in_awq_order(packed_codes(_zeros_of(weight), 4).view("<u4")).view("<i4").reshape(weight.groups, -1)
    return {"qweight": (words, "I32"), "qzeros": (zeros, "I32"), "scales": (weight.arrays["scale"], weight.types["scale"])}
