"""Which modules of a checkpoint are quantised, and how each is read: what `config.json` says, checked against the tensors
that are there."""

from __future__ import annotations

import re
from typing import Any, Callable, NamedTuple, Optional

from ._bitsandbytes import read_bitsandbytes
from ._compressed import read_eight, read_fp4, read_packed
from ._errors import CheckpointError, shown
from ._gptq import Read, read_awq, read_gptq
from ._weight import ARRAYS, FORMS, PackedWeight

Has = Callable[[str], bool]
Reader = Callable[[str, Read, Has], PackedWeight]
# By the tensor that every quantised module has: the module's other tensors.
PARTS = {
    "gptq": ("qweight", ("qweight", "qzeros", "scales", "g_idx")),
    "awq": ("qweight", ("qweight", "qzeros", "scales")),
    "packed": ("weight_packed", ("weight_packed", "weight_scale", "weight_zero_point", "weight_shape", "weight_g_idx",
                                 "weight_global_scale")),
    "eight": ("weight_scale", ("weight", "weight_scale", "weight_zero_point")),
    "inverse": ("weight_scale_inv", ("weight", "weight_scale_inv")),
    "nf4": ("weight.quant_state.bitsandbytes__nf4", ()),
    "fp4": ("weight.quant_state.bitsandbytes__fp4", ()),
}
BNB = ("weight", "weight.absmax", "weight.quant_map", "weight.nested_absmax", "weight.nested_quant_map")


class Scheme(NamedTuple):
    """How a checkpoint is read: its name, and the reader and the tensors' suffixes of a module."""

    method: str
    modules: dict[str, tuple[Reader, tuple[str, ...]]]


def _modules(names: Any, mark: str) -> list[str]:
    return [name[:-len(mark) - 1] for name in names if name.endswith("." + mark)]


def _whole(config: dict[str, Any], key: str, default: Optional[int] = None) -> int:
    value = config.get(key, default)
    if type(value) is not int:
        raise CheckpointError(f"`{key}` of the quantisation's config is {shown(repr(value))}; it is a whole number", "config.json")
    return value


def _gptq(config: dict[str, Any], names: Any) -> Scheme:
    bits, group = _whole(config, "bits"), _whole(config, "group_size", 0)
    form = config.get("checkpoint_format", "gptq")
    versions = {"gptq": 1, "gptq_v2": 2}
    if form not in versions:
        raise CheckpointError(f"`checkpoint_format` is {shown(repr(form))}; gptq and gptq_v2 are read", "config.json")

    def read(name: str, get: Read, has: Has) -> PackedWeight:
        return read_gptq(name, get, has, bits, versions[form], group)

    mark, parts = PARTS["gptq"]
    return Scheme("gptq", {name: (read, parts) for name in _modules(names, mark)})


def _awq(config: dict[str, Any], names: Any) -> Scheme:
    version = str(config.get("version", config.get("format", "gemm"))).lower()
    if version != "gemm" or config.get("bits", config.get("w_bit", 4)) != 4:
        raise CheckpointError(f"AWQ of version {shown(version)} with {shown(str(config.get('bits', 4)))} bits; gemm with 4 is read",
                              "config.json")
    mark, parts = PARTS["awq"]
    return Scheme("awq", {name: (lambda n, get, has: read_awq(n, get), parts) for name in _modules(names, mark)})


def _matches(target: str, name: str) -> bool:
    """Whether compressed-tensors' target means a module: its name, `re:` and a pattern, or a class, as Linear."""
    if target.startswith("re:"):
        try:
            return len(target) < 512 and re.match(target[3:], name) is not None
        except re.error:
            return False
    return target == name or name.endswith("." + target)


def _group_for(groups: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """The config group of a module: one that names it, else one for a class of modules."""
    for group in groups:
        if any(_matches(t, name) for t in group.get("targets", ()) if isinstance(t, str)):
            return group
    plain = [g for g in groups if any(isinstance(t, str) and re.fullmatch(r"\w+", t) for t in g.get("targets", ()))]
    return (plain or groups)[0]


def _compressed(config: dict[str, Any], names: Any) -> Scheme:
    groups = [g for g in (config.get("config_groups") or {}).values() if isinstance(g, dict) and isinstance(g.get("weights"), dict)]
    if not groups:
        raise CheckpointError("`config_groups` has no weights", "config.json")

    def packed(name: str, get: Read, has: Has) -> PackedWeight:
        group = _group_for(groups, name)
        weights, form = group["weights"], str(group.get("format") or config.get("format"))
        bits = _whole(weights, "num_bits")
        if weights.get("type") == "float":
            size = weights.get("group_size")
            if bits != 4 or size not in (16, 32):
                raise CheckpointError(f"packed floats of {bits} bits in groups of {size}; NVFP4 and MXFP4 are read", tensor=name)
            return read_fp4(name, get, "nvfp4" if size == 16 else "mxfp4")
        if form not in ("pack-quantized", "mixed-precision", "None"):
            raise CheckpointError(f"the format {shown(form)} is not read", tensor=name)
        return read_packed(name, get, has, bits, weights.get("group_size") or 0)

    def eight(name: str, get: Read, has: Has) -> PackedWeight:
        weights = _group_for(groups, name)["weights"]
        block = weights.get("block_structure") if weights.get("strategy") == "block" else None
        size = weights.get("group_size") if weights.get("strategy") == "group" else 0
        pair = (int(block[0]), int(block[1])) if isinstance(block, list) and len(block) == 2 and \
            all(type(n) is int and n > 0 for n in block) else (0, size or 0)
        return read_eight(name, get, has, pair)

    found: dict[str, tuple[Reader, tuple[str, ...]]] = {}
    mark, parts = PARTS["packed"]
    found.update({name: (packed, parts) for name in _modules(names, mark)})
    mark, parts = PARTS["eight"]
    found.update({name: (eight, parts) for name in _modules(names, mark) if name not in found})
    return Scheme("compressed-tensors", found)


def _fp8(config: dict[str, Any], names: Any) -> Scheme:
    block = config.get("weight_block_size")
    if not (isinstance(block, list) and len(block) == 2 and all(type(n) is int and n > 0 for n in block)):
        raise CheckpointError(f"`weight_block_size` is {shown(repr(block))}; it is two positive numbers", "config.json")

    def read(name: str, get: Read, has: Has) -> PackedWeight:
        return read_eight(name, get, has, (block[0], block[1]), "weight_scale_inv", "f32")

    mark, parts = PARTS["inverse"]
    return Scheme("fp8", {name: (read, parts) for name in _modules(names, mark)})


def _of_kind(kind: str) -> Reader:
    return lambda name, get, has: read_bitsandbytes(name, get, has, kind)


def _bitsandbytes(config: dict[str, Any], names: Any) -> Scheme:
    found: dict[str, tuple[Reader, tuple[str, ...]]] = {}
    for kind in ("nf4", "fp4"):
        mark = PARTS[kind][0]
        found.update({name: (_of_kind(kind), (*BNB, mark)) for name in _modules(names, mark)})
    return Scheme("bitsandbytes", found)


TYPES = re.compile(r"u[1-8]|i[2-8]|f4e2m1|f8e4m3|f8e5m2")


def checked_facts(facts: Any, name: str) -> dict[str, Any]:
    """What a part says of a module, checked. CheckpointError: it cannot be."""
    numbers = [facts.get(key) for key in ("inputs", "outputs", "group")] if isinstance(facts, dict) else []
    if not numbers or not all(type(n) is int and 0 < n < 1 << 31 for n in numbers) or facts.get("form") not in FORMS or \
            facts.get("dtype") not in ("f16", "bf16", "f32") or not isinstance(facts.get("notes"), dict) or \
            not isinstance(facts.get("type"), str) or not TYPES.fullmatch(facts["type"]) or \
            type(facts.get("flat")) is not bool or not isinstance(facts.get("format"), str):
        raise CheckpointError("the part's metadata does not tell what it is", tensor=name)
    return dict(facts)


def packed_scheme(facts: dict[str, Any]) -> Scheme:
    """The scheme of a folder that pack_checkpoint wrote: the metadata of all its parts."""
    def reader(about: Any) -> Reader:
        def read(name: str, get: Read, has: Has) -> PackedWeight:
            own = checked_facts(about, name)
            codes, type_ = get("weight_q")
            if type_ != "U8" or codes.ndim != 1:
                raise CheckpointError(f"`weight_q` is {type_}{list(codes.shape)}; it is bytes", tensor=name)
            arrays, types = {}, {}
            for key in ARRAYS:
                if has(key):
                    arrays[key], types[key] = get(key)
            return PackedWeight(name, own["format"], own["type"], own["inputs"], own["outputs"], own["group"], own["dtype"], codes,
                                arrays, own["form"], own["flat"], types, own["notes"])
        return read

    parts = ("weight_q", *ARRAYS)
    return Scheme("tilevm", {name: (reader(about), parts) for name, about in facts.items()})


METHODS = {"gptq": _gptq, "awq": _awq, "compressed-tensors": _compressed, "fp8": _fp8, "bitsandbytes": _bitsandbytes}


def scheme_of(config: dict[str, Any], names: Any) -> Scheme:
    """How a checkpoint is quantised. `config` is that of the quantisation, {} where there is none."""
    method = config.get("quant_method")
    if method is None and "config_groups" in config:
        method = "compressed-tensors"
    if method is None and "w_bit" in config:
        method = "awq"
    if method is None and "bits" in config:
        method = "gptq"
    if method is None:
        return Scheme("", {})
    if method not in METHODS:
        raise CheckpointError(f"`quant_method` is {shown(repr(method))}; {', '.join(METHODS)} are read", "config.json")
    return METHODS[method](config, names)
