"""Arrays in the memory of the host, as the simulator takes them."""

from __future__ import annotations

from typing import Any

from ._errors import UsageError
from ._parameter import Parameter

NUMPY_NAMES = {"f16": "float16", "f32": "float32", "f64": "float64", "i8": "int8", "i16": "int16", "i32": "int32",
               "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64"}
ML_NAMES = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f8e8m0": "float8_e8m0fnu"}


def is_packed(name: str) -> bool:
    """Whether elements of a type have no type of their own in frameworks, and go as packed bytes."""
    return name not in NUMPY_NAMES and name not in ML_NAMES


def dtype_of(name: str) -> Any:
    """The NumPy type of a tensor's elements."""
    import numpy

    if name in NUMPY_NAMES:
        return numpy.dtype(NUMPY_NAMES[name])
    if name in ML_NAMES:
        try:
            import ml_dtypes

            return numpy.dtype(getattr(ml_dtypes, ML_NAMES[name]))
        except ImportError:
            return numpy.dtype("uint16" if name == "bf16" else "uint8")
    return numpy.dtype("uint8")


def array_of(parameter: Parameter, value: Any) -> Any:
    """A value as a NumPy array without a copy; None makes an output. UsageError: it does not fit."""
    import numpy

    dtype, packed = dtype_of(parameter.type), is_packed(parameter.type)
    shape = (parameter.bytes,) if packed else parameter.shape
    name = f"`{parameter.name}`"
    if value is None:
        if parameter.shape is None:
            raise UsageError(f"the shape of {name} depends on the call; pass an array for it")
        return numpy.zeros(shape, dtype)
    array = value
    if not isinstance(value, numpy.ndarray):
        if not hasattr(value, "__dlpack__"):
            raise UsageError(f"{name} is {parameter}; it was given {type(value).__name__}, pass a NumPy array")
        try:
            array = numpy.from_dlpack(value)
        except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
            raise UsageError(f"{name}: {error}; pass a NumPy array") from None
    if array.dtype != dtype:
        way = f"the bytes of tilevm.pack(x, '{parameter.type}')" if packed else f"x.astype('{dtype}')"
        raise UsageError(f"{name} is {parameter}; it was given {array.dtype}, pass {way}")
    if parameter.shape is not None and array.shape != shape:
        raise UsageError(f"{name} is {parameter}, an array of shape {list(shape or ())}; it was given "
                         f"{list(array.shape)}")
    if not array.flags.c_contiguous:
        raise UsageError(f"{name} is not contiguous; pass numpy.ascontiguousarray(x)"
                         + (" and read the output from it" if parameter.output else ""))
    if parameter.output and not array.flags.writeable:
        raise UsageError(f"{name} is written, and this array is read-only; pass a copy")
    return array
