"""The operator `tilevm::quantized_linear` of torch, and the kernels behind it.

It is registered by `Library.define` and `impl`, with a fake, so that `torch.compile` traces it. Tensors of the CPU go
through the simulator, those of a GPU are launched there: both give the same bits. With many rows the weights are
dequantized by a kernel, and multiplied by torch.matmul.
"""

from __future__ import annotations

import functools
import json
import math
import threading
from typing import Any

import torch

from . import _library
from ._command import programs
from ._device import current_stream
from ._errors import UsageError
from ._host import dtype_of, is_packed
from ._kernel import Kernel, load, loads
from ._launch import Launch
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


_own = threading.local()  # `known`: what a thread has launched, and `forks`: in which process


@functools.lru_cache(maxsize=256)
def product_of(rows: int, outputs: int, inputs: int, type_: str, group: int, plan: str, tiles: tuple[int, ...],
               scales: tuple[int, ...]) -> Kernel:
    """The kernel that multiplies. It takes `tiles` and `scales` in the shapes in which transformations store them, [steps,
    tiles, rounds, bytes], though it reads the bytes of a step at once."""
    k = kernel_of("matmul", rows, outputs, inputs, type_, group, plan)
    found = list(k.parameters)
    for place, shape in ((1, tiles), (2, scales)):
        own = found[place].shape
        if own is None or math.prod(own) != math.prod(shape):
            raise UsageError(f"weights of {inputs} inputs are {found[place]}; {list(shape)} were given, pass `x` with as many "
                             "columns as the layer has inputs")
        found[place] = found[place]._replace(shape=shape)
    return k._with_parameters(tuple(found))


def _launch_of(rows: int, outputs: int, inputs: int, type_: str, group: int, plan: str, x: torch.Tensor, tiles: torch.Tensor,
               scales: torch.Tensor) -> Launch:
    """This thread's launch of a product on a GPU: one for all streams, or where launches share memory one for each. They
    are kept as long as the thread, so that what a CUDA graph captured stays loaded."""
    if getattr(_own, "forks", None) != _library.forks:
        _own.forks, _own.known = _library.forks, {}
    known: dict[tuple[Any, ...], Launch] = _own.known
    device = x.get_device()
    key = (rows, outputs, inputs, type_, group, plan, device)
    found = known.get(key)
    if found is not None and found.may_overlap:
        return found
    stream = current_stream(x, device)
    own = known.get((*key, stream))
    if own is None:
        k = product_of(rows, outputs, inputs, type_, group, plan, tuple(tiles.shape), tuple(scales.shape))
        known[key] = known[(*key, stream)] = own = k._launch_for(device, stream)
    return own


def _run(x: torch.Tensor, tiles: torch.Tensor, scales: torch.Tensor, codes: torch.Tensor, scale: torch.Tensor, type_: str,
         group: int, outputs: int, plan: str, many: int) -> torch.Tensor:
    if x.dtype is not torch.float16:
        raise UsageError(f"`x` is {x.dtype}; this operator takes torch.float16, pass x.half()")
    if x.requires_grad:
        x = x.detach()
    shape = x.shape
    inputs = shape[-1]
    flat = x if len(shape) == 2 else x.reshape(-1, inputs)
    rows = flat.shape[0]
    if rows == 0:
        return x.new_empty((*shape[:-1], outputs))
    if 0 < many <= rows:
        return torch.matmul(flat, dequantize(codes, scale, inputs, type_, group)).reshape(*shape[:-1], outputs)
    wanted = rows_of(rows)
    if wanted != rows:
        flat = torch.nn.functional.pad(flat, (0, 0, 0, wanted - rows))
    flat = flat.contiguous()
    out = flat.new_empty((wanted, outputs))
    if x.is_cuda:
        _launch_of(wanted, outputs, inputs, type_, group, plan, x, tiles, scales)(flat, tiles, scales, out)
    else:
        if tiles.is_cuda:
            raise UsageError(f"`x` is on the CPU and the weights on a GPU; move it there, as x.to('{tiles.device}')")
        k = product_of(wanted, outputs, inputs, type_, group, plan, tuple(tiles.shape), tuple(scales.shape))
        k(flat.numpy(), tiles.numpy(), scales.numpy(), out.numpy())
    if wanted != rows:
        out = out[:rows]
    return out if len(shape) == 2 else out.reshape(*shape[:-1], outputs)


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
