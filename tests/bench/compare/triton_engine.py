"""The cases in Triton: TRITON_INTERPRET=1 python triton_engine.py CASE FOLDER REPEATS."""

import numpy as np
import triton
import triton.language as tl

import cases


class HostTensor:
    """What the interpreter asks of a tensor, over a numpy array: torch is not needed for that."""

    def __init__(self, array):
        self.array = array
        self.dtype = array.dtype

    def data_ptr(self):
        return self.array.ctypes.data

    def untyped_storage(self):
        return self

    def cpu(self):
        return self

    def new_empty(self, *_, **__):
        return HostTensor(self.array)

    def set_(self, storage, *_):
        self.array = storage.array

    def storage_offset(self):
        return 0

    def size(self):
        return self.array.shape

    def stride(self):
        return tuple(s // self.array.itemsize for s in self.array.strides)

    def copy_(self, _):
        return self


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        a = tl.load(a_ptr + rows[:, None] * K + k[None, :],
                    mask=(rows[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + columns[None, :],
                    mask=(k[:, None] < K) & (columns[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc,
             mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def a16w6(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        a = tl.load(a_ptr + rows[:, None] * K + k[None, :],
                    mask=(rows[:, None] < M) & (k[None, :] < K), other=0.0)
        inside = (k[:, None] < K) & (columns[None, :] < N)
        bit = (k[:, None] * N + columns[None, :]) * 6
        low = tl.load(b_ptr + bit // 8, mask=inside, other=0).to(tl.int32)
        high = tl.load(b_ptr + bit // 8 + 1, mask=inside, other=0).to(tl.int32)
        code = ((low | (high << 8)) >> (bit % 8)) & 63
        b = ((code ^ 32) - 32).to(tl.float16)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc.to(tl.float16),
             mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def vadd(a_ptr, b_ptr, c_ptr, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + i, mask=i < N, other=0.0)
    b = tl.load(b_ptr + i, mask=i < N, other=0.0)
    tl.store(c_ptr + i, a + b, mask=i < N)


def main():
    kind, tile, size, inputs, folder, repeats = cases.arguments()
    a = HostTensor(inputs["a"])
    b = HostTensor(np.append(inputs["b"], np.uint8(0)) if kind == "a16w6" else inputs["b"])
    c = HostTensor(cases.output_like(kind, size))
    grid = tuple(triton.cdiv(extent, step) for extent, step in zip(size[:2], tile[:2]))
    kernel = {"matmul": matmul, "a16w6": a16w6, "vadd": vadd}[kind]
    seconds = cases.time_kernel(lambda: kernel[grid](a, b, c, *size, *tile), repeats)
    np.save(f"{folder}/c.npy", c.array)
    cases.report(seconds)


if __name__ == "__main__":
    main()
