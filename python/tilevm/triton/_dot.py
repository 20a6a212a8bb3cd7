"""Matrix products."""

from __future__ import annotations

from typing import Optional, Sequence

from ._errors import NotImported
from ._layouts import Digit, Layout, log2
from ._mlir import Operation
from ._shape import viewed
from ._shared import load_tile, memory_of
from ._values import BITS, Value, type_of
from ._writer import Writer, lowers, number


@lowers("tt.dot")
def dot(writer: Writer, operation: Operation) -> None:
    types = [type_of(t) for t in operation.types_in]
    a, b, c = (writer.tile(v, writer.layout_of(t)) for v, t in zip(writer.operands(operation), types))
    precision = operation.attributes.get("inputPrecision", "0").split(":")[0].strip()
    a, b = same_k(writer, a, b, c)
    if a.element == "f32" and "nvidia_mma" in types[2].text:
        if precision not in ("0", "tf32"):
            raise NotImported(f"a product with input precision {precision} on tensor cores")
        a, b = (writer.define(f"View({v.text}, dtype=tf32)", "tf32", v.shape, v.layout, v.text) for v in (a, b))
    multiply(writer, operation, a, b, c)


def multiply(writer: Writer, operation: Operation, a: Value, b: Value, c: Value) -> None:
    if a.element == "i8" and writer.module.capability < 90:
        writer.note("sums of 8-bit integers wrap, where Triton's instructions below sm_90 saturate (satfinite)")
    if a.element.startswith("f8") and writer.module.capability >= 90:
        writer.note("sums of 8-bit floats follow mma, where Triton has wgmma with its shorter accumulator")
    writer.set(operation, writer.define(f"Dot({a.text}, {b.text}, {c.text})", c.element, c.shape, c.layout))


def same_k(writer: Writer, a: Value, b: Value, c: Value) -> tuple[Value, Value]:
    """Operands whose threads hold more neighbours along k than a register has (a wide kWidth): k is renamed in both
    alike, so that they are the fragments of the instruction. Each instruction takes one register of the neighbours in
    each half of its k; the halves are as far apart as all neighbours of all lanes (Triton 3.6.0's bits on an H100)."""
    la, lb = a.layout, b.layout
    assert la is not None and lb is not None
    ka, kb = len(la.shape) - 1, len(lb.shape) - 2
    inner = log2(max(1, 32 // BITS[a.element]))
    bits = log2(la.shape[ka])
    order = [d.bit for d in la.registers if d.dim == ka][:inner] if inner else []
    lanes = [d.bit for d in la.threads[:5] if d and d.dim == ka]
    rest = [d.bit for d in la.registers if d.dim == ka][len(order):]
    neighbours = [bit for bit in rest if lanes and bit < lanes[0]]
    blocks = [bit for bit in rest if bit not in neighbours]
    renamed = {old: new for new, old in enumerate([*order, *lanes, *blocks[:1], *neighbours, *blocks[1:]])}
    if len(lanes) != 2 or len(renamed) != bits or all(old == new for old, new in renamed.items()):
        return a, b
    return tuple(viewed(writer, v, _renamed(v.layout, dim, renamed)) for v, dim in ((a, ka), (b, kb)))  # type: ignore[return-value]


def _renamed(layout: Optional[Layout], dim: int, bits: dict[int, int]) -> Layout:
    assert layout is not None

    def new(d: Digit) -> Digit:
        return Digit(dim, bits[d.bit]) if d.dim == dim else d

    return Layout(layout.shape, [new(d) for d in layout.registers], [new(d) if d else None for d in layout.threads])


@lowers("ttng.warp_group_dot")
def warp_group_dot(writer: Writer, operation: Operation) -> None:
    """A product of shared memory: `wgmma`, which goes on until a wait."""
    values = writer.operands(operation)
    if split_sums(writer, values, operation):
        return product_at_once(writer, operation)
    a, b = values[:2]
    memory = memory_of(b)
    texts = [f"{memory.name}", f"b_offset={memory.stored_offset()}"]
    if memory.order:
        texts.append("transpose_b=true")
    if a.kind == "memory":
        left = memory_of(a)
        first = left.name
        texts.append(f"a_offset={left.stored_offset()}")
        if left.order:
            texts.append("transpose_a=true")
    else:
        tile = writer.tile(a, writer.layout_of(type_of(operation.types_in[0])))
        first = f"View({tile.text}, dtype=tf32)" if tile.element == "f32" else tile.text
    c = accumulator(writer, operation, values[2])
    if len(values) > 3:
        accumulate = writer.native(values[3]).text
        texts += [f"accumulate={accumulate}"] if accumulate != "true" else []
    writer.line(f"DotAsync({', '.join([first, texts[0], c.text, *texts[1:]])}, out={c.text})")
    writer.line("DotAsyncCommitGroup()")
    if operation.attributes.get("isAsync", "false").split(":")[0].strip() not in ("true", "unit"):
        writer.line("DotAsyncWaitGroup(0)")
    writer.set(operation, c)


def accumulator(writer: Writer, operation: Operation, value: Value) -> Value:
    """The tile to which the product is added in place: that of the sum before, if nothing else uses it."""
    name, layout = operation.operands[2], writer.layout_of(type_of(operation.types_in[2]))
    module = writer.module
    carried = carried_sum(writer, operation)
    if carried and carried != value.text:
        source = number(value) if value.kind == "tile" else writer.tile(value, layout).text
        writer.line(f"{carried} = {source}")
        return Value("tile", carried, type_of(operation.types_in[2]).element, layout.shape, layout)
    own = value.kind == "tile" and value.layout == layout and module.block_of(name) is module.block_of(operation.results[0])
    while own and module.uses[name] == 1:
        made = module.makers.get(name)
        if made is None or made.name != "ttng.warp_group_dot_wait":
            return value
        name = made.operands[made.results.index(name)]
    text = number(value) if value.kind in ("scalar", "splat") else ""
    if text:
        return writer.filled(text, value.element, layout.shape, layout)
    tile = writer.tile(value, layout)
    if tile.text != value.text:
        return tile
    return writer.define(f"View({tile.text}, layout={writer.layout(layout)})", tile.element, tile.shape, layout)


def carried_sum(writer: Writer, operation: Operation) -> str:
    """The variable that carries the sum round the loop while it is in flight, if nothing needs its old value any more."""
    block = writer.module.block_of(operation.results[0])
    slots = writer.slots.get(id(block))
    if block is None or slots is None:
        return ""
    result = operation.results[0]
    place = next(k for k, each in enumerate(block.operations) if each is operation)
    for each in block.operations[place + 1:]:
        if each.name == "ttng.warp_group_dot_wait" and result in each.operands:
            result = each.results[each.operands.index(result)]
    if result not in block.operations[-1].operands:
        return ""
    number_ = block.operations[-1].operands.index(result)
    argument = block.arguments[1 + number_][0]
    later = any(argument in inner.operands for each in block.operations[place + 1:] for inner in each.walk())
    return "" if later else slots[number_]


def split_sums(writer: Writer, values: Sequence[Value], operation: Operation) -> bool:
    """Whether Triton adds parts of the sum of 8-bit floats to the accumulator one after another."""
    element = _element(writer, values[0], operation.types_in[0])
    most = operation.integer("maxNumImpreciseAcc") if "maxNumImpreciseAcc" in operation.attributes else 0
    return element.startswith("f8") and 0 < most < _extent_k(values[0], operation.types_in[0])


def product_at_once(writer: Writer, operation: Operation) -> None:
    """A product of shared memory, computed where it is issued."""
    writer.note("a product whose sum of 8-bit floats Triton splits is computed where it is issued: a missing wait for it is not "
                "found")
    values = writer.operands(operation)
    c_type = type_of(operation.types_in[2])
    c = writer.tile(values[2], writer.layout_of(c_type))
    assert c.layout is not None and c.shape is not None
    element = _element(writer, values[0], operation.types_in[0])
    k = _extent_k(values[0], operation.types_in[0])
    fragments = (fragment_a(c.layout, k, BITS[element]), fragment_b(c.layout, k, BITS[element]))
    tiles = []
    for value, text, layout in zip(values[:2], operation.types_in[:2], fragments):
        if value.kind == "memory":
            tiles.append(load_tile(writer, memory_of(value), layout, element, "fragment"))
        else:
            own = writer.tile(value, writer.layout_of(type_of(text)))
            tiles.append(writer.tile(own, layout))
    multiply(writer, operation, tiles[0], tiles[1], c)


def _element(writer: Writer, value: Value, text: str) -> str:
    return memory_of(value).element if value.kind == "memory" else type_of(text).element


def _extent_k(value: Value, text: str) -> int:
    if value.kind == "memory":
        return memory_of(value).shape[-1]
    shape = type_of(text).shape
    assert shape is not None
    return shape[-1]


def _k_digits(k: int, bits: int, dim: int) -> tuple[list[Digit], list[Digit], list[Digit]]:
    """Digits of k: within a register, in lanes, and the others."""
    inner, every = log2(32 // bits), [Digit(dim, bit) for bit in range(log2(k))]
    return every[:inner], every[inner:inner + 2], every[inner + 2:]


def fragment_a(c: Layout, k: int, bits: int) -> Layout:
    """The left operand's fragment for an accumulator whose lanes hold pairs of columns."""
    inner, lanes, rest = _k_digits(k, bits, 1)
    threads: Sequence[Optional[Digit]] = [*lanes, *(d if d and d.dim == 0 else None for d in c.threads[2:])]
    rows = [d for d in c.registers if d.dim == 0]
    return Layout((c.shape[0], k), [*inner, *rows[:1], *rest[:1], *rest[1:], *rows[1:]], threads)


def fragment_b(c: Layout, k: int, bits: int) -> Layout:
    """The right operand's fragment."""
    inner, lanes, rest = _k_digits(k, bits, 0)
    columns = [Digit(1, bit) for bit in range(3)]
    held = [d for d in c.registers if d.dim == 1 and d.bit >= 3]
    threads = [*lanes, *columns, *(d if d and d.dim == 1 else None for d in c.threads[5:])]
    return Layout((k, c.shape[1]), [*inner, *rest[:1], *rest[1:], *held], threads)


@lowers("ttng.warp_group_dot_wait")
def warp_group_dot_wait(writer: Writer, operation: Operation) -> None:
    writer.line(f"DotAsyncWaitGroup({operation.integer('pendings')})")
    for k, value in enumerate(writer.operands(operation)):
        writer.set(operation, value, k)


@lowers("tt.dot_scaled")
def dot_scaled(writer: Writer, operation: Operation) -> None:
    raise NotImported("a block-scaled product", "scale the operands before tl.dot")

