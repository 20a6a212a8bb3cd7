#!/usr/bin/env python3
"""Attention of torch, of FlashInfer where FOLDER has it, and of tilevm's programs in turns.

    PYTHON tests/bench/rivals/attention.py FOLDER FILE decode|prefill

decode: one new token of each of S sequences of L tokens; 32 heads of 128, of which 4 share one of 8 heads of keys and
values. torch's cache is contiguous, those of tilevm and FlashInfer have pages of 128 tokens. "folded" are calls with the
4 heads as 4 queries of one head, which attend to the same tokens. prefill: 4,096 tokens, causal, the same heads.
"""

import os
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from protocol import DEVICE, PROGRAMS, Table, add_site, compile_all, empty, kernel, need_gpu, reader, try_each, turns
from quantized import fit

G, R, D, P = 8, 4, 128, 128
PROBLEMS = [(1, 4096), (8, 4096), (32, 4096), (1, 32768), (8, 32768), (32, 32768)]
TYPES = ["f16", "u8", "u4"]
BITS = {"f16": 16, "u8": 8, "u4": 4}
MOST_ERROR = 5e-3
BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION}
DECODE, APPEND, PREFILL = (PROGRAMS / "attention" / f"{name}.tile" for name in ("decode", "append", "prefill"))


def splits(s):
    """Numbers of blocks that share a sequence which are tried: a block or more for each of 132 multiprocessors."""
    return [split for split in (1, 2, 4, 8, 16, 32) if 120 <= s * G * split <= 1100]


def decode_constants(type_, s, length, split):
    return dict(Q=type_, S=s, G=G, R=R, D=D, P=P, PAGES=s * length // P, TABLE=length // P, STAGES=2, SPLIT=split)


def append_constants(type_, s, length):
    return dict(Q=type_, S=s, NEW=length, G=G, D=D, P=P, PAGES=s * length // P, TABLE=length // P)


class Cache:
    """Keys and values of S sequences of L tokens, and the queries."""

    def __init__(self, s, length):
        self.s, self.length = s, length
        self.k, self.v = (torch.randn((s, length, G, D), device=DEVICE, dtype=torch.float16) for _ in "kv")
        self.q = torch.randn((s, G, R, D), device=DEVICE, dtype=torch.float16)
        pages = length // P
        # Pages of a sequence are not neighbours.
        self.table = torch.randperm(s * pages, device=DEVICE).int().view(s, pages)
        self.lengths = torch.full((s,), length, dtype=torch.int32, device=DEVICE)

    def paged(self, type_):
        """The cache in pages, as programs/attention/append.tile fills it: keys, values, numbers."""
        launch, parameters = kernel(APPEND, "append", append_constants(type_, self.s, self.length))
        made = [empty(parameter) for parameter in parameters if parameter.output]
        launch(self.k, self.v, self.table, torch.zeros_like(self.lengths), self.lengths, *made)
        return made

    def rounded(self, x, type_):
        """Keys or values as a cache of a type has them, in f64."""
        if type_ == "f16":
            return x.double()
        y = x.float()
        low, high = y.amin(-1, keepdim=True), y.amax(-1, keepdim=True)
        scale, zero = ((high - low) / (2 ** BITS[type_] - 1)).half().float(), low.half().float()
        code = ((y - zero) / scale + 0.5).floor().clamp(0, 2 ** BITS[type_] - 1)
        return code.double() * scale.double() + zero.double()

    def exact(self, type_):
        """Attention of one token in f64, a sequence at a time: [S, G, R, D]."""
        out = torch.empty((self.s, G, R, D), dtype=torch.float64, device=DEVICE)
        for i in range(self.s):
            k, v = (self.rounded(x[i], type_).permute(1, 0, 2) for x in (self.k, self.v))
            weights = torch.softmax(self.q[i].double() @ k.transpose(1, 2) / D ** 0.5, -1)
            out[i] = weights @ v
        return out


def tilevm_decode(cache, type_, made, split):
    launch, parameters = kernel(DECODE, "decode", decode_constants(type_, cache.s, cache.length, split))
    o = empty(parameters[-1])
    arguments = [fit(x, parameter) for x, parameter in zip([cache.q, *made, cache.table, cache.lengths, o], parameters)]
    return (lambda: launch(*arguments)), o


def sdpa(q, k, v, backend, shape, **options):
    """A call of torch's attention by one backend, and its result in a shape."""
    found = []

    def call():
        with sdpa_kernel(backend):
            found[:] = [F.scaled_dot_product_attention(q, k, v, **options)]
    return call, lambda: shape(found[0])


def torch_decode(cache):
    """Makers of torch's calls: contiguous keys and values [S, G, L, D]."""
    k, v = (x.permute(0, 2, 1, 3).contiguous() for x in (cache.k, cache.v))
    plain = cache.q.view(cache.s, G * R, 1, D)

    def heads(o):
        return o.reshape(cache.s, G, R, D)
    makers = {}
    for name, backend in BACKENDS.items():
        if name != "efficient":  # which takes no grouped heads
            makers[f"torch {name}"] = lambda backend=backend: sdpa(plain, k, v, backend, heads, enable_gqa=True)
        makers[f"torch {name} folded"] = lambda backend=backend: sdpa(cache.q, k, v, backend, heads)
    return makers


def flashinfer_decode(cache, made, tensor_cores, type_):
    """FlashInfer's decoding over the same pages; f8e4m3 is of the same keys and values."""
    os.environ["FLASHINFER_DISABLE_JIT"] = "1"  # what was not brought compiled is left out
    import flashinfer

    shape = (cache.s * cache.length // P, G, P, D)
    k, v = (x.view(torch.float16).view(shape) for x in made[:2])
    if type_ == torch.float8_e4m3fn:
        k, v = k.to(type_), v.to(type_)
    workspace = torch.zeros(256 << 20, dtype=torch.uint8, device=DEVICE)
    wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(workspace, "HND", use_tensor_cores=tensor_cores, backend="fa2")
    pages = cache.length // P
    wrapper.plan(torch.arange(cache.s + 1, dtype=torch.int32, device=DEVICE) * pages, cache.table.view(-1),
                 torch.full((cache.s,), P, dtype=torch.int32, device=DEVICE), G * R, G, D, P,
                 q_data_type=torch.float16, kv_data_type=type_)
    q = cache.q.view(cache.s, G * R, D)
    o = torch.empty_like(q)
    return (lambda: wrapper.run(q, (k, v), out=o)), o.view(cache.s, G, R, D)


def decode(folder, file):
    add_site(folder)
    table = Table("decode", file)
    compile_all([(DECODE, "decode", decode_constants(type_, s, length, split)) for s, length in PROBLEMS for type_ in TYPES
                 for split in splits(s)] +
                [(APPEND, "append", append_constants(type_, s, length)) for s, length in PROBLEMS for type_ in TYPES])
    for s, length in PROBLEMS:
        cache = Cache(s, length)
        calls, errors, points = {}, {}, {}
        half = None
        for type_ in TYPES:
            exact = cache.exact(type_)
            made = cache.paged(type_)
            half = made if type_ == "f16" else half
            found, wrong = try_each({str(split): lambda split=split: tilevm_decode(cache, type_, made, split)
                                     for split in splits(s)}, exact, MOST_ERROR)
            quick = turns(found, 5) if found else {}
            if quick:
                best = min(quick, key=quick.get)
                calls[f"tilevm {type_}"], errors[f"tilevm {type_}"], points[type_] = found[best], wrong[best], int(best)
            if type_ == "f16":
                makers = torch_decode(cache)
                for cores in (True, False):
                    makers[f"flashinfer {'tensor' if cores else 'plain'}"] = lambda cores=cores: flashinfer_decode(
                        cache, half, cores, torch.float16)
                rivals, wrong = try_each(makers, exact, MOST_ERROR)
                calls.update(rivals)
                errors.update(wrong)
        # Values of f8e4m3 themselves differ by up to 1/16.
        rivals, wrong = try_each({"flashinfer f8e4m3": lambda: flashinfer_decode(cache, half, True, torch.float8_e4m3fn)},
                                 cache.exact("f16"), 0.1)
        calls.update(rivals)
        errors.update(wrong)
        bytes_ = {type_: 2 * s * length * G * (D * BITS[type_] // 8 + (4 if BITS[type_] < 16 else 0)) for type_ in TYPES}
        for type_ in TYPES:
            calls[f"read {type_}"] = reader(bytes_[type_])
        times = turns(calls, 20)
        shares = {f"share_{type_}": round(times[f"read {type_}"] / times[f"tilevm {type_}"], 3) for type_ in TYPES
                  if f"tilevm {type_}" in times}
        table.row(dict(S=s, L=length), times, errors, bytes=bytes_, split=points, **shares)
        del cache, calls, half
        torch.cuda.empty_cache()


def prefill(folder, file):
    tokens, h = 4096, G * R
    table = Table("prefill", file)
    tiles = [dict(BM=bm, BN=bn, STAGES=stages) for bm in (64, 128) for bn in (64, 128) for stages in (2, 3)]

    def constants(tile):
        return dict(S=1, TOKENS=tokens, LONGEST=tokens, H=h, R=R, D=D, **tile)
    compile_all([(PREFILL, "prefill", constants(tile)) for tile in tiles])
    q = torch.randn((tokens, h, D), device=DEVICE, dtype=torch.float16)
    k, v = (torch.randn((tokens, G, D), device=DEVICE, dtype=torch.float16) for _ in "kv")
    start = torch.tensor([0, tokens], dtype=torch.int32, device=DEVICE)
    exact = torch.empty((tokens, h, D), dtype=torch.float64, device=DEVICE)
    mask = torch.ones((tokens, tokens), dtype=torch.bool, device=DEVICE).tril()
    for i in range(h):
        scores = (q[:, i].double() @ k[:, i // R].double().t() / D ** 0.5).masked_fill(~mask, -torch.inf)
        exact[:, i] = torch.softmax(scores, -1) @ v[:, i // R].double()

    def ours(tile):
        launch, _ = kernel(PREFILL, "prefill", constants(tile))
        o = torch.empty_like(q)
        return (lambda: launch(q, k, v, start, o)), o
    found, wrong = try_each({str(i): lambda tile=tile: ours(tile) for i, tile in enumerate(tiles)}, exact, MOST_ERROR)
    quick = turns(found, 5) if found else {}
    heads = [x.permute(1, 0, 2).unsqueeze(0).contiguous() for x in (q, k, v)]
    calls, errors = try_each({f"torch {name}": lambda backend=backend: sdpa(
        *heads, backend, lambda o: o[0].permute(1, 0, 2), enable_gqa=True, is_causal=True)
        for name, backend in BACKENDS.items() if name != "efficient"}, exact, MOST_ERROR)
    best = min(quick, key=quick.get) if quick else None
    if best:
        calls["tilevm"], errors["tilevm"] = found[best], wrong[best]
    times = turns(calls)
    rates = {f"tflops_{name}": round(2 * 2 * h * D * tokens * (tokens + 1) / 2 / us / 1e6, 1) for name, us in times.items()}
    table.row(dict(tokens=tokens, heads=h, kv_heads=G), times, errors, point=str(tiles[int(best)]) if best else "", **rates)


if __name__ == "__main__":
    need_gpu()
    {"decode": decode, "prefill": prefill}[sys.argv[3]](pathlib.Path(sys.argv[1]), sys.argv[2])
