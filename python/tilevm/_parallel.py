"""Linear layers of several GPUs over torch.distributed: each rank has its columns or rows of a quantised weight.

    up = ColumnParallel(part_of_up)                 # y has the rank's outputs
    down = RowParallel(part_of_down, chunks=2)      # y is the sum over ranks

The parts are layers of QuantizedLinear or PackedLinear, made of what tilevm.checkpoints.shard gives. Sums of ranks are those of
the backend, NCCL's on GPUs: of numbers of the layer's type, in its order.
"""

from __future__ import annotations

from typing import Any, Optional

import torch
import torch.distributed
import torch.distributed._functional_collectives as collectives

from ._errors import UsageError


class _Copied(torch.autograd.Function):
    """x for layers of columns: its gradient is the sum over ranks."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, group: Any) -> torch.Tensor:
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:  # type: ignore[override]
        return _waited(collectives.all_reduce(grad.contiguous(), "sum", ctx.group)), None


class _Added(torch.autograd.Function):
    """The sum over ranks; each rank's gradient is that of the sum."""

    @staticmethod
    def forward(ctx: Any, y: torch.Tensor, group: Any) -> torch.Tensor:
        return _waited(collectives.all_reduce(y.contiguous(), "sum", group))

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:  # type: ignore[override]
        return grad, None


# Its name before torch 2.15.
_gathered = getattr(collectives, "all_gather_single", None) or collectives.all_gather_tensor


def _waited(y: torch.Tensor) -> torch.Tensor:
    wait = getattr(y, "wait", None)
    return y if wait is None else wait()


def _group_of(group: Optional[Any]) -> Any:
    if not torch.distributed.is_initialized():
        raise UsageError("torch.distributed is not initialised; call torch.distributed.init_process_group first")
    return group if group is not None else torch.distributed.group.WORLD


class ColumnParallel(torch.nn.Module):
    """y = x W^T for the rank's outputs; with `gather` all outputs, in the order of ranks. `layer` has the rank's columns, and
    its part of the bias.

    UsageError: torch.distributed is not initialised.
    """

    def __init__(self, layer: torch.nn.Module, gather: bool = False, group: Optional[Any] = None) -> None:
        super().__init__()
        self.layer, self.gather, self.group = layer, gather, _group_of(group)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.requires_grad and torch.is_grad_enabled():
            x = _Copied.apply(x, self.group)  # type: ignore[no-untyped-call]
        y: torch.Tensor = self.layer(x)
        if not self.gather:
            return y
        if y.requires_grad:
            raise UsageError("gathered outputs have no gradient; leave them in ranks, or call this within torch.no_grad()")
        sizes = torch.tensor([y.shape[-1]], device=y.device)
        widths = _waited(_gathered(sizes, 0, self.group)).tolist()
        if len(set(widths)) == 1:
            return _waited(_gathered(y.contiguous(), y.ndim - 1, self.group))
        wide = torch.nn.functional.pad(y, (0, max(widths) - y.shape[-1])).contiguous()
        every = _waited(_gathered(wide, 0, self.group)).chunk(len(widths), 0) if y.ndim > 1 else \
            _waited(_gathered(wide[None], 0, self.group)).unbind(0)
        return torch.cat([part[..., :width] for part, width in zip(every, widths)], dim=-1)


class RowParallel(torch.nn.Module):
    """The sum over ranks of x W^T, x the rank's inputs; `layers` are one layer of the rank's rows, or several, each of some
    outputs: the sum of one goes over the network while the next one is computed. `bias` is added once, after the sum.

    UsageError: torch.distributed is not initialised, a layer has a bias of its own.
    """

    def __init__(self, layers: Any, bias: Optional[torch.Tensor] = None, group: Optional[Any] = None) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(layers if isinstance(layers, (list, tuple)) else [layers])
        self.group = _group_of(group)
        if not len(self.layers) or any(getattr(each, "bias", None) is not None for each in self.layers):
            raise UsageError("each rank would add the bias of its layer; pass it as bias=, and layers without")
        self.bias = None if bias is None else torch.nn.Parameter(bias, requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # A sum that is on its way is waited for where it is used, after all products were begun; one with a gradient at once.
        wanted = x.requires_grad and torch.is_grad_enabled()
        parts = [_Added.apply(layer(x), self.group) if wanted else  # type: ignore[no-untyped-call]
                 collectives.all_reduce(layer(x).contiguous(), "sum", self.group) for layer in self.layers]
        if wanted:
            return self._biased(parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1))
        y = _waited(parts[0]) if len(parts) == 1 else torch.cat([_waited(part) for part in parts], dim=-1)
        return self._biased(y)

    def _biased(self, y: torch.Tensor) -> torch.Tensor:
        return y if self.bias is None else y + self.bias.to(y.dtype)


def parallel_layer(weight: Any, kind: str, bias: Optional[torch.Tensor] = None, rank: Optional[int] = None, world: Optional[int] = None,
                   chunks: int = 1, group: Optional[Any] = None, **options: Any) -> torch.nn.Module:
    """The layer of this rank for a whole PackedWeight: "columns" or "rows" of it, which are cut here; `bias` is the whole
    one. `chunks`: how many parts of a sum follow one another. `options` are those of QuantizedLinear.

    CheckpointError: the weight cannot be cut so.
    """
    from ._packed_linear import layer_of
    from .checkpoints import shard
    from .checkpoints._shard import column_step, range_of

    own = _group_of(group)
    rank = torch.distributed.get_rank(own) if rank is None else rank
    world = torch.distributed.get_world_size(own) if world is None else world
    part = shard(weight, rank, world, kind)
    if kind == "columns":
        if bias is not None:
            begin, end = range_of(weight.outputs, rank, world, column_step(weight.outputs, world))
            bias = bias[begin:end]
        return ColumnParallel(layer_of(part, bias, **options), group=own)
    parts = [part] if chunks < 2 else [shard(part, i, chunks, "columns") for i in range(chunks)]
    return RowParallel([layer_of(each, None, **options) for each in parts], bias, own)
