"""Experts of a mixture as layers of quantised weights: the rows of each expert are multiplied together."""

from __future__ import annotations

from typing import Any

import torch

from ._errors import UsageError
from ._operator import _run

_registered: Any = None


def _grouped(x: torch.Tensor, counts: torch.Tensor, tiles: torch.Tensor, scales: torch.Tensor, codes: torch.Tensor, scale: torch.Tensor,
             type_: str, group: int, outputs: int, plan: str, many: int) -> torch.Tensor:
    """Rows of x by the weights of their experts: the first counts[0] by those of expert 0, and so on."""
    out = x.new_zeros((x.shape[0], outputs))  # rows without an expert are the last
    begin = 0
    for expert, count in enumerate(counts.tolist()):
        if count:
            rows = x[begin:begin + count]
            out[begin:begin + count] = _run(rows, tiles[expert], scales[expert], codes[expert], scale[expert], type_, group, outputs, plan,
                                            many, x.shape[1])
            begin += count
    return out


def _fake(x: torch.Tensor, counts: torch.Tensor, tiles: torch.Tensor, scales: torch.Tensor, codes: torch.Tensor, scale: torch.Tensor,
          type_: str, group: int, outputs: int, plan: str, many: int) -> torch.Tensor:
    return x.new_empty((x.shape[0], outputs))


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    x, counts, _, _, codes, scale, type_, group, *_ = inputs
    ctx.save_for_backward(counts, codes, scale)
    ctx.facts = x.shape[1], type_, group


def _gradient(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:
    counts, codes, scale = ctx.saved_tensors
    return (torch.ops.tilevm.grouped_gradient(grad, counts, codes, scale, *ctx.facts), *[None] * 10)


def _grouped_gradient(grad: torch.Tensor, counts: torch.Tensor, codes: torch.Tensor, scale: torch.Tensor, inputs: int, type_: str,
                      group: int) -> torch.Tensor:
    from ._operator import dequantize

    out = grad.new_zeros((grad.shape[0], inputs))
    begin = 0
    for expert, count in enumerate(counts.tolist()):
        if count:
            weights = dequantize(codes[expert], scale[expert], inputs, type_, group)
            out[begin:begin + count] = torch.matmul(grad[begin:begin + count], weights.T)
            begin += count
    return out


def register() -> None:
    """Once, when this module is imported: operators, so that torch.compile traces what depends on counts of rows."""
    global _registered
    if _registered is not None:
        return
    library: Any = torch.library.Library("tilevm", "FRAGMENT")  # type: ignore[no-untyped-call]
    library.define("grouped_linear(Tensor x, Tensor counts, Tensor tiles, Tensor scales, Tensor codes, Tensor scale, str type, int group, "
                   "int outputs, str plan, int many) -> Tensor")
    library.define("grouped_gradient(Tensor grad, Tensor counts, Tensor codes, Tensor scale, int inputs, str type, int group) -> Tensor")
    for device in ("CPU", "CUDA"):
        library.impl("grouped_linear", lambda x, *others: _grouped(x.detach(), *others), device)
        library.impl("grouped_gradient", _grouped_gradient, device)
    torch.library.register_fake("tilevm::grouped_linear", _fake, lib=library)
    torch.library.register_fake("tilevm::grouped_gradient", lambda grad, counts, codes, scale, inputs, type_, group:
                                grad.new_empty((grad.shape[0], inputs)), lib=library)
    torch.library.register_autograd("tilevm::grouped_linear", _gradient, setup_context=_keep, lib=library)
    _registered = library


register()


class GroupedLinear(torch.nn.Module):
    """y[i] = x[i] W[e]^T, e the expert of row i: for inference, in float16, of weights [experts, out_features, in_features]
    of one type. Rows come in the order of their experts, `counts` of each. The state dict has `weight_q` and `scale` as
    QuantizedLinear, with a first dimension for experts."""

    weight_q: torch.Tensor
    scale: torch.Tensor
    tiles: torch.Tensor
    scales: torch.Tensor

    def __init__(self, weights: torch.Tensor, type: str = "u4", group: int = 64, **options: Any) -> None:
        """UsageError: weights that are not matrices, or that QuantizedLinear.from_linear refuses."""
        from .nn import QuantizedLinear

        super().__init__()
        if weights.ndim != 3 or not len(weights):
            raise UsageError(f"`weights` of shape {list(weights.shape)} are not matrices of experts, [experts, outputs, inputs]")
        layers = []
        for weight in weights:
            linear = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False, device="meta")
            linear.weight = torch.nn.Parameter(weight.detach(), requires_grad=False)
            layers.append(QuantizedLinear.from_linear(linear, type, group, **{**options, "many_plan": None}))
        first = layers[0]
        self.experts, self.in_features, self.out_features = len(layers), first.in_features, first.out_features
        self.weight_type, self.group, self._plan, self.many_rows = type, group, first._plan, first.many_rows
        for name in ("weight_q", "scale", "tiles", "scales"):
            self.register_buffer(name, torch.stack([getattr(layer, name) for layer in layers]), persistent=name in ("weight_q", "scale"))

    def forward(self, x: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        if x.ndim != 2 or x.shape[1] != self.in_features:
            raise UsageError(f"`x` of shape {list(x.shape)} has no rows of {self.in_features} numbers, the layer's inputs")
        y: torch.Tensor = torch.ops.tilevm.grouped_linear(
            x, counts, self.tiles, self.scales, self.weight_q, self.scale, self.weight_type, self.group, self.out_features, self._plan,
            self.many_rows or -1)
        return y

    def extra_repr(self) -> str:
        return f"{self.experts} experts, {self.in_features}, {self.out_features}, type={self.weight_type}, group={self.group}"


class QuantizedExperts(torch.nn.Module):
    """The experts of a block of transformers, whose weights are `gate_up_proj` [experts, 2 n, k] and `down_proj` [experts, k, n]:
    their forward, with rows in the order of experts."""

    def __init__(self, experts: Any, type: str = "u4", group: int = 64, **options: Any) -> None:
        super().__init__()
        self.gate_up = GroupedLinear(experts.gate_up_proj.detach(), type, group, **options)
        self.down = GroupedLinear(experts.down_proj.detach(), type, group, **options)
        self.act_fn = experts.act_fn

    def forward(self, hidden_states: torch.Tensor, top_k_index: torch.Tensor, top_k_weights: torch.Tensor) -> torch.Tensor:
        counts, order = counts_and_order(top_k_index, self.gate_up.experts)
        x = hidden_states[order // top_k_index.shape[1]].half()
        gate, up = self.gate_up(x, counts).chunk(2, dim=-1)
        return mixed(self.down(self.act_fn(gate) * up, counts), hidden_states, order, top_k_index, top_k_weights, self.gate_up.experts)


def counts_and_order(top_k_index: torch.Tensor, experts: int) -> tuple[torch.Tensor, torch.Tensor]:
    """How many rows each expert has, and the order of experts of pairs of row and expert; those without an expert are the last."""
    chosen = top_k_index.reshape(-1)
    counts = torch.zeros(experts + 1, dtype=torch.int64, device=chosen.device)
    counts = counts.scatter_add(0, chosen.clamp(0, experts), torch.ones_like(chosen))[:-1]
    return counts, torch.argsort(chosen, stable=True)


def mixed(y: torch.Tensor, hidden_states: torch.Tensor, order: torch.Tensor, top_k_index: torch.Tensor, top_k_weights: torch.Tensor,
          experts: int) -> torch.Tensor:
    """The sum of the experts' results of each row, times their weights."""
    kept = (top_k_index.reshape(-1)[order] < experts)[:, None]  # others have no expert
    y = torch.where(kept, y.float() * top_k_weights.reshape(-1)[order, None].float(), 0.0)
    out = torch.zeros(hidden_states.shape, dtype=torch.float32, device=y.device)
    return out.index_add(0, order // top_k_index.shape[1], y).to(hidden_states.dtype)


def are_experts(module: torch.nn.Module) -> bool:
    """Whether a module is what QuantizedExperts replaces: two stacks of matrices, without biases, and one activation."""
    own = dict(module.named_parameters(recurse=False))
    return set(own) == {"gate_up_proj", "down_proj"} and all(p.ndim == 3 for p in own.values()) and hasattr(module, "act_fn") and \
        own["gate_up_proj"].shape[1] == 2 * own["down_proj"].shape[2] and own["gate_up_proj"].shape[2] == own["down_proj"].shape[1]
