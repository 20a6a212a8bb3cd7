"""transformers: models from folders whose weights others quantised, and an entry for its `from_pretrained`.

`register()` adds the method "tilevm" to transformers' quantizers, so that AutoModel*.from_pretrained loads the folders that
pack_checkpoint writes; from_pretrained of this module loads those and the original ones.
"""

from __future__ import annotations

import pathlib
from typing import Any, Callable, Optional

import torch

from ._convert import HalfLinear, replace
from ._errors import UsageError
from ._experts import are_experts
from ._packed_experts import PackedExperts, place_of
from ._packed_linear import PackedLinear, layer_of
from .checkpoints import Checkpoint, PackedWeight, load_checkpoint

_registered = False
TORCH = {"F16": torch.float16, "BF16": torch.bfloat16, "F32": torch.float32, "F64": torch.float64, "I64": torch.int64, "I32": torch.int32,
         "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2, "U8": torch.uint8, "I8": torch.int8}


def _tensor(checkpoint: Checkpoint, name: str) -> torch.Tensor:
    entry = checkpoint.entry(name)
    made = torch.from_numpy(checkpoint.tensor(name))
    wanted = TORCH.get(entry.type)
    return made if wanted is None or made.dtype == wanted else made.view(wanted)


def put_layers(model: torch.nn.Module, checkpoint: Checkpoint, plain: bool = False) -> list[str]:
    """Replaces the linear layers that a checkpoint has quantised weights of; returns their names. `plain`: all become
    PackedLinear. UsageError: a module of the checkpoint is none of the model, or of another size."""
    names = []
    mixtures: dict[str, PackedExperts] = {}
    own = names_of(model)
    for weight in checkpoint:
        try:
            linear = model.get_submodule(own(weight.name))
        except AttributeError:
            name = _put_expert(model, weight, own, mixtures)
            names += [name] if name not in names else []
            continue
        shape = (getattr(linear, "out_features", None), getattr(linear, "in_features", None))
        if shape != weight.shape:
            raise UsageError(f"`{weight.name}` is {list(weight.shape)} in the checkpoint and {list(shape)} in the model")
        key = f"{weight.name}.bias"
        bias = _tensor(checkpoint, key) if key in checkpoint.tensors else None
        made = PackedLinear(weight, bias) if plain else layer_of(weight, bias)
        replace(model, own(weight.name), made if isinstance(made, PackedLinear) else HalfLinear(made))
        names.append(own(weight.name))
    for name, experts in mixtures.items():
        experts.check(name)
    return names


def names_of(model: torch.nn.Module) -> Callable[[str], str]:
    """What makes a checkpoint's name the model's: transformers 5 has renamed Mixtral's blocks."""
    if any("block_sparse_moe" in name for name, _ in model.named_modules()):
        return lambda name: name
    return lambda name: name.replace(".block_sparse_moe.", ".mlp.")


def _put_expert(model: torch.nn.Module, weight: PackedWeight, own: Callable[[str], str], mixtures: dict[str, PackedExperts]) -> str:
    """Puts an expert's layer where the model has all experts in one module; returns the module's name. UsageError: the model does not
    have it."""
    place = place_of(weight.name)
    name = own(place.module) if place else ""
    try:
        experts: Any = model.get_submodule(name) if name else None
    except AttributeError:
        experts = None
    if place is None or not (isinstance(experts, PackedExperts) or (experts is not None and are_experts(experts))):
        raise UsageError(f"the checkpoint has `{weight.name}`, which the model does not have")
    if name not in mixtures:
        mixtures[name] = experts if isinstance(experts, PackedExperts) else PackedExperts(experts)
        replace(model, name, mixtures[name])
    mixtures[name].put(place, PackedLinear(weight))
    return name


def from_pretrained(folder: Any, dtype: Optional[torch.dtype] = None, model: Optional[torch.nn.Module] = None,
                    plain: bool = False) -> torch.nn.Module:
    """A model of transformers from a folder whose weights are quantised: GPTQ, AWQ, compressed-tensors, fp8, bitsandbytes,
    or what pack_checkpoint wrote. Nothing is downloaded.

    dtype: that of all other parameters; by default the config's, else float16. model: one to fill, instead of that which
    AutoModelForCausalLM makes of config.json. plain: every layer multiplies by the format's own weight, dequantized at each
    call. UsageError: the folder and the model do not fit; CheckpointError: a file is bad.
    """
    with load_checkpoint(folder) as checkpoint:
        if model is None:
            model = _skeleton(pathlib.Path(folder), checkpoint, dtype)
        if dtype is not None:
            model = model.to(dtype)
        quantised = put_layers(model, checkpoint, plain)
        named = names_of(model)
        own = {named(name): name for name in checkpoint.tensors if not name.endswith(".bias") or named(name.rpartition(".")[0]) not in quantised}
        missing = _fill(model, checkpoint, own, quantised)
    if missing:
        raise UsageError(f"the folder has no `{missing[0]}`" + (f" and {len(missing) - 1} more of the model" if missing[1:] else ""))
    tie: Any = getattr(model, "tie_weights", None)
    if tie is not None:
        tie()
    return model.eval()


def _skeleton(folder: pathlib.Path, checkpoint: Checkpoint, dtype: Optional[torch.dtype]) -> Any:
    from transformers import AutoConfig, AutoModelForCausalLM

    about = {k: v for k, v in checkpoint.config.items() if k not in ("quantization_config", "compression_config")}
    if "model_type" not in about:
        raise UsageError(f"{folder.name} has no config.json with `model_type`; pass model=")
    config = AutoConfig.for_model(**about)
    kind = dtype or getattr(config, "dtype", None) or torch.float16
    return AutoModelForCausalLM.from_config(config, dtype=kind)


def _fill(model: torch.nn.Module, checkpoint: Checkpoint, names: dict[str, str], quantised: list[str]) -> list[str]:
    """Copies all other tensors, which the checkpoint has by `names` of the model's parameters; returns parameters that none is for."""
    tied = set(getattr(model, "all_tied_weights_keys", None) or ())
    missing = []
    for name, parameter in model.named_parameters():
        if any(name.startswith(each + ".") for each in quantised):
            continue
        if name not in names:
            if name not in tied:
                missing.append(name)
            continue
        tensor = _tensor(checkpoint, names[name])
        if tensor.shape != parameter.shape:
            raise UsageError(f"`{name}` is {list(tensor.shape)} in the folder and {list(parameter.shape)} in the model")
        with torch.no_grad():
            parameter.copy_(tensor)
    return missing


def register() -> None:
    """Adds the method "tilevm" to transformers' quantizers; once, and again without effect. ImportError: there is no
    transformers of version 5."""
    global _registered
    if _registered:
        return
    from transformers.quantizers import HfQuantizer
    from transformers.quantizers.auto import register_quantization_config, register_quantizer
    from transformers.utils.quantization_config import QuantizationConfigMixin

    @register_quantization_config("tilevm")
    class TilevmConfig(QuantizationConfigMixin):  # type: ignore[misc, unused-ignore]
        """`quantization_config` of a folder that pack_checkpoint wrote."""

        def __init__(self, version: int = 1, source: str = "", modules: Optional[dict[str, Any]] = None, **_: Any) -> None:
            self.quant_method: Any = "tilevm"
            self.version, self.source, self.modules = version, source, modules or {}

        def to_dict(self) -> dict[str, Any]:
            return {"quant_method": "tilevm", "version": self.version, "source": self.source, "modules": self.modules}

    @register_quantizer("tilevm")
    class TilevmQuantizer(HfQuantizer):  # type: ignore[misc, unused-ignore]
        """Layers of tilevm take the place of the linear layers before the weights are loaded."""

        requires_calibration = True

        def _process_model_before_weight_loading(self, model: Any, **_: Any) -> Any:
            config: Any = self.quantization_config
            own = names_of(model)
            for name, facts in config.modules.items():
                place = place_of(name)
                experts: Any = model.get_submodule(own(place.module)) if place else None
                if place and (are_experts(experts) or isinstance(experts, PackedExperts)):
                    if not isinstance(experts, PackedExperts):
                        experts = PackedExperts(experts)
                        replace(model, own(place.module), experts)
                    experts.put(place, PackedLinear.skeleton(name, facts, False, model.config.dtype))
                    continue
                linear = model.get_submodule(own(name))
                replace(model, own(name), PackedLinear.skeleton(name, facts, linear.bias is not None, model.config.dtype))
            return model

        def _process_model_after_weight_loading(self, model: Any, **_: Any) -> Any:
            for module in model.modules():
                if isinstance(module, PackedLinear):
                    module.take_buffers()
            for name, module in model.named_modules():
                if isinstance(module, PackedExperts):
                    module.check(name)
            return model

        def is_serializable(self, *_: Any, **__: Any) -> bool:
            return True

        @property
        def is_trainable(self) -> bool:
            return True

        @property
        def is_compileable(self) -> bool:
            return True

    _registered = True


