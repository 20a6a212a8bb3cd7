#!/bin/sh
# NumPy 2.4.6: a sum of float32 is pairwise along the last axis only; along the first axis it is
# serial, and stops growing at 2^24.
#
# The manual says that pairwise summation is used "along the fast axis in memory". A mean of columns
# of a large C-ordered array is therefore off by half without a warning.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-compile --target "$folder" numpy==2.4.6
PYTHONPATH=$folder python3 - <<'PYTHON'
import sys
import numpy as np

print("NumPy", np.__version__)
n = 2**25
ones = np.ones((n, 2), np.float32)
columns = ones.sum(axis=0).tolist()
rows = np.ascontiguousarray(ones.T).sum(axis=1).tolist()
print(f"columns of {n} ones, along the first axis: {columns}")
print(f"the same numbers, along the last axis:     {rows}")
sys.exit((columns, rows) != ([16777216.0] * 2, [33554432.0] * 2))
PYTHON
