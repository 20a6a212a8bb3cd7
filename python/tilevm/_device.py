"""Tensors in the memory of a GPU, as torch, DLPack and `__cuda_array_interface__` show them. Nothing is copied."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from ._dlpack import CUDA, CUDA_MANAGED, borrow, is_dense
from ._errors import UsageError
from ._host import is_torch, torch_zeros
from ._parameter import Parameter
from ._types import codes_name, dtypes_of, fits_shape, is_packed, shape_of, way_from


class DeviceArray(NamedTuple):
    """What is known of a tensor. `device` is None where the tensor does not tell; strides count elements."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    pointer: int
    device: int | None
    read_only: bool
    stream: int | None  # on which the data is ready; None: on the framework's current one
    owner: Any = None   # keeps what was borrowed


def is_on_device(value: Any) -> bool:
    """Whether a value is in the memory of a CUDA device."""
    if is_torch(value):
        return bool(value.is_cuda)
    if hasattr(value, "__cuda_array_interface__"):
        return True
    if not hasattr(value, "__dlpack__"):
        return False
    try:
        return int(value.__dlpack_device__()[0]) in (CUDA, CUDA_MANAGED)
    except (AttributeError, TypeError):
        return False


def _from_dlpack(name: str, value: Any, stream: int) -> DeviceArray:
    array = borrow(name, value, stream)
    return DeviceArray(array.dtype, array.shape, array.strides, array.pointer, array.device, bool(array.read_only), stream,
                       array.owner)


def _from_interface(name: str, value: Any) -> DeviceArray:
    import numpy

    try:
        facts = value.__cuda_array_interface__
    except (AttributeError, RuntimeError, TypeError, ValueError) as error:
        raise UsageError(f"{name}: {error}; pass a tensor that its framework still has and can share") from None
    dtype = numpy.dtype(facts["typestr"])
    strides = facts.get("strides")
    if strides is not None:
        strides = tuple(stride // max(dtype.itemsize, 1) for stride in strides)
    pointer, read_only = facts["data"]
    device = None
    if hasattr(value, "__dlpack_device__"):
        device = int(value.__dlpack_device__()[1])
    shape = tuple(int(extent) for extent in facts["shape"])
    # Two-byte and one-byte types that are missing in NumPy come as bytes without a meaning.
    plain = f"void{8 * dtype.itemsize}" if dtype.kind == "V" else dtype.name
    return DeviceArray(plain, shape, strides, int(pointer or 0), device, bool(read_only), facts.get("stream"))


def _from_torch(value: Any) -> DeviceArray:
    return DeviceArray(str(value.dtype).removeprefix("torch."), tuple(value.shape), tuple(value.stride()),
                       value.data_ptr(), value.device.index or 0, False, None)


def device_array(name: str, value: Any, stream: int) -> DeviceArray:
    """What is known of a tensor on a device. UsageError: it cannot be shared."""
    if is_torch(value):
        return _from_torch(value)
    if hasattr(value, "__cuda_array_interface__"):
        return _from_interface(name, value)
    return _from_dlpack(name, value, stream)


def device_dtypes_of(name: str) -> tuple[str, ...]:
    """The names of dtypes_of(), and what `__cuda_array_interface__` calls types that are missing in NumPy."""
    known = dtypes_of(name)
    return known if len(known) == 1 or is_packed(name) else (*known, known[1].replace("uint", "void"))


INTERFACE_CODES = {"float16": "<f2", "float32": "<f4", "float64": "<f8", "int8": "|i1", "int16": "<i2", "int32": "<i4",
                   "int64": "<i8", "uint8": "|u1", "uint16": "<u2", "uint32": "<u4", "uint64": "<u8", "void16": "|V2",
                   "void8": "|V1"}


def interface_codes(name: str) -> tuple[str, ...]:
    """How `__cuda_array_interface__` calls the elements of a tensor."""
    return tuple(INTERFACE_CODES[each] for each in device_dtypes_of(name) if each in INTERFACE_CODES)


def check_device_array(parameter: Parameter, array: DeviceArray, device: int, in_torch: bool) -> None:
    """UsageError: a tensor does not fit a parameter of a kernel on a device."""
    name, wanted = f"`{parameter.name}`", shape_of(parameter)
    if array.device is not None and array.device != device:
        raise UsageError(f"{name} is on GPU {array.device}, and this launch is on GPU {device}; move it there, as "
                         f"`x.to('cuda:{device}')`")
    if array.dtype not in device_dtypes_of(parameter.type):
        raise UsageError(f"{name} is {parameter}; it was given {array.dtype}, pass "
                         f"{way_from(parameter.type, array.dtype, in_torch)}")
    if not fits_shape(array.shape, wanted):
        raise UsageError(f"{name} is {parameter}, an array of shape {list(wanted or ())}; it was given {list(array.shape)}")
    if not is_dense(array.shape, array.strides):
        raise UsageError(f"{name} is not contiguous; pass x.contiguous()"
                         + (" and read the output from it" if parameter.output else ""))
    if parameter.output and array.read_only:
        raise UsageError(f"{name} is written, and this tensor is read-only; pass a copy")
    if array.pointer == 0 and 0 not in array.shape:
        raise UsageError(f"{name} has no memory: its storage was freed; pass a tensor that is still in use")
    if array.pointer % 16 != 0:
        raise UsageError(f"{name} begins at {array.pointer:#x}, which is not a multiple of 16 bytes; pass a copy, as "
                         "`x.clone()`")


def current_stream(value: Any, device: int) -> int:
    """The stream that the framework of a tensor works on now; 0, the default stream, where it tells none."""
    if is_torch(value):
        torch = sys.modules["torch"]
        raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # without an object for the stream
        return int(raw(device) if raw is not None else torch.cuda.current_stream(device).cuda_stream)
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(value, cupy.ndarray):
        return int(cupy.cuda.get_current_stream().ptr)
    if hasattr(value, "__cuda_array_interface__"):
        return int(value.__cuda_array_interface__.get("stream") or 0)
    return 0


def stream_of(given: Any) -> int:
    """A stream as a number: itself, torch's `cuda_stream`, CuPy's `ptr`, or what `__cuda_stream__` gives."""
    if isinstance(given, int):
        return given
    for name in ("cuda_stream", "ptr"):
        if hasattr(given, name):
            return int(getattr(given, name))
    if hasattr(given, "__cuda_stream__"):
        return int(given.__cuda_stream__()[1])
    raise UsageError(f"`stream` is {given!r}; pass its number, or a stream of torch or CuPy")


def make_like(parameter: Parameter, model: Any, device: int, codes: bool) -> Any:
    """An output of zeros beside another tensor. UsageError: pass one instead."""
    shape = shape_of(parameter)
    if shape is None:
        raise UsageError(f"the shape of `{parameter.name}` depends on the call; pass a tensor for it")
    if is_torch(model):
        return torch_zeros(parameter, codes, model.device)
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(model, cupy.ndarray):
        with cupy.cuda.Device(device):
            return cupy.zeros(shape, codes_name(parameter.type))  # CuPy has no types of ml_dtypes
    raise UsageError(f"`{parameter.name}` is an output; pass a tensor for it, since only those of torch and CuPy are "
                     "made here")
