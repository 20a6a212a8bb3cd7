"""Matrix products and attention."""

import numpy
import triton
import triton.language as tl
from cases import case


@triton.jit
def matmul(a, b, c, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACC: tl.constexpr,
           PRECISION: tl.constexpr, OUT: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * sam + rk[None, :]
    pb = b + rk[:, None] * sbk + rn[None, :]
    acc = tl.zeros((BM, BN), dtype=ACC)
    for k in range(0, K, BK):
        x = tl.load(pa, mask=(rm[:, None] < M) & (rk[None, :] < K - k), other=0.0)
        y = tl.load(pb, mask=(rk[:, None] < K - k) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc, input_precision=PRECISION, out_dtype=ACC)
        pa += BK
        pb += BK * sbk
    tl.store(c + rm[:, None] * scm + rn[None, :], acc.to(OUT), mask=(rm[:, None] < M) & (rn[None, :] < N))


NUMPY = {"fp16": "e", "fp32": "f", "fp64": "d", "i8": "b", "i32": "i"}


def _operand(random, kind, shape):
    if kind == "i8":
        return random.integers(-99, 99, shape).astype("b")
    return random.standard_normal(shape).astype(NUMPY[kind])


def product(name, kind, out, acc, to, bound, targets=("sm_80", "sm_90"), precision="tf32", BM=64, BN=64, BK=32, M=80, N=96, K=112, **options):
    case(name, matmul, f"a:*{kind} b:*{kind} c:*{out} M:i32 N:i32:16 K:i32:16 sam:i32:16 sbk:i32:16 scm:i32:16",
         dict(BM=BM, BN=BN, BK=BK, ACC=acc, PRECISION=precision, OUT=to), (-(-M // BM), -(-N // BN)),
         lambda r: dict(a=_operand(r, kind, (M, K)), b=_operand(r, kind, (K, N)), c=numpy.zeros((M, N), NUMPY[out]), M=M, N=N, K=K,
                        sam=K, sbk=N, scm=N),
         lambda a: dict(c=(a["a"].astype("d" if kind != "i8" else "i8") @ a["b"].astype("d" if kind != "i8" else "i8"), bound)),
         targets, **options)


product("matmul_f16", "fp16", "fp16", tl.float32, tl.float16, 1e-3, num_stages=1)
product("matmul_f16_3_stages", "fp16", "fp16", tl.float32, tl.float16, 1e-3, num_stages=3)
product("matmul_f16_4_stages", "fp16", "fp32", tl.float32, tl.float32, 1e-5, num_stages=4, K=224)
product("matmul_f16_8_warps", "fp16", "fp16", tl.float32, tl.float16, 1e-3, num_stages=3, num_warps=8, BM=128, BN=128, BK=64)
product("matmul_f16_1_warp", "fp16", "fp32", tl.float32, tl.float32, 1e-5, num_stages=1, num_warps=1, BM=32, BN=32)
product("matmul_f16_sums", "fp16", "fp16", tl.float16, tl.float16, 1e-2, ("sm_80",), num_stages=2)
product("matmul_i8", "i8", "i32", tl.int32, tl.int32, 0, num_stages=3, BK=64, K=192)
product("matmul_tf32", "fp32", "fp32", tl.float32, tl.float32, 2e-3, num_stages=2)
product("matmul_tf32x3", "fp32", "fp32", tl.float32, tl.float32, 1e-5, ("sm_80",), "tf32x3", num_stages=2, BM=32, BN=32)
product("matmul_ieee", "fp32", "fp32", tl.float32, tl.float32, 1e-6, ("sm_80",), "ieee", num_stages=2, BM=32, BN=32, BK=16)
product("matmul_f64", "fp64", "fp64", tl.float64, tl.float64, 1e-15, num_stages=2, precision="ieee", BM=32, BN=32, BK=16)


@triton.jit
def split_k(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLITS: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    z = tl.program_id(2)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(z * BK, K, BK * SPLITS):
        rk = k + tl.arange(0, BK)
        x = tl.load(a + rm[:, None] * K + rk[None, :], mask=rk[None, :] < K, other=0.0)
        y = tl.load(b + rk[:, None] * N + rn[None, :], mask=rk[:, None] < K, other=0.0)
        acc = tl.dot(x, y, acc)
    tl.atomic_add(c + rm[:, None] * N + rn[None, :], acc, sem="relaxed")


case("split_k", split_k, "a:*fp16 b:*fp16 c:*fp32 M:i32:16 N:i32:16 K:i32:16", dict(BM=32, BN=64, BK=32, SPLITS=3), (2, 1, 3),
     lambda r: dict(a=_operand(r, "fp16", (64, 160)), b=_operand(r, "fp16", (160, 64)), c=numpy.zeros((64, 64), "f"), M=64, N=64, K=160),
     lambda a: dict(c=(a["a"].astype("d") @ a["b"].astype("d"), 1e-5)))


@triton.jit
def int4_matmul(a, q, scales, zeros, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, G: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    rp = tl.arange(0, BK // 2)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + (k + rk)[None, :], mask=rm[:, None] < M, other=0.0)
        w = tl.load(q + rn[:, None] * (K // 2) + (k // 2 + rp)[None, :])
        d = tl.interleave((w & 0xF).to(tl.float16), ((w >> 4) & 0xF).to(tl.float16))
        g = k // G
        d = (d - tl.load(zeros + g * N + rn)[:, None]) * tl.load(scales + g * N + rn)[:, None]
        acc = tl.dot(x, tl.trans(d), acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.float16), mask=rm[:, None] < M)


def _int4(a):
    q = a["q"]
    w = numpy.stack([q & 15, q >> 4], -1).reshape(64, 128).astype("e")
    w = (w - numpy.repeat(a["zeros"], 64, 0).T) * numpy.repeat(a["scales"], 64, 0).T
    return dict(c=(a["a"].astype("d") @ w.astype("d").T, 1e-3))


case("matmul_int4", int4_matmul, "a:*fp16 q:*u8 scales:*fp16 zeros:*fp16 c:*fp16 M:i32 N:i32:16 K:i32:16",
     dict(BM=32, BN=64, BK=64, G=64), (1, 1),
     lambda r: dict(a=_operand(r, "fp16", (20, 128)), q=r.integers(0, 256, (64, 64)).astype("B"), scales=r.random((2, 64)).astype("e"),
                    zeros=numpy.full((2, 64), 8, "e"), c=numpy.zeros((20, 64), "e"), M=20, N=64, K=128), _int4)


@triton.jit
def awq_matmul(a, q, scales, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Weights packed along n, eight in a word, one row of scales."""
    rm = tl.arange(0, BM)
    rn = tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        word = tl.load(q + rk[:, None] * 16 + (rn // 8)[None, :])
        w = ((word >> ((rn % 8) * 4)[None, :]) & 0xF).to(tl.float16) - 8.0
        acc = tl.dot(tl.load(a + rm[:, None] * K + rk[None, :]), w, acc)
    tl.store(c + rm[:, None] * 128 + rn[None, :], (acc * tl.load(scales + rn)[None, :]).to(tl.float16))


def _awq(a):
    q = a["q"]
    w = (q[:, :, None] >> (numpy.arange(8) * 4) & 15).reshape(64, 128).astype("d") - 8
    return dict(c=(a["a"].astype("d") @ w * a["scales"], 1e-3))


case("matmul_words", awq_matmul, "a:*fp16 q:*i32 scales:*fp32 c:*fp16 K:i32:16", dict(BM=16, BN=64, BK=32), (2,),
     lambda r: dict(a=_operand(r, "fp16", (16, 64)), q=r.integers(-2**31, 2**31, (64, 16)).astype("i"), scales=r.random(128, "f"),
                    c=numpy.zeros((16, 128), "e"), K=64), _awq)


@triton.jit
def experts(x, w, of_row, out, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Rows sorted by expert: each block of rows has one expert, whose matrix it multiplies by."""
    block = tl.program_id(0)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    expert = tl.load(of_row + block)
    if expert == -1:
        return
    rm = block * BM + tl.arange(0, BM)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        y = tl.load(w + expert.to(tl.int64) * N * K + rk[:, None] * N + rn[None, :])
        acc = tl.dot(tl.load(x + rm[:, None] * K + rk[None, :]), y, acc)
    tl.store(out + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


def _experts(a):
    out = numpy.zeros((4, 16, 64))
    for k, expert in enumerate(a["of_row"]):
        if expert >= 0:
            out[k] = a["x"].reshape(4, 16, 64)[k].astype("d") @ a["w"][expert].astype("d")
    return dict(out=(out, 1e-3))


case("experts", experts, "x:*fp16 w:*fp16 of_row:*i32 out:*fp16 N:i32:16 K:i32:16", dict(BM=16, BN=64, BK=32), (4, 1),
     lambda r: dict(x=_operand(r, "fp16", (64, 64)), w=_operand(r, "fp16", (3, 64, 64)), of_row=numpy.array([2, 0, -1, 1], "i"),
                    out=numpy.zeros((64, 64), "e"), N=64, K=64), _experts)


@triton.jit
def attention(q, k, v, o, L, S, scale, CAUSAL: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    bm = tl.program_id(0)
    off = tl.program_id(1).to(tl.int64) * S * D
    rm = bm * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    rn = tl.arange(0, BN)
    qt = tl.load(q + off + rm[:, None] * D + rd[None, :], mask=rm[:, None] < S, other=0.0)
    m = tl.full([BM], -float("inf"), tl.float32)
    l = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    qs = scale * 1.44269504
    end = (bm + 1) * BM if CAUSAL else S
    for s in range(0, end, BN):
        kt = tl.load(k + off + (s + rn)[None, :] * D + rd[:, None], mask=(s + rn)[None, :] < S, other=0.0)
        p = tl.dot(qt, kt) * qs
        if CAUSAL:
            p = tl.where(rm[:, None] >= (s + rn)[None, :], p, -float("inf"))
        else:
            p = tl.where((s + rn)[None, :] < S, p, -float("inf"))
        mn = tl.maximum(m, tl.max(p, 1))
        p = tl.exp2(p - mn[:, None])
        alpha = tl.exp2(m - mn)
        l = l * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        vt = tl.load(v + off + (s + rn)[:, None] * D + rd[None, :], mask=(s + rn)[:, None] < S, other=0.0)
        acc = tl.dot(p.to(tl.float16), vt, acc)
        m = mn
    tl.store(L + tl.program_id(1) * S + rm, m + tl.log2(l), mask=rm < S)
    tl.store(o + off + rm[:, None] * D + rd[None, :], (acc / l[:, None]).to(tl.float16), mask=rm[:, None] < S)


def _attention(causal, S, D):
    def expected(a):
        q, k, v = (a[name].reshape(-1, S, D).astype(float) for name in "qkv")
        s = numpy.einsum("hid,hjd->hij", q, k) * a["scale"]
        if causal:
            s = numpy.where(numpy.tril(numpy.ones((S, S), bool)), s, -numpy.inf)
        p = numpy.exp(s - s.max(-1, keepdims=True))
        return dict(o=((p / p.sum(-1, keepdims=True)) @ v, 3e-3))

    return expected


def attend(name, causal, S, D, BM, BN, heads=2, **options):
    case(name, attention, "q:*fp16 k:*fp16 v:*fp16 o:*fp16 L:*fp32 S:i32 scale:fp32", dict(CAUSAL=causal, D=D, BM=BM, BN=BN),
         (-(-S // BM), heads),
         lambda r: dict(q=_operand(r, "fp16", (heads, S, D)), k=_operand(r, "fp16", (heads, S, D)), v=_operand(r, "fp16", (heads, S, D)),
                        o=numpy.zeros((heads, S, D), "e"), L=numpy.zeros((heads, S), "f"), S=S, scale=D ** -0.5),
         _attention(causal, S, D), **options)


attend("attention_causal", True, 100, 64, 64, 32, num_stages=2)
attend("attention_128", False, 90, 128, 64, 64, 1, num_stages=3, num_warps=8)


@triton.jit
def attention_backward(q, k, v, do, lse, delta, dq, dk, dv, S, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """For a block of keys: their gradients in registers, those of the queries by atomic sums."""
    start = tl.program_id(0) * BN
    off = tl.program_id(1) * S * D
    rn = start + tl.arange(0, BN)
    rd = tl.arange(0, D)
    kt = tl.load(k + off + rn[:, None] * D + rd[None, :])
    vt = tl.load(v + off + rn[:, None] * D + rd[None, :])
    gk = tl.zeros([BN, D], tl.float32)
    gv = tl.zeros([BN, D], tl.float32)
    for s in range(0, S, BM):
        rm = s + tl.arange(0, BM)
        qt = tl.load(q + off + rm[:, None] * D + rd[None, :])
        gt = tl.load(do + off + rm[:, None] * D + rd[None, :])
        p = tl.exp2(tl.dot(qt, tl.trans(kt)) * (scale * 1.44269504) - tl.load(lse + tl.program_id(1) * S + rm)[:, None])
        gv = tl.dot(tl.trans(p.to(tl.float16)), gt, gv)
        dp = tl.dot(gt, tl.trans(vt))
        ds = (p * (dp - tl.load(delta + tl.program_id(1) * S + rm)[:, None]) * scale).to(tl.float16)
        gk = tl.dot(tl.trans(ds), qt, gk)
        tl.atomic_add(dq + off + rm[:, None] * D + rd[None, :], tl.dot(ds, kt))
    tl.store(dk + off + rn[:, None] * D + rd[None, :], gk)
    tl.store(dv + off + rn[:, None] * D + rd[None, :], gv)


def _backward_parts(a):
    q, k, v, g = (a[name].reshape(-1, 64, 32).astype(float) for name in ("q", "k", "v", "do"))
    s = numpy.einsum("hid,hjd->hij", q, k) * a["scale"]
    lse = numpy.log(numpy.exp(s).sum(-1))
    p = numpy.exp(s - lse[..., None])
    return q, k, v, g, p, lse


def _backward_arguments(r):
    a = {name: _operand(r, "fp16", (2, 64, 32)) for name in ("q", "k", "v", "do")}
    a["scale"] = 32 ** -0.5
    _, _, v, g, p, lse = _backward_parts(a)
    zeros = {name: numpy.zeros((2, 64, 32), "f") for name in ("dq", "dk", "dv")}
    return dict(a, lse=(lse * 1.4426950408889634).astype("f"), delta=((p @ v) * g).sum(-1).astype("f"), S=64, **zeros)


def _backward(a):
    q, k, v, g, p, _ = _backward_parts(a)
    ds = p * (g @ v.transpose(0, 2, 1) - ((p @ v) * g).sum(-1, keepdims=True)) * a["scale"]
    return dict(dv=(p.transpose(0, 2, 1) @ g, 3e-3), dk=(ds.transpose(0, 2, 1) @ q, 3e-3), dq=(ds @ k, 3e-3))


case("attention_backward", attention_backward,
     "q:*fp16 k:*fp16 v:*fp16 do:*fp16 lse:*fp32 delta:*fp32 dq:*fp32 dk:*fp32 dv:*fp32 S:i32:16 scale:fp32",
     dict(D=32, BM=32, BN=32), (2, 2), _backward_arguments, _backward, num_stages=2)


@triton.jit
def decode(q, kc, vc, table, lengths, o, scale, most, D: tl.constexpr, PAGE: tl.constexpr, R: tl.constexpr):
    s = tl.program_id(0)
    h = tl.program_id(1)
    rr = tl.arange(0, R)
    rd = tl.arange(0, D)
    rp = tl.arange(0, PAGE)
    at = (s * tl.num_programs(1) + h) * R * D
    qt = tl.load(q + at + rr[:, None] * D + rd[None, :])
    length = tl.load(lengths + s)
    m = tl.full([R], -float("inf"), tl.float32)
    l = tl.zeros([R], tl.float32)
    acc = tl.zeros([R, D], tl.float32)
    for page in range(0, tl.cdiv(length, PAGE)):
        b = tl.load(table + s * most + page).to(tl.int64)
        inside = page * PAGE + rp < length
        kt = tl.load(kc + (b * PAGE + rp)[None, :] * D + rd[:, None])
        p = tl.where(inside[None, :], tl.dot(qt, kt) * (scale * 1.44269504), -float("inf"))
        mn = tl.maximum(m, tl.max(p, 1))
        p = tl.exp2(p - mn[:, None])
        alpha = tl.exp2(m - mn)
        l = l * alpha + tl.sum(p, 1)
        vt = tl.load(vc + (b * PAGE + rp)[:, None] * D + rd[None, :])
        acc = tl.dot(p.to(tl.float16), vt, acc * alpha[:, None])
        m = mn
    tl.store(o + at + rr[:, None] * D + rd[None, :], (acc / l[:, None]).to(tl.float16))


def _decode(a):
    out = numpy.zeros((2, 2, 16, 64))
    for s in range(2):
        k, v = (a[name].reshape(6, 32, 64)[a["table"][s]].reshape(-1, 64)[:a["lengths"][s]].astype(float) for name in ("kc", "vc"))
        for h in range(2):
            z = a["q"].reshape(2, 2, 16, 64)[s, h].astype(float) @ k.T * a["scale"]
            p = numpy.exp(z - z.max(1, keepdims=True))
            out[s, h] = p / p.sum(1, keepdims=True) @ v
    return dict(o=(out, 3e-3))


case("decode_pages", decode, "q:*fp16 kc:*fp16 vc:*fp16 table:*i32 lengths:*i32 o:*fp16 scale:fp32 most:i32",
     dict(D=64, PAGE=32, R=16), (2, 2),
     lambda r: dict(q=_operand(r, "fp16", (2, 2, 16, 64)), kc=_operand(r, "fp16", (6, 32, 64)), vc=_operand(r, "fp16", (6, 32, 64)),
                    table=r.permutation(6).reshape(2, 3).astype("i"), lengths=numpy.array([70, 40], "i"),
                    o=numpy.zeros((2, 2, 16, 64), "e"), scale=0.125, most=3), _decode)


@triton.jit
def batched(a, b, c, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rb = tl.arange(0, B)[:, None, None]
    rm, rn, rk = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + rb * M * K + rm[None, :, None] * K + rk[None, None, :])
    y = tl.load(b + rb * K * N + rk[None, :, None] * N + rn[None, None, :])
    tl.store(c + rb * M * N + rm[None, :, None] * N + rn[None, None, :], tl.dot(x, y))


case("batched", batched, "a:*fp16 b:*fp16 c:*fp32", dict(B=2, M=32, N=32, K=32), (1,),
     lambda r: dict(a=_operand(r, "fp16", (2, 32, 32)), b=_operand(r, "fp16", (2, 32, 32)), c=numpy.zeros((2, 32, 32), "f")),
     lambda a: dict(c=(a["a"].astype("d") @ a["b"].astype("d"), 1e-5)))


@triton.jit
def described(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    om, on = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(da.load([om, k]), db.load([on, k]).T, acc)
    dc.store([om, on], acc.to(tl.float16))


case("descriptors", described, "a:*fp16 b:*fp16 c:*fp16 M:i32 N:i32:16 K:i32:16", dict(BM=64, BN=64, BK=32), (2, 1),
     lambda r: dict(a=_operand(r, "fp16", (80, 96)), b=_operand(r, "fp16", (64, 96)), c=numpy.zeros((80, 64), "e"), M=80, N=64, K=96),
     lambda a: dict(c=(a["a"].astype("d") @ a["b"].astype("d").T, 1e-3)), ("sm_80",), num_stages=2)


@triton.jit
def microscaled(a, sa, b, sb, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    k2, g = tl.arange(0, K // 2), tl.arange(0, K // 32)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k2[:, None] * N + n[None, :])
    xs = tl.load(sa + m[:, None] * (K // 32) + g[None, :])
    ys = tl.load(sb + n[:, None] * (K // 32) + g[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot_scaled(x, xs, "e4m3", y, ys, "e2m1"))


def _e4m3(codes):
    s, e, m = codes >> 7, (codes >> 3) & 15, codes & 7
    return numpy.where(s, -1.0, 1.0) * numpy.where(e == 0, m * 2.0 ** -9, (8 + m) * 2.0 ** (e.astype(int) - 10))


def _microscaled(a):
    x = _e4m3(a["a"].view("B")) * 2.0 ** (numpy.repeat(a["sa"], 32, 1).astype(int) - 127)
    nibbles = numpy.stack([a["b"] & 15, a["b"] >> 4], 1).reshape(-1, a["b"].shape[1])
    table = numpy.array([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6])
    y = table[nibbles] * 2.0 ** (numpy.repeat(a["sb"], 32, 1).astype(int).T - 127)
    return dict(c=(x @ y, 1e-3))


case("microscaled", microscaled, "a:*fp8e4nv sa:*u8 b:*u8 sb:*u8 c:*fp32", dict(M=64, N=64, K=64), (1,),
     lambda r: dict(a=_codes(r), sa=r.integers(122, 130, (64, 2)).astype("B"), b=r.integers(0, 256, (32, 64)).astype("B"),
                    sb=r.integers(122, 130, (64, 2)).astype("B"), c=numpy.zeros((64, 64), "f")), _microscaled, ("sm_90",))


def _codes(random):
    codes = (random.integers(0, 120, (64, 64)) | random.integers(0, 2, (64, 64)) << 7).astype("B")
    try:
        import ml_dtypes

        return codes.view(ml_dtypes.float8_e4m3fn)
    except ImportError:
        return codes
