#!/bin/sh
# AutoGPTQ 0.7.1: a zero point of 0, which asymmetric quantisation of weights that are all positive gives, is lost.
#
# Version 1 of the format stores a zero point less 1. qlinear_cuda.pack subtracts in unsigned words, so 0 becomes 0xffffffff, whose
# bits are ORed over all later fields of the word: the zero points of up to seven other outputs change. The reader adds 1
# without a mask, so that the output itself gets 16 instead of 0; qlinear_cuda_old masks, and gets 0. Fails if that changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-deps auto-gptq==0.7.1
"$folder/venv/bin/pip" install -q torch==2.15.0 transformers==5.24.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'EOF'
import importlib.util
import pathlib
import sys
import types

import torch

# The package's own __init__ needs an older transformers; its layers do not.
base = pathlib.Path(importlib.util.find_spec("auto_gptq").origin).parent
for name in ("auto_gptq", "auto_gptq.nn_modules", "auto_gptq.nn_modules.qlinear"):
    module = types.ModuleType(name)
    module.__path__ = [str(base.joinpath(*name.split(".")[1:]))]
    sys.modules[name] = module
from auto_gptq.nn_modules.qlinear.qlinear_cuda import QuantLinear

linear = torch.nn.Linear(32, 32, bias=False)
linear.weight.data = torch.randint(0, 16, (32, 32)).float()
zeros = torch.full((32, 1), 3.0)
zeros[0] = 0.0  # output 0 has weights from 0 on
layer = QuantLinear(4, 32, 32, 32, False)
scales = torch.ones(32, 1)
linear.weight.data = linear.weight.data - zeros
layer.pack(linear, scales.half(), zeros, layer.g_idx)
stored = layer.qzeros[0, 0].item() & 0xffffffff
print(f"stored zero points of outputs 0 to 7: {stored:08x}, of 8 to 15: {layer.qzeros[0, 1].item() & 0xffffffff:08x}")
assert stored == 0xffffffff and layer.qzeros[0, 1].item() == 0x22222222
layer.scales = layer.scales.float()
error = (layer(torch.eye(32)).T - linear.weight).abs().amax(1)
print("largest error of outputs 0 to 8:", error[:9].tolist())
assert error[0] == 16 and (error[1:8] == 13).all() and error[8] == 0
EOF
