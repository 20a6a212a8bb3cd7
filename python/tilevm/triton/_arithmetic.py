"""arith: integers, floats, comparisons, choices and conversions."""

from __future__ import annotations

import math
import re
import struct

from ._errors import NotImported
from ._mlir import Operation
from ._values import BITS, UNSIGNED, Value, type_of
from ._writer import Writer, lowers, number

BINARY = {"arith.addi": "+", "arith.subi": "-", "arith.muli": "*", "arith.addf": "+", "arith.subf": "-", "arith.mulf": "*",
          "arith.andi": "&", "arith.ori": "|", "arith.xori": "^", "arith.shli": "<<", "arith.shrsi": ">>",
          "arith.divsi": "/", "arith.remsi": "%", "arith.remf": "%"}
OF_BOOLEANS = {"arith.andi": "and", "arith.ori": "or", "arith.xori": "!=", "arith.addi": "!=", "arith.muli": "and"}
CALLS = {"arith.maxnumf": "max({0}, {1})", "arith.minnumf": "min({0}, {1})", "arith.maxsi": "max({0}, {1})",
         "arith.minsi": "min({0}, {1})", "arith.negf": "-{0}", "math.absi": "abs({0})"}
UNSIGNED_BINARY = {"arith.divui": "{0} / {1}", "arith.remui": "{0} % {1}", "arith.shrui": "{0} >> {1}",
                   "arith.maxui": "max({0}, {1})", "arith.minui": "min({0}, {1})"}
SIGNED_ORDER = ("==", "!=", "<", "<=", ">", ">=")
UNSIGNED_ORDER = ("<", "<=", ">", ">=")
# Comparisons of floats: (relation, whether it holds for a NaN too).
FLOAT_ORDER = {1: ("==", False), 2: (">", False), 3: (">=", False), 4: ("<", False), 5: ("<=", False), 8: ("==", True),
               9: (">", True), 10: (">=", True), 11: ("<", True), 12: ("<=", True), 13: ("!=", True)}


@lowers("arith.constant")
def constant(writer: Writer, operation: Operation) -> None:
    type_ = type_of(operation.types_out[0])
    text = operation.attributes["value"]
    dense = re.match(r"dense<(.*?)>", text)
    text = literal((dense[1] if dense else text.split(":")[0]).strip(), type_.element)
    kind = "scalar" if type_.shape is None else "splat"
    writer.set(operation, Value(kind, text, type_.element, type_.shape, literal=True))


def literal(text: str, element: str) -> str:
    """The language's text of a constant."""
    if "[" in text or "\"" in text:
        raise NotImported("a constant tensor of several values")
    if element == "u1":
        return {"true": "true", "false": "false", "-1": "true", "1": "true", "0": "false"}[text]
    if element.startswith("i"):
        return text if not text.startswith("-") else f"({text})"
    if text.startswith("0x"):
        value = _float_of_code(int(text, 16), element)
    else:
        value = float(text)
        if element == "f32":
            value = struct.unpack("<f", struct.pack("<f", value))[0]
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "(-inf)"
    return repr(value) if math.copysign(1, value) > 0 else f"({value!r})"


def _float_of_code(code: int, element: str) -> float:
    if element == "bf16":
        return float(struct.unpack("<f", struct.pack("<I", code << 16))[0])
    formats = {"f16": ("<H", "<e"), "f32": ("<I", "<f"), "f64": ("<Q", "<d")}
    if element not in formats:
        raise NotImported(f"a constant of {element} by its code")
    return float(struct.unpack(formats[element][1], struct.pack(formats[element][0], code))[0])


@lowers(*BINARY)
def binary(writer: Writer, operation: Operation) -> None:
    values = writer.operands(operation)
    name = operation.name
    if values[0].element == "u1":
        if all(v.kind in ("scalar", "splat") for v in values):
            word = OF_BOOLEANS[name]
            return writer.set(operation, writer.elementwise(operation, lambda a, b: f"{a} {word} {b}", values))
        symbol = {"arith.addi": "^", "arith.muli": "&"}.get(name, BINARY[name])
        return writer.set(operation, writer.elementwise(operation, lambda a, b: f"{a} {symbol} {b}", values, native=False))
    fused(writer, operation, values)
    symbol = BINARY[name]
    writer.set(operation, writer.elementwise(operation, lambda a, b: f"{a} {symbol} {b}", values))


def fused(writer: Writer, operation: Operation, values: list[Value]) -> None:
    """Notes a sum of products where Triton lets the compiler contract both to one fused operation."""
    if writer.module.fusion and operation.name in ("arith.addf", "arith.subf") and \
            any(name in writer.module.products for name in operation.operands):
        writer.note("a product and a sum that Triton may contract to one rounding (enable_fp_fusion is on)")


@lowers(*CALLS)
def call(writer: Writer, operation: Operation) -> None:
    form = CALLS[operation.name]
    native = "f" not in operation.name or operation.name == "arith.negf"
    writer.set(operation, writer.elementwise(operation, form.format, writer.operands(operation), native=native))


@lowers("arith.ceildivsi")
def ceildiv(writer: Writer, operation: Operation) -> None:
    if type_of(operation.types_out[0]).shape is not None:
        raise NotImported("a rounded-up division of tensors", "write (a + b - 1) // b")
    a, b = (v.text for v in writer.operands(operation))
    writer.set(operation, writer.scalar(f"{a} / {b} + (1 if {a} % {b} != 0 and ({a} > 0) == ({b} > 0) else 0)",
                                        type_of(operation.types_out[0]).element))


@lowers("arith.maximumf", "arith.minimumf")
def with_nan(writer: Writer, operation: Operation) -> None:
    word = "max" if operation.name == "arith.maximumf" else "min"
    writer.set(operation, writer.elementwise(
        operation, lambda a, b: f"{a} if {a} != {a} else ({b} if {b} != {b} else {word}({a}, {b}))",
        tiles(writer, operation), native=False))


def tiles(writer: Writer, operation: Operation) -> list[Value]:
    """The operands, of which those that are scalars of a tensor operation become tiles: for texts that use an operand
    as a condition."""
    type_ = type_of(operation.types_out[0])
    layout = writer.layout_of(type_)
    return [v if v.kind in ("tile", "spread") else writer.filled(number(v), v.element, type_.shape or (), layout)
            for v in writer.operands(operation)]


@lowers(*UNSIGNED_BINARY)
def unsigned(writer: Writer, operation: Operation) -> None:
    values = writer.operands(operation)
    element = type_of(operation.types_out[0]).element
    form, wide = UNSIGNED_BINARY[operation.name], UNSIGNED[element]
    if all(v.kind in ("scalar", "splat") for v in values) and element in ("i32", "i64"):
        write = lambda *texts: f"{element}({form.format(*(f'{wide}({text})' for text in texts))})"  # noqa: E731
        return writer.set(operation, writer.elementwise(operation, write, values))
    viewed = lambda text, v: f"View({text}, dtype={wide})" if v.kind in ("tile", "spread") else f"{wide}({text})"  # noqa: E731
    if element not in ("i32", "i64"):
        values = tiles(writer, operation)
    writer.set(operation, writer.elementwise(
        operation, lambda *texts: f"View({form.format(*map(viewed, texts, values))}, dtype={element})",
        one_tile(writer, operation, values), native=False))


def one_tile(writer: Writer, operation: Operation, values: list[Value]) -> list[Value]:
    """With a tile among them."""
    if any(v.kind in ("tile", "spread") for v in values):
        return values
    values[0] = tiles(writer, operation)[0]
    return values


@lowers("arith.cmpi")
def compare(writer: Writer, operation: Operation) -> None:
    predicate = operation.integer("predicate")
    values = writer.operands(operation)
    element = type_of(operation.types_in[0]).element
    scalars = all(v.kind in ("scalar", "splat") for v in values)
    if predicate <= 5:
        symbol = SIGNED_ORDER[predicate]
        if element == "u1" and predicate > 1:
            raise NotImported("an order of booleans")
        write = lambda a, b: f"{a} {symbol} {b}"  # noqa: E731
    else:
        symbol, wide = UNSIGNED_ORDER[predicate - 6], UNSIGNED[element]
        kinds = [v.kind for v in values]

        def one(text: str, kind: str) -> str:
            return f"View({text}, dtype={wide})" if kind in ("tile", "spread") else f"{wide}({text})"

        if scalars and element not in ("i32", "i64"):
            raise NotImported(f"an unsigned comparison of scalars of {element}")
        write = lambda a, b: f"{one(a, kinds[0])} {symbol} {one(b, kinds[1])}"  # noqa: E731
    writer.set(operation, writer.elementwise(operation, write, values, "u1"))


@lowers("arith.cmpf")
def compare_floats(writer: Writer, operation: Operation) -> None:
    predicate = operation.integer("predicate")
    values = writer.operands(operation)
    if predicate in (0, 15):
        type_ = type_of(operation.types_out[0])
        return writer.set(operation, Value("splat" if type_.shape else "scalar", str(predicate == 15).lower(), "u1", type_.shape))
    if predicate in (7, 14):  # ordered, unordered
        word, symbol = ("&", "==") if predicate == 7 else ("|", "!=")
        return writer.set(operation, writer.elementwise(
            operation, lambda a, b: f"({a} {symbol} {a}) {word} ({b} {symbol} {b})", tiles(writer, operation), "u1", False))
    if predicate == 6:  # ordered and not equal
        return writer.set(operation, writer.elementwise(
            operation, lambda a, b: f"({a} < {b}) | ({a} > {b})", tiles(writer, operation), "u1", False))
    symbol, of_nan = FLOAT_ORDER[predicate]
    if not of_nan or symbol == "!=":
        return writer.set(operation, writer.elementwise(operation, lambda a, b: f"{a} {symbol} {b}", values, "u1"))
    opposite = {"==": "({0} < {1}) | ({0} > {1})", ">": "{0} <= {1}", ">=": "{0} < {1}", "<": "{0} >= {1}", "<=": "{0} > {1}"}
    writer.set(operation, writer.elementwise(
        operation, lambda a, b: f"~({opposite[symbol].format(a, b)})", tiles(writer, operation), "u1", False))


@lowers("arith.select")
def select(writer: Writer, operation: Operation) -> None:
    condition, a, b = writer.operands(operation)
    type_ = type_of(operation.types_out[0])
    if type_.pointer or a.kind == "pointer":
        return select_pointers(writer, operation, condition, a, b)
    scalars = all(v.kind in ("scalar", "splat") for v in (condition, a, b))
    if scalars and all(v.element in ("i32", "i64", "f32", "u1") for v in (a, b)):
        made = writer.scalar(f"{typed(a)} if {condition.text} else {typed(b)}", type_.element)
        return writer.set(operation, made if type_.shape is None else Value("splat", made.text, type_.element, type_.shape))
    writer.set(operation, choose(writer, operation, condition, a, b))


def typed(value: Value) -> str:
    """A literal with its type, so that both branches of a choice have one."""
    if value.literal and value.element in ("i32", "i64"):
        return f"{value.element}({value.text})"
    return value.text


def choose(writer: Writer, operation: Operation, condition: Value, a: Value, b: Value) -> Value:
    """`a if condition else b` with tiles."""
    type_ = type_of(operation.types_out[0])
    layout = writer.layout_of(type_)
    shape = type_.shape or ()
    if condition.kind not in ("tile", "spread"):
        condition = writer.filled(number(condition), "u1", shape, layout)
    if a.kind not in ("tile", "spread") and b.kind not in ("tile", "spread"):
        a = writer.filled(number(a), a.element, shape, layout)
    return writer.elementwise(operation, lambda c, x, y: f"{x} if {c} else {y}", [condition, a, b], type_.element, False)


def select_pointers(writer: Writer, operation: Operation, condition: Value, a: Value, b: Value) -> None:
    from ._pointers import offset_as, pointer

    if a.base != b.base:
        raise NotImported("a choice between two pointer arguments", "load both with masks and choose the loaded values")
    wide = [offset_as(writer, v, "i64") for v in (a, b)]
    made = Operation("arith.select")
    made.types_out = [re.sub(r"!tt\.ptr<\w+(,\d+)?>", "i64", operation.types_out[0])]
    made.results = operation.results
    if condition.kind in ("scalar", "splat") and all(v.kind in ("scalar", "splat") for v in wide):
        text = f"{typed(wide[0])} if {condition.text} else {typed(wide[1])}"
        offset = writer.scalar(text, "i64")
    else:
        offset = choose(writer, made, condition, *wide)
    writer.set(operation, pointer(a, offset, a.shape))


@lowers("arith.extui", "arith.extsi", "arith.trunci", "arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui",
        "arith.extf", "arith.truncf", "tt.fp_to_fp", "arith.index_cast", "arith.index_castui")
def convert(writer: Writer, operation: Operation) -> None:
    source, result = type_of(operation.types_in[0]), type_of(operation.types_out[0])
    value, name, element = writer.operands(operation)[0], operation.name.split(".")[1], result.element
    if value.kind in ("scalar", "splat"):
        text = _scalar_conversion(name, value, source.element, element)
        if text:
            made = Value(value.kind, text, element, value.shape) if value.literal else writer.scalar(text, element)
            return writer.set(operation, Value("splat" if result.shape is not None else "scalar", made.text, element, result.shape))
        # The element is converted once; as a tile, since the language has no such scalar.
    if name == "fp_to_fp" and operation.attributes.get("rounding", "1").split(":")[0].strip() in ("0", "rtz"):
        return writer.set(operation, toward_zero(writer, operation, source.element, element))
    form = f"Cast({{0}}, {element})"
    if name in ("extui", "uitofp") and source.element != "u1":
        form = f"Cast(View({{0}}, dtype={UNSIGNED[source.element]}), {element})"
    elif name in ("extsi", "sitofp") and source.element == "u1":
        form = f"-Cast({{0}}, {element})"
    elif name == "fptoui":
        form = f"View(Cast({{0}}, {UNSIGNED[element]}), dtype={element})"
    if BITS.get(element) == 8 and element.startswith("f") and writer.module.capability < 89:
        writer.note("a cast to 8-bit floats, which Triton makes in software below sm_89")
    values = [value if value.kind in ("tile", "spread") else
              writer.filled(number(value), value.element, (), writer.layout_of(type_of("f32")))]
    if value.kind == "splat":
        values = [writer.spread(values[0], result.shape or ())]
    writer.set(operation, writer.elementwise(operation, form.format, values, element, native=False))


def _scalar_conversion(name: str, value: Value, source: str, element: str) -> str:
    """The conversion of a scalar of the language; empty where it has none."""
    known = ("i32", "i64", "f32")
    if source == "u1" and element in known:
        return f"{element}({'-1' if name in ('extsi', 'sitofp') else '1'} if {value.text} else 0)"
    if source not in known or element not in known:
        return ""
    if name in ("extui", "uitofp"):
        return f"{element}({UNSIGNED[source]}({value.text}))"
    return f"{element}({UNSIGNED[element]}({value.text}))" if name == "fptoui" else f"{element}({value.text})"


def toward_zero(writer: Writer, operation: Operation, source: str, element: str) -> Value:
    """A cast that cuts off: one code less in magnitude where rounding to nearest went up."""
    if element not in ("f16", "bf16") or source != "f32":
        raise NotImported(f"a cast of {source} to {element} toward zero")
    value = tiles(writer, operation)[0]
    near = writer.elementwise(operation, lambda x: f"Cast({x}, {element})", [value], element, False)
    return writer.elementwise(
        operation, lambda x, y: f"View(View({y}, dtype=u16) - Cast(abs(Cast({y}, {source})) > abs({x}), u16), dtype={element})",
        [value, near], element, False)
