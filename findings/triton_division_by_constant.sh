#!/bin/sh
# Triton 3.9.0: `x / 255.0` becomes a product with div.approx of 1 by 255, `x / d` a div.full.
#
# ptxas computes the quotient of the two constants, correctly rounded. div.full multiplies by the approximate
# reciprocal of the argument, which for 255 is another number on an H100 (for 256 of the integers up to 2,048, but
# not for 127). So a constant in place of an argument changes last bits.
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
    tl.store(y + i, tl.load(x + i) / 255.0)


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
print("x / 255.0:", ", ".join(constant))
print("x / d:    ", ", ".join(argument))
sys.exit((constant, argument) != (["div.approx.f32", "mul.f32"], ["div.full.f32"]))
PYTHON
TRITON_CACHE_DIR=$folder/cache PYTHONPATH=$folder python3 "$folder/kernel.py"
