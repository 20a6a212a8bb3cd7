"""Indices, pointers as tensors, loads and stores, atomic operations.

A pointer is a parameter and an offset in elements. Indices are u32, and views have 2^32 - 1 elements: a masked element has
the index 2^32 - 1, which no view has; a negative offset and one beyond have an index that no buffer has, which is a fault.
"""

from __future__ import annotations

from math import prod
from typing import Optional, Sequence

from ._errors import NotImported
from ._layouts import Layout, log2
from ._mlir import Operation
from ._values import NATIVE, UNSIGNED, Value, type_of
from ._writer import Writer, lowers, number

AXES = ("x", "y", "z")
# The operations of tt.atomic_rmw, by number: the operation of Scatter, and whether it is one on unsigned integers.
ATOMIC = {1: ("bit_and", False), 2: ("bit_or", False), 3: ("bit_xor", False), 4: ("add", False), 5: ("add", False),
          6: ("max", False), 7: ("min", False), 8: ("max", True), 9: ("min", True), 10: ("exchange", False)}


@lowers("tt.get_program_id")
def program_id(writer: Writer, operation: Operation) -> None:
    writer.set(operation, Value("scalar", f"block_{AXES[operation.integer('axis')]}", "i32"))


@lowers("tt.get_num_programs")
def num_programs(writer: Writer, operation: Operation) -> None:
    writer.set(operation, Value("scalar", f"grid_{AXES[operation.integer('axis')]}", "i32"))


@lowers("tt.make_range")
def make_range(writer: Writer, operation: Operation) -> None:
    type_, start = type_of(operation.types_out[0]), operation.integer("start")
    layout = writer.layout_of(type_)
    text = f"Iota(i32, layout={writer.layout(layout)}{f', start={start}' if start else ''})"
    writer.set(operation, writer.define(text, "i32", type_.shape, layout))


def pointer(like: Value, offset: Optional[Value], shape: Optional[tuple[int, ...]]) -> Value:
    return Value("pointer", "", like.element, shape, base=like.base, offset=offset)


@lowers("tt.addptr")
def add_pointer(writer: Writer, operation: Operation) -> None:
    base, step = writer.operands(operation)
    if base.kind != "pointer":
        raise NotImported("an offset of what is not a pointer")
    if base.offset is None or (base.offset.literal and base.offset.text == "0"):
        return writer.set(operation, pointer(base, step, step.shape))
    # Both are extended, since their sum may leave 32 bits where an address does not.
    wide = [offset_as(writer, base, "i64"), widened(writer, step, "i64")]
    as_offset = Operation("arith.addi")
    as_offset.types_out = [operation.types_in[1].replace("xi32", "xi64") if step.shape is not None else "i64"]
    if step.shape is not None:
        as_offset.types_out = [operation.types_in[1]]
    made = writer.elementwise(as_offset, lambda a, b: f"{a} + {b}", wide, "i64")
    writer.set(operation, pointer(base, made, step.shape))


def widened(writer: Writer, value: Value, element: str) -> Value:
    """An integer value in a wider type."""
    if value.element == element:
        return value
    if value.kind in ("scalar", "splat"):
        return Value(value.kind, f"{element}({value.text})", element, value.shape)
    small = value.small if value.kind == "spread" else value
    assert small is not None
    made = writer.define(f"Cast({small.text}, {element})", element, small.shape, small.layout)
    return writer.spread(made, value.shape) if value.kind == "spread" and value.shape is not None else made


def offset_as(writer: Writer, value: Value, element: str) -> Value:
    """The offset of a pointer."""
    if value.offset is None:
        kind = "scalar" if value.shape is None else "splat"
        return Value(kind, f"{element}(0)", element, value.shape, literal=True)
    return widened(writer, value.offset, element)


MASKED, BEYOND, FAR = 2**32 - 1, 2**32 - 2, 2**40 - 1


def index_of(writer: Writer, where: Value, mask: Optional[Value], layout: Layout) -> Value:
    """The indices of a load or store as a tile."""
    shape = where.shape or ()
    offset = where.offset or Value("splat", "0", "i32", shape, literal=True)
    if offset.kind == "scalar":
        offset = Value("splat", offset.text, offset.element, shape)
    hint = offset.text if offset.kind in ("tile", "spread") else ""
    tile = writer.tile(offset, layout)
    text = f"View({tile.text}, dtype=u32)" if tile.element == "i32" else f"Cast(min({tile.text} & {FAR}, {BEYOND}), u32)"
    if mask is None or (mask.literal and mask.text == "true"):
        return writer.define(text, "u32", shape, layout, hint)
    if mask.kind in ("scalar", "splat"):
        condition = writer.filled(number(mask), "u1", shape, layout).text
    else:
        condition = writer.tile(mask, layout).text if mask.kind == "tile" else mask.text
    return writer.define(f"{text} if {condition} else {MASKED}", "u32", shape, layout, hint)


@lowers("tt.load")
def load(writer: Writer, operation: Operation) -> None:
    values = writer.operands(operation)
    segments = operation.integers("operandSegmentSizes")
    where, mask = values[0], values[1] if segments[1] else None
    other = values[-1] if segments[2] else None
    type_ = type_of(operation.types_out[0])
    if where.kind != "pointer":
        raise NotImported("a load through a pointer that is data", "pass each tensor as an argument")
    view = writer.view(where.base, _in_memory(type_.element))
    if type_.shape is None and type_.element in NATIVE and type_.element != "u1":
        return writer.set(operation, load_scalar(writer, where, mask, other, view, type_.element))
    layout = writer.layout_of(type_)
    index = index_of(writer, where, mask, layout)
    made = writer.define(f"Gather({view}, {index.text}, dim=0)", _in_memory(type_.element), type_.shape or (), layout)
    if type_.element == "u1":
        made = writer.define(f"Cast({made.text}, u1)", "u1", type_.shape or (), layout)
    if mask is not None and other is not None and not (other.literal and other.text in ("0", "0.0", "false")):
        condition = mask if mask.kind in ("tile", "spread") else writer.filled(number(mask), "u1", made.shape, layout)
        made = writer.define(f"{made.text} if {condition.text} else {number(other)}", made.element, made.shape, layout)
    writer.set(operation, made)


def _in_memory(element: str) -> str:
    """Booleans are bytes in memory."""
    return "i8" if element == "u1" else element


def offset_text(where: Value) -> str:
    return where.offset.text if where.offset is not None else "0"


def load_scalar(writer: Writer, where: Value, mask: Optional[Value], other: Optional[Value], view: str, element: str) -> Value:
    text = f"LoadScalar({view}, offset=[{offset_text(where)}])"
    if mask is None:
        return writer.scalar(text, element)
    otherwise = other.text if other is not None else "0"
    made = writer.scalar(f"{element}({otherwise})", element)
    writer.line(f"if {mask.text}:")
    writer.indented(lambda: writer.line(f"{made.text} = {text}"))
    return made


@lowers("tt.store")
def store(writer: Writer, operation: Operation) -> None:
    values = writer.operands(operation)
    where, value, mask = values[0], values[1], values[2] if len(values) > 2 else None
    if where.kind != "pointer":
        raise NotImported("a store through a pointer that is data", "pass each tensor as an argument")
    type_ = type_of(operation.types_in[1])
    layout, element = writer.layout_of(type_), _in_memory(type_.element)
    view = writer.view(where.base, element)
    if value.kind == "scalar":
        value = Value("splat", value.text, value.element, ())
    tile = writer.tile(value, layout)
    if type_.element == "u1":
        tile = writer.define(f"Cast({tile.text}, i8)", "i8", tile.shape, layout)
    index = index_of(writer, where, mask, layout)
    writer.line(f"Scatter({tile.text}, {view}, {index.text}, dim=0)")


@lowers("tt.atomic_rmw")
def atomic(writer: Writer, operation: Operation) -> None:
    values = writer.operands(operation)
    where, value, mask = values[0], values[1], values[2] if len(values) > 2 else None
    kind = operation.integer("atomic_rmw_op")
    type_ = type_of(operation.types_in[1])
    used = operation.results[0] in writer.module.used
    op, is_unsigned = ATOMIC[kind]
    element = UNSIGNED[type_.element] if is_unsigned else type_.element
    exchanges = op == "exchange"
    if type_.shape is None and element in ("i32", "u32") and (used or exchanges):
        return atomic_element(writer, operation, where, value, mask, element, op)
    if exchanges or used:
        return atomic_elements(writer, operation, where, [value], mask, element, op)
    floats = ("f16", "bf16", "f32", "f64") if op == "add" else ()
    if element not in ("i32", "u32", "i64", "u64", *floats):
        raise NotImported(f"an atomic {op} of {element}", "use a type of 32 or 64 bits, or atomic_add")
    if element == "bf16" and writer.module.capability < 90:
        raise NotImported("an atomic add of bf16 below sm_90", "add f32, or compile for sm_90")
    if element.startswith("f"):
        writer.note("atomic sums of floats, whose order nothing defines")
    view = writer.view(where.base, element)
    layout = writer.layout_of(type_)
    if value.kind == "scalar":
        value = Value("splat", value.text, value.element, ())
    tile = writer.tile(value, layout)
    if is_unsigned:
        tile = writer.define(f"View({tile.text}, dtype={element})", element, tile.shape, layout)
    index = index_of(writer, where, mask, layout)
    writer.line(f"Scatter({tile.text}, {view}, {index.text}, dim=0, op={op})")


def atomic_element(writer: Writer, operation: Operation, where: Value, value: Value, mask: Optional[Value], element: str,
                   op: str) -> None:
    """An atomic operation on one element, once for the program."""
    view, amount = writer.view(where.base, element), writer.native(value).text
    if element != value.element:
        amount = f"{element}({amount})"
    place = f"offset=[{offset_text(where)}]"
    made = _if_masked(writer, atomic_text(view, op, [amount], place), mask, element)
    if element != value.element:
        made = writer.scalar(f"{value.element}({made.text})", value.element)
    writer.set(operation, made)


def atomic_text(view: str, op: str, amounts: Sequence[str], place: str) -> str:
    """An atomic instruction on one element that gives what was there."""
    names = {"add": "AtomicAdd", "exchange": "AtomicExchange", "compare": "AtomicCompareExchange"}
    given = [view, *([] if op in names else [op]), *amounts, place]
    return f"{names.get(op, 'AtomicCombine')}({', '.join(given)})"


def atomic_elements(writer: Writer, operation: Operation, where: Value, values: Sequence[Value], mask: Optional[Value],
                    element: str, op: str) -> None:
    """Atomic operations on the elements of tensors that give what was there: one after another, through shared memory. The
    order of a program's own elements is theirs here, and any on a GPU."""
    type_ = type_of(operation.types_in[1])
    if element not in ("i32", "u32"):
        raise NotImported(f"the result of an atomic {op} of {element} on tensors", "use i32")
    writer.note("the order of atomic operations on a tensor's elements, which nothing defines")
    layout = writer.layout_of(type_)
    count = prod(layout.shape)
    flat = layout.reshape([count])
    index = index_of(writer, where, mask, layout)
    kept = []
    for value, kind in [(index, "u32"), *((each, element) for each in values)]:
        if value.kind == "scalar":
            value = Value("splat", value.text, value.element, type_.shape)
        tile = writer.tile(value, layout)
        name = writer.fresh("each")
        writer.shared.append(f"{name} = AllocateShared({kind}, shape=[{count}])")
        as_kind = f"View({tile.text}, dtype={kind})" if tile.element != kind else tile.text
        writer.line(f"StoreShared(View({as_kind}, layout={writer.layout(flat)}), {name})")
        kept.append(name)
    found = writer.fresh("found")
    view = writer.view(where.base, element)
    writer.shared.append(f"{found} = AllocateShared({element}, shape=[{count}])")
    place, k, before = writer.fresh("place"), writer.fresh("k"), writer.fresh("before")
    amounts = [writer.fresh("amount") for _ in kept[1:]]
    one = writer.layout(Layout((1,), (), (None,) * log2(writer.threads)))
    writer.barrier()
    for line in (f"for {k} in range({count}):",
                 f"    {place} = LoadScalar({kept[0]}, offset=[{k}])",
                 *(f"    {amount} = LoadScalar({name}, offset=[{k}])" for amount, name in zip(amounts, kept[1:])),
                 f"    {before} = {element}(0)",
                 f"    if {place} != {MASKED}:",
                 f"        {before} = {atomic_text(view, op, amounts, f'offset=[{place}]')}",
                 f"    StoreShared(AllocateRegister({element}, layout={one}, init={before}), {found}, offset=[{k}:])"):
        writer.line(line)
    writer.line("Synchronize()")
    made = writer.define(f"LoadShared({found}, layout={writer.layout(flat)})", element, (count,), flat)
    text = f"View({made.text}, layout={writer.layout(layout)})"
    if element != type_.element:
        text = f"View({text}, dtype={type_.element})"
    writer.set(operation, writer.define(text, type_.element, type_.shape, layout))


def _if_masked(writer: Writer, text: str, mask: Optional[Value], element: str) -> Value:
    if mask is None or mask.literal and mask.text == "true":
        return writer.scalar(text, element)
    made = writer.scalar(f"{element}(0)", element)
    writer.line(f"if {writer.native(mask).text}:")
    writer.indented(lambda: writer.line(f"{made.text} = {text}"))
    return made


@lowers("tt.atomic_cas")
def compare_and_swap(writer: Writer, operation: Operation) -> None:
    where, compare, value = writer.operands(operation)
    type_ = type_of(operation.types_in[1])
    if type_.element != "i32":
        raise NotImported(f"a compare-and-swap of {type_.element}", "use i32")
    if type_.shape is not None:
        return atomic_elements(writer, operation, where, [compare, value], None, "i32", "compare")
    view = writer.view(where.base, "i32")
    amounts = [writer.native(compare).text, writer.native(value).text]
    writer.set(operation, writer.scalar(atomic_text(view, "compare", amounts, f"offset=[{offset_text(where)}]"), "i32"))


@lowers("tt.int_to_ptr", "tt.ptr_to_int")
def pointer_as_data(writer: Writer, operation: Operation) -> None:
    raise NotImported("a pointer that is data", "pass each tensor as an argument, or one tensor and offsets into it")
