"""Kernels of Hopper's asynchrony: descriptors, barriers, products of warp groups, specialised warps; Triton's and Gluon's."""

import numpy
import triton
import triton.language as tl
from cases import case
from products import _operand
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (fence_async_shared, mbarrier, tma, warpgroup_mma,
                                                              warpgroup_mma_wait)

# The names changed with Triton 3.8.
load_box = getattr(tma, "async_load", None) or tma.async_copy_global_to_shared
store_box = getattr(tma, "async_store", None) or tma.async_copy_shared_to_global


def _matrices(r, m, n, k, transposed=False):
    a, b = _operand(r, "fp16", (m, k)), _operand(r, "fp16", (k, n))
    return a, numpy.ascontiguousarray(b.T) if transposed else b


def _product(a, b):
    return a.astype("d") @ b.astype("d")


@triton.jit
def box(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    target = tl.make_tensor_descriptor(y, [M, N], [N, 1], [BM, BN])
    place = [tl.program_id(0) * BM, tl.program_id(1) * BN]
    target.store(place, source.load(place) + 1.0)


case("box", box, "x:*fp32 y:*fp32 M:i32 N:i32:16", dict(BM=32, BN=32), (3, 3),
     lambda r: dict(x=r.standard_normal((90, 80), "f"), y=numpy.zeros((90, 80), "f"), M=90, N=80),
     lambda a: dict(y=(a["x"] + 1, 0)))


@triton.jit
def boxes_of_a_row(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    target = tl.make_tensor_descriptor(y, [M, N], [N, 1], [BM, BN])
    for n in range(0, N, BN):
        place = [tl.program_id(0) * BM, n]
        target.store(place, source.load(place) * 2.0)


case("boxes_of_a_row", boxes_of_a_row, "x:*fp16 y:*fp16 M:i32 N:i32:16", dict(BM=32, BN=64), (2,),
     lambda r: dict(x=_operand(r, "fp16", (64, 256)), y=numpy.zeros((64, 256), "e"), M=64, N=256),
     lambda a: dict(y=(a["x"] * 2, 0)))


@triton.jit
def described_once(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    om, on = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(da.load([om, k]), db.load([k, on]), acc)
    dc.store([om, on], acc.to(tl.float16))


def _described(r):
    a, b = _matrices(r, 128, 128, 192)
    return dict(a=a, b=b, c=numpy.zeros((128, 128), "e"), M=128, N=128, K=192)


for _stages in (1, 3):
    case(f"descriptors_{_stages}_stages", described_once, "a:*fp16 b:*fp16 c:*fp16 M:i32 N:i32:16 K:i32:16",
         dict(BM=64, BN=64, BK=64), (2, 2), _described, lambda a: dict(c=(_product(a["a"], a["b"]), 1e-3)), num_stages=_stages)


@triton.jit
def given(da, db, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(da.load([m, k]), db.load([n, k]).T, acc)
    tl.store(c + (m + tl.arange(0, BM))[:, None] * N + n + tl.arange(0, BN)[None, :], acc)


def _given(r):
    a, b = _matrices(r, 128, 64, 192, True)
    return dict(da=a, db=b, c=numpy.zeros((128, 64), "f"), N=64, K=192)


case("descriptors_given", given, "da:tensordesc<fp16[64,64]> db:tensordesc<fp16[64,64]> c:*fp32 N:i32:16 K:i32:16",
     dict(BM=64, BN=64, BK=64), (2, 1), _given, lambda a: dict(c=(_product(a["da"], a["db"].T), 1e-5)), targets=("sm_90",),
     num_stages=3)


@triton.jit
def persistent(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    down, across = tl.cdiv(M, BM), tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), down * across, PROGRAMS, flatten=True):
        om, on = (tile % down) * BM, (tile // down) * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, tl.cdiv(K, BK)):
            acc = tl.dot(da.load([om, k * BK]), db.load([on, k * BK]).T, acc)
        dc.store([om, on], acc.to(tl.float16))


def _persistent(r):
    a, b = _matrices(r, 192, 128, 128, True)
    return dict(a=a, b=b, c=numpy.zeros((192, 128), "e"), M=192, N=128, K=128)


case("persistent", persistent, "a:*fp16 b:*fp16 c:*fp16 M:i32 N:i32:16 K:i32:16", dict(BM=64, BN=64, BK=64, PROGRAMS=2), (2,),
     _persistent, lambda a: dict(c=(_product(a["a"], a["b"].T), 1e-3)), targets=("sm_80",), num_stages=3)


@triton.jit
def attention_boxes(q, k, v, o, S, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    heads, begin, m = tl.num_programs(1), tl.program_id(1) * S, tl.program_id(0) * BM
    dq = tl.make_tensor_descriptor(q, [heads * S, D], [D, 1], [BM, D])
    dk = tl.make_tensor_descriptor(k, [heads * S, D], [D, 1], [BN, D])
    dv = tl.make_tensor_descriptor(v, [heads * S, D], [D, 1], [BN, D])
    do = tl.make_tensor_descriptor(o, [heads * S, D], [D, 1], [BM, D])
    x = dq.load([begin + m, 0])
    most, total = tl.full((BM,), -float("inf"), tl.float32), tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for n in range(0, S, BN):
        s = tl.dot(x, dk.load([begin + n, 0]).T) * scale
        new = tl.maximum(most, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        old = tl.exp2(most - new)
        total = total * old + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), dv.load([begin + n, 0]), acc * old[:, None])
        most = new
    do.store([begin + m, 0], (acc / total[:, None]).to(tl.float16))


def _attention(a):
    outputs = []
    for q, k, v in zip(*(a[name].astype("d").reshape(2, 128, 64) for name in "qkv")):
        p = numpy.exp2(q @ k.T * a["scale"])
        outputs.append(p @ v / p.sum(1, keepdims=True))
    return dict(o=(numpy.concatenate(outputs), 2e-3))


case("attention_boxes", attention_boxes, "q:*fp16 k:*fp16 v:*fp16 o:*fp16 S:i32:16 scale:fp32", dict(BM=64, BN=64, D=64), (2, 2),
     lambda r: dict(**{name: _operand(r, "fp16", (256, 64)) for name in "qkv"}, o=numpy.zeros((256, 64), "e"), S=128, scale=0.18),
     _attention, num_stages=2)


@gluon.jit
def boxes_multiplied(da, db, dc, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, STAGES: gl.constexpr):
    sa = gl.allocate_shared_memory(gl.float16, [STAGES, BM, BK], da.layout)
    sb = gl.allocate_shared_memory(gl.float16, [STAGES, BK, BN], db.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(full.index(i), count=1)
    om, on = gl.program_id(0) * BM, gl.program_id(1) * BN
    acc = gl.zeros([BM, BN], gl.float32, gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BN, 16]))
    for k in range(gl.cdiv(K, BK)):
        bar = full.index(k % STAGES)
        mbarrier.expect(bar, da.block_type.nbytes + db.block_type.nbytes)
        load_box(da, [om, k * BK], bar, sa.index(k % STAGES))
        load_box(db, [k * BK, on], bar, sb.index(k % STAGES))
        mbarrier.wait(bar, (k // STAGES) & 1)
        acc = warpgroup_mma(sa.index(k % STAGES), sb.index(k % STAGES), acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=(acc,))
    for i in gl.static_range(STAGES):
        mbarrier.invalidate(full.index(i))
    out = gl.allocate_shared_memory(gl.float16, [BM, BN], dc.layout)
    out.store(acc.to(gl.float16))
    fence_async_shared()
    store_box(dc, [om, on], out)
    tma.store_wait(0)


_BOX = "tensordesc<fp16[{},{}],NVMMASharedLayout(swizzle_byte_width=128,element_bitwidth=16,rank=2)>"


def _boxes(r):
    a, b = _matrices(r, 128, 64, 192)
    return dict(da=a, db=b, dc=numpy.zeros((128, 64), "e"), K=192)


case("gluon_boxes", boxes_multiplied, f"da:{_BOX.format(64, 64)} db:{_BOX.format(64, 64)} dc:{_BOX.format(64, 64)} K:i32",
     dict(BM=64, BN=64, BK=64, STAGES=2), (2, 1), _boxes, lambda a: dict(dc=(_product(a["da"], a["db"]), 1e-3)), targets=("sm_90",))


@gluon.jit
def _fill(da, db, sa, sb, full, empty, n, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, STAGES: gl.constexpr):
    for k in range(n):
        s = k % STAGES
        mbarrier.wait(empty.index(s), ((k // STAGES) & 1) ^ 1)
        mbarrier.expect(full.index(s), da.block_type.nbytes + db.block_type.nbytes)
        load_box(da, [gl.program_id(0) * BM, k * BK], full.index(s), sa.index(s))
        load_box(db, [k * BK, gl.program_id(1) * BN], full.index(s), sb.index(s))


@gluon.jit
def _multiply(c, N, sa, sb, full, empty, n, BM: gl.constexpr, BN: gl.constexpr, STAGES: gl.constexpr):
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BN, 16])
    acc = gl.zeros([BM, BN], gl.float32, layout)
    for k in range(n):
        s = k % STAGES
        mbarrier.wait(full.index(s), (k // STAGES) & 1)
        acc = warpgroup_mma(sa.index(s), sb.index(s), acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=(acc,))
        mbarrier.arrive(empty.index(s), count=1)
    rows = gl.program_id(0) * BM + gl.arange(0, BM, layout=gl.SliceLayout(1, layout))
    columns = gl.program_id(1) * BN + gl.arange(0, BN, layout=gl.SliceLayout(0, layout))
    gl.store(c + rows[:, None] * N + columns[None, :], acc)


@gluon.jit
def specialised(da, db, c, N, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, STAGES: gl.constexpr):
    sa = gl.allocate_shared_memory(gl.float16, [STAGES, BM, BK], da.layout)
    sb = gl.allocate_shared_memory(gl.float16, [STAGES, BK, BN], db.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(empty.index(i), count=1)
    n = gl.cdiv(K, BK)
    gl.warp_specialize([(_multiply, (c, N, sa, sb, full, empty, n, BM, BN, STAGES)),
                        (_fill, (da, db, sa, sb, full, empty, n, BM, BN, BK, STAGES))], [1], [24])


def _specialised(r):
    a, b = _matrices(r, 128, 64, 320)
    return dict(da=a, db=b, c=numpy.zeros((128, 64), "f"), N=64, K=320)


case("gluon_specialised", specialised, f"da:{_BOX.format(64, 64)} db:{_BOX.format(64, 64)} c:*fp32 N:i32 K:i32",
     dict(BM=64, BN=64, BK=64, STAGES=3), (2, 1), _specialised, lambda a: dict(c=(_product(a["da"], a["db"]), 1e-5)),
     targets=("sm_90",))


@gluon.jit
def _row_sums(o, sa, full, empty, n, STAGES: gl.constexpr, BM: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    acc = gl.zeros([BM], gl.float32, gl.SliceLayout(1, layout))
    for k in range(n):
        s = k % STAGES
        mbarrier.wait(full.index(s), (k // STAGES) & 1)
        v = sa.index(s).load(layout)
        mbarrier.arrive(empty.index(s), count=1)
        acc += gl.sum(v.to(gl.float32), 1)
    gl.store(o + gl.program_id(0) * BM + gl.arange(0, BM, layout=gl.SliceLayout(1, layout)), acc)


@gluon.jit
def _fill_rows(da, sa, full, empty, n, STAGES: gl.constexpr, BM: gl.constexpr, BK: gl.constexpr):
    for k in range(n):
        s = k % STAGES
        mbarrier.wait(empty.index(s), ((k // STAGES) & 1) ^ 1)
        mbarrier.expect(full.index(s), da.block_type.nbytes)
        load_box(da, [gl.program_id(0) * BM, k * BK], full.index(s), sa.index(s))


@gluon.jit
def specialised_sums(da, o, K, BM: gl.constexpr, BK: gl.constexpr, STAGES: gl.constexpr):
    sa = gl.allocate_shared_memory(gl.float16, [STAGES, BM, BK], da.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(empty.index(i), count=1)
    n = gl.cdiv(K, BK)
    gl.warp_specialize([(_row_sums, (o, sa, full, empty, n, STAGES, BM)),
                        (_fill_rows, (da, sa, full, empty, n, STAGES, BM, BK))], [1], [24])


case("gluon_specialised_sums", specialised_sums, f"da:{_BOX.format(64, 64)} o:*fp32 K:i32", dict(BM=64, BK=64, STAGES=3), (2,),
     lambda r: dict(da=_operand(r, "fp16", (128, 320)), o=numpy.zeros(128, "f"), K=320),
     lambda a: dict(o=(a["da"].astype("d").sum(1), 1e-6)), targets=("sm_90",))
