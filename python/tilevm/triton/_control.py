"""Functions, loops, branches and early returns."""

from __future__ import annotations

import re
from typing import Callable, Optional, Sequence

from ._errors import NotImported
from ._mlir import Block, Operation
from ._pointers import offset_as, pointer
from ._specialize import is_specialized, lower_specialized
from ._values import NATIVE, TOKEN, Value, type_of
from ._writer import Writer, lower_all, lowers, number

# A variable that carries a value round a loop: its name, and how its next text follows from a value.
Slot = tuple[str, Callable[[Value], str]]


class Carried:
    """A value that a loop or a branch changes: what it is inside, and the variables behind it."""

    def __init__(self, inside: Value, slots: Sequence[Slot]) -> None:
        self.inside, self.slots = inside, list(slots)


def carry(writer: Writer, value: Value, text: str, hint: str) -> Carried:
    """Variables for a value of the type `text`, which begin with the value."""
    type_ = type_of(text)
    if value.kind == "token":
        return Carried(TOKEN, [])
    if value.kind == "memory":
        return _carry_memory(writer, value)
    if value.kind == "pointer":
        shape = type_.shape
        offset = offset_as(writer, value, "i64")
        own = _carry_data(writer, offset, shape, "i64", text, hint)
        base = value.base

        def next_offset(new: Value) -> str:
            if new.base != base:
                raise NotImported("a pointer variable that changes to another argument", "use one loop for each argument")
            return own.slots[0][1](offset_as(writer, new, "i64"))

        return Carried(pointer(value, own.inside, shape), [(own.slots[0][0], next_offset)])
    return _carry_data(writer, value, type_.shape, type_.element, text, hint)


def _carry_memory(writer: Writer, value: Value) -> Carried:
    memory = value.memory
    assert memory is not None
    names = [writer.fresh("buffer") for _ in memory.at]
    for name, text in zip(names, memory.at):
        writer.line(f"{name} = i32({text})")

    def next_index(k: int) -> Callable[[Value], str]:
        def text(new: Value) -> str:
            if new.memory is None or new.memory.name != memory.name or len(new.memory.at) != len(names):
                raise NotImported("a buffer variable that changes to another allocation")
            return new.memory.at[k]

        return text

    return Carried(Value("memory", memory=memory._replace(at=tuple(names))),
                   [(name, next_index(k)) for k, name in enumerate(names)])


def _carry_data(writer: Writer, value: Value, shape: Optional[tuple[int, ...]], element: str, text: str, hint: str) -> Carried:
    name = writer.fresh(hint)
    if shape is None and element in NATIVE and value.kind in ("scalar", "splat"):
        writer.line(f"{name} = {_typed(value)}")
        return Carried(Value("scalar", name, element), [(name, lambda new: writer.native(new).text)])
    layout = writer.layout_of(type_of(text))
    full = shape or ()

    def as_tile(new: Value) -> str:
        if new.kind == "scalar":
            new = Value("splat", new.text, new.element, full)
        if new.kind == "splat":
            new = Value("splat", new.text, new.element, full)
        return writer.tile(new, layout).text

    if value.kind in ("scalar", "splat"):
        writer.line(f"{name} = AllocateRegister({element}, layout={writer.layout(layout)}, init={number(value)})")
    else:
        writer.line(f"{name} = View({as_tile(value)}, layout={writer.layout(layout)})")
    return Carried(Value("tile", name, element, full, layout), [(name, as_tile)])


def _typed(value: Value) -> str:
    """With its type, so that the variable has one."""
    return value.text if value.element == "u1" else f"{value.element}({value.text})"


def assign(writer: Writer, carried: Sequence[Carried], values: Sequence[Value]) -> None:
    """Gives the variables their next values, all at once."""
    todo = [(name, text(value)) for each, value in zip(carried, values) for name, text in each.slots]
    todo = [(name, text) for name, text in todo if name != text]
    later = {name for name, _ in todo}
    moves = []
    for name, text in todo:
        # Another variable's old value is kept before that one changes.
        if any(re.search(rf"\b{re.escape(other)}\b", text) for other in later if other != name):
            kept = writer.fresh("next")
            writer.line(f"{kept} = {text}")
            text = kept
        moves.append((name, text))
    for name, text in moves:
        writer.line(f"{name} = {text}")


def _hints(operation: Operation, block: Block, begin: int) -> list[str]:
    return [origin.name if origin else "" for _, _, origin in block.arguments[begin:]]


@lowers("scf.for")
def loop(writer: Writer, operation: Operation) -> None:
    if "unsignedCmp" in operation.attributes and operation.attributes["unsignedCmp"].startswith("true"):
        raise NotImported("a loop over unsigned numbers")
    low, high, step = (writer.native(v) for v in writer.operands(operation)[:3])
    block = operation.regions[0][0]
    inits = writer.operands(operation)[3:]
    carried = [carry(writer, v, t, h) for v, t, h in zip(inits, operation.types_in[3:], _hints(operation, block, 1))]
    name, text, origin = block.arguments[0]
    variable = writer.fresh(origin.name if origin else "k")
    wide = type_of(text).element
    bounds = [v.text if not v.literal or wide == "i32" else f"{wide}({v.text})" for v in (low, high, step)]
    writer.line(f"for {variable} in range({', '.join(bounds)}):")
    writer.environment[name] = Value("scalar", variable, wide)
    bind(writer, block.arguments[1:], carried)
    writer.slots[id(block)] = [each.slots[0][0] if len(each.slots) == 1 else "" for each in carried]

    def body() -> None:
        lower_all(writer, block.operations[:-1])
        writer.begin(block.operations[-1])
        assign(writer, carried, writer.operands(block.operations[-1]))

    writer.loops += 1
    writer.indented(body)
    writer.loops -= 1
    finish(writer, operation, carried)


def bind(writer: Writer, arguments: Sequence[tuple[str, str, object]], carried: Sequence[Carried]) -> None:
    for (name, _, _), each in zip(arguments, carried):
        writer.environment[name] = each.inside


def finish(writer: Writer, operation: Operation, carried: Sequence[Carried]) -> None:
    for name, each in zip(operation.results, carried):
        writer.environment[name] = each.inside


@lowers("scf.while")
def while_loop(writer: Writer, operation: Operation) -> None:
    before, after = operation.regions[0][0], operation.regions[1][0]
    carried = [carry(writer, v, t, h) for v, t, h in
               zip(writer.operands(operation), operation.types_in, _hints(operation, before, 0))]
    bind(writer, before.arguments, carried)
    condition = before.operations[-1]
    passed: list[Carried] = []
    alike = condition.operands[1:] == [name for name, _, _ in before.arguments]
    if not alike:  # what the condition passes on has variables of its own
        passed = [_declared(writer, t, h) for t, h in zip(condition.types_in[1:], _hints(operation, after, 0))]
    results = carried if alike else passed

    def body() -> None:
        lower_all(writer, before.operations[:-1])
        writer.begin(condition)
        values = writer.operands(condition)
        if not alike:
            assign(writer, passed, values[1:])
        writer.line(f"if not ({writer.native(values[0]).text}):")
        writer.indented(lambda: writer.line("break"))
        bind(writer, after.arguments, results)
        lower_all(writer, after.operations[:-1])
        writer.begin(after.operations[-1])
        assign(writer, carried, writer.operands(after.operations[-1]))

    writer.line("while true:")
    writer.loops += 1
    writer.indented(body)
    writer.loops -= 1
    finish(writer, operation, results)


def _declared(writer: Writer, text: str, hint: str, example: Optional[Value] = None) -> Carried:
    """Variables of a type that have no value yet."""
    type_ = type_of(text)
    if type_.pointer:
        if example is None or example.kind != "pointer":
            raise NotImported("a pointer that a branch or a condition passes on")
        return carry(writer, pointer(example, None, type_.shape), text, hint)
    if type_.shape is None and type_.element in NATIVE:
        return carry(writer, Value("scalar", "false" if type_.element == "u1" else "0", type_.element), text, hint)
    if type_.shape is None and (text.startswith("!") or type_.element not in ("f64", "f16", "bf16", "i8", "i16")):
        if example is None:
            raise NotImported(f"a value of {text[:40]} that a branch passes on")
        return carry(writer, example, text, hint)
    layout = writer.layout_of(type_)
    name = writer.fresh(hint)
    writer.line(f"{name} = AllocateRegister({type_.element}, layout={writer.layout(layout)})")
    shape = type_.shape or ()

    def as_tile(new: Value) -> str:
        return writer.tile(Value("splat", new.text, new.element, shape) if new.kind == "scalar" else new, layout).text

    return Carried(Value("tile", name, type_.element, shape, layout), [(name, as_tile)])


@lowers("scf.if")
def branch(writer: Writer, operation: Operation) -> None:
    condition = writer.native(writer.operands(operation)[0])
    blocks = [region[0] if region else Block() for region in operation.regions]
    bases = _pointers_of(writer, blocks)
    carried = [_declared(writer, t, "", bases.get(k)) for k, t in enumerate(operation.types_out)] if operation.results else []
    for k, block in enumerate(blocks):
        if k and not block.operations[:-1] and not carried:
            continue
        writer.line(f"if {condition.text}:" if k == 0 else "else:")

        def body(block: Block = block) -> None:
            lower_all(writer, block.operations[:-1])
            if carried:
                writer.begin(block.operations[-1])
                assign(writer, carried, writer.operands(block.operations[-1]))

        writer.indented(body)
    finish(writer, operation, carried)


def _pointers_of(writer: Writer, blocks: Sequence[Block]) -> dict[int, Value]:
    """For each result of a branch a value of the same argument or allocation, where one is known before the branch."""
    found: dict[int, Value] = {}
    for block in blocks:
        inside = {result: each for each in block.operations for result in each.results}
        for k, name in enumerate(block.operations[-1].operands if block.operations else []):
            while name in inside and inside[name].operands and inside[name].name in (
                    "tt.addptr", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.bitcast", "ttg.memdesc_index"):
                name = inside[name].operands[0]
            value = writer.environment.get(name)
            if value is not None and value.kind in ("pointer", "memory", "token"):
                found.setdefault(k, value)
    return found


@lowers("tt.call")
def call(writer: Writer, operation: Operation) -> None:
    callee = operation.attributes["callee"].lstrip("@").strip('"')
    function = writer.module.functions.get(callee)
    if function is None:
        raise NotImported(f"a call of {callee}")
    block = function.regions[0][0]
    for (name, _, _), value in zip(block.arguments, writer.operands(operation)):
        writer.environment[name] = value
    if len(function.regions[0]) != 1:
        raise NotImported("an early return of a function that is not inlined", "remove noinline=True")
    lower_all(writer, block.operations[:-1])
    for name, result in zip(operation.results, block.operations[-1].operands):
        writer.environment[name] = writer.environment[result]


@lowers("tt.return", "scf.yield")
def end(writer: Writer, operation: Operation) -> None:
    del writer, operation


def lower_blocks(writer: Writer, blocks: Sequence[Block]) -> None:
    """A function's body: blocks between which early returns branch."""
    if any(is_specialized(block) for block in blocks):
        if len(blocks) > 1:
            raise NotImported("an early return of a kernel with warp_specialize", "put the condition into the partitions")
        return lower_specialized(writer, blocks[0])
    by_label = {block.label: block for block in blocks}
    block: Optional[Block] = blocks[0]
    while block is not None:
        last = block.operations[-1]
        lower_all(writer, block.operations[:-1])
        writer.begin(last)
        if last.name == "tt.return":
            return
        targets = [by_label[label] for label, _ in last.successors]
        if any(target.arguments for target in targets):
            raise NotImported("branches that pass values", "return early in one place only", last.origin, last.name)
        if last.name == "cf.br":
            block = targets[0]
            continue
        if last.name != "cf.cond_br":
            raise NotImported("this branch", "", last.origin, last.name)
        condition = writer.native(writer.get(last.operands[0])).text
        ends = [target.operations[-1].name == "tt.return" for target in targets]
        if not any(ends):
            raise NotImported("a branch of which no side returns", "return early in one place only", last.origin, last.name)
        side = 0 if ends[0] else 1
        writer.line(f"if {condition}:" if side == 0 else f"if not ({condition}):")

        def leave(target: Block = targets[side]) -> None:
            lower_all(writer, target.operations[:-1])
            writer.line("Exit()")

        writer.indented(leave)
        block = targets[1 - side]
