"""Matrix products."""

from __future__ import annotations

from typing import Optional, Sequence

from ._errors import NotImported
from ._layouts import Digit, Layout, log2
from ._mlir import Operation
from ._shape import viewed
from ._shared import load_tile, memory_of
from ._values import BITS, Value, type_of
from ._writer import Writer, lowers


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
    """A product of shared memory, computed where it is issued."""
    writer.note("wgmma is computed where it is issued: a missing wait for it is not found")
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
    if element == "f32":
        tiles = [writer.define(f"View({v.text}, dtype=tf32)", "tf32", v.shape, v.layout, v.text) for v in tiles]
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
    for k, value in enumerate(writer.operands(operation)):
        writer.set(operation, value, k)


@lowers("tt.dot_scaled")
def dot_scaled(writer: Writer, operation: Operation) -> None:
    raise NotImported("a block-scaled product", "scale the operands before tl.dot")

