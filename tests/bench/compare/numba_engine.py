"""The cases in numba, for its CUDA simulator: NUMBA_ENABLE_CUDASIM=1 python numba_engine.py .. .

Tiles go through shared memory and every thread computes RM x RN elements of c, as usual in CUDA C.
"""

import numpy as np
from numba import cuda, float32

import cases


def threads_of(tile):
    """(rows, columns) of a block's threads: one element each at 16 x 8, else 16 x 16 threads."""
    return (16, 8) if tile[1] == 8 else (16, 16)


def make_matmul(tile, quantized):
    """The kernel for a tile; b is f16[K, N], or 6-bit integers with one byte to spare."""
    BM, BN, BK = tile
    TY, TX = threads_of(tile)
    RM, RN = BM // TY, BN // TX

    def kernel(a, b, c, M, N, K):
        sa = cuda.shared.array((BM, BK), float32)
        sb = cuda.shared.array((BK, BN), float32)
        acc = cuda.local.array((RM, RN), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        i0, j0 = cuda.blockIdx.x * BM, cuda.blockIdx.y * BN
        for r in range(RM):
            for s in range(RN):
                acc[r, s] = 0.0
        for k0 in range(0, K, BK):
            for e in range(ty * TX + tx, BM * BK, TX * TY):
                i, k = i0 + e // BK, k0 + e % BK
                sa[e // BK, e % BK] = a[i, k] if i < M and k < K else 0.0
            for e in range(ty * TX + tx, BK * BN, TX * TY):
                k, j = k0 + e // BN, j0 + e % BN
                value = 0.0
                if k < K and j < N:
                    if quantized:
                        bit = (k * N + j) * 6
                        two = int(b[bit // 8]) | (int(b[bit // 8 + 1]) << 8)
                        value = (((two >> (bit % 8)) & 63) ^ 32) - 32
                    else:
                        value = b[k, j]
                sb[e // BN, e % BN] = value
            cuda.syncthreads()
            for k in range(BK):
                for r in range(RM):
                    for s in range(RN):
                        acc[r, s] += sa[ty + r * TY, k] * sb[k, tx + s * TX]
            cuda.syncthreads()
        for r in range(RM):
            for s in range(RN):
                i, j = i0 + ty + r * TY, j0 + tx + s * TX
                if i < M and j < N:
                    c[i, j] = acc[r, s]

    return cuda.jit(kernel)


@cuda.jit
def vadd(a, b, c, N):
    i = cuda.grid(1)
    if i < N:
        c[i] = a[i] + b[i]


def main():
    kind, tile, size, inputs, folder, repeats = cases.arguments()
    b = np.append(inputs["b"], np.uint8(0)) if kind == "a16w6" else inputs["b"]
    a, b = cuda.to_device(inputs["a"]), cuda.to_device(b)
    c = cuda.to_device(cases.output_like(kind, size))
    if kind == "vadd":
        grid, block, kernel = -(-size[0] // 128), 128, vadd
    else:
        rows, columns = threads_of(tile)
        grid = tuple(-(-extent // step) for extent, step in zip(size[:2], tile[:2]))
        block, kernel = (columns, rows), make_matmul(tile, kind == "a16w6")
    seconds = cases.time_kernel(lambda: kernel[grid, block](a, b, c, *size), repeats)
    np.save(f"{folder}/c.npy", c.copy_to_host())
    cases.report(seconds)


if __name__ == "__main__":
    main()
