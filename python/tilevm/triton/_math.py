"""math and tt: functions. Approximate instructions give the GPU's bits; what is of another sequence is noted."""

from __future__ import annotations

import re
from typing import Optional

from ._arithmetic import tiles
from ._errors import NotImported
from ._mlir import Operation
from ._values import Value, type_of
from ._writer import Writer, lowers, number

# Functions of f32 that Triton compiles to approximate instructions: their bits are those of the GPU.
# The PTX of Triton 3.8.0 and 3.9.0 for sm_80 and sm_90; exp multiplies by 0x3FB8AA3B.
INSTRUCTIONS = {"math.exp": "Ex2Approx({0} * 1.44269504)", "math.exp2": "Ex2ApproxFtz({0})", "math.sqrt": "SqrtApproxFtz({0})",
                "math.rsqrt": "RsqrtApproxFtz({0})"}
# Functions of f32 that Triton compiles to libdevice's code: the language's own sequence, and libdevice's name.
FUNCTIONS = {"math.log": ("Log", "log"), "math.log2": ("Log2", "log2"), "math.sin": ("Sin", "sin"), "math.cos": ("Cos", "cos"),
             "math.erf": ("Erf", "erf"), "math.tanh": ("Tanh", "tanh")}
EXACT = {"tt.precise_sqrt": "Sqrt({0})", "math.floor": "Floor({0})", "math.ceil": "Ceil({0})", "math.absf": "abs({0})",
         "math.fma": "Fma({0}, {1}, {2})", "math.roundeven": "Round({0})", "math.trunc": "Trunc({0})"}
LIBRARY = {"exp": "Exp", "log": "Log", "log2": "Log2", "sin": "Sin", "cos": "Cos", "tanh": "Tanh", "erf": "Erf",
           "floor": "Floor", "ceil": "Ceil", "rint": "Round", "trunc": "Trunc", "fabs": "Abs", "pow": "Pow", "fma": "Fma",
           "rcp_rn": "Rcp", "sqrt_rn": "Sqrt", "fsqrt_rn": "Sqrt", "frcp_rn": "Rcp", "nearbyint": "Round", "fmaf_rn": "Fma"}
# Functions of libdevice that are approximate instructions (PTX of Triton 3.9.0, whose multiplications keep subnormal numbers).
APPROXIMATE_IN_LIBRARY = {
    "exp2f": "Ex2ApproxFtz({0})", "sqrtf": "SqrtApproxFtz({0})", "rsqrtf": "RsqrtApproxFtz({0})",
    "fast_expf": "Ex2ApproxFtz({0} * 1.44269504)", "fast_exp10f": "Ex2ApproxFtz({0} * 3.32192802)",
    "fast_logf": "Lg2ApproxFtz({0}) * 0.693147182", "fast_log2f": "Lg2ApproxFtz({0})",
    "fast_log10f": "Lg2ApproxFtz({0}) * 0.30103001", "fast_sinf": "SinApproxFtz({0})", "fast_cosf": "CosApproxFtz({0})",
    "fast_tanf": "DivApproxFtz(SinApproxFtz({0}), CosApproxFtz({0}))", "fast_dividef": "DivApproxFtz({0}, {1})",
    "fast_fdividef": "DivApproxFtz({0}, {1})", "fast_powf": "Ex2ApproxFtz({1} * Lg2ApproxFtz({0}))"}
EXACT_IN_LIBRARY = {"Floor", "Ceil", "Round", "Trunc", "Abs", "Fma"}
# PTX of one instruction on one element: a form of the same bits.
ASSEMBLY = {"ex2.approx.ftz.f32": "Ex2ApproxFtz({0})", "ex2.approx.f32": "Ex2Approx({0})",
            "lg2.approx.f32": "Lg2Approx({0})", "lg2.approx.ftz.f32": "Lg2ApproxFtz({0})",
            "rcp.approx.ftz.f32": "RcpApproxFtz({0})", "rcp.approx.f32": "RcpApprox({0})",
            "sqrt.approx.f32": "SqrtApprox({0})", "sqrt.approx.ftz.f32": "SqrtApproxFtz({0})",
            "rsqrt.approx.f32": "RsqrtApprox({0})", "rsqrt.approx.ftz.f32": "RsqrtApproxFtz({0})",
            "tanh.approx.f32": "TanhApprox({0})", "sin.approx.f32": "SinApprox({0})", "cos.approx.f32": "CosApprox({0})",
            "sin.approx.ftz.f32": "SinApproxFtz({0})", "cos.approx.ftz.f32": "CosApproxFtz({0})",
            "div.full.f32": "DivFull({0}, {1})", "div.full.ftz.f32": "DivFullFtz({0}, {1})",
            "div.approx.f32": "DivApprox({0}, {1})", "div.approx.ftz.f32": "DivApproxFtz({0}, {1})",
            "cvt.rna.tf32.f32": "View(Cast({0}, tf32), dtype={out})", "mov.b32": "View({0}, dtype={out})",
            "add.rn.f32": "{0} + {1}", "mul.rn.f32": "{0} * {1}", "fma.rn.f32": "Fma({0}, {1}, {2})",
            "max.f32": "max({0}, {1})", "min.f32": "min({0}, {1})"}


def apply(writer: Writer, operation: Operation, form: str) -> None:
    """A function; one of several operands takes tiles only."""
    values = writer.operands(operation)
    if len(values) > 1:
        values = tiles(writer, operation)
    writer.set(operation, writer.elementwise(operation, form.format, values, native=False))


@lowers(*INSTRUCTIONS)
def instruction(writer: Writer, operation: Operation) -> None:
    element = type_of(operation.types_out[0]).element
    if element == "f64" and operation.name == "math.sqrt":
        return apply(writer, operation, "Sqrt({0})")
    if element != "f32":
        raise NotImported(f"{operation.name} of {element}", "compute it in f32")
    apply(writer, operation, INSTRUCTIONS[operation.name])


@lowers(*FUNCTIONS)
def function(writer: Writer, operation: Operation) -> None:
    name, there = FUNCTIONS[operation.name]
    if type_of(operation.types_out[0]).element == "f64":
        raise NotImported(f"{name} of f64", "compute it in f32")
    writer.note(f"{name} is of tilevm's own sequence, where Triton has libdevice's {there}")
    apply(writer, operation, f"{name}({{0}})")


@lowers(*EXACT)
def exact(writer: Writer, operation: Operation) -> None:
    apply(writer, operation, EXACT[operation.name])


@lowers("tt.precise_divf")
def divide_precisely(writer: Writer, operation: Operation) -> None:
    writer.set(operation, writer.elementwise(operation, lambda a, b: f"{a} / {b}", writer.operands(operation)))


@lowers("arith.divf", "tt.approx_divf")
def divide(writer: Writer, operation: Operation) -> None:
    """div.full and div.approx of f32. ptxas computes the rounded reciprocal of a constant divisor when it compiles
    (SASS of Triton 3.8.0's and 3.9.0's ptxas)."""
    values = writer.operands(operation)
    divisor = constant(values[1])
    if type_of(operation.types_out[0]).element != "f32" or (divisor is not None and constant(values[0]) is not None):
        writer.set(operation, writer.elementwise(operation, lambda a, b: f"{a} / {b}", values))
    elif divisor is not None and 2.0**-126 <= abs(divisor) <= 2.0**126:
        writer.set(operation, writer.elementwise(operation, lambda a, b: f"{a} * (1.0 / {b})", values))
    else:
        name = "DivFull" if operation.name == "arith.divf" else "DivApprox"
        writer.set(operation, writer.elementwise(operation, f"{name}({{0}}, {{1}})".format, tiles(writer, operation),
                                                 native=False))


def constant(value: Value) -> Optional[float]:
    """The number that a value is, if the module says it."""
    try:
        return float(value.text) if value.kind in ("scalar", "splat") else None
    except ValueError:
        return None


@lowers("tt.clampf")
def clamp(writer: Writer, operation: Operation) -> None:
    keeps = operation.attributes.get("propagateNan", "0").split(":")[0].strip() not in ("0", "none")
    form = "{0} if {0} != {0} else min(max({0}, {1}), {2})" if keeps else "min(max({0}, {1}), {2})"
    values = tiles(writer, operation) if keeps else writer.operands(operation)
    writer.set(operation, writer.elementwise(operation, form.format, values, native=False))


@lowers("tt.mulhiui")
def high_product(writer: Writer, operation: Operation) -> None:
    element = type_of(operation.types_out[0]).element
    if element != "i32":
        raise NotImported(f"the high half of a product of {element}", "multiply i32 as i64 and shift")
    values = writer.operands(operation)
    if all(v.kind in ("scalar", "splat") for v in values):
        write = lambda a, b: f"i32(u32((u64(u32({a})) * u64(u32({b}))) >> 32))"  # noqa: E731
        return writer.set(operation, writer.elementwise(operation, write, values))

    def wide(text: str, v: Value) -> str:
        return f"Cast(View({text}, dtype=u32), u64)" if v.kind in ("tile", "spread") else f"u64(u32({text}))"

    writer.set(operation, writer.elementwise(
        operation, lambda a, b: f"View(Cast(({wide(a, values[0])} * {wide(b, values[1])}) >> 32, u32), dtype=i32)", values,
        native=False))


@lowers("tt.extern_elementwise")
def library(writer: Writer, operation: Operation) -> None:
    symbol = operation.attributes.get("symbol", "").strip('"')
    name = symbol.replace("__nv_", "")
    if form := APPROXIMATE_IN_LIBRARY.get(name):
        return apply(writer, operation, form)
    known = LIBRARY.get(name) or LIBRARY.get(name.removesuffix("f"))
    if not known or type_of(operation.types_out[0]).element == "f64":
        raise NotImported(f"the function {symbol}", "use one of tl.math")
    if name.endswith("_rn"):
        writer.note(f"{known} keeps subnormal numbers, which {symbol} flushes to zero")
    elif known not in EXACT_IN_LIBRARY:
        writer.note(f"{known} is of tilevm's own sequence, where Triton calls {symbol}")
    count = len(operation.operands)
    apply(writer, operation, f"{known}({', '.join(f'{{{k}}}' for k in range(count))})")


@lowers("tt.elementwise_inline_asm")
def assembly(writer: Writer, operation: Operation) -> None:
    text = operation.attributes["asm_string"].strip('"')
    known = re.fullmatch(r"\s*([\w.]+)\s+\$0((?:\s*,\s*\$\d+)*)\s*;?\s*", text)
    packed = operation.attributes.get("packed_element", "1").split(":")[0].strip()
    if not known or known[1] not in ASSEMBLY or packed != "1" or len(operation.results) != 1:
        raise NotImported(f"inline assembly {text[:60]!r}", "write it with tl operations")
    form = ASSEMBLY[known[1]]
    out = type_of(operation.types_out[0]).element
    order = [int(each) - 1 for each in re.findall(r"\$(\d+)", known[2])]
    every = tiles(writer, operation)
    values = [every[k] for k in order]
    writer.set(operation, writer.elementwise(operation, lambda *texts: form.format(*texts, out=out), values, out, False))


@lowers("tt.bitcast", "arith.bitcast")
def bitcast(writer: Writer, operation: Operation) -> None:
    value, type_ = writer.operands(operation)[0], type_of(operation.types_out[0])
    if type_.pointer:
        made = Value("pointer", "", type_.element, type_.shape, base=value.base, offset=value.offset)
        return writer.set(operation, made)
    if value.element == type_.element:
        return writer.set(operation, value)
    if value.kind in ("scalar", "splat"):
        value = writer.filled(number(value), value.element, (), writer.layout_of(type_of("i32")))
        value = value if type_.shape is None else writer.spread(value, type_.shape)
    writer.set(operation, writer.elementwise(operation, lambda x: f"View({x}, dtype={type_.element})", [value], type_.element,
                                             False))
