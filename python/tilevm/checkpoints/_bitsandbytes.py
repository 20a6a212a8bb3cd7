"""bitsandbytes' 4-bit weights: NF4 and FP4, with and without double quantisation.

`weight` [bytes, 1] of uint8, the flat [outputs, inputs], the first of two weights in the high half; `weight.absmax`, the
scale of each `blocksize` weights of the flat order; `weight.quant_map`; `weight.quant_state.bitsandbytes__nf4`, JSON as bytes.
With double quantisation `absmax` is uint8, places in `weight.nested_quant_map`, times `weight.nested_absmax` of 256 of
them, plus the `nested_offset` of the JSON.
"""

from __future__ import annotations

import json
import math
from typing import Any, Callable

from ._bits import Field, Unit, numpy_bytes, packed_codes, repacked, words_by_row
from ._errors import CheckpointError
from ._gptq import Read
from ._weight import PackedWeight

# The tables of bitsandbytes' kernels, which take these whatever a file's `quant_map` says.
TABLES = {
    "nf4": (-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
            -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
            0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
    "fp4": tuple(sign * n / 12 for sign in (1, -1) for n in (0, 0.0625, 8, 12, 4, 6, 2, 3))}
DTYPES = {"float16": "f16", "bfloat16": "bf16", "float32": "f32"}
MOST_STATE = 1 << 16


def _state(read: Read, kind: str, name: str) -> dict[str, Any]:
    """The JSON of a module."""
    array, type_ = read(f"weight.quant_state.bitsandbytes__{kind}")
    if type_ != "U8" or array.size > MOST_STATE:
        raise CheckpointError(f"its quant_state is {type_}{list(array.shape)}; it is the bytes of JSON", tensor=name)
    try:
        state = json.loads(bytes(array))
        shape, block = state["shape"], state["blocksize"]
        good = len(shape) == 2 and all(type(n) is int and 0 < n < 1 << 31 for n in (*shape, block)) and state["dtype"] in DTYPES
        if "nested_blocksize" in state:
            good = good and type(state["nested_blocksize"]) is int and 0 < state["nested_blocksize"] < 1 << 31 and \
                isinstance(state["nested_offset"], float)
    except (ValueError, KeyError, TypeError, RecursionError):
        good, state = False, {}
    if not good or state.get("quant_type", kind) != kind:
        raise CheckpointError("its quant_state does not tell shape, blocksize and dtype", tensor=name)
    return dict(state)


def _expect(read: Read, key: str, type_: str, count: int, name: str) -> Any:
    array, got = read(key)
    if got != type_ or array.size != count:
        raise CheckpointError(f"`{key}` is {got}{list(array.shape)}; it has {count} elements of {type_}", tensor=name)
    return array.reshape(-1)


def read_bitsandbytes(name: str, read: Read, has: Callable[[str], bool], kind: str) -> PackedWeight:
    """A module whose weight is of `kind` "nf4" or "fp4". CheckpointError: other shapes or types."""
    import numpy

    state = _state(read, kind, name)
    outputs, inputs = state["shape"]
    block = state["blocksize"]
    count = outputs * inputs
    data = _expect(read, "weight", "U8", (count + 1) // 2, name)
    table = _expect(read, "weight.quant_map", "F32", 16, name)
    if not numpy.array_equal(table, numpy.array(TABLES[kind], "float32")):
        raise CheckpointError(f"its `quant_map` is not that of {kind}, which bitsandbytes takes whatever the map says", tensor=name)
    if inputs % 8 == 0:
        unit = Unit(1, tuple((Field(0, 8 * (i // 2) + 4 * (1 - i % 2), 4),) for i in range(8)))
        codes = repacked(words_by_row(numpy_bytes(data), unit, inputs // 2, 0, 4), unit, inputs // 8, inputs, outputs, 4)
    else:
        flat = numpy.stack([data >> 4, data & 15], axis=1).reshape(-1)[:count]
        codes = packed_codes(flat.reshape(outputs, inputs).T, 4)
    blocks = math.ceil(count / block)
    flat_groups = inputs % block != 0
    weight = PackedWeight(name, f"bitsandbytes {kind}", "u4", inputs, outputs, block, DTYPES[state["dtype"]], codes,
                          {"table": table}, flat=flat_groups, notes={"state": state})
    if "nested_blocksize" in state:
        nested = state["nested_blocksize"]
        weight.form = "nested"
        weight.notes["nested_block"] = nested
        weight.arrays.update(subscale=_expect(read, "weight.absmax", "U8", blocks, name),
                             scale=_expect(read, "weight.nested_absmax", "F32", math.ceil(blocks / nested), name),
                             scale_table=_expect(read, "weight.nested_quant_map", "F32", 256, name),
                             offset=numpy.array([state["nested_offset"]], "float32"))
    else:
        absmax = _expect(read, "weight.absmax", "F32", blocks, name)
        weight.arrays["scale"] = absmax if flat_groups else numpy.ascontiguousarray(absmax.reshape(outputs, -1).T)
        weight.types["scale"] = "F32"
    return weight


def write_bitsandbytes(weight: PackedWeight) -> dict[str, tuple[Any, str]]:
    """The tensors of a module. CheckpointError: the weight is none of bitsandbytes."""
    import numpy

    if not weight.format.startswith("bitsandbytes "):
        raise CheckpointError(f"bitsandbytes' format has no {weight.format}", tensor=weight.name)
    kind = weight.format.split()[1]
    flat = weight.rows().T.reshape(-1)
    flat = numpy.concatenate([flat, numpy.zeros(flat.size % 2, numpy.uint8)])
    text = numpy.frombuffer(json.dumps(weight.notes["state"]).encode(), numpy.uint8)
    found: dict[str, tuple[Any, str]] = {
        "weight": ((flat[::2] << 4 | flat[1::2]).reshape(-1, 1), "U8"), "weight.quant_map": (weight.arrays["table"], "F32"),
        f"weight.quant_state.bitsandbytes__{kind}": (text, "U8")}
    if weight.form == "nested":
        found.update({"weight.absmax": (weight.arrays["subscale"], "U8"), "weight.nested_absmax": (weight.arrays["scale"], "F32"),
                      "weight.nested_quant_map": (weight.arrays["scale_table"], "F32")})
    else:
        scale = weight.arrays["scale"]
        found["weight.absmax"] = (scale if weight.flat else numpy.ascontiguousarray(scale.T).reshape(-1), "F32")
    return found
