"""Products of any number of bits are exact (docs/kernels/apt_llm.md)."""

import numpy as np

from program_support import RANDOM, check

# Codes as NumPy holds them are bytes, whatever the type of an input.


def product(a, w, bits_a, bits_w, bipolar):
    a, w = a.astype(np.int64), w.astype(np.int64)
    if bipolar:
        a, w = 2 * a - (2**bits_a - 1), 2 * w - (2**bits_w - 1)
    return a @ w.T


def matmul(tilevm, m, n, k, bits_w, bits_a, bipolar=1, entries=("main",), fill=None, **constants):
    a = RANDOM.integers(0, 2**bits_a, (m, k), dtype=np.uint8)
    w = RANDOM.integers(0, 2**bits_w, (n, k), dtype=np.uint8)
    if fill is not None:
        a[:], w[:] = fill & (2**bits_a - 1), fill & (2**bits_w - 1)
    for entry in entries:
        sizes = {"M": m, "N": n, "K": k, "W": bits_w, "A": bits_a, "BIPOLAR": bipolar}
        found = tilevm.run("apt_llm/matmul", {"a": a, "w": w}, "y", entry=entry, **sizes, **constants)
        check(f"W{bits_w}A{bits_a} {m} x {n} x {k} bipolar={bipolar} {entry}", found, product(a, w, bits_a, bits_w, bipolar))


def flipped_sign(tilevm):
    """A signed code whose sign bit is flipped is the bipolar 2 x + 1 (the paper, III-A)."""
    x, y = RANDOM.integers(-4, 4, (9, 50)), RANDOM.integers(-8, 8, (7, 50))
    codes = {"w": (x & 7 ^ 4).astype(np.uint8), "a": (y & 15 ^ 8).astype(np.uint8)}
    found = tilevm.run("apt_llm/matmul", codes, "y", entry="main", M=7, N=9, K=50, W=3, A=4)
    check("signed operands as bipolar ones", found, (2 * y + 1) @ (2 * x + 1).T)


def apt_llm(tilevm):
    flipped_sign(tilevm)
    everything = ("main", "native", "reference")
    matmul(tilevm, 17, 40, 300, 2, 2, entries=everything)
    matmul(tilevm, 1, 1, 1, 3, 4, entries=everything)
    matmul(tilevm, 5, 70, 33, 8, 8, entries=everything, BN=32)
    for bits_w in range(1, 9):
        matmul(tilevm, 20, 33, 130, bits_w, (3 * bits_w) % 8 + 1, entries=("main", "native"), KEEP=bits_w % 2 if bits_w < 5 else 0)
        matmul(tilevm, 3, 9, 520, bits_w, 9 - bits_w, bipolar=0)
    for bits_w, bits_a in ((3, 5), (6, 7)):  # rows of whole words
        matmul(tilevm, 5, 9, 160, bits_w, bits_a)
    for fill in (0, 255):
        matmul(tilevm, 16, 32, 512, 4, 8, fill=fill, BN=32)
