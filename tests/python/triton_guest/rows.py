"""Kernels on rows: reductions, scans, sorts."""

import numpy
import triton
import triton.language as tl
from cases import case


@triton.jit
def softmax(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + i, mask=i < N, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * N + i, e / tl.sum(e, axis=0), mask=i < N)


def _softmax(x, shape):
    v = x.reshape(shape).astype(float)
    e = numpy.exp(v - v.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


case("softmax", softmax, "x:*fp32 y:*fp32 N:i32", {"BLOCK": 1024}, (3,),
     lambda r: dict(x=r.standard_normal(3 * 781, "f"), y=numpy.zeros(3 * 781, "f"), N=781),
     lambda a: dict(y=(_softmax(a["x"], (3, 781)), 1e-6)))


@triton.jit
def softmax_rows(x, y, M, N, R: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    i = tl.arange(0, BLOCK)
    m = (r[:, None] < M) & (i[None, :] < N)
    v = tl.load(x + r[:, None] * N + i[None, :], mask=m, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, axis=1)[:, None])
    tl.store(y + r[:, None] * N + i[None, :], (e / tl.sum(e, axis=1)[:, None]).to(tl.float16), mask=m)


case("softmax_rows", softmax_rows, "x:*fp16 y:*fp16 M:i32 N:i32", {"R": 8, "BLOCK": 128}, (2,),
     lambda r: dict(x=r.standard_normal(1100).astype("e"), y=numpy.zeros(1100, "e"), M=11, N=100),
     lambda a: dict(y=(_softmax(a["x"], (11, 100)), 1e-3)))


@triton.jit
def layernorm(x, w, b, y, mean, rstd, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for o in range(0, N, BLOCK):
        i = o + tl.arange(0, BLOCK)
        total += tl.load(x + row * N + i, mask=i < N, other=0.).to(tl.float32)
    mu = tl.sum(total, axis=0) / N
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for o in range(0, N, BLOCK):
        i = o + tl.arange(0, BLOCK)
        d = tl.where(i < N, tl.load(x + row * N + i, mask=i < N, other=0.).to(tl.float32) - mu, 0.)
        squares += d * d
    rs = 1 / tl.sqrt(tl.sum(squares, axis=0) / N + eps)
    tl.store(mean + row, mu)
    tl.store(rstd + row, rs)
    for o in range(0, N, BLOCK):
        i = o + tl.arange(0, BLOCK)
        m = i < N
        v = tl.load(x + row * N + i, mask=m, other=0.).to(tl.float32)
        tl.store(y + row * N + i, (v - mu) * rs * tl.load(w + i, mask=m).to(tl.float32) + tl.load(b + i, mask=m).to(tl.float32), mask=m)


def _layernorm(a):
    x = a["x"].reshape(3, -1).astype(float)
    mu, rs = x.mean(1), (x.var(1) + 1e-5) ** -0.5
    y = (x - mu[:, None]) * rs[:, None] * a["w"].astype(float) + a["b"].astype(float)
    return dict(mean=(mu, 1e-5), rstd=(rs, 1e-5), y=(y, 1e-3))


case("layernorm", layernorm, "x:*fp16 w:*fp16 b:*fp16 y:*fp16 mean:*fp32 rstd:*fp32 N:i32 eps:fp32", {"BLOCK": 256}, (3,),
     lambda r: dict(x=r.standard_normal(1800).astype("e"), w=r.standard_normal(600).astype("e"), b=r.standard_normal(600).astype("e"),
                    y=numpy.zeros(1800, "e"), mean=numpy.zeros(3, "f"), rstd=numpy.zeros(3, "f"), N=600, eps=1e-5), _layernorm)


@triton.jit
def layernorm_backward(dy, x, w, mean, rstd, dx, dw, db, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    m = i < N
    g = tl.load(dy + row * N + i, mask=m, other=0).to(tl.float32)
    rs = tl.load(rstd + row)
    hat = tl.where(m, (tl.load(x + row * N + i, mask=m, other=0).to(tl.float32) - tl.load(mean + row)) * rs, 0.0)
    wg = g * tl.load(w + i, mask=m, other=0)
    c1 = tl.sum(hat * wg, axis=0) / N
    c2 = tl.sum(wg, axis=0) / N
    tl.store(dx + row * N + i, (wg - (hat * c1 + c2)) * rs, mask=m)
    tl.atomic_add(dw + i, g * hat, mask=m)
    tl.atomic_add(db + i, g, mask=m)


def _layernorm_backward(a):
    dy, x = (a[name].reshape(4, -1).astype(float) for name in ("dy", "x"))
    rs, n = a["rstd"][:, None].astype(float), x.shape[1]
    hat = (x - a["mean"][:, None]) * rs
    wg = dy * a["w"]
    dx = (wg - (hat * (hat * wg).sum(1, keepdims=True) / n + wg.sum(1, keepdims=True) / n)) * rs
    return dict(dx=(dx, 1e-5), dw=((dy * hat).sum(0), 1e-5), db=(dy.sum(0), 1e-5))


case("layernorm_backward", layernorm_backward,
     "dy:*fp32 x:*fp32 w:*fp32 mean:*fp32 rstd:*fp32 dx:*fp32 dw:*fp32 db:*fp32 N:i32", {"BLOCK": 256}, (4,),
     lambda r: dict(dy=r.standard_normal(800, "f"), x=r.standard_normal(800, "f"), w=r.standard_normal(200, "f"),
                    mean=r.standard_normal(4, "f"), rstd=r.random(4, "f"), dx=numpy.zeros(800, "f"), dw=numpy.zeros(200, "f"),
                    db=numpy.zeros(200, "f"), N=200), _layernorm_backward)


@triton.jit
def _merge_moments(mean_a, m2_a, weight_a, mean_b, m2_b, weight_b):
    delta = mean_b - mean_a
    weight = weight_a + weight_b
    ratio = tl.where(weight == 0.0, 0.0, weight_b / weight)
    return mean_a + delta * ratio, m2_a + m2_b + delta * delta * weight_a * ratio, weight


@triton.jit
def moments(x, mean, variance, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + i, mask=i < N, other=0.0)
    ones = tl.where(i < N, 1.0, 0.0)
    m, m2, weight = tl.reduce((v, tl.zeros([BLOCK], tl.float32), ones), 0, _merge_moments)
    tl.store(mean + row, m)
    tl.store(variance + row, m2 / weight)


case("welford", moments, "x:*fp32 mean:*fp32 variance:*fp32 N:i32", {"BLOCK": 512}, (2,),
     lambda r: dict(x=r.standard_normal(600, "f"), mean=numpy.zeros(2, "f"), variance=numpy.zeros(2, "f"), N=300),
     lambda a: dict(mean=(a["x"].reshape(2, 300).astype(float).mean(1), 1e-5),
                    variance=(a["x"].reshape(2, 300).astype(float).var(1), 1e-5)))


@triton.jit
def cross_entropy(logits, labels, loss, N, ignore, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(labels + row)
    if label == ignore:
        return
    i = tl.arange(0, BLOCK)
    v = tl.load(logits + row * N + i, mask=i < N, other=-float("inf")).to(tl.float32)
    top = tl.max(v, 0)
    total = tl.log(tl.sum(tl.exp(v - top), 0)) + top
    tl.store(loss + row, total - tl.load(logits + row * N + label).to(tl.float32))


def _cross_entropy(a):
    v = a["logits"].reshape(4, 250).astype(float)
    loss = numpy.log(numpy.exp(v).sum(1)) - v[numpy.arange(4), a["labels"]]
    return dict(loss=(numpy.where(a["labels"] == 3, 0, loss), 1e-5))


case("cross_entropy", cross_entropy, "logits:*bf16 labels:*i32 loss:*fp32 N:i32 ignore:i32", {"BLOCK": 256}, (4,),
     lambda r: dict(logits=bfloat(r.standard_normal(1000)), labels=numpy.array([5, 3, 249, 0], "i"), loss=numpy.zeros(4, "f"), N=250,
                    ignore=3), lambda a: _cross_entropy({**a, "logits": wide(a["logits"])}))


def bfloat(x):
    """Codes of bf16, or an array of ml_dtypes."""
    codes = (x.astype("f").view("I") >> 16).astype("H")
    try:
        import ml_dtypes

        return codes.view(ml_dtypes.bfloat16)
    except ImportError:
        return codes


def wide(x):
    return (numpy.asarray(x).view("H").astype("I") << 16).view("f")


@triton.jit
def argmax(x, out, low, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + i, mask=i < N, other=-float("inf"))
    tl.store(out + row, tl.argmax(v, axis=0))
    tl.store(low + row, tl.argmin(tl.where(i < N, v, float("inf")), axis=0))


case("argmax", argmax, "x:*fp32 out:*i32 low:*i32 N:i32", {"BLOCK": 256}, (3,),
     lambda r: dict(x=r.integers(0, 40, 600).astype("f"), out=numpy.zeros(3, "i"), low=numpy.zeros(3, "i"), N=200),
     lambda a: dict(out=(a["x"].reshape(3, 200).argmax(1), 0), low=(a["x"].reshape(3, 200).argmin(1), 0)))


@triton.jit
def argmax_columns(x, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + tl.arange(0, N), tl.argmax(tl.load(x + i), axis=0))


case("argmax_columns", argmax_columns, "x:*fp32 out:*i32", {"M": 32, "N": 64}, (1,),
     lambda r: dict(x=r.integers(0, 9, 2048).astype("f"), out=numpy.zeros(64, "i")),
     lambda a: dict(out=(a["x"].reshape(32, 64).argmax(0), 0)))


@triton.jit
def sort(x, out, N, BLOCK: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + i, mask=i < N, other=-float("inf"))
    tl.store(out + row * K + i, tl.sort(v, descending=True), mask=i < K)


case("sort", sort, "x:*fp32 out:*fp32 N:i32", {"BLOCK": 128, "K": 8}, (2,),
     lambda r: dict(x=r.standard_normal(200, "f"), out=numpy.zeros(16, "f"), N=100),
     lambda a: dict(out=(-numpy.sort(-a["x"].reshape(2, 100), 1)[:, :8], 0)))


@triton.jit
def cumulate(x, y, total, most, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + i, mask=i < N, other=0)
    w = tl.load(y + row * N + i, mask=i < N, other=0.0)
    tl.store(x + row * N + i, tl.cumsum(v, 0), mask=i < N)
    tl.store(total + row * N + i, tl.cumsum(w, 0), mask=i < N)
    tl.store(most + row * N + i, tl.cumsum(v, 0, reverse=True), mask=i < N)


def _cumulate(a):
    x, y = a["x"].reshape(2, 200), a["y"].reshape(2, 200).astype(float)
    return dict(x=(numpy.cumsum(x, 1), 0), total=(numpy.cumsum(y, 1), 1e-5), most=(numpy.cumsum(x[:, ::-1], 1)[:, ::-1], 0))


case("cumsum", cumulate, "x:*i32 y:*fp32 total:*fp32 most:*i32 N:i32", {"BLOCK": 256}, (2,),
     lambda r: dict(x=r.integers(-9, 9, 400, dtype=numpy.int32), y=r.standard_normal(400, "f"), total=numpy.zeros(400, "f"),
                    most=numpy.zeros(400, "i"), N=200), _cumulate)


@triton.jit
def _compose(a0, b0, a1, b1):
    return a0 * a1, b0 * a1 + b1


@triton.jit
def recurrence(a, b, out, T: tl.constexpr, D: tl.constexpr):
    t = tl.arange(0, T)[:, None] * D + tl.arange(0, D)[None, :]
    _, h = tl.associative_scan((tl.load(a + t), tl.load(b + t)), 0, _compose)
    tl.store(out + t, h)


def _recurrence(arguments):
    a, b = (arguments[name].reshape(64, 16).astype(float) for name in "ab")
    h, out = numpy.zeros(16), []
    for k in range(64):
        h = a[k] * h + b[k]
        out.append(h)
    return dict(out=(numpy.stack(out), 1e-5))


case("state_space_scan", recurrence, "a:*fp32 b:*fp32 out:*fp32", {"T": 64, "D": 16}, (1,),
     lambda r: dict(a=r.random(1024, "f"), b=r.standard_normal(1024, "f"), out=numpy.zeros(1024, "f")), _recurrence)


@triton.jit
def histogram(x, out, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    i = tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x + i, mask=i < n, other=0), BINS)
    tl.store(out + tl.arange(0, BINS), counts)


case("histogram", histogram, "x:*i32 out:*i32 n:i32", {"BLOCK": 256, "BINS": 32}, (1,),
     lambda r: dict(x=r.integers(0, 32, 256, dtype=numpy.int32), out=numpy.zeros(32, "i"), n=256),
     lambda a: dict(out=(numpy.bincount(a["x"], minlength=32), 0)))


@triton.jit
def gather_rows(x, index, out, flipped, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + i)
    tl.store(out + i, tl.gather(v, tl.load(index + i), 1))
    tl.store(flipped + i, tl.flip(v, 1))


case("gather_flip", gather_rows, "x:*fp32 index:*i32 out:*fp32 flipped:*fp32", {"M": 8, "N": 32}, (1,),
     lambda r: dict(x=r.standard_normal(256, "f"), index=r.integers(0, 32, 256, dtype=numpy.int32), out=numpy.zeros(256, "f"),
                    flipped=numpy.zeros(256, "f")),
     lambda a: dict(out=(numpy.take_along_axis(a["x"].reshape(8, 32), a["index"].reshape(8, 32), 1), 0),
                    flipped=(a["x"].reshape(8, 32)[:, ::-1], 0)))


@triton.jit
def sample(logits, noise, out, N, p, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(logits + row * N + i, mask=i < N, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    share = e / tl.sum(e, 0)
    ordered = tl.sort(share, descending=True)
    before = tl.cumsum(ordered, 0) - ordered
    least = tl.min(tl.where(before < p, ordered, 2.0), 0)
    kept = tl.where(share >= least, share, 0.0)
    g = tl.load(noise + row * N + i, mask=i < N, other=1.0)
    tl.store(out + row, tl.argmax(kept / g, 0))


def _sample(a):
    share = _softmax(a["logits"], (4, 100))
    ordered = -numpy.sort(-share, 1)
    before = numpy.cumsum(ordered, 1) - ordered
    least = numpy.where(before < a["p"], ordered, 2).min(1, keepdims=True)
    return dict(out=(numpy.argmax(numpy.where(share >= least, share, 0) / a["noise"].reshape(4, 100), 1), 0))


case("top_p_sample", sample, "logits:*fp32 noise:*fp32 out:*i32 N:i32 p:fp32", {"BLOCK": 128}, (4,),
     lambda r: dict(logits=r.standard_normal(400, "f") * 2, noise=r.exponential(size=400).astype("f"), out=numpy.zeros(4, "i"), N=100,
                    p=0.8), _sample)


@triton.jit
def sort_ascending(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.sort(tl.load(x + i)))


case("sort_1024", sort_ascending, "x:*fp32 out:*fp32", {"BLOCK": 1024}, (1,),
     lambda r: dict(x=r.standard_normal(1024, "f"), out=numpy.zeros(1024, "f")), lambda a: dict(out=(numpy.sort(a["x"]), 0)))


@triton.jit
def _larger_magnitude(a, b):
    return tl.maximum(tl.abs(a), tl.abs(b))


@triton.jit
def own_functions(x, magnitude, products, where, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + i)
    tl.store(magnitude + tl.arange(0, M), tl.reduce(v, 1, _larger_magnitude))
    tl.store(products + i, tl.cumprod(v, 0))
    _, index = tl.max(v, 0, return_indices=True)
    tl.store(where + tl.arange(0, N), index)


def _own_functions(a):
    x = a["x"].reshape(16, 32)
    return dict(magnitude=(numpy.abs(x).max(1), 0), products=(numpy.cumprod(x.astype(float), 0), 1e-5), where=(x.argmax(0), 0))


case("own_functions", own_functions, "x:*fp32 magnitude:*fp32 products:*fp32 where:*i32", {"M": 16, "N": 32}, (1,),
     lambda r: dict(x=r.standard_normal(512, "f"), magnitude=numpy.zeros(16, "f"), products=numpy.zeros(512, "f"),
                    where=numpy.zeros(32, "i")), _own_functions)


@triton.jit
def permuted(x, moved, sums, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a, b, c = tl.arange(0, A)[:, None, None], tl.arange(0, B)[None, :, None], tl.arange(0, C)[None, None, :]
    v = tl.load(x + a * B * C + b * C + c)
    rows = tl.arange(0, C)[:, None] * (A * B) + tl.arange(0, A * B)[None, :]
    tl.store(moved + rows, tl.permute(v, (2, 0, 1)).reshape(C, A * B))
    tl.store(sums + tl.arange(0, A)[:, None] * C + tl.arange(0, C)[None, :], tl.sum(v, 1))


case("permuted", permuted, "x:*fp32 moved:*fp32 sums:*fp32", {"A": 4, "B": 8, "C": 16}, (1,),
     lambda r: dict(x=r.standard_normal(512, "f"), moved=numpy.zeros(512, "f"), sums=numpy.zeros(64, "f")),
     lambda a: dict(moved=(a["x"].reshape(4, 8, 16).transpose(2, 0, 1), 0), sums=(a["x"].reshape(4, 8, 16).astype(float).sum(1), 1e-6)))
