"""The kernels that users reach for first, against f64 (docs/kernels.md has the bounds)."""

import numpy as np

from program_support import RANDOM, check, normal


def softmax(tilevm):
    x = 3 * normal(5, 700)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    found = tilevm.run("softmax", {"x": x}, "y", M=5, N=700)
    check("softmax", found, e / e.sum(axis=1, keepdims=True), relative=2e-6)
    check("softmax of one column", tilevm.run("softmax", {"x": x[:, :1]}, "y", M=5, N=1), np.ones((5, 1)))


def layernorm(tilevm):
    x, gamma, beta = normal(5, 700), normal(700), normal(700)
    d = x.astype(np.float64) - x.mean(axis=1, keepdims=True, dtype=np.float64)
    expected = d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * gamma + beta
    found = tilevm.run("layernorm", {"x": x, "gamma": gamma, "beta": beta}, "y", M=5, N=700)
    check("layernorm", found, expected, relative=4e-6, absolute=4e-6)


def matmul_gelu(tilevm):
    a, b, bias = normal(33, 50, dtype=np.float16), normal(50, 40, dtype=np.float16), normal(40)
    x = a.astype(np.float64) @ b.astype(np.float64) + bias
    expected = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    found = tilevm.run("matmul_gelu", {"a": a, "b": b, "bias": bias}, "c", M=33, N=40, K=50)
    check("matmul_gelu", found, expected, relative=2**-10, absolute=1e-5)


def dequantize(tilevm):
    q, scale = RANDOM.integers(0, 16, (64, 64), dtype=np.uint8), normal(2, 64, dtype=np.float16)
    expected = ((q.astype(np.float16) - np.float16(8)) * np.repeat(scale, 32, axis=0)).astype(np.float16)
    check("dequantize", tilevm.run("dequantize", {"q_ptr": q, "s_ptr": scale}, "y_ptr", K=64, N=64), expected)


def scan(tilevm):
    x = RANDOM.integers(-9, 10, (3, 300)).astype(np.float32)
    check("scan", tilevm.run("scan", {"x": x}, "y", M=3, N=300), np.cumsum(x, axis=1))


def histogram(tilevm):
    x = RANDOM.integers(0, 20, 1000, dtype=np.uint8)
    found = tilevm.run("histogram", {"x_ptr": x[np.newaxis]}, "y_ptr", N=1000)
    check("histogram", found[:, 0], np.bincount(x, minlength=20)[:16])


def first_kernels(tilevm):
    for kernel in (softmax, layernorm, matmul_gelu, dequantize, scan, histogram):
        kernel(tilevm)
