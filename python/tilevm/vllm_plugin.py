"""vLLM's quantisation method "tilevm": folders that pack_checkpoint wrote, served with tilevm's layers.

vLLM calls register() of its own accord, by the entry point `vllm.general_plugins` of this package. A folder's config.json names
the method, so that `LLM("Llama-packed")` needs no option. docs/guides/checkpoints.md says what was run.
"""

from __future__ import annotations

from typing import Any, Optional

import torch

from ._errors import UsageError

_registered = False


def parts_of(prefix: str, fused: dict[str, list[str]]) -> list[str]:
    """The modules of a folder that a layer of vLLM has: its own, or those that it fuses, as q, k and v."""
    parent, _, last = prefix.rpartition(".")
    return [f"{parent}.{each}" if parent else each for each in fused.get(last, [last])]


class Loaded:
    """What vLLM has loaded of a layer: by part, the tensors of a packed folder."""

    def __init__(self, names: list[str], facts: dict[str, Any]) -> None:
        self.names, self.facts = names, facts
        self.tensors: dict[str, dict[str, torch.Tensor]] = {name: {} for name in names}

    def part(self, shard_id: Any) -> str:
        """By vLLM's id: None, a number, or "q", "k", "v". UsageError: it is none."""
        index = {None: 0, "q": 0, "k": 1, "v": 2}.get(shard_id, shard_id)
        if type(index) is not int or not 0 <= index < len(self.names):
            raise UsageError(f"a shard {shard_id!r} of {self.names}")
        return self.names[index]

    def loader(self, key: str) -> Any:
        """The weight_loader of a parameter."""
        def load(param: torch.nn.Parameter, loaded: torch.Tensor, shard_id: Any = None) -> None:
            self.tensors[self.part(shard_id)][key] = loaded.detach().cpu().clone()
        return load

    def keys(self) -> list[str]:
        """The tensors of all parts."""
        return sorted({key for name in self.names for key in self.facts[name]["tensors"]})

    def weight(self, name: str) -> Any:
        """A part as a PackedWeight. UsageError: a tensor was not loaded; CheckpointError: they do not fit."""
        from ._packed_linear import _array, _checked_tensors
        from .checkpoints import PackedWeight
        from .checkpoints._scheme import checked_facts

        own = checked_facts(self.facts[name], name)
        wanted = _checked_tensors(own, name)
        missing = [key for key in wanted if key not in self.tensors[name]]
        if missing:
            raise UsageError(f"the folder's `{name}.{missing[0]}` was not loaded")
        arrays = {key: _array(self.tensors[name][key]) for key in wanted}
        weight = PackedWeight(name, own["format"], own["type"], own["inputs"], own["outputs"], own["group"], own["dtype"],
                              arrays.pop("weight_q"), arrays, own["form"], own["flat"], {k: v[0] for k, v in wanted.items()}, own["notes"])
        weight.check()
        return weight


def make_weights(layer: torch.nn.Module, loaded: Loaded, attributes: dict[str, Any]) -> None:
    """Parameters of no elements, whose loaders keep what they are given."""
    for key in loaded.keys():
        parameter = torch.nn.Parameter(torch.empty(0), requires_grad=False)
        for name, value in {**attributes, "weight_loader": loaded.loader(key)}.items():
            setattr(parameter, name, value)
        layer.register_parameter(key, parameter)


def make_layers(layer: torch.nn.Module, loaded: Loaded, inputs: tuple[int, int], outputs: list[int], device: Any) -> list[torch.nn.Module]:
    """tilevm's layers of this rank, one for each part. `inputs`: of the rank and of all; `outputs`: of the rank, of each part.
    UsageError: the rank's sizes are none of an even cut."""
    from ._packed_linear import layer_of
    from .checkpoints import shard

    rank, world = int(getattr(layer, "tp_rank", 0)), int(getattr(layer, "tp_size", 1))
    made = []
    for name, count in zip(loaded.names, outputs):
        weight = loaded.weight(name)
        if inputs[0] != inputs[1]:
            weight = shard(weight, rank, world, "rows")
        elif weight.outputs != count:
            weight = shard(weight, rank, world, "columns")
        if weight.shape != (count, inputs[0]):
            raise UsageError(f"`{name}` is {list(weight.shape)} on rank {rank} of {world}; vLLM asks for {[count, inputs[0]]}")
        made.append(layer_of(weight, None, device))
    for key in loaded.keys():
        delattr(layer, key)
    return made


def product(layers: Any, x: torch.Tensor, bias: Optional[torch.Tensor]) -> torch.Tensor:
    """y of all parts side by side, in the type of x."""
    from .nn import QuantizedLinear

    parts = [each(x.half() if isinstance(each, QuantizedLinear) else x).to(x.dtype) for each in layers]
    y = parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)
    return y if bias is None else y + bias


def register() -> None:
    """Adds the method to vLLM; once in a process, again without effect. ImportError: vLLM is not installed."""
    global _registered
    if _registered:
        return
    from vllm.model_executor.layers.linear import LinearBase, LinearMethodBase
    from vllm.model_executor.layers.quantization import register_quantization_config
    from vllm.model_executor.layers.quantization.base_config import QuantizationConfig

    class TilevmLinearMethod(LinearMethodBase):  # type: ignore[misc, unused-ignore]
        """One linear layer of vLLM."""

        def __init__(self, loaded: Loaded) -> None:
            self.loaded = loaded

        def create_weights(self, layer: torch.nn.Module, input_size_per_partition: int, output_partition_sizes: list[int], input_size: int,
                           output_size: int, params_dtype: torch.dtype, **extra_weight_attrs: Any) -> None:
            attributes = {k: v for k, v in extra_weight_attrs.items() if k != "weight_loader"}
            self.inputs, self.outputs = (input_size_per_partition, input_size), list(output_partition_sizes)
            make_weights(layer, self.loaded, attributes)

        def process_weights_after_loading(self, layer: torch.nn.Module) -> None:
            device = torch.get_default_device() if not torch.cuda.is_available() else torch.device("cuda", torch.cuda.current_device())
            layer.tilevm_layers = torch.nn.ModuleList(make_layers(layer, self.loaded, self.inputs, self.outputs, device))
            self.loaded.tensors.clear()

        def apply(self, layer: torch.nn.Module, x: torch.Tensor, bias: Optional[torch.Tensor] = None) -> torch.Tensor:
            return product(layer.tilevm_layers, x, bias)

    @register_quantization_config("tilevm")
    class TilevmConfig(QuantizationConfig):  # type: ignore[misc, unused-ignore]
        """`quantization_config` of a folder that pack_checkpoint wrote."""

        def __init__(self, modules: dict[str, Any]) -> None:
            super().__init__()
            self.modules = modules

        def get_name(self) -> str:
            return "tilevm"

        def get_supported_act_dtypes(self) -> list[torch.dtype]:
            return [torch.float16, torch.bfloat16]

        @classmethod
        def get_min_capability(cls) -> int:
            return 80

        @staticmethod
        def get_config_filenames() -> list[str]:
            return []

        @classmethod
        def from_config(cls, config: dict[str, Any]) -> Any:
            modules = config.get("modules")
            if not isinstance(modules, dict):
                raise UsageError("`quantization_config` has no `modules`; pack the folder again with tilevm.pack_checkpoint")
            return cls(modules)

        def get_quant_method(self, layer: torch.nn.Module, prefix: str) -> Any:
            if not isinstance(layer, LinearBase):
                return None
            names = parts_of(prefix, self.packed_modules_mapping)
            known = [name for name in names if name in self.modules]
            if not known:
                from vllm.model_executor.layers.linear import UnquantizedLinearMethod

                return UnquantizedLinearMethod()
            if len(known) != len(names):
                raise UsageError(f"of `{prefix}` only {known} are quantised; vLLM has them as one layer")
            return TilevmLinearMethod(Loaded(names, self.modules))

    _registered = True
