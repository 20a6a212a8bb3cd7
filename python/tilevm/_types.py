"""What frameworks call the types of elements, and what a caller does with an array of another type."""

from __future__ import annotations

from typing import Any

from ._parameter import Parameter, type_bits

NUMPY_NAMES = {"f16": "float16", "f32": "float32", "f64": "float64", "i8": "int8", "i16": "int16", "i32": "int32",
               "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64"}
# The names of ml_dtypes, torch and JAX, with elements of whole bytes; NumPy alone has their codes.
ML_NAMES = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f8e8m0": "float8_e8m0fnu"}
# The names of ml_dtypes, an element a byte; here they are packed.
SMALL_NAMES = {"i1": "int1", "i2": "int2", "i4": "int4", "u1": "uint1", "u2": "uint2", "u4": "uint4",
               "f4e2m1": "float4_e2m1fn", "f6e2m3": "float6_e2m3fn", "f6e3m2": "float6_e3m2fn"}
SMALL_INTEGERS = tuple(name for name in SMALL_NAMES.values() if "int" in name)


def is_packed(name: str) -> bool:
    """Whether elements of a type have no type of their own in frameworks, and go as packed bytes."""
    return name not in NUMPY_NAMES and name not in ML_NAMES


def codes_name(name: str) -> str:
    """The integers that hold the bits of elements: of bf16 uint16, of narrower types uint8."""
    return NUMPY_NAMES.get(name) or ("uint16" if name == "bf16" else "uint8")


def dtypes_of(name: str) -> tuple[str, ...]:
    """Names under which frameworks have the elements of a tensor, the usual one first."""
    if name == "f4e2m1":
        return ("uint8", "float4_e2m1fn_x2")
    if is_packed(name):
        return ("uint8",)
    if name in NUMPY_NAMES:
        return (NUMPY_NAMES[name],)
    return (ML_NAMES[name], codes_name(name))


def shape_of(parameter: Parameter) -> tuple[int, ...] | None:
    """The shape of the array for a tensor: that of its bytes where elements are packed; None where it depends on the call."""
    return (parameter.bytes,) if parameter.shape is not None and is_packed(parameter.type) else parameter.shape


def fits_shape(shape: tuple[int, ...], wanted: tuple[int, ...] | None) -> bool:
    """Whether an array has a shape; one of no dimensions is one element of any rank."""
    return wanted is None or shape == wanted or (not shape and all(extent == 1 for extent in wanted))


def dtype_name(value: Any) -> str:
    """What a framework calls the type of an array's elements; "" where it does not tell."""
    return str(getattr(value, "dtype", "")).removeprefix("torch.")


def wants_codes(parameters: Any, values: Any) -> bool:
    """Whether outputs that are made hold codes: an argument of bf16 or 8-bit floats was given as codes, and none as
    numbers."""
    given = {dtype_name(value) == codes_name(p.type) for p, value in zip(parameters, values)
             if p.type in ML_NAMES and not p.scalar and value is not None}
    return given == {True}


def _converted(to: str, in_torch: bool) -> str:
    if in_torch:
        return f"x.to(torch.{to})"
    return f"x.astype({to!r})" if to in NUMPY_NAMES.values() else f"x.astype(ml_dtypes.{to})"


def _viewed(to: str, in_torch: bool) -> str:
    if in_torch:
        return f"x.view(torch.{to})"
    return f"x.view({to!r})" if to in NUMPY_NAMES.values() else f"x.view(ml_dtypes.{to})"


def _packing_of(type_: str, given: str, in_torch: bool) -> str:
    """The bytes of a type whose elements are packed."""
    if type_ == "tf32":
        return "the bytes of numbers of float32, of which tf32 takes the upper 19 bits: x.view('uint8').reshape(-1)"
    known = SMALL_NAMES.get(type_)
    is_integer = given.startswith(("int", "uint", "bool"))
    if given == known or (type_[0] in "iub" and is_integer):
        return f"the bytes of tilevm.pack(x, {type_!r})"
    if type_[0] in "iub":
        number = _converted("int16" if type_ == "b8" else "int8", in_torch)
        return f"the bytes of tilevm.pack({number}, {type_!r})"
    if known is not None and not is_integer:
        return f"the bytes of tilevm.pack(x.astype(ml_dtypes.{known}), {type_!r})" if not in_torch else \
            f"the bytes of tilevm.pack(x.float().numpy().astype(ml_dtypes.{known}), {type_!r})"
    return f"the bytes of tilevm.pack(codes, {type_!r}), where codes are the bits of each element as an integer"


def way_from(type_: str, given: str, in_torch: bool) -> str:
    """What to pass instead of an array whose elements a framework calls `given`; the result has the same numbers."""
    if is_packed(type_):
        return _packing_of(type_, given, in_torch)
    if given.startswith(("void", "V")):
        return f"{_viewed(dtypes_of(type_)[0], in_torch)} if these are its bits, which have lost their type"
    wanted = dtypes_of(type_)[0]
    way = "x.real, as " + _converted(wanted, in_torch).replace("x.", "x.real.") if given.startswith("complex") else \
        _converted(wanted, in_torch)
    bits = type_bits(type_)
    if type_[0] in "bf" and given in (f"int{bits}", f"uint{bits}"):
        target = codes_name(type_) if type_ in ML_NAMES else wanted
        way += f", or {_viewed(target, in_torch)} if these are the bits of its elements"
    elif type_ in ML_NAMES and not in_torch:
        way += f", or its codes as {codes_name(type_)}"
    return way
