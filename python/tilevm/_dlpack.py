"""DLPack's description of a tensor, read without a framework: types that are missing in NumPy have their codes here."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional

from ._errors import UsageError

CPU, CUDA, CUDA_HOST, ROCM_HOST, CUDA_MANAGED = 1, 2, 3, 11, 13  # DLDeviceType
ON_HOST = (CPU, CUDA_HOST, ROCM_HOST)

# DLDataTypeCode of dlpack.h 1.1; kinds that stand before a number of bits, and types of one size.
KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool", 7: "float8_e3m4", 8: "float8_e4m3",
         9: "float8_e4m3b11fnuz", 10: "float8_e4m3fn", 11: "float8_e4m3fnuz", 12: "float8_e5m2", 13: "float8_e5m2fnuz",
         14: "float8_e8m0fnu", 15: "float6_e2m3fn", 16: "float6_e3m2fn", 17: "float4_e2m1fn"}


class Borrowed(NamedTuple):
    """A tensor of another library, whose memory is there as long as `owner` is. Strides count elements. `read_only` is None
    where it is not told, as before DLPack 1.0."""

    dtype: str
    shape: tuple[int, ...]
    strides: Optional[tuple[int, ...]]
    pointer: int
    device_type: int
    device: int
    read_only: Optional[bool]
    owner: Any


class _Tensor(ctypes.Structure):  # DLTensor
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int), ("device", ctypes.c_int),
                ("rank", ctypes.c_int), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("offset", ctypes.c_uint64)]


class _Versioned(ctypes.Structure):  # DLManagedTensorVersioned
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]


def _capsule_of(value: Any, stream: Optional[int]) -> Any:
    ready = 1 if stream == 0 else stream  # DLPack calls the default stream 1
    try:
        return value.__dlpack__(stream=ready, max_version=(1, 0))
    except TypeError:
        return value.__dlpack__(stream=ready)


def _dtype_of(tensor: _Tensor) -> str:
    kind = KINDS.get(tensor.code, f"type {tensor.code}")
    dtype = kind if "_" in kind or kind == "bool" else f"{kind}{tensor.bits}"
    return dtype if tensor.lanes == 1 else f"{dtype}_x{tensor.lanes}"


def borrow(name: str, value: Any, stream: Optional[int]) -> Borrowed:
    """What a tensor gives by `__dlpack__`; `stream` is None for memory of the host. UsageError: it gives nothing."""
    try:
        capsule = _capsule_of(value, stream)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
        way = "pass a NumPy array" if stream is None else "pass a tensor that its framework still has and can share"
        raise UsageError(f"{name}: {error}; {way}") from None
    read_only = None
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(_pointer_of(capsule, b"dltensor_versioned"))
        if versioned.major != 1:
            raise UsageError(f"{name} has version {versioned.major} of DLPack; version 1 is known")
        tensor, read_only = versioned.tensor, bool(versioned.flags & 1)
    elif _is_valid(capsule, b"dltensor"):
        tensor = _Tensor.from_address(_pointer_of(capsule, b"dltensor"))
    else:
        raise UsageError(f"{name} gives no DLPack tensor; pass a tensor of torch, CuPy or JAX")
    rank = range(tensor.rank)
    strides = tuple(tensor.strides[i] for i in rank) if tensor.strides else None
    return Borrowed(_dtype_of(tensor), tuple(tensor.shape[i] for i in rank), strides, (tensor.data or 0) + tensor.offset,
                    tensor.device_type, tensor.device, read_only, capsule)


def is_dense(shape: tuple[int, ...], strides: Optional[tuple[int, ...]]) -> bool:
    """Whether elements are in row-major order without gaps."""
    step = 1
    for extent, stride in zip(reversed(shape), reversed(strides or ())):
        if extent != 1 and stride != step:
            return False
        step *= extent
    return True
