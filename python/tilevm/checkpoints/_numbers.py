"""Numbers of formats in NumPy, without ml_dtypes: values of codes, and float32 rounded as other types round."""

from __future__ import annotations

import functools
from typing import Any

FP4 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def of_bf16(codes: Any) -> Any:
    """float32 of the codes of bf16."""
    import numpy

    return (numpy.asarray(codes, "<u2").astype("<u4") << 16).view("<f4")


def to_bf16(values: Any) -> Any:
    """The codes of float32 rounded to bf16, to nearest, ties to even; a NaN stays one."""
    import numpy

    bits = numpy.ascontiguousarray(values, "<f4").view("<u4")
    rounded = (bits + (numpy.uint32(0x7fff) + ((bits >> 16) & 1))) >> 16
    quiet = numpy.uint32(0x7fc0) | (bits >> 16 & 0x8000)
    return numpy.where((bits & 0x7fffffff) > 0x7f800000, quiet, rounded).astype("<u2").reshape(numpy.shape(values))


def rounded_to(values: Any, dtype: str) -> Any:
    """float32 values rounded to a type of `f16`, `bf16` and `f32`, as float32."""
    import numpy

    if dtype == "f32":
        return numpy.asarray(values, "float32")
    if dtype == "f16":
        with numpy.errstate(over="ignore"):
            return numpy.asarray(values).astype("float16").astype("float32")
    return of_bf16(to_bf16(values))


def float_values(exponent: int, mantissa: int, bias: int) -> Any:
    """float32 of the codes of a float type without Inf and NaN."""
    import numpy

    codes = numpy.arange(1 << exponent + mantissa)
    e, m = codes >> mantissa, codes & (1 << mantissa) - 1
    values = numpy.where(e > 0, (m + (1 << mantissa)) * 2.0 ** (e - bias - mantissa), m * 2.0 ** (1 - bias - mantissa))
    return numpy.concatenate([values, -values]).astype("float32")


@functools.lru_cache(maxsize=None)
def values_of_codes(type_: str) -> Any:
    """float32 of each code of a type of packed weights: u1..u8, i2..i8, f4e2m1, f8e4m3, f8e5m2."""
    import numpy

    if type_ == "f4e2m1":
        return numpy.array([*FP4, *(-v for v in FP4)], "float32")
    if type_ == "f8e4m3":
        values = float_values(4, 3, 7)
        values[[0x7f, 0xff]] = numpy.nan
        return values
    if type_ == "f8e5m2":
        values = float_values(5, 2, 15)
        for sign in (0, 0x80):
            values[sign + 0x7c] = -numpy.inf if sign else numpy.inf
            values[sign + 0x7d:sign + 0x80] = numpy.nan
        return values
    bits = int(type_[1:])
    codes = numpy.arange(1 << bits)
    if type_[0] == "i":
        codes = (codes ^ (1 << bits - 1)) - (1 << bits - 1)
    return codes.astype("float32")


def of_type(array: Any, type_: str) -> Any:
    """float32 of a tensor of a file, by the name that safetensors has for its type."""
    import numpy

    if type_ == "BF16":
        return of_bf16(array)
    if type_ == "F8_E4M3":
        return values_of_codes("f8e4m3")[array]
    if type_ == "F8_E5M2":
        return values_of_codes("f8e5m2")[array]
    return numpy.asarray(array).astype("float32")
