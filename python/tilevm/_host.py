"""Arrays in the memory of the host, as the simulator takes them: of NumPy and torch, and what gives DLPack. Nothing is
copied."""

from __future__ import annotations

import functools
import sys
from typing import Any, NamedTuple

from ._dlpack import ON_HOST, borrow, is_dense
from ._errors import UsageError
from ._parameter import Parameter
from ._types import ML_NAMES, codes_name, dtypes_of, fits_shape, is_packed, shape_of, way_from


class HostArray(NamedTuple):
    """The memory of an argument. `value` is what the caller gets of an output: what was passed, or what was made."""

    address: int
    bytes: int
    value: Any


def is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


@functools.lru_cache(maxsize=None)
def _plain_dtype(type_: str) -> Any:
    """NumPy's own type of elements, or of their codes."""
    import numpy

    return numpy.dtype(codes_name(type_))


def dtype_of(type_: str) -> Any:
    """NumPy's type of elements, of ml_dtypes where it is missing in NumPy. ImportError: ml_dtypes is not installed."""
    if type_ not in ML_NAMES:
        return _plain_dtype(type_)
    import ml_dtypes
    import numpy

    return numpy.dtype(getattr(ml_dtypes, ML_NAMES[type_]))


def array_of(parameter: Parameter, value: Any) -> HostArray:
    """The memory of a value. UsageError: it does not fit the parameter."""
    import numpy

    if isinstance(value, numpy.ndarray):
        return _of_numpy(parameter, value)
    if is_torch(value):
        return _of_torch(parameter, value)
    if hasattr(value, "__dlpack__"):
        return _of_dlpack(parameter, value)
    raise UsageError(f"`{parameter.name}` is {parameter}; it was given {type(value).__name__}, pass a NumPy array")


def _wrong_type(parameter: Parameter, given: str, in_torch: bool = False) -> UsageError:
    shown = f"torch.{given}" if in_torch else given
    return UsageError(f"`{parameter.name}` is {parameter}; it was given {shown}, pass "
                      f"{way_from(parameter.type, given, in_torch)}")


def _check_shape(parameter: Parameter, shape: tuple[int, ...]) -> None:
    wanted = shape_of(parameter)
    if fits_shape(shape, wanted):
        return
    way = f"; pass the bytes of tilevm.pack(x, '{parameter.type}')" \
        if is_packed(parameter.type) and shape == parameter.shape else ""
    raise UsageError(f"`{parameter.name}` is {parameter}, an array of shape {list(wanted or ())}; it was given "
                     f"{list(shape)}{way}")


def _check_memory(parameter: Parameter, contiguous: bool, writeable: bool, way: str) -> None:
    name = f"`{parameter.name}`"
    if not contiguous:
        raise UsageError(f"{name} is not contiguous; pass {way}"
                         + (" and read the output from it" if parameter.output else ""))
    if parameter.output and not writeable:
        raise UsageError(f"{name} is written, and this array is read-only; pass a copy")


def _of_numpy(parameter: Parameter, array: Any) -> HostArray:
    import numpy

    dtype = array.dtype
    if dtype != _plain_dtype(parameter.type) and dtype.name != ML_NAMES.get(parameter.type):
        shown = dtype.name if dtype.isnative and dtype.names is None else str(dtype)
        raise _wrong_type(parameter, shown)
    if type(array) is not numpy.ndarray and isinstance(array, numpy.ma.MaskedArray):
        raise UsageError(f"`{parameter.name}` is given a masked array, whose mask a kernel does not see; pass x.filled(0), or "
                         "x.data for what is below the mask")
    _check_shape(parameter, array.shape)
    _check_memory(parameter, array.flags.c_contiguous, array.flags.writeable, "numpy.ascontiguousarray(x)")
    return HostArray(array.ctypes.data, array.nbytes, array)


def _of_torch(parameter: Parameter, tensor: Any) -> HostArray:
    torch = sys.modules["torch"]
    name, given = f"`{parameter.name}`", str(tensor.dtype).removeprefix("torch.")
    if tensor.device.type != "cpu":
        raise UsageError(f"{name} is on `{tensor.device}`, where no kernel runs; pass x.cpu()")
    if tensor.layout is not torch.strided:
        raise UsageError(f"{name} is {tensor.layout}; pass x.to_dense()")
    if given not in dtypes_of(parameter.type):
        raise _wrong_type(parameter, given, True)
    if tensor.requires_grad:
        raise UsageError(f"{name} requires a gradient, which a kernel does not give; pass x.detach()")
    if tensor.is_neg():
        raise UsageError(f"{name} is a view that negates its memory; pass x.resolve_neg()")
    _check_shape(parameter, tuple(tensor.shape))
    _check_memory(parameter, tensor.is_contiguous(), True, "x.contiguous()")
    try:
        return HostArray(tensor.data_ptr(), tensor.numel() * tensor.element_size(), tensor)
    except RuntimeError as error:  # of a tensor without memory, as while a function is traced
        raise UsageError(f"{name}: {error}") from None


def _of_dlpack(parameter: Parameter, value: Any) -> HostArray:
    name = f"`{parameter.name}`"
    array = borrow(name, value, None)
    if array.device_type not in ON_HOST:
        raise UsageError(f"{name} is on a device of type {array.device_type} of DLPack; pass an array of the host")
    if array.dtype not in dtypes_of(parameter.type):
        raise _wrong_type(parameter, array.dtype)
    _check_shape(parameter, array.shape)
    # An array that does not tell that it may be written may not, as those of JAX.
    _check_memory(parameter, is_dense(array.shape, array.strides), array.read_only is False, "a contiguous copy")
    count = 1
    for extent in array.shape:
        count *= extent
    width = 2 if parameter.type == "bf16" else _plain_dtype(parameter.type).itemsize
    return HostArray(array.pointer, count * width, _Kept(value, array.owner))


class _Kept(NamedTuple):
    """A tensor of another library, and what keeps its memory."""

    value: Any
    owner: Any


def result_of(array: HostArray) -> Any:
    """What the caller gets of an output."""
    return array.value.value if isinstance(array.value, _Kept) else array.value


def zeros_for(parameter: Parameter, in_torch: bool, codes: bool) -> HostArray:
    """An output of zeros: a tensor of torch, or an array of NumPy. UsageError: it cannot be made here."""
    if parameter.shape is None:
        raise UsageError(f"the shape of `{parameter.name}` depends on the call; pass an array for it")
    shape, type_ = shape_of(parameter), parameter.type
    if in_torch:
        return _of_torch(parameter, torch_zeros(parameter, codes, None))
    import numpy

    try:
        dtype = _plain_dtype(type_) if codes else dtype_of(type_)
    except ImportError:
        raise UsageError(f"`{parameter.name}` is {parameter}, which NumPy does not have; install ml_dtypes, or pass an array of "
                         f"{codes_name(type_)}, which gets its codes") from None
    return _of_numpy(parameter, numpy.zeros(shape, dtype))


def torch_zeros(parameter: Parameter, codes: bool, device: Any) -> Any:
    """A tensor of torch for an output. UsageError: this torch does not have its type."""
    torch = sys.modules["torch"]
    name = codes_name(parameter.type) if codes or is_packed(parameter.type) else dtypes_of(parameter.type)[0]
    dtype = getattr(torch, name, None)
    if dtype is None:
        raise UsageError(f"`{parameter.name}` is {parameter}, and torch {torch.__version__} has no torch.{name}; pass a tensor "
                         "for it")
    return torch.zeros(shape_of(parameter), dtype=dtype, device=device)
