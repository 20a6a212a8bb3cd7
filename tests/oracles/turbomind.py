"""TurboMind's GEMM and dynamic quantisation, against f64 and, where all steps are IEEE's, to the bit
(docs/kernels/turbomind_gemm.md)."""

import ml_dtypes
import numpy as np

from program_support import RANDOM, check, normal

FLOATS = {"f8e4m3": ml_dtypes.float8_e4m3fn, "f4e2m1": ml_dtypes.float4_e2m1fn}


def weights(k, n, type):
    """Random codes without NaN, and their values."""
    if type in FLOATS:
        codes = RANDOM.integers(0, 2 ** (8 if type == "f8e4m3" else 4), (k, n), dtype=np.uint8)
        codes[codes & 0x7F == 0x7F] = 1
        return codes, codes.view(FLOATS[type]).astype(np.float64)
    low, high = (0, 2 ** int(type[1:])) if type[0] == "u" else (-(2 ** (int(type[1:]) - 1)), 2 ** (int(type[1:]) - 1))
    codes = RANDOM.integers(low, high, (k, n)).astype(np.uint8 if low == 0 else np.int8)
    return codes, codes.astype(np.float64)


def gemm(tilevm, m, n, k, type, group, reference=False, prepare=None, **constants):
    groups = -(-k // group)
    a, scale, offset = normal(m, k, dtype=np.float16), normal(groups, n, dtype=np.float16), normal(groups, n, dtype=np.float16)
    q, values = weights(k, n, type)
    zeros = int(type[0] == "u")
    if prepare:
        prepare(a, scale, offset)
    inputs = {"a": a, "q": q, "scale": scale, "offset": offset if zeros else offset[:1]}
    sizes = {"M": m, "N": n, "K": k, "Q": type, "GROUP": group, "ZEROS": zeros}
    spread = [np.repeat(x, group, axis=0)[:k].astype(np.float64) for x in (scale, offset)]
    with np.errstate(invalid="ignore"):
        exact = values * spread[0] + zeros * spread[1]
        expected = a.astype(np.float64) @ exact.astype(np.float16).astype(np.float64)
        most = np.abs(a.astype(np.float64)) @ np.abs(exact)
    codes = ("q",) if type in FLOATS else ()
    name = f"gemm {type} {m} x {n} x {k} / {group} {constants}"
    check(name, tilevm.run("turbomind/gemm", inputs, "c", CODES=codes, **sizes, **constants), expected,
          relative=2.0**-11, absolute=2.0**-20 * most.max(where=np.isfinite(most), initial=0))
    if reference:
        found = tilevm.run("turbomind/gemm", inputs, "c", entry="reference", CODES=codes, **sizes)
        check(f"{name}, reference", found, a.astype(np.float64) @ exact, absolute=2.0**-22 * k * most.max())


def microscaled(tilevm, m, n, k):
    """mxfp4: weights are exact in bf16, so only sums and the result are rounded."""
    a = normal(m, k).astype(ml_dtypes.bfloat16)
    q, values = weights(k, n, "f4e2m1")
    scale = RANDOM.integers(100, 140, (-(-k // 32), n), dtype=np.uint8)
    scale[0, 0], scale[0, 1], values[:32, 1] = 0, 255, np.nan
    exact = values * np.repeat(2.0 ** (scale.astype(np.float64) - 127), 32, axis=0)[:k]
    inputs = {"a": a.view(np.uint16), "q": q, "scale": scale, "offset": np.zeros((1, n), np.uint16)}
    found = tilevm.run("turbomind/gemm", inputs, "c", CODES=("a", "q", "offset", "c"), M=m, N=n, K=k, Q="f4e2m1", MX=1,
                       T="bf16", GROUP=32, ZEROS=0)
    found = found.view(ml_dtypes.bfloat16).astype(np.float64)
    most = np.abs(a.astype(np.float64)) @ np.abs(exact)
    for column in range(n):
        bound = 0 if column == 1 else 2.0**-20 * most[:, column].max()
        check(f"mxfp4 column {column}", found[:, column], a.astype(np.float64) @ exact[:, column], relative=2.0**-8, absolute=bound)


def nvfp4(tilevm, m, n, k):
    """Scales of f8e4m3 for 16 weights: the products are exact in f16."""
    a = normal(m, k, dtype=np.float16)
    q, values = weights(k, n, "f4e2m1")
    scale, scales = weights(-(-k // 16), n, "f8e4m3")
    exact = values * np.repeat(np.abs(scales), 16, axis=0)[:k]
    assert np.array_equal(exact, exact.astype(np.float16).astype(np.float64))
    inputs = {"a": a, "q": q, "scale": scale & 0x7F, "offset": np.zeros((1, n), np.float16)}
    found = tilevm.run("turbomind/gemm", inputs, "c", CODES=("q", "scale"), M=m, N=n, K=k, Q="f4e2m1", S="f8e4m3", GROUP=16, ZEROS=0)
    most = np.abs(a.astype(np.float64)) @ np.abs(exact)
    check(f"nvfp4 {m} x {n} x {k}", found, a.astype(np.float64) @ exact, relative=2.0**-11, absolute=2.0**-20 * most.max())


def dynamic(tilevm, m, n, k, a_type, w_type, **constants):
    """Each step is one of IEEE's in f32, or exact; so integers give equal bits."""
    a, w_scale = normal(m, k, dtype=np.float16), np.abs(normal(n))
    a[0] = 0
    if m > 2:
        a[1, 0], a[2, k - 1] = np.nan, np.inf
    q, values = weights(k, n, w_type)
    codes = ("q",) if w_type in FLOATS else ()
    found = tilevm.run("turbomind/gemm_quantized", {"a": a, "q": q, "w_scale": w_scale}, "c", CODES=codes, M=m, N=n, K=k,
                       T=a_type, Q=w_type, **constants)
    x = a.astype(np.float32)
    most = np.float32(127 if a_type == "i8" else 448)
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.abs(x).max(axis=1, keepdims=True) / most
        y = np.nan_to_num(x / np.where(scale == 0, np.float32(1), scale))
        y[~np.isfinite(scale[:, 0])] = 0
        scale[~np.isfinite(scale)] = np.nan
        quantised = np.rint(y) if a_type == "i8" else y.astype(ml_dtypes.float8_e4m3fn)
        sums = quantised.astype(np.float64) @ values
        expected = (sums.astype(np.float32) * scale * w_scale).astype(np.float16)
    name = f"{a_type} x {w_type} {m} x {n} x {k}"
    if a_type == "i8":
        check(name, found, expected)
    else:
        check(name, found, expected, relative=2.0**-9, absolute=2.0**-12 * np.nanmax(np.abs(expected).astype(np.float64)))


def zeros(a, scale, offset):
    scale[0], offset[0] = 0, 0


def not_finite(a, scale, offset):
    a[1, 2], a[2, 3], scale[0, 4] = np.nan, np.inf, np.inf


def turbomind(tilevm):
    gemm(tilevm, 5, 200, 200, "u4", 64, reference=True, SPLIT=2)
    gemm(tilevm, 1, 1, 1, "u4", 128)
    gemm(tilevm, 33, 140, 130, "u4", 32, BM=64, BN=256)
    gemm(tilevm, 3, 20, 100, "u8", 16, STAGES=2)
    gemm(tilevm, 4, 20, 200, "u8", 200, SPLIT=4)
    gemm(tilevm, 3, 20, 70, "f8e4m3", 64, reference=True)
    gemm(tilevm, 3, 20, 128, "u4", 64, prepare=zeros)
    gemm(tilevm, 4, 20, 100, "u4", 64, prepare=not_finite)
    microscaled(tilevm, 4, 5, 70)
    nvfp4(tilevm, 3, 20, 70)
    dynamic(tilevm, 5, 100, 200, "i8", "i8")
    dynamic(tilevm, 33, 9, 33, "i8", "i4", BM=32, BN=64)
    dynamic(tilevm, 1, 1, 1, "i8", "i8")
    dynamic(tilevm, 5, 20, 300, "f8e4m3", "f8e4m3")
