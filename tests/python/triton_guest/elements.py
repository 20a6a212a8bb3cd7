"""Kernels on elements."""

import numpy
import triton
import triton.language as tl
from cases import case


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


case("add", add, "x:*fp32 y:*fp32 out:*fp32 n:i32", {"BLOCK": 512}, (2,),
     lambda r: dict(x=r.standard_normal(1000, "f"), y=r.standard_normal(1000, "f"), out=numpy.zeros(1000, "f"), n=1000),
     lambda a: dict(out=(a["x"] + a["y"], 0)))


@triton.jit
def swiglu(x, gate, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    v = tl.load(x + i, mask=inside, other=0.0).to(tl.float32)
    g = tl.load(gate + i, mask=inside, other=0.0).to(tl.float32)
    gelu = 0.5 * v * (1.0 + tl.erf(v * 0.7071067811865476))
    tl.store(out + i, (gelu * g * tl.sigmoid(g)).to(tl.float16), mask=inside)


def _swiglu(a):
    from math import erf

    x, g = (a[name].astype(float) for name in ("x", "gate"))
    return dict(out=(0.5 * x * (1 + numpy.vectorize(erf)(x / 2**0.5)) * g / (1 + numpy.exp(-g)), 2e-3))


case("swiglu", swiglu, "x:*fp16 gate:*fp16 out:*fp16 n:i32", {"BLOCK": 256}, (2,),
     lambda r: dict(x=r.standard_normal(400).astype("e"), gate=r.standard_normal(400).astype("e"), out=numpy.zeros(400, "e"),
                    n=400), _swiglu)


@triton.jit
def functions(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=1.0)
    r = tl.exp(v) + tl.exp2(v) + tl.log(v) + tl.log2(v) + tl.sin(v) + tl.cos(v)
    r += tl.sqrt(v) + tl.sqrt_rn(v) + tl.rsqrt(v) + tl.floor(v) + tl.ceil(v) + tl.abs(v)
    r += v / (v + 2.0) + tl.div_rn(v, v + 3.0) + tl.fdiv(v, v + 5.0) + tl.fma(v, v, v)
    r += tl.clamp(v, 0.0, 1.0) + tl.maximum(v, 0.5) + tl.minimum(v, 0.5, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out + i, r, mask=i < n)


def _functions(a):
    v = a["x"].astype(float)
    r = numpy.exp(v) + numpy.exp2(v) + numpy.log(v) + numpy.log2(v) + numpy.sin(v) + numpy.cos(v) + 2 * numpy.sqrt(v) + v**-0.5
    r += numpy.floor(v) + numpy.ceil(v) + v + v / (v + 2) + v / (v + 3) + v / (v + 5) + v * v + v
    return dict(out=(r + numpy.clip(v, 0, 1) + numpy.maximum(v, 0.5) + numpy.minimum(v, 0.5), 1e-5))


case("functions", functions, "x:*fp32 out:*fp32 n:i32", {"BLOCK": 256}, (1,),
     lambda r: dict(x=r.random(200, "f") * 4 + 0.1, out=numpy.zeros(200, "f"), n=200), _functions)


@triton.jit
def integers(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=1)
    u = v.to(tl.uint32)
    r = v // 3 + v % 5 + (v << 2) + (v >> 1) + tl.umulhi(u, 123456789).to(tl.int32) + (u // 7).to(tl.int32)
    r += (u % 11).to(tl.int32) + (u >> 3).to(tl.int32) + (v.to(tl.int8)).to(tl.int32) + tl.where(u > 1000, 1, 0)
    r += tl.maximum(v, 3) + tl.minimum(u, 9).to(tl.int32) + tl.abs(v) + (v ^ 85) + (v & 12) + (v | 3) + (~v)
    tl.store(out + i, r, mask=i < n)


def _integers(a):
    v = a["x"].astype(numpy.int64)
    u = v & 0xffffffff
    r = numpy.trunc(v / 3).astype(numpy.int64) + numpy.fmod(v, 5) + (v << 2) + (v >> 1) + (u * 123456789 >> 32) + u // 7 + u % 11
    r = r + (u >> 3) + v.astype(numpy.int8) + (u > 1000) + numpy.maximum(v, 3) + numpy.minimum(u, 9) + numpy.abs(v)
    return dict(out=((r + (v ^ 85) + (v & 12) + (v | 3) + ~v).astype(numpy.int32), 0))


case("integers", integers, "x:*i32 out:*i32 n:i32", {"BLOCK": 128}, (1,),
     lambda r: dict(x=r.integers(-2**20, 2**20, 100, dtype=numpy.int32), out=numpy.zeros(100, "i"), n=100), _integers)


@triton.jit
def casts(x, half, near_zero, small, byte, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + i, mask=m, other=0.0)
    tl.store(half + i, v.to(tl.float16), mask=m)
    tl.store(near_zero + i, v.to(tl.float16, fp_downcast_rounding="rtz"), mask=m)
    tl.store(small + i, v.to(tl.bfloat16).to(tl.float32), mask=m)
    tl.store(byte + i, v.to(tl.int8), mask=m)


def _casts(a):
    x = a["x"]
    near = x.astype("e")
    codes = near.view("H") - (numpy.abs(near.astype("f")) > numpy.abs(x)).astype("H")
    bits = x.view("I").astype(numpy.uint64)
    brain = ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).astype("I").view("f")
    return dict(half=(near, 0), near_zero=(codes.view("e"), 0), small=(brain, 0), byte=(x.astype(numpy.int8), 0))


case("casts", casts, "x:*fp32 half:*fp16 near_zero:*fp16 small:*fp32 byte:*i8 n:i32", {"BLOCK": 256}, (1,),
     lambda r: dict(x=r.standard_normal(200, "f") * 30, half=numpy.zeros(200, "e"), near_zero=numpy.zeros(200, "e"),
                    small=numpy.zeros(200, "f"), byte=numpy.zeros(200, "b"), n=200), _casts)


@triton.jit
def rotate(q, cos, sin, out, S, H: tl.constexpr, D: tl.constexpr):
    row = tl.program_id(0)
    place = (row // H) % S
    d = tl.arange(0, D // 2)
    c = tl.load(cos + place * (D // 2) + d)
    s = tl.load(sin + place * (D // 2) + d)
    a = tl.load(q + row * D + d).to(tl.float32)
    b = tl.load(q + row * D + D // 2 + d).to(tl.float32)
    tl.store(out + row * D + d, (a * c - b * s).to(tl.float16))
    tl.store(out + row * D + D // 2 + d, (b * c + a * s).to(tl.float16))


def _rotate(a):
    q = a["q"].reshape(5, 2, 2, 32).astype("f")
    c, s = (a[name].reshape(5, 1, 32) for name in ("cos", "sin"))
    x, y = q[:, :, 0], q[:, :, 1]
    return dict(out=(numpy.stack([x * c - y * s, y * c + x * s], 2).astype("e"), 0))


case("rotate", rotate, "q:*fp16 cos:*fp32 sin:*fp32 out:*fp16 S:i32", {"H": 2, "D": 64}, (10,),
     lambda r: dict(q=r.standard_normal(640).astype("e"), cos=r.random(160, "f"), sin=r.random(160, "f"), out=numpy.zeros(640, "e"),
                    S=5), _rotate, num_warps=1)


@triton.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    keep = tl.rand(seed, i) > p
    tl.store(out + i, tl.where(keep, tl.load(x + i, mask=m) * 2.0, 0.0), mask=m)


def _philox(counter, key):
    c = [counter.astype(numpy.uint64), *(numpy.zeros(counter.size, numpy.uint64) for _ in range(3))]
    k = [key & 0xffffffff, key >> 32]
    for _ in range(10):
        a, b = c[0] * numpy.uint64(0xD2511F53), c[2] * numpy.uint64(0xCD9E8D57)
        low = numpy.uint64(0xffffffff)
        c = [(b >> numpy.uint64(32)) ^ c[1] ^ numpy.uint64(k[0]), b & low, (a >> numpy.uint64(32)) ^ c[3] ^ numpy.uint64(k[1]), a & low]
        k = [(k[0] + 0x9E3779B9) & 0xffffffff, (k[1] + 0xBB67AE85) & 0xffffffff]
    return c[0].astype(numpy.uint32)


def _dropout(a):
    words = _philox(numpy.arange(300), a["seed"]).view(numpy.int32)
    words = numpy.where(words < 0, -words - 1, words)
    kept = words.astype("f") * numpy.float32(4.6566127342e-10) > numpy.float32(a["p"])
    return dict(out=(numpy.where(kept, a["x"] * 2, 0), 0))


case("dropout", dropout, "x:*fp32 out:*fp32 n:i32 p:fp32 seed:i32", {"BLOCK": 256}, (2,),
     lambda r: dict(x=r.standard_normal(300, "f"), out=numpy.zeros(300, "f"), n=300, p=0.25, seed=1234), _dropout)


@triton.jit
def quantize(x, codes, scales, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + i, mask=i < N, other=0.0)
    s = tl.div_rn(tl.max(tl.abs(v), 0), 127.0)
    q = tl.floor(tl.div_rn(v, s) + 0.5)
    tl.store(codes + row * N + i, q.to(tl.int8), mask=i < N)
    tl.store(scales + row, s)


def _quantize(a):
    x = a["x"].reshape(3, 90)
    s = numpy.abs(x).max(1) / numpy.float32(127)
    return dict(scales=(s, 0), codes=(numpy.floor(x / s[:, None] + numpy.float32(0.5)).astype("b"), 0))


case("quantize", quantize, "x:*fp32 codes:*i8 scales:*fp32 N:i32", {"BLOCK": 128}, (3,),
     lambda r: dict(x=r.standard_normal(270, "f"), codes=numpy.zeros(270, "b"), scales=numpy.zeros(3, "f"), N=90), _quantize)


@triton.jit
def powers(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    y = tl.inline_asm_elementwise("ex2.approx.ftz.f32 $0, $1;", "=f,f", [v], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(out + i, y, mask=i < n)


case("inline_assembly", powers, "x:*fp32 out:*fp32 n:i32", {"BLOCK": 128}, (1,),
     lambda r: dict(x=r.standard_normal(100, "f"), out=numpy.zeros(100, "f"), n=100),
     lambda a: dict(out=(numpy.exp2(a["x"].astype(float)), 1e-6)))


@triton.jit
def adam(p, g, m, v, n, lr, b1, b2, eps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    grad = tl.load(g + i, mask=inside)
    first = tl.load(m + i, mask=inside) * b1 + grad * (1 - b1)
    second = tl.load(v + i, mask=inside) * b2 + grad * grad * (1 - b2)
    tl.store(m + i, first, mask=inside)
    tl.store(v + i, second, mask=inside)
    tl.store(p + i, tl.load(p + i, mask=inside) - lr * first / (tl.sqrt(second) + eps), mask=inside)


def _adam(a):
    m = a["m"] * 0.9 + a["g"] * 0.1
    v = a["v"] * 0.99 + a["g"] ** 2 * 0.01
    return dict(m=(m, 1e-6), v=(v, 1e-6), p=(a["p"] - 0.1 * m / (numpy.sqrt(v) + 1e-8), 1e-6))


case("adam", adam, "p:*fp32 g:*fp32 m:*fp32 v:*fp32 n:i32 lr:fp32 b1:fp32 b2:fp32 eps:fp32", {"BLOCK": 128}, (2,),
     lambda r: dict(p=r.standard_normal(200, "f"), g=r.standard_normal(200, "f"), m=r.standard_normal(200, "f"), v=r.random(200, "f"),
                    n=200, lr=0.1, b1=0.9, b2=0.99, eps=1e-8), _adam)
