"""The kernels of faults.cl that Triton has words for.

    TRITON_INTERPRET=1 python triton_faults.py FAULT [fixed]

Shared memory, barriers and asynchronous copies are its compiler's business, and every value
has a definition."""

import sys

import numpy as np
import triton
import triton.language as tl

from triton_engine import HostTensor


@triton.jit
def out_of_bounds(x, y, MENDED: tl.constexpr):
    i = tl.arange(0, 64)
    tl.store(y + i + 1, tl.load(x + i), mask=(i < 63) | (not MENDED))


@triton.jit
def inter_block_race(x, y, MENDED: tl.constexpr):
    i = tl.arange(0, 64)
    block = tl.program_id(0)
    tl.store(y + i, tl.load(x + i) + block, mask=(block == 0) | (not MENDED))


@triton.jit
def division_by_zero(x, y, MENDED: tl.constexpr):
    i = tl.arange(0, 64)
    tl.store(y + i, 7 // tl.load(x + (i * 0 + 1 if MENDED else i)))


@triton.jit
def endless_loop(x, y, MENDED: tl.constexpr):
    steps = 0
    while tl.load(x) == steps:
        tl.store(y, tl.load(y) + 1)
        if MENDED:
            steps += 1


def main():
    name = sys.argv[1]
    if name not in globals():
        print("cannot be said")
        return
    memory = np.zeros(256, np.int32)  # y with room behind it for a stray store
    x, y = HostTensor(np.arange(64, dtype=np.int32)), HostTensor(memory[:64])
    globals()[name][(2 if name == "inter_block_race" else 1,)](x, y, "fixed" in sys.argv[2:])


if __name__ == "__main__":
    main()
