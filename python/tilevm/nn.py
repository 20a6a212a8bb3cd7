"""Layers for torch: linear layers whose weights have 1 to 8 bits. Importing this needs torch.

    layer = tilevm.nn.QuantizedLinear.from_linear(linear, "u4", group=64)
    y = layer(x)                # x of float16, on the CPU or a GPU
"""

from __future__ import annotations

import json
from typing import Any, Optional, Union

import numpy
import torch

from ._errors import UsageError
from ._operator import current_gpu, dequantize, kernel_of, program_codes, register, typed_codes, values_of
from ._packing import pack_codes
from ._tuned import HOPPER, PIPELINED, Plan, bits_of, choose, crossover, many_plan, program_type

__all__ = ["ColumnParallel", "GroupedLinear", "HalfLinear", "PackedExperts", "PackedLinear", "Plan", "QuantizedExperts", "QuantizedLinear", "Recipe",
           "RowParallel", "choose", "convert", "crossover", "from_pretrained", "layer_of", "parallel_layer", "quantize"]
register()
_quantized_linear = torch.ops.tilevm.quantized_linear.default  # looked up once
_differentiable = torch.ops.tilevm.differentiable_quantized_linear.default
LARGEST = 65504.0  # of float16


class QuantizedLinear(torch.nn.Module):
    """y = x (scale * (q - zero))^T + bias for inference, in float16: `q` has `type`, u1..u8, i1..i8, b1..b8 or a float
    of 3 to 8 bits, and a scale is shared by `group` weights of an output.

    A state dict has `weight_q`, the packed codes of q as [in_features, out_features], `scale` of [groups, out_features],
    and `bias`: plain tensors, which safetensors stores. The order in which the kernel reads the codes is made of them
    when they are loaded.

    `plan` is the program that multiplies, with its constants; by default what choose() has for the current GPU and
    about `rows` rows of x. From `many_rows` rows on the weights are dequantized by a kernel and multiplied by
    torch.matmul, or with `many_plan`, another plan, multiplied by it: then the layer has its order of the codes as well.
    "tuned": what tables have for the GPU; None: never.
    """

    weight_q: torch.Tensor
    scale: torch.Tensor
    tiles: torch.Tensor
    scales: torch.Tensor
    many_tiles: torch.Tensor
    many_scales: torch.Tensor

    def __init__(self, in_features: int, out_features: int, type: str = "u4", group: int = 64, bias: bool = True,
                 plan: Optional[Plan] = None, rows: int = 16, many_rows: Union[int, str, None] = "tuned",
                 many_plan: Union[Plan, str, None] = "tuned") -> None:
        super().__init__()
        if min(in_features, out_features, rows) < 1 or group < 16 or group % 16 != 0:
            raise UsageError(f"a layer of {in_features} x {out_features} for {rows} rows with groups of {group} cannot be; "
                             "features and rows are at least 1, groups multiples of 16")
        self.in_features, self.out_features, self.weight_type, self.group = in_features, out_features, type, group
        count = (in_features * out_features * bits_of(type) + 7) // 8
        device, architecture = current_gpu()
        self.plan = choose(device, type, in_features, out_features, group, rows, architecture) if plan is None else plan
        if many_plan not in ("tuned", None) and (not isinstance(many_plan, Plan) or many_plan.program == PIPELINED):
            raise UsageError(f"`many_plan` is {many_plan!r}; it is a Plan of a program of quantized_matmul/, \"tuned\" or None")
        self.many_plan: Optional[Plan] = many_plan if isinstance(many_plan, Plan) else None
        if many_rows == "tuned":
            many_rows = self._tuned_rows(device, architecture, many_plan == "tuned")
        if many_rows is not None and (not isinstance(many_rows, int) or many_rows < 1):
            raise UsageError(f"`many_rows` is {many_rows!r}; it is a number of rows from 1 on, \"tuned\" or None")
        self.many_rows: Optional[int] = many_rows if isinstance(many_rows, int) else None
        self._plan = json.dumps([self.plan.program, self.plan.constants])
        self._many_plan = json.dumps([self.many_plan.program, self.many_plan.constants]) if self.many_plan else ""
        groups = (in_features + group - 1) // group
        self.register_buffer("weight_q", torch.zeros(count, dtype=torch.uint8))
        self.register_buffer("scale", torch.ones((groups, out_features), dtype=torch.float16))
        self.register_buffer("tiles", _empty(self._kernel("transform_q").parameters[1]), persistent=False)
        scales = torch.ones_like(self.scale) if self._takes_plain_scales else \
            _empty(self._kernel("transform_scale").parameters[1])
        self.register_buffer("scales", scales, persistent=False)
        if self.many_plan is not None:
            for name, entry in (("many_tiles", "transform_q"), ("many_scales", "transform_scale")):
                self.register_buffer(name, _empty(self._kernel(entry, self._many_plan).parameters[1]), persistent=False)
        self.bias = torch.nn.Parameter(torch.zeros(out_features, dtype=torch.float16), requires_grad=False) if bias else None
        self.register_load_state_dict_post_hook(  # type: ignore[no-untyped-call]
            lambda module, _: module.order_weights())

    def _tuned_rows(self, device: str, architecture: str, with_plan: bool) -> Optional[int]:
        """From how many rows on the layer multiplies otherwise; with_plan: it may take a plan for that."""
        found = many_plan(device, self.weight_type, self.in_features, self.out_features, self.group, architecture)
        if self.plan.program == HOPPER or found is None or not with_plan:
            return None if self.plan.program == HOPPER else crossover(device)
        self.many_plan = found[1]
        return found[0]

    def _kernel(self, entry: str, plan: str = "") -> Any:
        return kernel_of(entry, 1, self.out_features, self.in_features, self.weight_type, self.group, plan or self._plan)

    @property
    def _takes_plain_scales(self) -> bool:
        return self.plan.program == PIPELINED

    @classmethod
    def from_linear(cls, linear: torch.nn.Linear, type: str = "u4", group: int = 64, **options: Any) -> QuantizedLinear:
        """Rounds the weights of a layer: the largest of a group decides its scale, each takes the nearest value.
        `options` are others of the constructor.

        UsageError: a weight that is not a finite number, or a weight or bias that float16 does not hold.
        """
        layer = cls(linear.in_features, linear.out_features, type, group, linear.bias is not None, **options)
        weight = linear.weight.detach().float().cpu().numpy()
        _check_weights(weight, "weight")
        if linear.bias is not None:
            bias = linear.bias.detach().float().cpu().numpy()
            _check_weights(numpy.where(numpy.isfinite(bias), bias, 0), "bias")  # Inf and NaN stay what they are
        codes, scale = quantize(weight.T, type, group)  # [in, out]
        layer.weight_q.copy_(torch.from_numpy(pack_codes(codes.reshape(-1), bits_of(type))))
        layer.scale.copy_(torch.from_numpy(scale))
        if linear.bias is not None and layer.bias is not None:
            layer.bias.data.copy_(linear.bias.detach())
        layer.to(linear.weight.device)
        layer.order_weights()
        return layer

    def order_weights(self) -> None:
        """Puts codes and scales into the order in which the kernel reads them; after `weight_q` or `scale` was changed.
        On a GPU the kernels run there."""
        self._order(self.plan.program, self._plan, self.tiles, self.scales)
        if self.many_plan is not None:
            self._order(self.many_plan.program, self._many_plan, self.many_tiles, self.many_scales)

    def _order(self, program: str, plan: str, tiles: torch.Tensor, scales: torch.Tensor) -> None:
        type_ = program_type(program, self.weight_type)
        codes = program_codes(self.weight_q, self.weight_type, program, self.in_features, self.out_features)
        _fill(self._kernel("transform_q", plan), tiles, typed_codes(codes, type_, self.in_features, self.out_features))
        if program == PIPELINED:
            scales.copy_(self.scale)
        else:
            k = self._kernel("transform_scale", plan)
            scale = self.scale.reshape(k.parameters[0].shape)
            _fill(k, scales, scale if scale.is_cuda else scale.numpy())

    def dequantized(self) -> torch.Tensor:
        """The weights that the layer multiplies by, as [out_features, in_features] of float32."""
        return dequantize(self.weight_q, self.scale, self.in_features, self.weight_type, self.group).T.float()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tensors = self._buffers  # which a module's __getattr__ takes longer to find
        product = _differentiable if x.requires_grad and torch.is_grad_enabled() else _quantized_linear
        tiles, scales, plan, many = tensors["tiles"], tensors["scales"], self._plan, self.many_rows or -1
        if self.many_plan is not None and 0 < many:
            if x.numel() >= many * self.in_features:
                tiles, scales, plan = tensors["many_tiles"], tensors["many_scales"], self._many_plan
            many = -1
        y: torch.Tensor = product(
            x, tiles, scales, tensors["weight_q"], tensors["scale"], self.weight_type, self.group, self.out_features, plan, many,
            self.in_features)
        bias = self.bias
        return y if bias is None else y + bias

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}, type={self.weight_type}, group={self.group}, " \
               f"bias={self.bias is not None}, program={self.plan.program}, many_rows={self.many_rows}" + \
               (f", many_program={self.many_plan.program}" if self.many_plan is not None else "")


def _empty(parameter: Any) -> torch.Tensor:
    """A tensor for an output of a transformation, of zeros."""
    return torch.zeros(parameter.shape, dtype={"u8": torch.uint8, "f16": torch.float16, "f32": torch.float32}[parameter.type])


def _fill(k: Any, buffer: torch.Tensor, given: Any) -> None:
    """The output of a transformation."""
    if buffer.is_cuda:
        k(given, buffer)
    else:
        k(given, buffer.numpy(), checks="none")


def _check_weights(weight: Any, name: str) -> None:
    """UsageError: a number that is not finite, or that float16 does not hold."""
    bad = numpy.argwhere(~(abs(weight) <= LARGEST))
    if len(bad):
        index = ", ".join(str(i) for i in bad[0].tolist())
        count = f", one of {len(bad)}" if len(bad) > 1 else ""
        raise UsageError(f"{name}[{index}] is {float(weight[tuple(bad[0])]):g}{count}; a layer of float16 has finite numbers up "
                         f"to {LARGEST:g}, so correct it first")


def _scale_of(largest: Any, most: float) -> Any:
    """The float16 scales of groups whose largest weights are given; `most` times a scale is a finite float16."""
    scale = numpy.where(largest > 0, numpy.maximum(largest / most, 2.0 ** -24), 1).astype("float16")
    with numpy.errstate(over="ignore"):
        while (above := numpy.isinf((scale.astype("float32") * numpy.float32(most)).astype("float16"))).any():
            scale = numpy.where(above, numpy.nextafter(scale, numpy.float16(0)), scale)
    return scale


def quantize(weight: Any, type: str, group: int) -> tuple[Any, Any]:
    """Codes and float16 scales of a matrix [in, out]: groups along the first dimension, each value the nearest one.

    UsageError: a weight that is not a finite number, or that float16 does not hold.
    """
    _check_weights(weight, "weight")
    values = values_of(type).astype("float32")
    order = numpy.argsort(values, kind="stable")
    ordered = values[order]
    finite = ordered[numpy.isfinite(ordered)]
    order, ordered = order[numpy.isfinite(ordered)], finite
    most = float(min(abs(ordered[0]), abs(ordered[-1])) or abs(ordered).max())
    groups = (weight.shape[0] + group - 1) // group
    codes = numpy.zeros(weight.shape, "uint8")
    scale = numpy.ones((groups, weight.shape[1]), "float16")
    for g in range(groups):
        part = weight[g * group:(g + 1) * group]
        largest = abs(part).max(axis=0)
        scale[g] = _scale_of(largest, most)
        wanted = part / scale[g].astype("float32")
        above = numpy.clip(numpy.searchsorted(ordered, wanted), 1, len(ordered) - 1)
        nearer = above - (wanted - ordered[above - 1] < ordered[above] - wanted)
        codes[g * group:(g + 1) * group] = order[nearer]
    return codes, scale


# They import this module's layer.
from ._convert import HalfLinear, Recipe, convert  # noqa: E402
from ._experts import GroupedLinear, QuantizedExperts  # noqa: E402
from ._packed_experts import PackedExperts  # noqa: E402
from ._packed_linear import PackedLinear, layer_of  # noqa: E402
from ._parallel import ColumnParallel, RowParallel, parallel_layer  # noqa: E402
from ._transformers import from_pretrained  # noqa: E402
