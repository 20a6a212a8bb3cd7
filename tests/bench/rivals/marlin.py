#!/usr/bin/env python3
"""MARLIN and Sparse-MARLIN, cuBLAS and tilevm's programs in turns: weights of 4 bits, a scale for 128 of a column.

    PYTHON tests/bench/rivals/marlin.py FOLDER FILE dense|sparse

FOLDER is what build.sh made. All compute a[m, K] x ((code - 8) scale), f16 with sums in f32; cuBLAS has the same weights
in f16, in both layouts. The time of quantized_matmul is that of the best of a few points (candidates below).
"""

import ctypes
import pathlib
import sys

import torch

import tilevm._tuned
import tilevm.nn
from protocol import DEVICE, ROUNDS, Table, Unfit, compile_all, need_gpu, reader, try_each, turns
from quantized import compile_points, exact_product, in_marlin_order, module, packed, scales_in_order, tilevm_product

SHAPES = [(8192, 57344), (8192, 8192), (4096, 4096), (28672, 8192), (8192, 10240), (4096, 14336), (14336, 4096)]
SPARSE_SHAPES = [(8192, 57344), (8192, 8192), (4096, 4096)]
ROWS = [1, 16, 32, 64]
GROUP = 128
FEW, MANY = "quantized_matmul/few_rows.tile", "quantized_matmul/many_rows.tile"
TRANSFORMS = ["transform_q", "transform_scale"]
H200 = "NVIDIA H200"  # whose rows tilevm/tuned.jsonl has


def candidates(m, k, n, type_="i4"):
    """(program, constants) that are tried for a product: the tuned row that is nearest, and a few tiles that keep 132
    multiprocessors busy. Their weights have one order for few rows, one for many."""
    found = []
    for device, architecture in (tilevm.nn.current_gpu(), (H200, "")):
        for rows in {m, min(m, 16)} if m <= 32 else {m}:
            plan = tilevm._tuned.choose(device, type_, k, n, GROUP, rows, architecture)
            if plan.program in (FEW, MANY) and n % int(plan.constants.get("BN", 128)) == 0:
                found.append((plan.program, dict(plan.constants)))
    if m <= 32:
        if n == 57344:
            found.append((FEW, dict(SWAP=1, BN=448, WARPS=14, SLICES=2, BK=256, STAGES=2)))
        elif n == 14336:
            found.append((FEW, dict(SWAP=0, BN=112, WARPS=7, SLICES=4, BK=512, STAGES=3)))
        else:
            found += [(FEW, dict(SWAP=1, BN=64, WARPS=2, SLICES=8, BK=1024 if k > 4096 else 512, STAGES=3)),
                      (FEW, dict(SWAP=1, BN=128, WARPS=4, SLICES=4, BK=512, STAGES=2)),
                      (FEW, dict(SWAP=1, BN=256, WARPS=8, SLICES=2, BK=256, STAGES=3))]
    if m >= 32:
        rows = 32 if m <= 32 else 64
        if n % 448 == 0:
            found.append((MANY, dict(SWAP=1, BM=rows, BN=448, WARPS=14, BK=128, STAGES=2 if rows == 64 else 3,
                                     SPLIT=1 if n == 57344 else 4)))
        if n < 57344:
            found += [(MANY, dict(SWAP=1, BM=rows, BN=64, WARPS=4, BK=128, STAGES=4, SPLIT=1 if n > 4096 else 2)),
                      (MANY, dict(SWAP=1, BM=rows, BN=128, WARPS=8, BK=128, STAGES=3, SPLIT=2 if n > 4096 else 4))]
    unique = []
    for point in found:
        if point not in unique:
            unique.append(point)
    return unique


def after_marlin(m, k, n):
    """Constants of programs/marlin/matmul.tile, as systems.sh has them."""
    return dict(M=m, K=k, N=n, GROUP=GROUP, BM=max(16, m), BN=256 if n > 10240 or m > 16 else 128, STAGES=5 if m <= 16 else 4)


def constants_of(point, m, k, n, type_):
    return {**tilevm._tuned.constants_of(point[0], m, n, k, type_, GROUP), **point[1]}


class Problem:
    """Random codes and scales of a matrix [k, n], and rows of a."""

    def __init__(self, k, n):
        self.k, self.n = k, n
        self.codes = torch.randint(0, 16, (k, n), dtype=torch.uint8, device=DEVICE)
        self.scale = (torch.rand((k // GROUP, n), device=DEVICE) / 128 + 1 / 128).half()
        self.a = torch.randn((64, k), device=DEVICE).half()
        self.exact = exact_product(self.a, self.codes, self.scale, GROUP)
        self.signed = packed(self.codes ^ 8, 4)
        self.made = {}
        self.locks = torch.zeros(n // 128 * 16, dtype=torch.int32, device=DEVICE)


def cublas(a, w, transposed):
    c = torch.empty((a.shape[0], w.shape[1]), dtype=torch.float16, device=DEVICE)
    b = w.t().contiguous().t() if transposed else w
    return (lambda: torch.matmul(a, b, out=c)), c


def rival_call(function, tensors, c, problem, m, group):
    pointers = [ctypes.c_void_p(x.data_ptr()) for x in tensors]
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

    def call():
        status = function(*pointers, m, problem.n, problem.k, ctypes.c_void_p(problem.locks.data_ptr()), group, 0, stream)
        if status != 0:
            raise Unfit(f"it refused the shape, {status}")
    call.kept = (tensors, problem)
    return call, c


def in_half(problem):
    """The weights [k, n] in f16, group by group, so that little memory is needed beside them."""
    half = torch.empty(problem.codes.shape, dtype=torch.float16, device=DEVICE)
    for g in range(0, len(half), GROUP):
        half[g:g + GROUP] = ((problem.codes[g:g + GROUP].float() - 8) * problem.scale[g // GROUP].float()).half()
    return half


def dense(folder, file):
    table = Table("marlin", file)
    library = ctypes.CDLL(str(folder / "libmarlin.so"))
    theirs = module(folder / "python", "marlin")
    for k, n in SHAPES:
        points = {m: candidates(m, k, n) for m in ROWS}
        compile_all([*compile_points([(point[0], constants_of(point, m, k, n, "i4")) for m in ROWS for point in points[m]],
                                     TRANSFORMS),
                     *compile_points([("marlin/matmul.tile", after_marlin(m, k, n)) for m in ROWS], ["pack"])])
        problem = Problem(k, n)
        weights = in_marlin_order(problem.codes, theirs._perm)
        scales = scales_in_order(problem.scale, theirs._scale_perm)
        half = in_half(problem)
        for m in ROWS:
            a, exact = problem.a[:m].contiguous(), problem.exact[:m]
            found, errors = try_each({
                str(i): lambda point=point: tilevm_product(point[0], constants_of(point, m, k, n, "i4"), a, [problem.signed],
                                                           problem.scale, TRANSFORMS, problem.made)
                for i, point in enumerate(points[m])}, exact)
            quick = turns(found, 5) if found else {}
            best = min(quick, key=quick.get) if quick else None
            chosen = points[m][int(best)] if best else None
            c = torch.empty((m, n), dtype=torch.float16, device=DEVICE)
            makers = {
                "marlin": lambda: rival_call(library.rival_marlin, [a, weights, c, scales], c, problem, m, GROUP),
                "tilevm marlin.tile": lambda: tilevm_product("marlin/matmul.tile", after_marlin(m, k, n), a,
                                                             [problem.signed], problem.scale, ["pack"], problem.made),
                "cublas nn": lambda: cublas(a, half, False),
                "cublas tn": lambda: cublas(a, half, True)}
            calls, more_errors = try_each(makers, exact)
            if best:
                calls["tilevm"], more_errors["tilevm"] = found[best], errors[best]
            read = k * n // 2 + 2 * problem.scale.numel() + 2 * m * (k + n)
            calls["read"] = reader(read)
            times = turns(calls, ROUNDS)
            table.row(dict(K=k, N=n, m=m), times, more_errors, bytes=read, candidates=len(found),
                      point=" ".join([chosen[0].split("/")[-1], *(f"{x}={y}" for x, y in chosen[1].items())]) if chosen else "")
        del problem, weights, half
        torch.cuda.empty_cache()


def sparse_problem(k, n, theirs):
    """A Problem whose codes are stored for two random places of four along k; the others are 8, which is zero.

    Sparse-MARLIN's compression takes code 0 for a place that is not stored, so stored codes are 1..15."""
    problem = Problem(k, n)
    pairs = torch.tensor([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]], dtype=torch.uint8, device=DEVICE)
    places = pairs[torch.randint(0, 6, (k // 4, n), device=DEVICE)].permute(0, 2, 1).contiguous()  # [k / 4, 2, n]
    values = torch.randint(1, 16, (k // 4, 2, n), dtype=torch.uint8, device=DEVICE)
    kept = torch.zeros((k // 4, 4, n), dtype=torch.uint8, device=DEVICE).scatter_(1, places.long(), values).view(k, n)
    problem.codes = torch.where(kept == 0, 8, kept)
    problem.exact = exact_product(problem.a, problem.codes, problem.scale, GROUP)
    problem.values, problem.places = packed((values ^ 8).view(-1), 4), packed(places.view(-1), 2)
    stored, meta = theirs.sparse_semi_structured_from_dense_cutlass(kept.t().int().contiguous())
    problem.stored = in_marlin_order(stored.t().to(torch.uint8), theirs._perm_2_4)
    problem.meta = meta.contiguous()
    problem.scales = scales_in_order(problem.scale, theirs._scale_perm_2_4)
    return problem


def sparse(folder, file):
    table = Table("sparse_marlin", file)
    library = ctypes.CDLL(str(folder / "libsparse_marlin.so"))
    theirs = module(folder / "python", "Sparse-Marlin")
    program = "marlin/sparse_matmul.tile"

    def variants(n):  # with the points of systems.sh
        wide = [dict(BN=256, STAGES=stages) for stages in (4, 5)]
        return wide + [dict(BLOCKS=blocks) for blocks in (264, 396)] if n > 10240 else wide + [dict(BN=128)]

    def constants(m, k, n, variant):
        return dict(M=m, K=k, N=n, GROUP=GROUP, BM=16 if m <= 16 else 32, **variant)
    compile_all(compile_points([(program, constants(m, k, n, variant)) for k, n in SPARSE_SHAPES for m in ROWS
                                for variant in variants(n)], ["pack"]))
    for k, n in SPARSE_SHAPES:
        problem = sparse_problem(k, n, theirs)
        half = in_half(problem)
        for m in ROWS:
            a, exact = problem.a[:m].contiguous(), problem.exact[:m]
            found, errors = try_each({
                str(i): lambda variant=variant: tilevm_product(program, constants(m, k, n, variant), a,
                                                               [problem.values, problem.places], problem.scale, ["pack"], problem.made)
                for i, variant in enumerate(variants(n))}, exact)
            quick = turns(found, 5) if found else {}
            best = min(quick, key=quick.get) if quick else None
            c = torch.empty((m, n), dtype=torch.float16, device=DEVICE)
            calls, more_errors = try_each({
                "sparse marlin": lambda: rival_call(library.rival_sparse_marlin, [a, problem.stored, problem.meta, c, problem.scales],
                                                    c, problem, m, GROUP // 2),
                "cublas nn": lambda: cublas(a, half, False),
                "cublas tn": lambda: cublas(a, half, True)}, exact)
            if best:
                calls["tilevm"], more_errors["tilevm"] = found[best], errors[best]
            read = k * n * 3 // 8 + 2 * problem.scale.numel() + 2 * m * (k + n)
            calls["read"] = reader(read)
            times = turns(calls, ROUNDS)
            table.row(dict(K=k, N=n, m=m), times, more_errors, bytes=read, candidates=len(found),
                      point=" ".join(f"{x}={y}" for x, y in variants(n)[int(best)].items()) if best else "")
        del problem, half
        torch.cuda.empty_cache()


if __name__ == "__main__":
    need_gpu()
    {"dense": dense, "sparse": sparse}[sys.argv[3]](pathlib.Path(sys.argv[1]), sys.argv[2])
