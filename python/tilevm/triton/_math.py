"""math and tt: functions. What Triton compiles to a GPU's approximate unit is noted."""

from __future__ import annotations

import re

from ._arithmetic import tiles
from ._errors import NotImported
from ._mlir import Operation
from ._values import Value, type_of
from ._writer import Writer, lowers, number

# Functions of f32: the language's name, and what Triton compiles.
FUNCTIONS = {"math.exp": ("Exp", "ex2.approx of x log2 e"), "math.exp2": ("Exp2", "ex2.approx"),
             "math.log": ("Log", "libdevice's log"), "math.log2": ("Log2", "libdevice's log2"),
             "math.sin": ("Sin", "libdevice's sin"), "math.cos": ("Cos", "libdevice's cos"),
             "math.erf": ("Erf", "libdevice's erf"), "math.tanh": ("Tanh", "libdevice's tanh"),
             "math.sqrt": ("Sqrt", "sqrt.approx"), "math.rsqrt": ("Rsqrt", "rsqrt.approx")}
EXACT = {"tt.precise_sqrt": "Sqrt({0})", "math.floor": "Floor({0})", "math.ceil": "Ceil({0})", "math.absf": "abs({0})",
         "math.fma": "Fma({0}, {1}, {2})", "math.roundeven": "Round({0})", "math.trunc": "Trunc({0})"}
LIBRARY = {"exp": "Exp", "exp2": "Exp2", "log": "Log", "log2": "Log2", "sin": "Sin", "cos": "Cos", "tanh": "Tanh", "erf": "Erf",
           "sqrt": "Sqrt", "rsqrt": "Rsqrt", "floor": "Floor", "ceil": "Ceil", "rint": "Round", "trunc": "Trunc", "fabs": "Abs",
           "pow": "Pow", "fma": "Fma", "rcp_rn": "Rcp", "sqrt_rn": "Sqrt", "fsqrt_rn": "Sqrt", "frcp_rn": "Rcp",
           "fast_expf": "Exp", "fast_sinf": "Sin", "fast_cosf": "Cos", "fast_log2f": "Log2", "fast_logf": "Log",
           "nearbyint": "Round", "fmaf_rn": "Fma"}
EXACT_IN_LIBRARY = {"Floor", "Ceil", "Round", "Trunc", "Abs", "Fma"}
# PTX of one instruction on one element: a form, and whether it is another computation there.
ASSEMBLY = {"ex2.approx.ftz.f32": ("Exp2({0})", True), "ex2.approx.f32": ("Exp2({0})", True),
            "lg2.approx.f32": ("Log2({0})", True), "lg2.approx.ftz.f32": ("Log2({0})", True),
            "rcp.approx.ftz.f32": ("Rcp({0})", True), "rcp.approx.f32": ("Rcp({0})", True),
            "sqrt.approx.f32": ("Sqrt({0})", True), "rsqrt.approx.f32": ("Rsqrt({0})", True),
            "tanh.approx.f32": ("Tanh({0})", True), "sin.approx.f32": ("Sin({0})", True), "cos.approx.f32": ("Cos({0})", True),
            "cvt.rna.tf32.f32": ("View(Cast({0}, tf32), dtype={out})", False), "mov.b32": ("View({0}, dtype={out})", False),
            "add.rn.f32": ("{0} + {1}", False), "mul.rn.f32": ("{0} * {1}", False), "fma.rn.f32": ("Fma({0}, {1}, {2})", False),
            "max.f32": ("max({0}, {1})", False), "min.f32": ("min({0}, {1})", False)}


def apply(writer: Writer, operation: Operation, form: str) -> None:
    """A function; one of several operands takes tiles only."""
    values = writer.operands(operation)
    if len(values) > 1:
        values = tiles(writer, operation)
    writer.set(operation, writer.elementwise(operation, form.format, values, native=False))


@lowers(*FUNCTIONS)
def function(writer: Writer, operation: Operation) -> None:
    name, there = FUNCTIONS[operation.name]
    element = type_of(operation.types_out[0]).element
    if element == "f64" and name not in ("Sqrt",):
        raise NotImported(f"{name} of f64", "compute it in f32")
    if not (element == "f64"):
        writer.note(f"{name} is correctly rounded or of tilevm's own sequence, where Triton has {there}")
    apply(writer, operation, f"{name}({{0}})")


@lowers(*EXACT)
def exact(writer: Writer, operation: Operation) -> None:
    apply(writer, operation, EXACT[operation.name])


@lowers("arith.divf", "tt.approx_divf", "tt.precise_divf")
def divide(writer: Writer, operation: Operation) -> None:
    if operation.name != "tt.precise_divf" and type_of(operation.types_out[0]).element == "f32":
        writer.note("a quotient is rounded correctly, where Triton has div.full (tl.div_rn is exact there as well)")
    values = writer.operands(operation)
    writer.set(operation, writer.elementwise(operation, lambda a, b: f"{a} / {b}", values))


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
    known = LIBRARY.get(name) or LIBRARY.get(name.removesuffix("f"))
    if not known or type_of(operation.types_out[0]).element == "f64":
        raise NotImported(f"the function {symbol}", "use one of tl.math")
    if known not in EXACT_IN_LIBRARY and not name.endswith("_rn"):
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
    form, differs = ASSEMBLY[known[1]]
    if differs:
        writer.note(f"{known[1]} of inline assembly is tilevm's own sequence")
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
