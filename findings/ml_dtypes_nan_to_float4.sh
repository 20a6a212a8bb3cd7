#!/bin/sh
# ml_dtypes 0.6.0: NaN becomes -0 as float4_e2m1fn, float6_e2m3fn and float6_e3m2fn.
#
# These types have no NaN. PTX's cvt.satfinite gives the largest number instead (PTX ISA, cvt), and
# ONNX leaves the result undefined. ml_dtypes gives the code of -0 for a NaN of either sign, so that
# a NaN becomes a number that looks harmless.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-compile --target "$folder" numpy==2.4.6 ml_dtypes==0.6.0
PYTHONPATH=$folder python3 - <<'PYTHON'
import sys
import ml_dtypes as m
import numpy as np

print("ml_dtypes", m.__version__, "NumPy", np.__version__)
expected = {"float4_e2m1fn": 0x8, "float6_e2m3fn": 0x20, "float6_e3m2fn": 0x20}
seen = {}
for name in expected:
    nan = np.array([np.nan], np.float32)
    seen[name] = int(nan.astype(getattr(m, name)).view(np.uint8)[0])
    print(f"+NaN as {name}: code {seen[name]:#x}, the value {float(nan.astype(getattr(m, name))[0])}")
sys.exit(seen != expected)
PYTHON
