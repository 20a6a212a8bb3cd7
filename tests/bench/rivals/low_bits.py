#!/usr/bin/env python3
"""FLUTE beside programs/flute, humming beside programs/quantized_matmul: weights of 4, 3 and 2 bits, a scale for 128 of a
column, f16 with sums in f32, in turns with cuBLAS on the same weights in f16.

    PYTHON tests/bench/rivals/low_bits.py FOLDER FILE flute|humming

FLUTE's weights index a table; the fastest of its configurations here is timed in turns. humming's are signed
integers that it rounds itself. FOLDER has FLUTE's library and Python, or humming in its folder `site`.
"""

import ctypes
import pathlib
import sys
import types

import torch

from marlin import GROUP, TRANSFORMS, candidates, constants_of, cublas
from protocol import DEVICE, Table, Unfit, add_site, begin_compiling, finish_compiling, need_gpu, reader, try_each, turns
from quantized import compile_points, packed, tilevm_product

SHAPES = [(8192, 57344), (8192, 8192), (4096, 4096)]
ROWS = [1, 16, 64]
FLUTE = "flute/matmul.tile"
MOST_ERROR = 4e-3  # parts of sums are added in f16 by both


def product_of(a, values, scale):
    """a x (values scale) in f64, some columns at a time; `values` gives those of a slice of columns in f64."""
    n = scale.shape[1]
    c = torch.empty((a.shape[0], n), dtype=torch.float64, device=a.device)
    for j in range(0, n, 2048):
        part = slice(j, min(n, j + 2048))
        c[:, part] = a.double() @ (values(part) * scale[:, part].double().repeat_interleave(GROUP, 0))
    return c


def fastest(makers, exact):
    """(name, call, error) of the fastest maker that fits."""
    calls, errors = try_each(makers, exact, MOST_ERROR)
    if not calls:
        return None
    quick = turns(calls, 5)
    best = min(quick, key=quick.get)
    return best, calls[best], errors[best]


def flute_python(folder):
    """FLUTE's packing, without its extension."""
    class Any:
        def __class_getitem__(cls, _):
            return object
    sys.modules["jaxtyping"] = types.ModuleType("jaxtyping")
    for name in ("Float", "UInt8", "Int16", "Int32", "Bool"):
        setattr(sys.modules["jaxtyping"], name, Any)
    package = types.ModuleType("flute")
    package.__path__ = [str(folder / "python" / "flute")]
    package.qgemm, package.TEMPLATE_CONFIGS = None, {}
    sys.modules["flute"] = package
    import flute.utils

    return flute.utils


def flute_variant(bits, n, m):
    """Constants of programs/flute, as systems.sh has them."""
    if m > 16:
        return dict(W=bits, COPIES=32, BM=64, BN=128, **(dict(BLOCKS=264) if n > 10240 else {}))
    large = {4: dict(DEPTH=2, STAGES=3, BLOCKS=264), 3: dict(FOLD=1, STAGES=4, BLOCKS=396), 2: dict(STAGES=4, BLOCKS=528)}
    if n > 10240:
        return dict(W=bits, COPIES=32, **large[bits])
    if n > 4096:
        return dict(W=bits, COPIES=32, BN=128, BLOCKS=264)
    return dict(W=bits, BN=128, **{4: dict(COPIES=0), 3: dict(COPIES=32), 2: dict(COPIES=32, DEPTH=2, STAGES=3)}[bits])


def flute(folder, file):
    table = Table("flute", file)
    utils = flute_python(folder)

    def constants(m, k, n, bits):
        return dict(M=m, K=k, N=n, GROUP=GROUP, **flute_variant(bits, n, m))
    begun = begin_compiling(compile_points([(FLUTE, constants(m, k, n, bits)) for k, n in SHAPES for bits in (4, 3, 2)
                                            for m in ROWS], ["pack"]))
    workspace = torch.zeros(132 * 4 * (256 * 4 * 64 * 8 + 4), dtype=torch.uint8, device=DEVICE)
    for k, n in SHAPES:
        for bits in (4, 3, 2):
            library = ctypes.CDLL(str(folder / f"libflute{bits}.so"))
            codes = torch.randint(0, 1 << bits, (k, n), dtype=torch.uint8, device=DEVICE)
            scale = (torch.rand((k // GROUP, n), device=DEVICE) / 64 + 1 / 64).half()
            values = torch.randn(1 << bits, device=DEVICE).half().sort().values
            weights = {4: utils._pack_4bit, 3: utils._pack_3bit, 2: utils._pack_2bit}[bits](codes, 32)
            scales, pairs = scale.t().contiguous(), utils.make_qmap2_from_qmap(values)
            q, made = packed(codes, bits), {}
            every = torch.randn((64, k), device=DEVICE).half()
            exact = product_of(every, lambda part: values[codes[:, part].int()].double(), scale)
            half = values[codes.int()].mul_(scale.repeat_interleave(GROUP, 0))
            if begun is not None:
                finish_compiling(begun)
                begun = None
            for m in ROWS:
                a = every[:m].contiguous()

                def theirs(rows, stages, multiple):
                    c = torch.empty((m, n), dtype=torch.float16, device=DEVICE)
                    tensors = [a, weights, c, scales, values, pairs, workspace]
                    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

                    def call():
                        status = library.rival_flute(*[ctypes.c_void_p(x.data_ptr()) for x in tensors], m, n, k,
                                                     weights.shape[0], rows, stages, 132 * multiple, stream)
                        if status != 0:
                            raise Unfit(f"status {status}")
                    return call, c

                def ours():  # the table is a parameter between weights and scales
                    return tilevm_product(FLUTE, constants(m, k, n, bits), a, [q], scale, ["pack"], made, [values])
                shapes = [(16, 3), (16, 2 if bits == 3 else 4), (32, 3)]
                best = fastest({f"{rows} rows, {stages} stages, x {multiple}":
                                lambda rows=rows, stages=stages, multiple=multiple: theirs(rows, stages, multiple)
                                for rows, stages in shapes for multiple in (1, 2, 4)}, exact[:m])
                calls, errors = try_each({"tilevm": ours, "cublas nn": lambda: cublas(a, half, False),
                                          "cublas tn": lambda: cublas(a, half, True)}, exact[:m], MOST_ERROR)
                if best:
                    calls["flute"], errors["flute"] = best[1:]
                read = k * n * bits // 8 + 2 * scale.numel() + 2 * m * (k + n)
                calls["read"] = reader(read)
                table.row(dict(bits=bits, K=k, N=n, m=m), turns(calls), errors, bytes=read,
                          flute=best[0] if best else "", point=str(flute_variant(bits, n, m)))
            del half, codes, weights, made, exact
            torch.cuda.empty_cache()


def integers(codes, bits):
    """Signed codes as the bytes that tilevm takes: two's complement."""
    return packed(codes ^ (1 << bits - 1), bits)


def humming(folder, file):
    add_site(folder)
    from humming.layer import HummingLayer
    from humming.schema import HummingWeightSchema

    table = Table("humming", file)
    for k, n in SHAPES:
        points = {(bits, m): candidates(m, k, n, f"i{bits}")[:1] for bits in (4, 3, 2) for m in ROWS}
        begun = begin_compiling(compile_points([(point[0], constants_of(point, m, k, n, f"i{bits}"))
                                                for (bits, m), every in points.items() for point in every], TRANSFORMS))
        dense = torch.randn((n, k), device=DEVICE).half()
        every = torch.randn((64, k), device=DEVICE).half()
        for bits in (4, 3, 2):
            layer, theirs = None, None
            try:
                layer = HummingLayer(shape_n=n, shape_k=k, weight_config={"dtype": f"int{bits}", "group_size": GROUP},
                                     torch_dtype=torch.float16).cuda()
                tensors = HummingWeightSchema.quant_tensor(dense, layer.weight_schema, torch.float16)
                reference = layer.weight_schema.dequant_tensors(tensors)
                layer.load_from_tensors(tensors)
                layer.transform()
                theirs = torch.cat([every.double() @ reference[j:j + 2048].double().t() for j in range(0, n, 2048)], 1)
                del reference, tensors
            except Exception as failure:  # it must not end tilevm's rows
                print(f"  humming is left out: {type(failure).__name__}: {str(failure)[:200]}", flush=True)
            codes = torch.randint(0, 1 << bits, (k, n), dtype=torch.uint8, device=DEVICE)
            scale = (torch.rand((k // GROUP, n), device=DEVICE) / 64 + 1 / 64).half()
            exact = product_of(every, lambda part: codes[:, part].double() - (1 << bits - 1), scale)
            q, made = integers(codes, bits), {}
            if begun is not None:
                finish_compiling(begun)
                begun = None
            for m in ROWS:
                a = every[:m].contiguous()
                own = fastest({str(i): lambda point=point: tilevm_product(
                    point[0], constants_of(point, m, k, n, f"i{bits}"), a, [q], scale, TRANSFORMS, made)
                    for i, point in enumerate(points[bits, m])}, exact[:m])
                calls, errors = {}, {}
                if theirs is not None:
                    found = []

                    def call():
                        found[:] = [layer(a)]
                    calls, errors = try_each({"humming": lambda: (call, lambda: found[0])}, theirs[:m], MOST_ERROR)
                half = dense.t().contiguous()
                more, wrong = try_each({"cublas nn": lambda: cublas(a, half, False), "cublas tn": lambda: cublas(a, half, True)},
                                       a.double() @ half.double() if n * k < 2**28 else a.float() @ half.float())
                calls.update(more)
                errors.update(wrong)
                if own:
                    calls["tilevm"], errors["tilevm"] = own[1:]
                read = k * n * bits // 8 + 2 * scale.numel() + 2 * m * (k + n)
                calls["read"] = reader(read)
                point = points[bits, m][int(own[0])] if own else ("", {})
                table.row(dict(bits=bits, K=k, N=n, m=m), turns(calls), errors, bytes=read,
                          point=" ".join([point[0], *(f"{x}={y}" for x, y in point[1].items())]))
            del layer, codes, made
            torch.cuda.empty_cache()


if __name__ == "__main__":
    need_gpu()
    {"flute": flute, "humming": humming}[sys.argv[3]](pathlib.Path(sys.argv[1]), sys.argv[2])
