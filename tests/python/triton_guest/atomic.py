"""Kernels whose programs meet: locks, tickets, sums of halves."""

import numpy
import triton
import triton.language as tl
from cases import case
from products import _operand


@triton.jit
def locked_rows(dx, dw, dy, x, lock, stride, n, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    lock += row % GROUPS
    count = lock + GROUPS
    dw += (row % GROUPS) * n + i
    v = tl.load(x + row * stride + i, mask=i < n, other=0.0)
    d = tl.load(dy + row * stride + i, mask=i < n, other=0.0)
    part = v * d
    tl.store(dx + row * stride + i, d - tl.sum(part, 0) / n, mask=i < n)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        part += tl.load(dw, mask=i < n)
    tl.store(dw, part, mask=i < n)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def _locked_rows(a):
    part = a["x"].astype("d") * a["dy"]
    return dict(dx=(a["dy"] - part.sum(1, keepdims=True) / 200, 1e-6), dw=(part.reshape(2, 4, 200).sum(0), 1e-6),
                lock=(numpy.repeat([0, 1], 4), 0))


case("locked_rows", locked_rows, "dx:*fp32 dw:*fp32 dy:*fp32 x:*fp32 lock:*i32 stride:i32 n:i32", {"GROUPS": 4, "BLOCK": 256}, (8,),
     lambda r: dict(dx=numpy.zeros((8, 200), "f"), dw=numpy.zeros((4, 200), "f"), dy=r.standard_normal((8, 200), "f"),
                    x=r.standard_normal((8, 200), "f"), lock=numpy.zeros(8, "i"), stride=200, n=200), _locked_rows)


@triton.jit
def handed_on(a, b, c, locks, M, N, K, B: tl.constexpr):
    tile, half = tl.program_id(0), tl.program_id(1)
    m, n = (tile % (M // B)) * B + tl.arange(0, B), (tile // (M // B)) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for begin in range(half * (K // 2), (half + 1) * (K // 2), B):
        k = begin + tl.arange(0, B)
        acc = tl.dot(tl.load(a + m[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + n[None, :]), acc)
    out = c + m[:, None] * N + n[None, :]
    if half == 0:
        tl.store(out, acc)
        tl.debug_barrier()
        tl.atomic_xchg(locks + tile, 1)
    else:
        while tl.atomic_cas(locks + tile, 1, 1) != 1:
            pass
        tl.store(out, tl.load(out) + acc)


case("handed_on", handed_on, "a:*fp16 b:*fp16 c:*fp32 locks:*i32 M:i32 N:i32 K:i32", {"B": 32}, (4, 2),
     lambda r: dict(a=_operand(r, "fp16", (64, 128)), b=_operand(r, "fp16", (128, 64)), c=numpy.zeros((64, 64), "f"),
                    locks=numpy.zeros(4, "i"), M=64, N=64, K=128),
     lambda a: dict(c=(a["a"].astype("d") @ a["b"].astype("d"), 1e-5), locks=(numpy.ones(4), 0)))


@triton.jit
def tickets(x, next_, place, best, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    key = tl.load(x + i, mask=i < n, other=0)
    tl.store(place + key * n + tl.atomic_add(next_ + key, 1, mask=i < n), i, mask=i < n)
    tl.atomic_max(best, tl.max(tl.where(i < n, key, 0), 0))


def _tickets(a):
    """Each key's elements have its first places, in any order; so their sums are known."""
    counts = numpy.bincount(a["x"], minlength=7)
    return dict(next_=(counts, 0), best=(numpy.array([a["x"].max()]), 0))


case("tickets", tickets, "x:*i32 next_:*i32 place:*i32 best:*i32 n:i32", {"BLOCK": 128}, (2,),
     lambda r: dict(x=r.integers(0, 7, 200, "i"), next_=numpy.zeros(7, "i"), place=numpy.full((7, 200), -1, "i"),
                    best=numpy.zeros(1, "i"), n=200), _tickets)


@triton.jit
def exchanged(x, table, found, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    slot = tl.load(x + i)
    before = tl.atomic_xchg(table + slot, i)
    tl.store(found + i, before + tl.atomic_cas(table + slot, i, -i))


def _exchanged(a):
    """Every slot is used once, so no order changes what is found."""
    order = numpy.arange(64)
    table = a["table"].copy()
    table[a["x"]] = -order
    return dict(found=(a["table"][a["x"]] + order, 0), table=(table, 0))


case("exchanged", exchanged, "x:*i32 table:*i32 found:*i32", {"BLOCK": 64}, (1,),
     lambda r: dict(x=r.permutation(64).astype("i"), table=r.integers(100, 200, 64, "i"), found=numpy.zeros(64, "i")), _exchanged)


@triton.jit
def split_k_halves(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PARTS: tl.constexpr):
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.program_id(2) * BK + tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, tl.cdiv(K, BK * PARTS)):
        x = tl.load(a + m[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
        acc = tl.dot(x, tl.load(b + k[:, None] * N + n[None, :], mask=k[:, None] < K, other=0.0), acc)
        k += BK * PARTS
    tl.atomic_add(c + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


case("split_k_halves", split_k_halves, "a:*fp16 b:*fp16 c:*fp16 M:i32 N:i32 K:i32", {"BM": 32, "BN": 64, "BK": 32, "PARTS": 4},
     (1, 1, 4), lambda r: dict(a=_operand(r, "fp16", (32, 256)), b=_operand(r, "fp16", (256, 64)), c=numpy.zeros((32, 64), "e"),
                               M=32, N=64, K=256),
     lambda a: dict(c=(a["a"].astype("d") @ a["b"].astype("d"), 2e-3)))


@triton.jit
def filled_copies(x, w, y, N, K, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        v = tl.load(x + i[:, None] * K + k + i[None, :], mask=k + i[None, :] < K, other=1.0)
        acc = tl.dot(v, tl.load(w + (k + i)[:, None] * N + i[None, :], mask=(k + i)[:, None] < K, other=1.0), acc)
    tl.store(y + i[:, None] * N + i[None, :], acc)


def _filled_copies(a):
    return dict(y=(a["x"].astype("d") @ a["w"].astype("d") + 16, 1e-5))


case("filled_copies", filled_copies, "x:*fp16 w:*fp16 y:*fp32 N:i32:16 K:i32:16", {"B": 32}, (1,),
     lambda r: dict(x=_operand(r, "fp16", (32, 80)), w=_operand(r, "fp16", (80, 32)), y=numpy.zeros((32, 32), "f"), N=32, K=80),
     _filled_copies, num_stages=3)
