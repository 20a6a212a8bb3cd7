"""The kernels that users reach for first, and their plain references, against f64 (docs/kernels/kernels.md has the bounds).

References go through a row from left to right, so sums of n terms have errors of up to n half units.
"""

import numpy as np

from program_support import RANDOM, check, normal


def softmax(tilevm):
    x = 3 * normal(5, 700)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    found = tilevm.run("softmax", {"x": x}, "y", M=5, N=700)
    check("softmax", found, e / e.sum(axis=1, keepdims=True), relative=2e-6)
    found = tilevm.run("softmax", {"x": x}, "y", entry="reference", M=5, N=700)
    check("softmax, reference", found, e / e.sum(axis=1, keepdims=True), relative=2e-6 + 700 * 2.0**-24)
    check("softmax of one column", tilevm.run("softmax", {"x": x[:, :1]}, "y", M=5, N=1), np.ones((5, 1)))


def by_approximate_instructions(tilevm):
    """APPROX=1: the bounds of docs/reference/approximations.md, beside the rounding of a result."""
    x = 3 * normal(5, 700)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    found = tilevm.run("softmax", {"x": x}, "y", M=5, N=700, APPROX=1)
    # The argument of weights below 2^-16 is larger, and its rounding with it.
    check("softmax, APPROX", found, e / e.sum(axis=1, keepdims=True), relative=2.0**-19, absolute=2.0**-35)

    gamma, beta = normal(700), normal(700)
    d = x.astype(np.float64) - x.mean(axis=1, keepdims=True, dtype=np.float64)
    expected = d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * gamma + beta
    found = tilevm.run("layernorm", {"x": x, "gamma": gamma, "beta": beta}, "y", M=5, N=700, APPROX=1)
    check("layernorm, APPROX", found, expected, relative=4e-6 + 2.0**-22, absolute=4e-6 + 2.0**-22)

    x, r, gamma = (normal(*shape, dtype=np.float16) for shape in ((5, 700), (5, 700), (700,)))
    h = x.astype(np.float64) + r
    y = h / np.sqrt((h * h).mean(axis=1, keepdims=True) + 1e-5) * gamma
    found = tilevm.run("rmsnorm_residual", {"x": x, "r": r, "gamma": gamma}, ["h", "y"], M=5, N=700, APPROX=1)
    check("rmsnorm, APPROX", found[1], y, relative=2**-11 + 1e-6 + 2.0**-22, absolute=2**-25)

    a, b, bias = normal(33, 50, dtype=np.float16), normal(50, 40, dtype=np.float16), normal(40)
    x = a.astype(np.float64) @ b.astype(np.float64) + bias
    expected = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    found = tilevm.run("matmul_gelu", {"a": a, "b": b, "bias": bias}, "c", M=33, N=40, K=50, APPROX=1)
    check("matmul_gelu, APPROX", found, expected, relative=2.0**-10, absolute=1e-5 + 2.0**-17.5 * np.abs(x).max())

    a, g, u = normal(70, 50, dtype=np.float16), normal(50, 100, dtype=np.float16), normal(50, 100, dtype=np.float16)
    x, y = a.astype(np.float64) @ g, a.astype(np.float64) @ u
    found = tilevm.run("matmul_swiglu", {"a": a, "g": g, "u": u}, "c", M=70, N=100, K=50, APPROX=1)
    check("matmul_swiglu, APPROX", found, x / (1 + np.exp(-x)) * y, relative=2**-10 + 2.0**-19, absolute=1e-4)


def layernorm(tilevm):
    x, gamma, beta = normal(5, 700), normal(700), normal(700)
    d = x.astype(np.float64) - x.mean(axis=1, keepdims=True, dtype=np.float64)
    expected = d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * gamma + beta
    found = tilevm.run("layernorm", {"x": x, "gamma": gamma, "beta": beta}, "y", M=5, N=700)
    check("layernorm", found, expected, relative=4e-6, absolute=4e-6)
    found = tilevm.run("layernorm", {"x": x, "gamma": gamma, "beta": beta}, "y", entry="reference", M=5, N=700)
    check("layernorm, reference", found, expected, relative=4e-6 + 700 * 2.0**-24, absolute=4e-6 + 700 * 2.0**-24)
    found = tilevm.run("layernorm", {"x": x[:, :1], "gamma": gamma[:1], "beta": beta[:1]}, "y", M=5, N=1)
    check("layernorm of one column", found, np.tile(beta[:1], (5, 1)))


def matmul_gelu(tilevm, m=33, n=40, k=50, spoil=None):
    a, b, bias = normal(m, k, dtype=np.float16), normal(k, n, dtype=np.float16), normal(n)
    if spoil is not None:
        a[2, 3] = spoil
    with np.errstate(invalid="ignore"):
        x = a.astype(np.float64) @ b.astype(np.float64) + bias
        expected = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    for entry, relative in (("main", 2.0**-10), ("reference", 1e-5)):
        found = tilevm.run("matmul_gelu", {"a": a, "b": b, "bias": bias}, "c", entry=entry, M=m, N=n, K=k)
        check(f"matmul_gelu {m} x {n} x {k} {spoil}, {entry}", found, expected, relative=relative, absolute=1e-5)


def matmul_gelus(tilevm):
    matmul_gelu(tilevm)
    matmul_gelu(tilevm, 1, 1, 1)
    matmul_gelu(tilevm, 4, 3, 5, spoil=np.nan)


def dequantize(tilevm):
    q, scale = RANDOM.integers(0, 16, (64, 64), dtype=np.uint8), normal(2, 64, dtype=np.float16)
    expected = (q.astype(np.float64) - 8) * np.repeat(scale, 32, axis=0)
    check("dequantize", tilevm.run("dequantize", {"q": q, "s": scale}, "y", K=64, N=64), expected.astype(np.float16))
    check("dequantize, reference", tilevm.run("dequantize", {"q": q, "s": scale}, "y", entry="reference", K=64, N=64), expected)


def scan(tilevm):
    x = RANDOM.integers(-9, 10, (3, 300)).astype(np.float32)
    x[1, 270], x[2, 20] = np.nan, np.inf
    for n in (300, 1):
        for entry in ("main", "reference"):
            found = tilevm.run("scan", {"x": x[:, :n]}, "y", entry=entry, M=3, N=n)
            check(f"scan of {n}, {entry}", found, np.cumsum(x[:, :n], axis=1))


def histogram(tilevm):
    for n, blocks in ((1, 1), (1000, 2), (5000, 3)):
        x = RANDOM.integers(0, 256, n, dtype=np.uint8)
        for entry in ("main", "reference") if n <= 1000 else ("main",):
            found = tilevm.run("histogram", {"x": x}, "y", entry=entry, N=n, BLOCKS=blocks)
            check(f"histogram of {n}, {entry}", found, np.bincount(x, minlength=256))


def rmsnorm(tilevm):
    for n in (700, 1):
        x, r, gamma = normal(5, n, dtype=np.float16), normal(5, n, dtype=np.float16), normal(n, dtype=np.float16)
        x[4] = r[4] = 0
        x[2, 0], r[3, n - 1] = np.nan, np.nan
        h = x.astype(np.float64) + r
        y = h / np.sqrt((h * h).mean(axis=1, keepdims=True) + 1e-5) * gamma
        found = tilevm.run("rmsnorm_residual", {"x": x, "r": r, "gamma": gamma}, ["h", "y"], M=5, N=n)
        check(f"rmsnorm {n}, h", found[0], h, relative=2**-11)
        check(f"rmsnorm {n}, y", found[1], y, relative=2**-11 + 1e-6, absolute=2**-25)
        found = tilevm.run("rmsnorm_residual", {"x": x, "r": r, "gamma": gamma}, ["h", "y"], entry="reference", M=5, N=n)
        check(f"rmsnorm {n}, h of the reference", found[0], h, relative=2.0**-24)
        check(f"rmsnorm {n}, y of the reference", found[1], y, relative=1e-6 + n * 2.0**-24)


def rope(tilevm):
    x, position = normal(4, 3, 128), np.array([0, 1, 100, 100000], np.int32)
    x[1, 0, 5] = np.nan
    a, b = x[..., :64].astype(np.float64), x[..., 64:]
    angle = position[:, None, None] * 10000.0 ** (-np.arange(64) / 64)
    expected = np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], axis=-1)
    for entry in ("main", "reference"):
        found = tilevm.run("rope", {"x": x, "position": position}, "y", entry=entry, TOKENS=4, H=3, D=128, T="f32")
        for i, p in enumerate(position):
            # Frequency and angle are rounded to f32, each within 2^-23 or so of the angle.
            check(f"rope at {p}, {entry}", found[i], expected[i], absolute=1e-6 + 2.0**-21 * p)
    for d, turned, interleaved in ((64, 64, 1), (80, 32, 0), (80, 80, 0), (96, 48, 1), (128, 64, 1), (256, 16, 0)):
        rope_of_pairs(tilevm, d, turned, interleaved)


def rope_of_pairs(tilevm, d, turned, interleaved):
    """Pairs of neighbours or of halves, of the first elements of a head; the others are as they were."""
    x, position = normal(3, 5, d), np.array([0, 7, 300], np.int32)
    pairs = x[..., :turned].astype(np.float64).reshape((3, 5, turned // 2, 2) if interleaved else (3, 5, 2, turned // 2))
    pairs = pairs if interleaved else pairs.swapaxes(2, 3)
    z = (pairs[..., 0] + 1j * pairs[..., 1]) * np.exp(1j * position[:, None, None] * 10000.0 ** (-np.arange(0, turned, 2) / turned))
    pairs = np.stack([z.real, z.imag], axis=-1)
    expected = np.concatenate([(pairs if interleaved else pairs.swapaxes(2, 3)).reshape(3, 5, turned), x[..., turned:]], axis=-1)
    for entry in ("main", "reference"):
        found = tilevm.run("rope", {"x": x, "position": position}, "y", entry=entry, TOKENS=3, H=5, D=d, T="f32", TURNED=turned, INTERLEAVED=interleaved)
        assert np.array_equal(found[..., turned:], x[..., turned:]), f"rope of {turned} of {d}: elements that are not turned changed"
        for i, p in enumerate(position):
            check(f"rope of {turned} of {d}, interleaved {interleaved}, at {p}, {entry}", found[i], expected[i], absolute=1e-6 + 2.0**-21 * p)


def matmul_swiglu(tilevm, m=70, n=100, k=50, spoil=None, entries=("main",)):
    a, g, u = normal(m, k, dtype=np.float16), normal(k, n, dtype=np.float16), normal(k, n, dtype=np.float16)
    if spoil is not None:
        a[2, 3] = spoil
    x, y = a.astype(np.float64) @ g, a.astype(np.float64) @ u
    for entry in entries:
        found = tilevm.run("matmul_swiglu", {"a": a, "g": g, "u": u}, "c", entry=entry, M=m, N=n, K=k)
        check(f"matmul_swiglu {m} x {n} x {k} {spoil} {entry}", found, x / (1 + np.exp(-x)) * y, relative=2**-10 if entry == "main" else 1e-5, absolute=1e-4)


def matmul_swiglus(tilevm):
    matmul_swiglu(tilevm, entries=("main", "reference"))
    matmul_swiglu(tilevm, 1, 1, 1)
    matmul_swiglu(tilevm, 4, 3, 5, spoil=np.nan)


def top_k(tilevm, m=3, n=1000, top=5, logits=None):
    x = 3 * normal(m, n) if logits is None else logits
    x[0, -1] = np.nan if logits is None and n > top else 0
    if n > 20:
        x[1, :3], x[1, 3:9], x[1, 9:] = -2.0, [-0.0, 0.0, 0.0, -0.0, 5.0, 0.0], -1.0  # of equal ones the first, whatever their signs
    u = RANDOM.random(m).astype(np.float32)
    order = np.argsort(-np.where(np.isnan(x), -np.inf, x), axis=1, kind="stable")[:, :top]
    for entry in ("main", "reference"):
        token, value, index = tilevm.run("top_k", {"logits": x, "u": u}, ["token", "value", "index"], entry=entry, M=m, N=n, TOP=top)
        check(f"top_k, indices, {entry}", index, order)
        check(f"top_k, values, {entry}", value, np.take_along_axis(x, order, axis=1))
        p = np.exp(value.astype(np.float64) - value[:, :1])
        sums = np.cumsum(p / p.sum(axis=1, keepdims=True), axis=1)
        check(f"top_k, token, {entry}", token, order[np.arange(m), (sums <= u[:, None]).sum(axis=1)])


def convolution(tilevm, b=2, h=5, w=9, c=20, o=40, r=3, pad=1, stride=1, spoil=False):
    x, k = normal(b, h, w, c, dtype=np.float16), normal(r, r, c, o, dtype=np.float16)
    if spoil:
        x[0, 2, 3, 0] = np.nan
    padded = np.pad(x.astype(np.float64), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (r, r), axis=(1, 2))[:, ::stride, ::stride]
    expected = np.einsum("bhwcrs,rsco->bhwo", windows, k.astype(np.float64))
    sizes = {"B": b, "H": h, "W": w, "C": c, "O": o, "R": r, "PAD": pad, "STRIDE": stride}
    found = tilevm.run("convolution", {"x": x, "k": k}, "y", **sizes)
    check(f"convolution {sizes}", found, expected, relative=2.0**-11, absolute=1e-4)
    if c < 8:
        found = tilevm.run("convolution", {"x": x, "k": k}, "y", entry="reference", **sizes)
        check("convolution, reference", found, expected, relative=1e-5, absolute=1e-5)


def convolutions(tilevm):
    convolution(tilevm)
    convolution(tilevm, b=1, h=8, w=17, c=8, o=8, r=5, pad=1, stride=2)
    convolution(tilevm, b=1, h=7, w=8, c=3, o=5, r=2, pad=0, stride=3)
    convolution(tilevm, b=1, h=6, w=7, c=8, o=8, spoil=True)
    convolution(tilevm, b=1, h=1, w=1, c=1, o=1, r=1, pad=0)


def top_k_edges(tilevm):
    """Logits of -inf come back as they are, those of inf share the probability, NaN has none and is the least of all."""
    n, top, inf, nan = 40, 5, np.inf, np.nan
    x = normal(8, n)
    x[0], x[0, [9, 4]] = -inf, [1.0, 2.0]
    x[1, 7] = inf
    x[2, [11, 3]] = inf
    x[3] = nan
    x[4] = -inf
    x[5], x[5, 6], x[5, 30] = nan, -inf, 3.0
    x[6, 3:] = -3.4e38
    x[6, :3] = -inf
    x[7, 0], x[7, 1], x[7, 2:] = inf, nan, -inf
    u = np.array([0.999, 0.999, 0.75, 0.5, 0.5, 0.999, 0.3, 0.999], np.float32)
    keys = [sorted(range(n), key=lambda j, row=row: (np.isnan(row[j]), -row[j] if not np.isnan(row[j]) else 0, j)) for row in x]
    order = np.array([key[:top] for key in keys])
    values = np.take_along_axis(x, order, axis=1)
    # The larger of the two finite logits of row 0 has 1 / (1 + 1 / e) = 0.73 of the probability.
    tokens = np.array([9, 7, 11, 0, 2, 30, order[6, 1], 0])
    for entry in ("main", "reference"):
        token, value, index = tilevm.run("top_k", {"logits": x, "u": u}, ["token", "value", "index"], entry=entry, M=8, N=n, TOP=top)
        check(f"top_k of Inf and NaN, indices, {entry}", index, order)
        check(f"top_k of Inf and NaN, values, {entry}", value, values)
        check(f"top_k of Inf and NaN, tokens, {entry}", token, tokens)


def top_ks(tilevm):
    top_k(tilevm)
    top_k_edges(tilevm)
    top_k(tilevm, n=3, top=3, logits=np.zeros((3, 3), np.float32))
    top_k(tilevm, m=1, n=1, top=1)


def not_finite(tilevm):
    """A NaN or an Inf spoils its own row only."""
    x = normal(4, 100)
    x[1, 3], x[2, 5], x[3, 6] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
        check("softmax of NaN and Inf", tilevm.run("softmax", {"x": x}, "y", M=4, N=100), e / e.sum(axis=1, keepdims=True), relative=2e-6)
    ones, zeros = np.ones(100, np.float32), np.zeros(100, np.float32)
    found = tilevm.run("layernorm", {"x": x, "gamma": ones, "beta": zeros}, "y", M=4, N=100)
    assert np.isnan(found[1:]).all() and np.isfinite(found[0]).all()


def first_kernels(tilevm):
    for kernel in (softmax, layernorm, rmsnorm, rope, matmul_gelus, matmul_swiglus, dequantize, scan, histogram, top_ks, convolutions,
                   by_approximate_instructions, not_finite):
        kernel(tilevm)
