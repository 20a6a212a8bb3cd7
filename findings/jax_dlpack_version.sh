#!/bin/sh
# JAX 0.7.2: `__dlpack__` gives the capsule without a version even to callers that ask for DLPack 1.
#
# The array API standard (2023.12) lets a consumer pass max_version=(1, 0), and expects a capsule
# called "dltensor_versioned" from producers that have it. JAX's has the old name, so flags such as
# "read only" cannot be told.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-compile --target "$folder" jax==0.7.2 jaxlib==0.7.2 numpy==2.3.5
PYTHONPATH=$folder python3 - <<'PYTHON'
import sys
import jax
import jax.numpy as jnp
import numpy as np

print("JAX", jax.__version__, "NumPy", np.__version__)
ours = repr(jnp.arange(4.0).__dlpack__(max_version=(1, 0)))
theirs = repr(np.arange(4.0).__dlpack__(max_version=(1, 0)))
print("JAX:  ", ours.split(" at ")[0])
print("NumPy:", theirs.split(" at ")[0])
sys.exit(not ('"dltensor"' in ours and '"dltensor_versioned"' in theirs))
PYTHON
