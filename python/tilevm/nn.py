"""Layers for torch: linear layers whose weights have 1 to 8 bits. Importing this needs torch.

    layer = tilevm.nn.QuantizedLinear.from_linear(linear, "u4", group=64)
    y = layer(x)                # x of float16, on the CPU or a GPU
"""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

import numpy
import torch

from ._errors import UsageError
from ._host import dtype_of, is_packed
from ._operator import bits_of, kernel_of, register, values_of
from ._packing import pack_codes, unpack_codes

register()


def tuned_file() -> pathlib.Path:
    """Where tuned constants are looked up: $TILEVM_TUNED, else tilevm/tuned.json in the user's folder of settings."""
    named = os.environ.get("TILEVM_TUNED")
    settings = os.environ.get("XDG_CONFIG_HOME") or pathlib.Path.home() / ".config"
    return pathlib.Path(named) if named else pathlib.Path(settings) / "tilevm" / "tuned.json"


def tuned_constants(device: str, type: str, in_features: int, out_features: int) -> dict[str, Any]:
    """Constants of the program for a device by its name, a type and a shape, from the file; else none.

    The file is a list of objects with device, type, in_features, out_features and constants. UsageError: it is none.
    """
    file = tuned_file()
    if not file.is_file():
        return {}
    try:
        for each in json.loads(file.read_text()):
            key = (each["device"], each["type"], each["in_features"], each["out_features"])
            if key == (device, type, in_features, out_features):
                return dict(each["constants"])
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{file} is no list of tuned constants ({error!r}); correct or remove it") from None
    return {}


class QuantizedLinear(torch.nn.Module):
    """y = x (scale * (q - zero))^T + bias for inference, in float16: `q` has `type`, u1..u8, i1..i8, b1..b8 or a float
    of 3 to 8 bits, and a scale is shared by `group` weights of an output.

    A state dict has `weight_q`, the packed codes of q as [in_features, out_features], `scale` of [groups, out_features],
    and `bias`: plain tensors, which safetensors stores. The order in which the kernel reads the codes is made of them
    when they are loaded. `constants` are those of programs/matmul_quantized_pipelined.tile; by default what
    tuned_constants() has for the current GPU.
    """

    weight_q: torch.Tensor
    scale: torch.Tensor
    tiles: torch.Tensor

    def __init__(self, in_features: int, out_features: int, type: str = "u4", group: int = 64, bias: bool = True,
                 constants: dict[str, Any] | None = None) -> None:
        super().__init__()
        if min(in_features, out_features) < 1 or group < 32 or group % 32 != 0:
            raise UsageError(f"a layer of {in_features} x {out_features} with groups of {group} cannot be; features are "
                             "at least 1, groups multiples of 32")
        self.in_features, self.out_features, self.weight_type, self.group = in_features, out_features, type, group
        if constants is None:
            name = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
            constants = tuned_constants(name, type, in_features, out_features)
        self._constants = json.dumps(constants)
        count = (in_features * out_features * bits_of(type) + 7) // 8
        groups = (in_features + group - 1) // group
        self.register_buffer("weight_q", torch.zeros(count, dtype=torch.uint8))
        self.register_buffer("scale", torch.ones((groups, out_features), dtype=torch.float16))
        made = self._kernel("transform_q").parameters[1]
        self.register_buffer("tiles", torch.zeros(made.shape, dtype=torch.uint8), persistent=False)
        self.bias = torch.nn.Parameter(torch.zeros(out_features, dtype=torch.float16), requires_grad=False) if bias else None
        self.register_load_state_dict_post_hook(  # type: ignore[no-untyped-call]
            lambda module, _: module.order_weights())

    def _kernel(self, entry: str) -> Any:
        return kernel_of(entry, 1, self.out_features, self.in_features, self.weight_type, self.group, self._constants)

    @classmethod
    def from_linear(cls, linear: torch.nn.Linear, type: str = "u4", group: int = 64,
                    constants: dict[str, Any] | None = None) -> QuantizedLinear:
        """Rounds the weights of a layer: the largest of a group decides its scale, each takes the nearest value."""
        layer = cls(linear.in_features, linear.out_features, type, group, linear.bias is not None, constants)
        weight = linear.weight.detach().float().cpu().numpy().T  # [in, out]
        codes, scale = quantize(weight, type, group)
        layer.weight_q.copy_(torch.from_numpy(pack_codes(codes.reshape(-1), bits_of(type))))
        layer.scale.copy_(torch.from_numpy(scale))
        if linear.bias is not None and layer.bias is not None:
            layer.bias.data.copy_(linear.bias.detach())
        layer.order_weights()
        return layer.to(linear.weight.device)

    def order_weights(self) -> None:
        """Puts the codes into the order in which the kernel reads them; after `weight_q` was changed."""
        k = self._kernel("transform_q")
        q = self.weight_q.cpu().numpy()
        if not is_packed(self.weight_type):
            q = q.view(dtype_of(self.weight_type)).reshape(self.in_features, self.out_features)
        self.tiles.copy_(torch.from_numpy(k(q, checks="none")))

    def dequantized(self) -> torch.Tensor:
        """The weights that the layer multiplies by, as [out_features, in_features] of float32."""
        count = self.in_features * self.out_features
        codes = unpack_codes(self.weight_q.cpu().numpy(), bits_of(self.weight_type), count)
        values = values_of(self.weight_type)[codes].reshape(self.in_features, self.out_features).astype("float16")
        scale = self.scale.cpu().numpy().repeat(self.group, axis=0)[:self.in_features]
        return torch.from_numpy((values * scale).astype("float32").T.copy())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = torch.ops.tilevm.quantized_linear(x, self.tiles, self.scale, self.weight_type, self.group,
                                                            self.out_features, self._constants)
        return y if self.bias is None else y + self.bias

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}, type={self.weight_type}, group={self.group}, " \
               f"bias={self.bias is not None}"


def quantize(weight: Any, type: str, group: int) -> tuple[Any, Any]:
    """Codes and float16 scales of a matrix [in, out]: groups along the first dimension, each value the nearest one."""
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
        scale[g] = numpy.where(largest > 0, numpy.maximum(largest / most, 2.0 ** -24), 1)
        wanted = part / scale[g].astype("float32")
        above = numpy.clip(numpy.searchsorted(ordered, wanted), 1, len(ordered) - 1)
        nearer = above - (wanted - ordered[above - 1] < ordered[above] - wanted)
        codes[g * group:(g + 1) * group] = order[nearer]
    return codes, scale
