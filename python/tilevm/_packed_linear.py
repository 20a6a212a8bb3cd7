"""A linear layer over a weight of a checkpoint in packed form, whatever its format (tilevm.checkpoints): a kernel
dequantizes it to the type of x, to the bit as the format's reference does, and torch.matmul multiplies.

Weights that are codes with one scale of float16 are better multiplied by QuantizedLinear, which never makes the whole
weight; layer_of() chooses.
"""

from __future__ import annotations

import functools
import json
from typing import Any, Optional

import numpy
import torch

from ._command import programs
from ._errors import UsageError
from ._kernel import Kernel, load
from ._operator import current_gpu, program_codes, typed_codes
from ._operator import kernel_of as product_kernel
from ._tuned import PROGRAMS, choose, program_type
from .checkpoints import CheckpointError, PackedWeight
from .checkpoints._weight import ARRAYS

PROGRAM = "dequantize_checkpoint.tile"
ROWS = 16
FEW_ROWS = 64
TYPES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}
STORED = {"U8": torch.uint8, "I8": torch.int8, "F16": torch.float16, "BF16": torch.bfloat16, "F32": torch.float32, "I32": torch.int32,
          "F8_E4M3": torch.float8_e4m3fn, "F8_E8M0": torch.uint8}
_registered: Any = None


@functools.lru_cache(maxsize=128)
def kernel_of(facts: str, dtype: str) -> Kernel:
    """The kernel for a weight; `facts` are its constants as JSON."""
    return load(programs() / PROGRAM, entry="dequantize", **json.loads(facts), T=dtype)


def _run(codes: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor, low: torch.Tensor, table: torch.Tensor, facts: str,
         like: torch.Tensor) -> torch.Tensor:
    """The weight as [inputs, outputs] of the type of `like`."""
    own = json.loads(facts)
    out = torch.empty((own["K"], own["N"]), dtype=like.dtype, device=codes.device)
    given = (typed_codes(codes, own["Q"], own["K"], own["N"]), scale, zero, low, table, out)
    k = kernel_of(facts, TYPES[like.dtype])
    if codes.is_cuda:
        k(*given)
    else:
        k(*(each if isinstance(each, numpy.ndarray) else each.detach() for each in given), checks="none")
    return out


def _fake(codes: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor, low: torch.Tensor, table: torch.Tensor, facts: str,
          like: torch.Tensor) -> torch.Tensor:
    own = json.loads(facts)
    return like.new_empty((own["K"], own["N"]))


def register() -> None:
    """Once, when this module is imported: the operator that gives a weight. It has no gradient; that of x is torch.matmul's."""
    global _registered
    if _registered is not None:
        return
    library: Any = torch.library.Library("tilevm", "FRAGMENT")  # type: ignore[no-untyped-call]
    library.define("packed_weight(Tensor codes, Tensor scale, Tensor zero, Tensor low, Tensor table, str facts, Tensor like) -> Tensor")
    for device in ("CPU", "CUDA"):
        library.impl("packed_weight", _run, device)
    torch.library.register_fake("tilevm::packed_weight", _fake, lib=library)
    _registered = library


register()


class PackedLinear(torch.nn.Module):
    """y = x W^T + bias for inference: x of float16, bfloat16 or float32, W the dequantised weight rounded to that type.

    The state dict has the tensors that a packed folder has of a module: `weight_q`, and those of the weight's format
    (tilevm.checkpoints.PackedWeight). x has a gradient. Under torch.autocast x becomes autocast's type.
    """

    weight_q: torch.Tensor
    whole: torch.Tensor
    scale_f32: torch.Tensor
    zero_f32: torch.Tensor
    low_f32: torch.Tensor
    table_f32: torch.Tensor
    order: Optional[torch.Tensor]
    tiles: torch.Tensor
    scales: torch.Tensor
    numbers: torch.Tensor

    def __init__(self, weight: PackedWeight, bias: Optional[torch.Tensor] = None, rows: int = 16, few_rows: int = FEW_ROWS) -> None:
        """`rows`: about how many rows x has, for which constants are chosen; up to `few_rows` of them, 0 for none, float16 is
        multiplied without the whole weight where the format allows."""
        super().__init__()
        self.rows, self.few_rows = rows, few_rows
        self.in_features, self.out_features = weight.inputs, weight.outputs
        self._weight = weight
        self._plain = _is_slow(weight)
        self.register_buffer("weight_q", _tensor(weight.codes, ""))
        for name, array in weight.arrays.items():
            self.register_buffer(name, _tensor(array, weight.types.get(name, "")))
        if bias is None:
            self.bias = None
        else:
            self.bias = torch.nn.Parameter(bias, requires_grad=False)
        self.order_weights()

    @classmethod
    def skeleton(cls, name: str, facts: dict[str, Any], bias: bool, dtype: Any) -> PackedLinear:
        """A layer whose tensors are still to be loaded: `facts` are those of a packed folder's config.json. take_buffers()
        makes the layer of them. CheckpointError: they do not tell a weight."""
        from .checkpoints._scheme import checked_facts

        own = checked_facts(facts, name)
        layer = cls.__new__(cls)
        torch.nn.Module.__init__(layer)
        layer.rows, layer.few_rows = 16, FEW_ROWS
        layer.in_features, layer.out_features = own["inputs"], own["outputs"]
        arrays = {}
        for key, (type_, shape) in _checked_tensors(own, name).items():
            made = torch.empty(shape, dtype=STORED[type_], device="meta")
            layer.register_buffer(key, made)
            arrays[key] = type_
        layer._weight = PackedWeight(name, own["format"], own["type"], own["inputs"], own["outputs"], own["group"], own["dtype"], None, {},
                                     own["form"], own["flat"], arrays, own["notes"])
        layer.bias = torch.nn.Parameter(torch.empty(own["outputs"], dtype=dtype, device="meta"), requires_grad=False) if bias else None
        return layer

    def take_buffers(self) -> None:
        """Makes the weight of the tensors, after they were loaded. CheckpointError: they do not fit."""
        weight = self._weight
        given = {key: _array(getattr(self, key)) for key in weight.types}
        weight.codes, weight.arrays = given.pop("weight_q"), given
        weight.check()
        self._plain = _is_slow(weight)
        self.order_weights()

    def order_weights(self) -> None:
        """What the kernel takes, made of the weight; after its tensors were changed."""
        weight = self._weight
        if self._plain:
            full = torch.from_numpy(numpy.ascontiguousarray(weight.dequantized()))
            self.register_buffer("whole", full.to(self.weight_q.device), persistent=False)
            return
        values, zero, low = weight.values(), weight.arrays.get("zero"), weight.offsets()
        table = "table" in weight.arrays
        shape = (weight.groups, weight.outputs)
        if zero is None and not table and weight.type[0] == "u" and low is None:
            zero = numpy.full(shape, -values[0])
        self._facts = json.dumps({"K": weight.inputs, "N": weight.outputs, "Q": f"u{weight.bits}" if table else weight.type, "G": max(weight.group, 1),
                                  "ZEROS": int(zero is not None), "MINS": int(low is not None), "TABLE": int(table)})
        one = numpy.zeros((1, 1))
        for name, array in (("scale_f32", weight.scales()), ("zero_f32", one if zero is None else zero), ("low_f32", one if low is None else low),
                            ("table_f32", values if table else one[0])):
            made = torch.from_numpy(numpy.ascontiguousarray(array, "float32")).to(self.weight_q.device)
            self.register_buffer(name, made, persistent=False)
        perm = weight.arrays.get("perm")
        index = torch.from_numpy(perm.astype("int64")).to(self.weight_q.device) if perm is not None else None
        self.register_buffer("order", index, persistent=False)
        self._order_for_few_rows()

    def _order_for_few_rows(self) -> None:
        """The codes, scales and zero points as programs/quantized_matmul/few_rows.tile takes them, where float16 has them."""
        weight = self._weight
        self._plan = ""
        numbers = _numbers_of(weight) if self.few_rows > 0 else None
        if numbers is None:
            return
        device, architecture = current_gpu()
        found = choose(device, weight.type, weight.inputs, weight.outputs, weight.group, self.rows, architecture)
        constants = found.constants if found.program == PROGRAMS[1] else {}
        self._plan = json.dumps([PROGRAMS[1], {**constants, "ZEROS": int(len(numbers) > weight.groups)}])
        own = (1, weight.outputs, weight.inputs, weight.type, weight.group, self._plan)
        codes = program_codes(self.weight_q, weight.type, PROGRAMS[1], weight.inputs, weight.outputs)
        self.register_buffer("numbers", torch.from_numpy(numbers).to(self.weight_q.device), persistent=False)
        type_ = program_type(PROGRAMS[1], weight.type)
        for name, entry, given in (("tiles", "transform_q", typed_codes(codes, type_, weight.inputs, weight.outputs)),
                                   ("scales", "transform_scale", self.numbers)):
            k = product_kernel(entry, *own)
            shape = k.parameters[1].shape
            assert shape is not None
            out = torch.zeros(shape, dtype={"u8": torch.uint8, "f16": torch.float16, "f32": torch.float32}[k.parameters[1].type],
                              device=self.weight_q.device)
            given = given.reshape(k.parameters[0].shape or ()) if name == "scales" else given
            k(given, out) if out.is_cuda else k(given, out, checks="none")
            self.register_buffer(name, out, persistent=False)

    def _of_few_rows(self, x: torch.Tensor) -> torch.Tensor:
        weight = self._weight
        y: torch.Tensor = torch.ops.tilevm.quantized_linear(
            x, self.tiles, self.scales, self.weight_q, self.numbers, weight.type, weight.group, weight.outputs, self._plan, -1, weight.inputs)
        return y

    def dequantized(self, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """The weight as the layer multiplies by it, [out_features, in_features]: the format's, rounded to `dtype`."""
        like = torch.empty(0, dtype=dtype, device=self.weight_q.device)
        if self._plain:
            return self.whole.to(dtype)
        rows: torch.Tensor = torch.ops.tilevm.packed_weight(
            self.weight_q, self.scale_f32, self.zero_f32, self.low_f32, self.table_f32, self._facts, like)
        if self.order is not None:
            rows = torch.empty_like(rows).index_copy_(0, self.order, rows)
        return rows.T

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kind = x.device.type
        if torch.is_autocast_enabled(kind):
            x = x.to(torch.get_autocast_dtype(kind))
        if x.dtype not in TYPES:
            raise UsageError(f"`x` is {x.dtype}; this layer takes torch.float16, bfloat16 and float32")
        if x.ndim == 0 or x.shape[-1] != self.in_features:
            raise UsageError(f"`x` of shape {list(x.shape)} has no rows of {self.in_features} numbers, the layer's inputs")
        x = x if self._plain or self.order is None else x[..., self.order]
        if self._plain:
            y = torch.matmul(x, self.whole.T.to(x.dtype))
        elif self._plan and x.dtype is torch.float16 and x.numel() <= self.few_rows * self.in_features and \
                not (x.requires_grad and torch.is_grad_enabled()):
            y = self._of_few_rows(x)
        else:
            rows = torch.ops.tilevm.packed_weight(self.weight_q, self.scale_f32, self.zero_f32, self.low_f32, self.table_f32, self._facts,
                                                  x.detach().new_empty(0))
            y = torch.matmul(x, rows)
        return y if self.bias is None else y + self.bias.to(y.dtype)

    def extra_repr(self) -> str:
        weight = self._weight
        return f"{self.in_features}, {self.out_features}, format={weight.format}, type={weight.type}, group={weight.group}, " \
               f"bias={self.bias is not None}"


def _tensor(array: Any, type_: str) -> torch.Tensor:
    """A tensor of an array of a file."""
    made = torch.from_numpy(numpy.array(array))
    if type_ == "BF16":
        return made.view(torch.bfloat16)
    return made.view(torch.float8_e4m3fn) if type_ == "F8_E4M3" else made


def _array(tensor: torch.Tensor) -> Any:
    """The way back."""
    tensor = tensor.detach().cpu()
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.uint16).numpy()
    return tensor.view(torch.uint8).numpy() if tensor.dtype is torch.float8_e4m3fn else tensor.numpy()


def _checked_tensors(facts: dict[str, Any], name: str) -> dict[str, Any]:
    """Types and shapes of a module's tensors in config.json. CheckpointError: they are none."""
    found = facts.get("tensors")
    good = isinstance(found, dict) and "weight_q" in found and set(found) <= {"weight_q", *ARRAYS} and all(
        isinstance(each, list) and len(each) == 2 and each[0] in STORED and isinstance(each[1], list)
        and all(type(n) is int and 0 <= n < 1 << 40 for n in each[1]) for each in found.values())
    if not good:
        raise CheckpointError("its `tensors` are no types and shapes", "config.json", name)
    return dict(found or {})


def _numbers_of(weight: PackedWeight) -> Any:
    """Scales of few_rows.tile, [groups, outputs] of float16, and after them zero points less the middle of unsigned codes;
    None where float16 does not have them, or the program not their groups."""
    group = weight.group
    if "table" in weight.arrays or "min" in weight.arrays or weight.inputs < 16 or \
            (group not in (16, 32, 64) and group % 128 != 0):
        return None
    scale = weight.scales()
    with numpy.errstate(all="ignore"):
        half = scale.astype("float16")
    if not (half.astype("float32") == scale).all():
        return None
    zero = weight.arrays.get("zero")
    middle = 1 << weight.bits - 1 if weight.type[0] == "u" else 0
    return half if zero is None else numpy.concatenate([half, (zero.astype("float32") - middle).astype("float16")])


def _is_slow(weight: PackedWeight) -> bool:
    """Whether the kernel does not have the weight's groups, so that the layer keeps the whole weight."""
    return weight.flat or "g_idx" in weight.arrays or (weight.group % ROWS != 0 and weight.group < weight.inputs)


def is_plain(weight: PackedWeight) -> bool:
    """Whether QuantizedLinear has the weight to the bit: codes with one scale, which float16 has, in groups of 32."""
    if set(weight.arrays) - {"scale", "subscale"} or weight.flat or weight.form == "nested":
        return False
    if weight.group % 32 and weight.group < weight.inputs or weight.dtype not in ("f16", "f32", "bf16"):
        return False
    scale = weight.scales()
    with numpy.errstate(over="ignore"):
        return bool((scale.astype("float16").astype("float32") == scale).all())


def layer_of(weight: PackedWeight, bias: Optional[torch.Tensor] = None, device: Any = "cpu", **options: Any) -> torch.nn.Module:
    """The layer for a weight: QuantizedLinear where it has the weight to the bit, and x is float16; else PackedLinear.
    `device` is where it is, and where its codes are put into order; `options` are those of QuantizedLinear."""
    from .nn import QuantizedLinear

    if not is_plain(weight):
        return PackedLinear(weight, bias).to(device)
    group = weight.group if weight.group < weight.inputs else -(-weight.inputs // 32) * 32
    layer = QuantizedLinear(weight.inputs, weight.outputs, weight.type, group, bias is not None, **options)
    layer.weight_q.copy_(torch.from_numpy(weight.codes))
    layer.scale.copy_(torch.from_numpy(weight.scales().astype("float16")))
    if bias is not None and layer.bias is not None:
        layer.bias.data.copy_(bias)
    layer.to(device)
    layer.order_weights()
    return layer
