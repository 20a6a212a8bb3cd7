"""The experts of a mixture over weights of a checkpoint, whatever its format: rows in the order of experts, one operator for each
projection, so that torch.compile traces what depends on counts of rows.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple, Optional

import torch

from ._errors import UsageError
from ._experts import counts_and_order, mixed
from ._operator import _run as _product
from ._packed_linear import PackedLinear
from ._packed_linear import _run as _dequantized

# A checkpoint has a weight for each expert; names of gate, up and down in Qwen, DeepSeek and GLM, and in Mixtral.
NAME = re.compile(r"(.*\.experts)\.(\d+)\.(gate_proj|up_proj|down_proj|w1|w2|w3)")
PARTS = {"gate_proj": "gate_proj", "up_proj": "up_proj", "down_proj": "down_proj", "w1": "gate_proj", "w3": "up_proj", "w2": "down_proj"}
BUFFERS = ("weight_q", "scale_f32", "zero_f32", "low_f32", "table_f32", "order", "tiles", "scales", "numbers")
_registered: Any = None


class Place(NamedTuple):
    """Where an expert's weight belongs: the name of the experts' module, the expert, its projection, and the checkpoint's name of that."""

    module: str
    expert: int
    part: str
    name: str


def place_of(name: str) -> Optional[Place]:
    """The place of a weight of a checkpoint; None: it is none of an expert."""
    found = NAME.fullmatch(name)
    return Place(found[1], int(found[2]), PARTS[found[3]], found[3]) if found else None


def _weight_of(tensors: list[torch.Tensor], own: dict[str, Any], like: torch.Tensor) -> torch.Tensor:
    """An expert's weight, [inputs, outputs] of the type of `like`, in the order of its codes."""
    if own["whole"]:
        return tensors[0].T.to(like.dtype)
    codes, scale, zero, low, table = tensors[:5]
    return _dequantized(codes, scale, zero, low, table, json.dumps(own["facts"]), like)


def _grouped(x: torch.Tensor, counts: torch.Tensor, tensors: list[torch.Tensor], facts: str) -> torch.Tensor:
    """Rows of x by the weights of their experts: the first counts[0] by those of expert 0, and so on."""
    own = json.loads(facts)
    out = x.new_zeros((x.shape[0], own["outputs"]))  # rows without an expert are the last
    begin = 0
    for expert, count in enumerate(counts.tolist()):
        if count:
            part = tensors[expert * len(BUFFERS):(expert + 1) * len(BUFFERS)]
            rows = x[begin:begin + count]
            if part[5].numel():
                rows = rows[:, part[5]]
            if own["plan"] and x.dtype is torch.float16 and count <= own["few"]:
                made = _product(rows, part[6], part[7], part[0], part[8], own["type"], own["group"], own["outputs"], own["plan"], -1, x.shape[1])
            else:
                made = torch.matmul(rows, _weight_of(part, own, x))
            out[begin:begin + count] = made
            begin += count
    return out


def _grouped_gradient(grad: torch.Tensor, counts: torch.Tensor, tensors: list[torch.Tensor], facts: str) -> torch.Tensor:
    own = json.loads(facts)
    out = grad.new_zeros((grad.shape[0], own["inputs"]))
    begin = 0
    for expert, count in enumerate(counts.tolist()):
        if count:
            part = tensors[expert * len(BUFFERS):(expert + 1) * len(BUFFERS)]
            rows = torch.matmul(grad[begin:begin + count], _weight_of(part, own, grad).T)
            out[begin:begin + count] = rows if not part[5].numel() else torch.empty_like(rows).index_copy_(1, part[5], rows)
            begin += count
    return out


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    _, counts, tensors, facts = inputs
    ctx.save_for_backward(counts, *tensors)
    ctx.facts = facts


def _gradient(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:
    counts, *tensors = ctx.saved_tensors
    return torch.ops.tilevm.packed_experts_gradient(grad, counts, tensors, ctx.facts), None, [None] * len(tensors), None


def register() -> None:
    """Once, when this module is imported: the operators of experts."""
    global _registered
    if _registered is not None:
        return
    library: Any = torch.library.Library("tilevm", "FRAGMENT")  # type: ignore[no-untyped-call]
    for name, implementation, width in (("packed_experts", _grouped, "outputs"), ("packed_experts_gradient", _grouped_gradient, "inputs")):
        library.define(f"{name}(Tensor x, Tensor counts, Tensor[] tensors, str facts) -> Tensor")
        for device in ("CPU", "CUDA"):
            library.impl(name, lambda x, *others, run=implementation: run(x.detach(), *others), device)
        torch.library.register_fake(f"tilevm::{name}", lambda x, counts, tensors, facts, width=width:
                                    x.new_empty((x.shape[0], json.loads(facts)[width])), lib=library)
    torch.library.register_autograd("tilevm::packed_experts", _gradient, setup_context=_keep, lib=library)
    _registered = library


register()


class PackedExperts(torch.nn.Module):
    """The experts of a block of transformers, made of the weights that a checkpoint has for each of them: their forward, with rows in the
    order of experts. The state dict has the names of the checkpoint, `3.gate_proj.weight_q` or `3.w1.weight_q`."""

    def __init__(self, experts: Any) -> None:
        """`experts`: the module that is replaced, whose activation and sizes count."""
        super().__init__()
        self.count = int(experts.gate_up_proj.shape[0])
        for expert in range(self.count):
            self.add_module(str(expert), torch.nn.Module())  # its projections, which are called for all experts at once
        width, size = experts.down_proj.shape[2], experts.down_proj.shape[1]
        self.shapes = {"gate_proj": (width, size), "up_proj": (width, size), "down_proj": (size, width)}
        self.names = {part: part for part in self.shapes}
        self.act_fn = experts.act_fn
        self._facts: dict[str, str] = {}

    def expert(self, number: int) -> torch.nn.Module:
        """The projections of an expert."""
        return self.get_submodule(str(number))

    def put(self, place: Place, layer: PackedLinear) -> None:
        """Takes an expert's layer. UsageError: there is no such expert, or the layer has another size."""
        name = f"{place.module}.{place.expert}.{place.name}"
        if place.expert >= self.count:
            raise UsageError(f"the checkpoint has `{name}`, and the model has {self.count} experts there")
        shape = (layer.out_features, layer.in_features)
        if shape != self.shapes[place.part]:
            raise UsageError(f"`{name}` is {list(shape)} in the checkpoint and {list(self.shapes[place.part])} in the model")
        self.names[place.part] = place.name
        setattr(self.expert(place.expert), place.name, layer)

    def check(self, name: str) -> None:
        """After all layers were put. UsageError: a weight is missing, or experts have weights of different forms."""
        for part in self.shapes:
            first = ""
            for i in range(self.count):
                layer: Optional[PackedLinear] = getattr(self.expert(i), self.names[part], None)
                if layer is None:
                    raise UsageError(f"the checkpoint has no `{name}.{i}.{self.names[part]}`")
                first = first or _facts_of(layer)
                if _facts_of(layer) != first:
                    raise UsageError(f"`{name}.{i}.{self.names[part]}` has another format than that of expert 0")
            self._facts[part] = first

    def _product(self, part: str, x: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        layers = [getattr(self.expert(i), self.names[part]) for i in range(self.count)]
        tensors = [tensor for layer in layers for tensor in _tensors_of(layer)]
        y: torch.Tensor = torch.ops.tilevm.packed_experts(x, counts, tensors, self._facts[part])
        return y

    def forward(self, hidden_states: torch.Tensor, top_k_index: torch.Tensor, top_k_weights: torch.Tensor) -> torch.Tensor:
        counts, order = counts_and_order(top_k_index, self.count)
        x = hidden_states[order // top_k_index.shape[1]]
        hidden = self.act_fn(self._product("gate_proj", x, counts)) * self._product("up_proj", x, counts)
        return mixed(self._product("down_proj", hidden, counts), hidden_states, order, top_k_index, top_k_weights, self.count)


def _tensors_of(layer: PackedLinear) -> list[torch.Tensor]:
    """A layer's tensors in the order of BUFFERS; empty ones where it has none."""
    if layer._plain:
        return [layer.whole, *[layer.whole.new_empty(0)] * (len(BUFFERS) - 1)]
    found = [getattr(layer, name, None) for name in BUFFERS]
    return [layer.weight_q.new_empty(0) if each is None else each for each in found]


def _facts_of(layer: PackedLinear) -> str:
    """What the operator needs of a layer besides its tensors, as JSON."""
    weight = layer._weight
    return json.dumps({"inputs": layer.in_features, "outputs": layer.out_features, "whole": layer._plain, "type": weight.type,
                       "group": weight.group, "facts": None if layer._plain else json.loads(layer._facts),
                       "plan": "" if layer._plain else layer._plan, "few": layer.few_rows})
