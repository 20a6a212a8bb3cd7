#!/bin/sh
# ml_dtypes 0.6.0: 0 as float8_e8m0fnu is NaN, not the least scale.
#
# The type has no zero: its least value is 2^-127. PTX's cvt.rz.satfinite.ue8m0x2.f32 gives that for
# 0 (code 0x00). With ml_dtypes, a block of zeros whose scale is computed as its largest magnitude
# gets the scale NaN.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-compile --target "$folder" numpy==2.4.6 ml_dtypes==0.6.0
PYTHONPATH=$folder python3 - <<'PYTHON'
import sys
import ml_dtypes as m
import numpy as np

print("ml_dtypes", m.__version__, "NumPy", np.__version__)
values = np.array([0.0, -0.0, 2.0**-127, -1.0], np.float32)
codes = [int(code) for code in values.astype(m.float8_e8m0fnu).view(np.uint8)]
for value, code in zip(values, codes):
    print(f"{value} as float8_e8m0fnu: code {code:#04x}")
sys.exit(codes != [0xFF, 0xFF, 0x00, 0xFF])
PYTHON
