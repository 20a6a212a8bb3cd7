"""The kernels of faults.cl that numba has words for.

    NUMBA_ENABLE_CUDASIM=1 python numba_faults.py FAULT [fixed]

It has no asynchronous copies. An empty local or shared array is the only thing without a
value."""

import sys

import numpy as np
from numba import cuda, int32, uint8

MENDED = "fixed" in sys.argv[2:]


@cuda.jit
def missing_barrier(x, y):
    s = cuda.shared.array(64, int32)
    i = cuda.threadIdx.x
    s[i] = x[i]
    if MENDED:
        cuda.syncthreads()
    y[i] = s[63 - i]


@cuda.jit
def missing_barrier_before_reuse(x, y):
    s = cuda.shared.array(64, int32)
    i = cuda.threadIdx.x
    total = 0
    for turn in range(2):
        s[i] = x[i] + turn
        cuda.syncthreads()
        total += s[63 - i]
        if MENDED:
            cuda.syncthreads()
    y[i] = total


@cuda.jit
def out_of_bounds(x, y):
    i = cuda.threadIdx.x
    if i < 63 or not MENDED:
        y[i + 1] = x[i]


@cuda.jit
def out_of_bounds_shared(x, y):
    s = cuda.shared.array(64, int32)
    i = cuda.threadIdx.x
    s[i if MENDED else i + 1] = x[i]
    cuda.syncthreads()
    y[i] = s[i if MENDED or i > 0 else 1]


@cuda.jit
def uninitialized_shared(x, y):
    s = cuda.shared.array(64, int32)
    i = cuda.threadIdx.x
    if i < 63 or MENDED:
        s[i] = x[i]
    cuda.syncthreads()
    y[i] = s[63 - i]


@cuda.jit
def uninitialized_register(x, y):
    v = cuda.local.array(2, int32)
    i = cuda.threadIdx.x
    if i < 63 or MENDED:
        v[0] = x[i]
    v[1] = i
    y[i] = v[x[0]]


@cuda.jit
def inter_block_race(x, y):
    block, i = cuda.blockIdx.x, cuda.threadIdx.x
    if block == 0 or not MENDED:
        y[i] = x[i] + block


@cuda.jit
def division_by_zero(x, y):
    i = cuda.threadIdx.x
    y[i] = 7 // x[1 if MENDED else i]


@cuda.jit
def endless_loop(x, y):
    i = cuda.threadIdx.x
    steps = 0
    while x[0] == steps:
        y[i] += 1
        if MENDED:
            steps += 1


@cuda.jit
def sub_byte_neighbours(x, y):
    s = cuda.shared.array(32, uint8)
    i = cuda.threadIdx.x
    if i < 32:
        s[i] = 0
    cuda.syncthreads()
    if i % 2 == 0:
        s[i // 2] = (s[i // 2] & 0xF0) | (x[i] & 15)
    if MENDED:
        cuda.syncthreads()
    if i % 2 == 1:
        s[i // 2] = (s[i // 2] & 0x0F) | ((x[i] & 15) << 4)
    cuda.syncthreads()
    if i < 32:
        y[i] = s[i]


def main():
    name = sys.argv[1]
    if name not in globals():
        print("cannot be said")
        return
    x, y = cuda.to_device(np.arange(64, dtype=np.int32)), cuda.to_device(np.zeros(64, np.int32))
    globals()[name][2 if name == "inter_block_race" else 1, 64](x, y)


if __name__ == "__main__":
    main()
