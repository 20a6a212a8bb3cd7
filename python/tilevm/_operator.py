"""The operator `tilevm::quantized_linear` of torch, and the kernels behind it.

It is registered by `Library.define` and `impl`, with a fake, so that `torch.compile` traces it. Tensors of the CPU go
through the simulator, those of a GPU are launched there: both give the same bits. With many rows the weights are
dequantized by a kernel, and multiplied by torch.matmul.

`tilevm::differentiable_quantized_linear` is the same with a gradient for x, which a layer calls where one is wanted:
what torch does at an operator with a gradient takes longer than a whole call without one.
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
from ._types import is_packed
from ._kernel import Kernel, load, loads
from ._launch import Launch
from ._packing import pack_codes
from ._tuned import bits_of, constants_of, program_type, zero_of

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
    if type_ == "i8":
        given = given.view("int8")
    return k(given)[:count] - zero_of(type_)


def rows_of(rows: int) -> int:
    """The number of rows that a kernel is made for, so that few kernels are made: the next power of two, above 256 the next
    multiple of an eighth of it."""
    power = 1 << max(rows - 1, 0).bit_length()
    part = max(power // 8, 1) if power > 256 else power
    return -(-rows // part) * part if rows > 0 else 1


def typed_codes(codes: torch.Tensor, type_: str, inputs: int, outputs: int) -> Any:
    """Packed codes as a kernel takes them: a tensor of a GPU, or an array of NumPy."""
    if is_packed(type_):
        return codes if codes.is_cuda else codes.numpy()
    if codes.is_cuda:
        signed = codes.view(torch.int8) if type_ == "i8" else codes
        return signed.view(inputs, outputs)
    return codes.numpy().view("int8" if type_ == "i8" else "uint8").reshape(inputs, outputs)


def current_gpu() -> tuple[str, str]:
    """The name and the architecture ("sm_90") of torch's GPU, as choose() takes them; both "" where there is none."""
    if not torch.cuda.is_available():
        return "", ""
    return torch.cuda.get_device_name(), "sm_{}{}".format(*torch.cuda.get_device_capability())


def program_codes(codes: torch.Tensor, type_: str, program: str, inputs: int, outputs: int) -> torch.Tensor:
    """Packed codes as those of the type that a program has for a type: u4 with its zero in the middle is i4 with the first
    bit inverted. Bits after the last code stay zero."""
    import numpy

    if program_type(program, type_) == type_:
        return codes
    bits = bits_of(type_)
    first = pack_codes(numpy.full(8, 1 << bits - 1, "uint8"), bits)
    pattern = torch.from_numpy(first).to(codes.device).repeat(-(-codes.numel() // bits))
    codes = codes ^ pattern[:codes.numel()]
    codes[-1] &= 0xff >> 8 * codes.numel() - inputs * outputs * bits
    return codes


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
            raise UsageError(f"weights of {inputs} inputs are {found[place]}; {list(shape)} were given")
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


def _inputs_of(codes: torch.Tensor, outputs: int, type_: str, width: int) -> int:
    """How many inputs packed codes are of; `width` where the last byte leaves it open."""
    row = outputs * bits_of(type_)
    return width if codes.numel() == (width * row + 7) // 8 else 8 * codes.numel() // row


def _wrong_width(shape: Any, inputs: int, outputs: int) -> UsageError:
    if not shape:
        return UsageError(f"`x` has no dimensions; it is a row of {inputs} numbers, or has rows of them")
    return UsageError(f"`x` of shape {list(shape)} has rows of {shape[-1]} numbers, and the layer has {inputs} inputs and "
                      f"{outputs} outputs")


def _checked_width(shape: Any, codes: torch.Tensor, type_: str, outputs: int, inputs: int) -> Any:
    """The length of the rows of x. UsageError: it is not `inputs`, or, where that is not told, what the codes tell."""
    width = shape[-1] if shape else 0
    features = inputs if inputs >= 0 else _inputs_of(codes, outputs, type_, width)
    if not shape or width != features:
        raise _wrong_width(shape, features, outputs)
    return width


def _run(x: torch.Tensor, tiles: torch.Tensor, scales: torch.Tensor, codes: torch.Tensor, scale: torch.Tensor, type_: str,
         group: int, outputs: int, plan: str, many: int, inputs: int = -1) -> torch.Tensor:
    if x.dtype is not torch.float16:
        raise UsageError(f"`x` is {x.dtype}; this operator takes torch.float16, pass x.half()")
    if x.requires_grad:
        _check_no_gradient(x)
        x = x.detach()
    shape = x.shape
    if len(shape) == 2 and shape[1] == inputs:
        flat, rows = x, shape[0]
    else:
        inputs = _checked_width(shape, codes, type_, outputs, inputs)
        flat = x.reshape(math.prod(shape[:-1]), inputs)
        rows = flat.shape[0]
    if rows == 0:
        return x.new_empty((*shape[:-1], outputs))
    if 0 < many <= rows:
        return torch.matmul(flat, dequantize(codes, scale, inputs, type_, group)).reshape(*shape[:-1], outputs)
    wanted = rows_of(rows) if rows & (rows - 1) else rows
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


def _run_differentiable(x: torch.Tensor, *others: Any) -> torch.Tensor:
    return _run(x.detach(), *others)


def _check_no_gradient(x: torch.Tensor) -> None:
    if torch.is_grad_enabled():
        raise UsageError("`x` requires a gradient, which tilevm::quantized_linear does not have; call the layer, or "
                         "tilevm::differentiable_quantized_linear, or this within torch.no_grad()")


def _fake(x: torch.Tensor, tiles: torch.Tensor, scales: torch.Tensor, codes: torch.Tensor, scale: torch.Tensor, type_: str,
          group: int, outputs: int, plan: str, many: int, inputs: int = -1) -> torch.Tensor:
    _checked_width(x.shape, codes, type_, outputs, inputs)
    return x.new_empty((*x.shape[:-1], outputs))


def _fake_plain(x: torch.Tensor, *others: Any) -> torch.Tensor:
    if x.requires_grad:
        _check_no_gradient(x)
    return _fake(x, *others)


def _dequantized(codes: torch.Tensor, scale: torch.Tensor, inputs: int, type_: str, group: int) -> torch.Tensor:
    return dequantize(codes, scale, inputs, type_, group)


def _fake_dequantized(codes: torch.Tensor, scale: torch.Tensor, inputs: int, type_: str, group: int) -> torch.Tensor:
    return scale.new_empty((inputs, scale.shape[1]))


def _keep_for_gradient(ctx: Any, inputs: Any, output: Any) -> None:
    x, _, _, codes, scale, type_, group, outputs, *_ = inputs
    ctx.save_for_backward(codes, scale)
    ctx.facts = x.shape[-1], type_, group


def _gradient(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:
    """dL/dx = dL/dy W, with the weights W as float16, [outputs, inputs]. Weights take no gradient."""
    weights = torch.ops.tilevm.dequantized(*ctx.saved_tensors, *ctx.facts)
    return (torch.matmul(grad, weights.T), *[None] * 10)


def register() -> None:
    """Once, when tilevm.nn is imported."""
    global _registered
    if _registered is not None:
        return
    library: Any = torch.library.Library("tilevm", "DEF")  # type: ignore[no-untyped-call]
    arguments = "(Tensor x, Tensor tiles, Tensor scales, Tensor codes, Tensor scale, str type, int group, int outputs, " \
        "str plan, int many, int inputs=-1) -> Tensor"
    library.define("quantized_linear" + arguments)
    library.define("differentiable_quantized_linear" + arguments)
    library.define("dequantized(Tensor codes, Tensor scale, int inputs, str type, int group) -> Tensor")
    for name, function, fake in (("quantized_linear", _run, _fake_plain), ("dequantized", _dequantized, _fake_dequantized),
                                 ("differentiable_quantized_linear", _run_differentiable, _fake)):
        library.impl(name, function, "CPU")
        library.impl(name, function, "CUDA")
        torch.library.register_fake(f"tilevm::{name}", fake, lib=library)
    torch.library.register_autograd("tilevm::differentiable_quantized_linear", _gradient, setup_context=_keep_for_gradient,
                                    lib=library)
    _registered = library
