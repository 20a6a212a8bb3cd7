#!/bin/sh
# ml_dtypes 0.6.0: float64 becomes a small float by way of float32, so it is rounded twice.
#
# 1 + 2^-4 + 2^-40 is above the middle between 1 and 1.125 in float8_e4m3fn, so the nearest value is
# 1.125. The way by float32 drops 2^-40, and the tie goes to the even 1.0.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-compile --target "$folder" numpy==2.4.6 ml_dtypes==0.6.0
PYTHONPATH=$folder python3 - <<'PYTHON'
import sys
import ml_dtypes as m
import numpy as np

print("ml_dtypes", m.__version__, "NumPy", np.__version__)
twice = []
for name, ulp in [("float8_e4m3fn", 2.0**-3), ("float8_e5m2", 2.0**-2), ("bfloat16", 2.0**-7),
                  ("float4_e2m1fn", 2.0**-1), ("float8_e3m4", 2.0**-4)]:
    value = 1 + ulp / 2 + 2.0**-40
    given = float(np.array([value], np.float64).astype(getattr(m, name))[0])
    print(f"1 + {ulp / 2} + 2^-40 as {name}: {given}; nearest is {1 + ulp}")
    if given == 1.0:
        twice.append(name)
print("rounded twice:", ", ".join(twice) or "none")
sys.exit(twice != ["float8_e4m3fn", "float8_e5m2", "bfloat16", "float4_e2m1fn", "float8_e3m4"])
PYTHON
