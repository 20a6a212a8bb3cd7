"""Models whose linear layers are replaced by layers of quantised weights."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, Optional, Union

import torch

from ._errors import UsageError
from ._experts import QuantizedExperts, are_experts


class Recipe(NamedTuple):
    """How the weights of a model are rounded: `type` and `group` of QuantizedLinear; `rules`, patterns of modules' names with
    a type and group of their own, or None to keep the layer, of which the first that is found counts; `skip`, patterns of
    layers that are kept. Patterns are regular expressions that `re.search` finds."""

    type: str = "u4"
    group: int = 64
    rules: tuple[tuple[str, Optional[tuple[str, int]]], ...] = ()
    skip: tuple[str, ...] = (r"(^|\.)lm_head$", r"(^|\.)embed_out$")

    def of(self, name: str) -> Optional[tuple[str, int]]:
        """The type and group of a module; None: it is kept."""
        for pattern, found in self.rules:
            if re.search(pattern, name):
                return found
        return None if any(re.search(pattern, name) for pattern in self.skip) else (self.type, self.group)


class HalfLinear(torch.nn.Module):
    """A layer of float16 within a model of another type: x is rounded to float16, and y has the type of x, or under
    torch.autocast autocast's. x beyond 65504 becomes infinite."""

    def __init__(self, layer: torch.nn.Module) -> None:
        super().__init__()
        self.layer = layer

    @property
    def in_features(self) -> int:
        return int(self.layer.in_features)  # type: ignore[arg-type]

    @property
    def out_features(self) -> int:
        return int(self.layer.out_features)  # type: ignore[arg-type]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kind = x.device.type
        wanted = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype
        with torch.autocast(kind, enabled=False):
            y: torch.Tensor = self.layer(x.half())
        return y.to(wanted)


def replace(model: torch.nn.Module, name: str, module: torch.nn.Module) -> None:
    """Puts a module in the place of another one."""
    parent, _, last = name.rpartition(".")
    setattr(model.get_submodule(parent), last, module)


def convert(model: torch.nn.Module, recipe: Union[Recipe, str] = Recipe(), **options: Any) -> torch.nn.Module:
    """Replaces the linear layers of a model, in place, and the experts of mixtures of transformers; returns the model.

    recipe: a Recipe, or the name of a type. options: others of QuantizedLinear. UsageError: nothing was replaced, or a
    weight that float16 does not hold; layers before it are replaced then.
    """
    from .nn import QuantizedLinear

    recipe = Recipe(recipe) if isinstance(recipe, str) else recipe
    found = [(name, module) for name, module in model.named_modules() if type(module) is torch.nn.Linear or are_experts(module)]
    count = 0
    for name, module in found:
        chosen = recipe.of(name)
        if chosen is None or not name:
            continue
        try:
            made = HalfLinear(QuantizedLinear.from_linear(module, *chosen, **options)) if isinstance(module, torch.nn.Linear) else \
                QuantizedExperts(module, *chosen, **options)
        except UsageError as error:
            raise UsageError(f"`{name}`: {error}") from None
        replace(model, name, made)
        count += 1
    if not count:
        raise UsageError("no linear layer of the model is one that the recipe quantises")
    return model
