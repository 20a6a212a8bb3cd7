"""Kernels with control flow, calls, atomic operations, prints and assertions."""

import numpy
import triton
import triton.language as tl
from cases import case


@triton.jit(noinline=True)
def _scaled(v, s):
    return v * s + 1.0


@triton.jit
def calls(x, out, n, s, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.device_assert(i < 1000000, "range")
    k = 0
    while k < n:
        v = v * _scaled(s, 2.0)
        k += BLOCK
    if k % 256 == 0:
        v = v + 1.0
    else:
        v = v * 2.0
    tl.store(out + i, v, mask=i < n)


def _calls(a):
    x, s, k = a["x"].copy(), numpy.float32(a["s"]), 0
    while k < a["n"]:
        x, k = x * (s * 2 + 1), k + 128
    return dict(out=(x + 1 if k % 256 == 0 else x * 2, 1e-6))


for _n in (200, 300):
    case(f"calls_{_n}", calls, "x:*fp32 out:*fp32 n:i32 s:fp32", {"BLOCK": 128}, (3,),
         lambda r, n=_n: dict(x=r.standard_normal(n, "f"), out=numpy.zeros(n, "f"), n=n, s=0.25), _calls, debug=True)


@triton.jit
def collatz(x, steps, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=1)
    count = tl.zeros([BLOCK], tl.int32)
    while tl.max((v != 1).to(tl.int32), 0) > 0:
        go = v != 1
        v = tl.where(go, tl.where(v % 2 == 0, v // 2, 3 * v + 1), v)
        count += go.to(tl.int32)
    tl.store(steps + i, count, mask=i < n)


def _collatz(a):
    counts = []
    for v in a["x"].tolist():
        count = 0
        while v != 1:
            v, count = (v // 2 if v % 2 == 0 else 3 * v + 1), count + 1
        counts.append(count)
    return dict(steps=(numpy.array(counts), 0))


case("collatz", collatz, "x:*i32 steps:*i32 n:i32", {"BLOCK": 64}, (2,),
     lambda r: dict(x=r.integers(1, 40, 100, dtype=numpy.int32), steps=numpy.zeros(100, "i"), n=100), _collatz, num_warps=2)


@triton.jit
def atomics(x, sums, counts, most, bits, ticket, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + i, mask=m, other=0)
    tl.atomic_add(sums + v % 4, v, mask=m)
    tl.atomic_add(counts, 1)
    tl.atomic_max(most, tl.max(v, 0))
    tl.atomic_or(bits, tl.sum((1 << (v % 8)) * 0, 0) + 5)
    place = tl.atomic_add(ticket, 1)
    tl.store(ticket + 1 + place, 1)


def _atomics(a):
    x = a["x"]
    return dict(sums=([int(x[x % 4 == k].sum()) for k in range(4)], 0), counts=([2], 0), most=([int(x.max())], 0), bits=([5], 0),
                ticket=([2, 1, 1], 0))


case("atomics", atomics, "x:*i32 sums:*i32 counts:*i32 most:*i32 bits:*i32 ticket:*i32 n:i32", {"BLOCK": 64}, (2,),
     lambda r: dict(x=r.integers(0, 100, 100, dtype=numpy.int32), sums=numpy.zeros(4, "i"), counts=numpy.zeros(1, "i"),
                    most=numpy.zeros(1, "i"), bits=numpy.zeros(1, "i"), ticket=numpy.zeros(3, "i"), n=100), _atomics, num_warps=2)


@triton.jit
def grouped(x, y, sizes, groups, N, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    """Programs that go on through tiles of several groups."""
    tile = tl.program_id(0)
    begin = 0
    first = 0
    for g in range(groups):
        size = tl.load(sizes + g)
        tiles = tl.cdiv(size, BLOCK)
        while tile >= begin and tile < begin + tiles:
            i = (tile - begin) * BLOCK + tl.arange(0, BLOCK)
            v = tl.load(x + first + i, mask=i < size, other=0.0)
            tl.store(y + first + i, v * (g + 1), mask=i < size)
            tile += PROGRAMS
        begin += tiles
        first += size


def _grouped(a):
    return dict(y=(numpy.concatenate([part * (g + 1) for g, part in enumerate(numpy.split(a["x"], [70, 75]))]), 0))


case("grouped", grouped, "x:*fp32 y:*fp32 sizes:*i32 groups:i32 N:i32", {"BLOCK": 32, "PROGRAMS": 2}, (2,),
     lambda r: dict(x=r.standard_normal(200, "f"), y=numpy.zeros(200, "f"), sizes=numpy.array([70, 5, 125], "i"), groups=3, N=200),
     _grouped, num_warps=1)


@triton.jit
def masked_branch(x, y, flags, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    flag = tl.load(flags + tl.program_id(0)) != 0
    if flag:
        v = tl.load(x + i, mask=i < n, other=0.0)
        p = y
    else:
        v = tl.zeros([BLOCK], tl.float32) - 1.0
        p = y + 0
    tl.store(p + i, v, mask=i < n)


case("branches", masked_branch, "x:*fp32 y:*fp32 flags:*i8 n:i32", {"BLOCK": 64}, (3,),
     lambda r: dict(x=r.standard_normal(150, "f"), y=numpy.zeros(150, "f"), flags=numpy.array([1, 0, 1], "b"), n=150),
     lambda a: dict(y=(numpy.where(numpy.arange(150) // 64 == 1, -1, a["x"]), 0)), num_warps=2)


@triton.jit
def nested(x, out, n, s, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.int64)
    for j in range(0, n):
        if j % 2 == 0:
            total += tl.load(x + j * BLOCK + i).to(tl.int64) * s
        else:
            for q in tl.static_range(2):
                total -= q + j
    tl.store(out + i, total)


def _nested(a):
    x, s = a["x"].reshape(10, 64).astype("l"), a["s"]
    return dict(out=(sum(x[j] * s if j % 2 == 0 else numpy.full(64, -2 * j - 1) for j in range(10)), 0))


case("nested_loops", nested, "x:*i32 out:*i64 n:i32 s:i64", {"BLOCK": 64}, (1,),
     lambda r: dict(x=r.integers(-2**30, 2**30, 640).astype("i"), out=numpy.zeros(64, "l"), n=10, s=2**33 + 1), _nested, num_warps=2)


@triton.jit
def booleans(x, out, flags, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(flags + i, v > 0)
    tl.store(out + i, tl.where(tl.load(flags + i), v * 2, v - 1.0))


case("booleans", booleans, "x:*fp64 out:*fp64 flags:*i1", {"BLOCK": 256}, (1,),
     lambda r: dict(x=r.standard_normal(256), out=numpy.zeros(256), flags=numpy.zeros(256, bool)),
     lambda a: dict(out=(numpy.where(a["x"] > 0, a["x"] * 2, a["x"] - 1), 0), flags=(a["x"] > 0, 0)))
