"""The operator `tilevm::quantized_linear` of torch, and the kernels behind it.

It is registered by `Library.define` and `impl`, with a fake, so that `torch.compile` traces it. Tensors of the CPU go
through the simulator, those of a GPU are launched there: both give the same bits. With many rows the weights are
dequantized by a kernel, and multiplied by torch.matmul.
"""

from __future__ import annotations

import functools
import json
from typing import Any

import torch

from ._command import programs
from ._errors import UsageError
from ._host import dtype_of, is_packed
from ._kernel import Kernel, load, loads
from ._packing import pack_codes
from ._tuned import bits_of, constants_of, zero_of

DEQUANTIZE = "dequantize.tile"
_registered: Any = None


@functools.lru_cache(maxsize=256)
def kernel_of(entry: str, rows: int, outputs: int, inputs: int, type_: str, group: int, plan: str) -> Kernel:
    """A kernel of a plan for a shape; `plan` is [program, constants] as JSON."""
    program, constants = json.loads(plan)
    own = constants_of(program, rows, outputs, inputs, type_, group)
    return load(programs() / program, entry=entry, **{**constants, **own})


@functools.lru_cache(maxsize=64)
def dequantize_of(outputs: int, inputs: int, type_: str, group: int) -> Kernel:
    """Makes float16 of packed codes in plain order: [inputs, outputs]."""
    return load(programs() / DEQUANTIZE, entry="dequantize", N=outputs, K=inputs, G=group, Q=type_, ZERO=zero_of(type_))


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


def typed_codes(codes: torch.Tensor, type_: str, inputs: int, outputs: int) -> Any:
    """Packed codes as a kernel takes them: a tensor of a GPU, or an array of NumPy."""
    if is_packed(type_):
        return codes if codes.is_cuda else codes.numpy()
    if codes.is_cuda:
        signed = codes.view(torch.int8) if type_ == "i8" else codes
        return signed.view(inputs, outputs)
    return codes.numpy().view(dtype_of(type_)).reshape(inputs, outputs)


def dequantize(codes: torch.Tensor, scale: torch.Tensor, inputs: int, type_: str, group: int) -> torch.Tensor:
    """The weights as float16, [inputs, outputs]: each code's value less the zero, times its scale, rounded."""
    outputs = scale.shape[1]
    k = dequantize_of(outputs, inputs, type_, group)
    q = typed_codes(codes, type_, inputs, outputs)
    out = torch.empty((inputs, outputs), dtype=torch.float16, device=codes.device)
    if codes.is_cuda:
        k(q, scale.contiguous(), out)
    else:
        k(q, scale.contiguous().numpy(), out.numpy(), checks="none")
    return out


def _run(x: torch.Tensor, tiles: torch.Tensor, scales: torch.Tensor, codes: torch.Tensor, scale: torch.Tensor, type_: str,
         group: int, outputs: int, plan: str, many: int) -> torch.Tensor:
    if x.dtype is not torch.float16:
        raise UsageError(f"`x` is {x.dtype}; this operator takes torch.float16, pass x.half()")
    flat = x.detach().reshape(-1, x.shape[-1])
    rows = flat.shape[0]
    if rows == 0:
        return x.new_empty((*x.shape[:-1], outputs))
    if 0 < many <= rows:
        return torch.matmul(flat, dequantize(codes, scale, flat.shape[1], type_, group)).reshape(*x.shape[:-1], outputs)
    wanted = rows_of(rows)
    k = kernel_of("matmul", wanted, outputs, flat.shape[1], type_, group, plan)
    if wanted != rows:
        flat = torch.nn.functional.pad(flat, (0, 0, 0, wanted - rows))
    flat = flat.contiguous()
    # The transformations store [steps, tiles, rounds, bytes], of which the product reads the bytes of a step at once.
    tiles, scales = (t.view(p.shape or ()) for t, p in zip((tiles, scales), k.parameters[1:3]))
    out = torch.empty((wanted, outputs), dtype=torch.float16, device=x.device)
    if x.is_cuda:
        k(flat, tiles, scales, out)
    else:
        k(flat.numpy(), tiles.numpy(), scales.numpy(), out.numpy())
    return out[:rows].reshape(*x.shape[:-1], outputs)


def _fake(x: torch.Tensor, tiles: torch.Tensor, scales: torch.Tensor, codes: torch.Tensor, scale: torch.Tensor, type_: str,
          group: int, outputs: int, plan: str, many: int) -> torch.Tensor:
    return x.new_empty((*x.shape[:-1], outputs))


def register() -> None:
    """Once, when tilevm.nn is imported."""
    global _registered
    if _registered is not None:
        return
    library: Any = torch.library.Library("tilevm", "DEF")  # type: ignore[no-untyped-call]
    library.define("quantized_linear(Tensor x, Tensor tiles, Tensor scales, Tensor codes, Tensor scale, str type, "
                   "int group, int outputs, str plan, int many) -> Tensor")
    library.impl("quantized_linear", _run, "CPU")
    library.impl("quantized_linear", _run, "CUDA")
    torch.library.register_fake("tilevm::quantized_linear", _fake, lib=library)
    _registered = library
