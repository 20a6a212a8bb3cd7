#!/usr/bin/env python3
"""Softmax, layernorm and RMSnorm of rows: torch, torch.compile and tilevm's programs in turns, beside a copy of as many bytes.

    PYTHON tests/bench/rivals/rows.py FOLDER FILE
"""

import sys

import torch
import torch.nn.functional as F

from protocol import DEVICE, PROGRAMS, Table, compile_all, kernel, need_gpu, try_each, turns

EPS = 1e-5
M, N, WIDE = 32768, 4096, 8192  # rows; columns, and those of RMSnorm


def rms(x, r, gamma):
    """The sum of x and r, and its RMSnorm, as programs/rmsnorm_residual.tile has them."""
    h = x.float() + r.float()
    return h.half(), (h * torch.rsqrt(h.square().mean(-1, keepdim=True) + EPS) * gamma.float()).half()


def rms_in_torch(x, r, gamma):
    h = x + r
    return h, F.rms_norm(h, (h.shape[-1],), gamma, EPS)


def softmax(x):
    return torch.softmax(x, -1)


def layernorm(x, gamma, beta):
    return F.layer_norm(x, (x.shape[-1],), gamma, beta, EPS)


def keeping(function, inputs, last):
    """A call of a function, and its result: `last` of those it returns."""
    found = []

    def call():
        found[:] = [function(*inputs)]
    return call, lambda: found[0][last] if isinstance(found[0], tuple) else found[0]


def problem(name):
    """A problem: its program and constants to try, inputs, functions of torch, the result in f64, and bytes that move."""
    def random(*shape, dtype=torch.float32):
        return torch.randn(shape, device=DEVICE).to(dtype)
    threads = [dict(THREADS=count) for count in (128, 256, 512)]
    if name == "softmax":
        x = random(M, N)
        return "softmax", dict(M=M, N=N), threads, [x], [softmax], torch.softmax(x.double(), -1), 2 * 4 * M * N
    if name == "layernorm":
        x, gamma, beta = random(M, N), random(N), random(N)
        exact = F.layer_norm(x.double(), (N,), gamma.double(), beta.double(), EPS)
        return "layernorm", dict(M=M, N=N), threads, [x, gamma, beta], [layernorm], exact, 2 * 4 * M * N
    x, r, gamma = (random(*shape, dtype=torch.float16) for shape in ((M, WIDE), (M, WIDE), (WIDE,)))
    return ("rmsnorm_residual", dict(M=M, N=WIDE), threads, [x, r, gamma], [rms_in_torch, rms], rms(x, r, gamma)[1].double(),
            4 * 2 * M * WIDE)


def ours(program, constants, inputs):
    launch, parameters = kernel(PROGRAMS / f"{program}.tile", None, constants)
    types = {"f16": torch.float16, "f32": torch.float32}
    outputs = [torch.empty(parameter.shape, dtype=types[parameter.type], device=DEVICE)
               for parameter in parameters if parameter.output]
    return (lambda: launch(*inputs, *outputs)), outputs[-1]


def main(file):
    table = Table("rows", file)
    compile_all([(PROGRAMS / f"{program}.tile", None, {**dict(M=M, N=n), **dict(THREADS=threads)})
                 for program, n in (("softmax", N), ("layernorm", N), ("rmsnorm_residual", WIDE)) for threads in (128, 256, 512)])
    for name in ("softmax", "layernorm", "rmsnorm"):
        program, sizes, variants, inputs, functions, exact, moved = problem(name)
        found, wrong = try_each({str(i): lambda variant=variant: ours(program, {**sizes, **variant}, inputs)
                                 for i, variant in enumerate(variants)}, exact)
        quick = turns(found, 5) if found else {}
        makers = {}
        for function in functions:
            title = function.__name__ if len(functions) > 1 else ""
            makers[f"torch {title}".strip()] = lambda function=function: keeping(function, inputs, -1)
            makers[f"torch.compile {title}".strip()] = lambda function=function: keeping(torch.compile(function), inputs, -1)
        calls, errors = try_each(makers, exact)
        if quick:
            best = min(quick, key=quick.get)
            calls["tilevm"], errors["tilevm"] = found[best], wrong[best]
        source = torch.empty(moved // 8, dtype=torch.float32, device=DEVICE).normal_()
        target = torch.empty_like(source)
        calls["copy"] = lambda: target.copy_(source)
        times = turns(calls)
        shares = {f"share {key}": round(times["copy"] / us, 3) for key, us in times.items() if key != "copy"}
        table.row(dict(program=program, **sizes), times, errors, bytes=moved, of_copy=shares,
                  point=str(variants[int(best)]) if quick else "")
        del inputs, exact, calls, found, source, target
        torch.cuda.empty_cache()


if __name__ == "__main__":
    need_gpu()
    main(sys.argv[2])
