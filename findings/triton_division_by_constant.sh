#!/bin/sh
# Triton 3.9.0: `x / 127.0` is compiled to a product with an approximate reciprocal (div.approx of 1
# by 127, then mul), `x / d` with the same number as an argument to div.full.
#
# The two differ in the last bit for some x: 127 has no exact reciprocal. Quantisation by
# absolute maximum divides by 127, so a constant in place of an argument changes its results.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-compile --no-deps --target "$folder" triton==3.9.0
cat > "$folder/kernel.py" <<'PYTHON'
import sys
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def by_constant(x, y):
    i = tl.arange(0, 128)
    tl.store(y + i, tl.load(x + i) / 127.0)


@triton.jit
def by_argument(x, y, d):
    i = tl.arange(0, 128)
    tl.store(y + i, tl.load(x + i) / d)


def operations(kernel, signature):
    source = ASTSource(fn=kernel, signature=signature, constexprs={})
    ptx = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]
    lines = [line.split()[0] for line in ptx.splitlines() if line.split()]
    return sorted({word for word in lines if word.startswith(("div.", "mul.f32", "mul.rn.f32"))})


print("Triton", triton.__version__)
pointers = {"x": "*fp32", "y": "*fp32"}
constant = operations(by_constant, pointers)
argument = operations(by_argument, {**pointers, "d": "fp32"})
print("x / 127.0:", ", ".join(constant))
print("x / d:    ", ", ".join(argument))
sys.exit((constant, argument) != (["div.approx.f32", "mul.f32"], ["div.full.f32"]))
PYTHON
TRITON_CACHE_DIR=$folder/cache PYTHONPATH=$folder python3 "$folder/kernel.py"
