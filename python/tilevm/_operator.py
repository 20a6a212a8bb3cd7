"""The operator `tilevm::quantized_linear` of torch, and the kernels behind it.

It is registered by `Library.define` and `impl`, with a fake, so that `torch.compile` traces it. Tensors of the CPU go
through the simulator, those of a GPU are launched there: both give the same bits.
"""

from __future__ import annotations

import functools
import json
import re
from typing import Any

import torch

from ._command import programs
from ._errors import UsageError
from ._host import dtype_of, is_packed
from ._kernel import Kernel, load, loads
from ._packing import pack_codes

PROGRAM = "matmul_quantized_pipelined.tile"
_registered: Any = None


def bits_of(type_: str) -> int:
    """Of a type of weights. UsageError: it has not 1 to 8 bits."""
    digits = re.match(r"[iufb](\d+)", type_)
    if digits is None or not 1 <= int(digits[1]) <= 8:
        raise UsageError(f"`{type_}` is no type of 1 to 8 bits, as u4, i6, f6e3m2 and b1 are")
    return int(digits[1])


def zero_of(type_: str) -> int:
    """The code whose weight is 0: the middle of unsigned codes, else 0."""
    return 1 << bits_of(type_) - 1 if type_[0] == "u" else 0


@functools.lru_cache(maxsize=256)
def kernel_of(entry: str, rows: int, outputs: int, inputs: int, type_: str, group: int, constants: str) -> Kernel:
    """A kernel of the program for a shape; `constants` is an object of JSON with others that it takes."""
    own = {"M": rows, "N": outputs, "K": inputs, "Q": type_, "W": bits_of(type_), "ZERO": zero_of(type_), "GROUP": group}
    return load(programs() / PROGRAM, entry=entry, **{**own, **json.loads(constants)})


@functools.lru_cache(maxsize=None)
def values_of(type_: str) -> Any:
    """The weight of each code of a type, without its scale: what the kernel's Cast gives, less the zero."""
    import numpy

    count = 1 << bits_of(type_)
    k = loads("""
        const Q: dtype = u4
        const N = 16
        def values<1>(Q* q_ptr, f32* v_ptr):
            q = LoadGlobal(ViewGlobal(q_ptr, shape=[N]), layout=local(N))
            StoreGlobal(Cast(q, f32), ViewGlobal(v_ptr, shape=[N]))
    """, name="values.tile", Q=type_, N=max(count, 8))
    codes = numpy.arange(max(count, 8)) % count
    given = pack_codes(codes, bits_of(type_))
    if not is_packed(type_):
        given = given.view(dtype_of(type_))
    return k(given)[:count] - zero_of(type_)


def rows_of(rows: int) -> int:
    """The number of rows that a kernel is made for: the next power of two, so that few kernels are made."""
    return 1 << max(rows - 1, 0).bit_length()


def _run(x: torch.Tensor, tiles: torch.Tensor, scale: torch.Tensor, type_: str, group: int, outputs: int,
         constants: str) -> torch.Tensor:
    if x.dtype is not torch.float16:
        raise UsageError(f"`x` is {x.dtype}; this operator takes torch.float16, pass x.half()")
    flat = x.reshape(-1, x.shape[-1])
    rows = flat.shape[0]
    if rows == 0:
        return x.new_empty((*x.shape[:-1], outputs))
    wanted = rows_of(rows)
    k = kernel_of("matmul", wanted, outputs, flat.shape[1], type_, group, constants)
    if wanted != rows:
        flat = torch.nn.functional.pad(flat, (0, 0, 0, wanted - rows))
    flat = flat.detach().contiguous()
    out = torch.empty((wanted, outputs), dtype=torch.float16, device=x.device)
    if x.is_cuda:
        k(flat, tiles, scale, out)
    else:
        k(flat.numpy(), tiles.numpy(), scale.numpy(), out.numpy())
    return out[:rows].reshape(*x.shape[:-1], outputs)


def _fake(x: torch.Tensor, tiles: torch.Tensor, scale: torch.Tensor, type_: str, group: int, outputs: int,
          constants: str) -> torch.Tensor:
    return x.new_empty((*x.shape[:-1], outputs))


def register() -> None:
    """Once, when tilevm.nn is imported."""
    global _registered
    if _registered is not None:
        return
    library: Any = torch.library.Library("tilevm", "DEF")  # type: ignore[no-untyped-call]
    library.define("quantized_linear(Tensor x, Tensor tiles, Tensor scale, str type, int group, int outputs, "
                   "str constants) -> Tensor")
    library.impl("quantized_linear", _run, "CPU")
    library.impl("quantized_linear", _run, "CUDA")
    torch.library.register_fake("tilevm::quantized_linear", _fake, lib=library)
    _registered = library
