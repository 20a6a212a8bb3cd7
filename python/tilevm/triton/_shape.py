"""Shapes: broadcasts, views, transposes, joins, gathers within a tensor, histograms, changes of layout."""

from __future__ import annotations

from ._errors import NotImported
from ._layouts import Digit, Layout
from ._mlir import Operation
from ._pointers import pointer
from ._values import MOST_DIMENSIONS, Value, extents_of, type_of
from ._writer import Writer, lowers


def through(writer: Writer, operation: Operation, change: object) -> None:
    """Applies a change of shape to a value, or to the offset of a pointer."""
    assert callable(change)
    value = writer.operands(operation)[0]
    shape = type_of(operation.types_out[0]).shape
    if value.kind == "pointer":
        offset = None if value.offset is None else change(value.offset)
        return writer.set(operation, pointer(value, offset, shape))
    writer.set(operation, change(value))


@lowers("tt.splat")
def splat(writer: Writer, operation: Operation) -> None:
    shape = type_of(operation.types_out[0]).shape
    assert shape is not None

    def change(value: Value) -> Value:
        if value.kind == "tile":  # a tile without dimensions
            return writer.spread(value, shape)
        return Value("splat", value.text, value.element, shape, literal=value.literal)

    through(writer, operation, change)


@lowers("tt.unsplat")
def unsplat(writer: Writer, operation: Operation) -> None:
    type_ = type_of(operation.types_in[0])

    def change(value: Value) -> Value:
        if value.kind == "splat":
            return Value("scalar", value.text, value.element)
        tile = writer.tile(value, writer.layout_of(type_))
        layout = Layout.scalar(writer.threads)
        return writer.define(f"View({tile.text}, layout={writer.layout(layout)})", value.element, (), layout)

    through(writer, operation, change)


@lowers("tt.expand_dims")
def expand_dims(writer: Writer, operation: Operation) -> None:
    type_, dim = type_of(operation.types_out[0]), operation.integer("axis")
    shape = type_.shape
    assert shape is not None

    def change(value: Value) -> Value:
        if value.kind == "splat":
            return Value("splat", value.text, value.element, shape, literal=value.literal)
        if len(extents_of(operation.types_out[0])) > MOST_DIMENSIONS:
            tile = writer.tile(value, writer.layout_of(type_of(operation.types_in[0])))
            assert tile.layout is not None
            return viewed(writer, tile, tile.layout.reshape(shape))
        if value.kind == "spread":
            small = value.small
            assert small is not None and value.shape is not None and small.shape is not None
            if not small.shape:
                return writer.spread(small, shape)
            return writer.spread(viewed(writer, small, _aligned(small, len(value.shape)).expand(dim)), shape)
        assert value.layout is not None
        return viewed(writer, value, value.layout.expand(dim))

    through(writer, operation, change)


def _aligned(small: Value, rank: int) -> Layout:
    """With dimensions of extent 1 in front, up to a rank."""
    assert small.layout is not None and small.shape is not None
    return small.layout.reshape([1] * (rank - len(small.shape)) + list(small.shape))


def viewed(writer: Writer, value: Value, layout: Layout) -> Value:
    """The elements of each thread under another layout."""
    return writer.define(f"View({value.text}, layout={writer.layout(layout)})", value.element, layout.shape, layout, value.text)


@lowers("tt.broadcast")
def broadcast(writer: Writer, operation: Operation) -> None:
    shape = type_of(operation.types_out[0]).shape
    assert shape is not None

    def change(value: Value) -> Value:
        if value.kind == "splat":
            return Value("splat", value.text, value.element, shape, literal=value.literal)
        small = value.small if value.kind == "spread" else value
        assert small is not None
        if len(extents_of(operation.types_out[0])) > MOST_DIMENSIONS and small.shape != ():
            return broadcast_cube(writer, operation, value)
        return writer.spread(small, shape)

    through(writer, operation, change)


def broadcast_cube(writer: Writer, operation: Operation, value: Value) -> Value:
    """A broadcast of a tensor of more dimensions than a tile has: neighbouring dimensions that broadcast, and those that do
    not, are one dimension each."""
    source, result = (extents_of(t) for t in (operation.types_in[0], operation.types_out[0]))
    runs: list[list[int]] = []
    spreads: list[bool] = []
    for a, b in zip(source, result):
        if spreads and spreads[-1] == (a != b):
            runs[-1][0] *= b
        else:
            runs.append([b])
            spreads.append(a != b)
    tile = writer.tile(value, writer.layout_of(type_of(operation.types_in[0])))
    full = writer.layout_of(type_of(operation.types_out[0])).reshape([run[0] for run in runs])
    assert tile.layout is not None
    small = viewed(writer, tile, tile.layout.reshape([1 if spread else run[0] for run, spread in zip(runs, spreads)]))
    wide = writer.tile(writer.spread(small, full.shape), full)
    return viewed(writer, wide, full.reshape(type_of(operation.types_out[0]).shape or ()))


@lowers("ttg.convert_layout")
def convert_layout(writer: Writer, operation: Operation) -> None:
    source, result = (type_of(t) for t in (operation.types_in[0], operation.types_out[0]))
    target = writer.layout_of(result)

    def change(value: Value) -> Value:
        if value.kind == "splat" or (value.kind == "spread" and value.small is not None and value.small.shape == ()):
            return value
        if value.kind == "spread":
            value = writer.tile(value, writer.layout_of(source))
        return writer.tile(value, target)

    through(writer, operation, change)


@lowers("tt.reshape", "ttg.reshape", "tt.view")
def reshape(writer: Writer, operation: Operation) -> None:
    source, result = (type_of(t) for t in (operation.types_in[0], operation.types_out[0]))
    target = writer.layout_of(result)
    free = operation.attributes.get("allow_reorder", "false").split(":")[0].strip() in ("unit", "true")
    assert result.shape is not None

    def change(value: Value) -> Value:
        if value.kind == "splat":
            return Value("splat", value.text, value.element, result.shape, literal=value.literal)
        tile = writer.tile(value, writer.layout_of(source))
        assert tile.layout is not None
        if free:  # elements stay in their registers, whichever index that is
            if len(tile.layout.registers) != len(target.registers):
                raise NotImported("a reshape that may reorder between other numbers of registers")
            return viewed(writer, tile, target)
        return writer.tile(viewed(writer, tile, tile.layout.reshape(result.shape or ())), target)

    through(writer, operation, change)


@lowers("tt.trans")
def transpose(writer: Writer, operation: Operation) -> None:
    source, result = (type_of(t) for t in (operation.types_in[0], operation.types_out[0]))
    order = operation.integers("order")

    def change(value: Value) -> Value:
        if value.kind == "splat":
            return Value("splat", value.text, value.element, result.shape, literal=value.literal)
        tile = writer.tile(value, writer.layout_of(source))
        assert tile.layout is not None
        return writer.tile(viewed(writer, tile, tile.layout.permute(order)), writer.layout_of(result))

    through(writer, operation, change)


@lowers("tt.join")
def join(writer: Writer, operation: Operation) -> None:
    source, result = (type_of(t) for t in (operation.types_in[0], operation.types_out[0]))
    assert source.shape is not None and result.shape is not None
    rank = len(source.shape)
    halves = [writer.tile(v, writer.layout_of(source)) for v in writer.operands(operation)]
    first = halves[0].layout
    assert first is not None
    each = [viewed(writer, v, first.expand(rank)) for v in halves]
    joined = Layout(result.shape, [*first.expand(rank).registers, Digit(rank, 0)], first.expand(rank).threads)
    made = writer.define(f"Concat({each[0].text}, {each[1].text}, dim={rank})", source.element, result.shape, joined)
    writer.set(operation, writer.tile(made, writer.layout_of(result)))


@lowers("tt.split")
def split(writer: Writer, operation: Operation) -> None:
    source, result = (type_of(t) for t in (operation.types_in[0], operation.types_out[0]))
    assert source.shape is not None
    last = len(source.shape) - 1
    value = writer.tile(writer.operands(operation)[0], writer.layout_of(source))
    assert value.layout is not None
    tile = writer.tile(value, value.layout.gathered(last))
    for half in range(2):
        part = part_of(writer, tile, last, half)
        writer.set(operation, writer.tile(part, writer.layout_of(result)), half)


def part_of(writer: Writer, tile: Value, dim: int, index: int) -> Value:
    """The elements with an index along a dimension whose digits are the most significant registers; the dimension
    vanishes."""
    layout = tile.layout
    assert layout is not None and layout.shape
    kept = Layout([1 if d == dim else n for d, n in enumerate(layout.shape)],
                  [digit for digit in layout.registers if digit.dim != dim], layout.threads)
    sliced = writer.define(f"Slice({tile.text}, {dim}, {index}, 1)", tile.element, kept.shape, kept, tile.text)
    shape = [n for d, n in enumerate(layout.shape) if d != dim]
    return viewed(writer, sliced, kept.reshape(shape))


@lowers("tt.gather")
def gather(writer: Writer, operation: Operation) -> None:
    source, index = (type_of(t) for t in operation.types_in[:2])
    layout = writer.layout_of(type_of(operation.types_out[0]))
    value, places = writer.operands(operation)
    tile = writer.tile(value, writer.layout_of(source))
    where = writer.tile(places, writer.layout_of(index))
    assert source.shape is not None
    memory = exchange(writer, source.element, source.shape)
    writer.line(f"StoreShared({tile.text}, {memory})")
    writer.line("Synchronize()")
    made = writer.define(f"Gather({memory}, {where.text}, dim={operation.integer('axis')})", source.element, index.shape, layout)
    writer.line("Synchronize()")
    writer.set(operation, made)


def exchange(writer: Writer, element: str, shape: tuple[int, ...]) -> str:
    """A shared tensor by which threads exchange elements, where Triton has scratch memory."""
    name = writer.fresh("exchange")
    writer.shared.append(f"{name} = AllocateShared({element}, shape={list(shape)})")
    return name


@lowers("tt.histogram")
def histogram(writer: Writer, operation: Operation) -> None:
    values = writer.operands(operation)
    source, result = (type_of(t) for t in (operation.types_in[0], operation.types_out[0]))
    layout, target = writer.layout_of(source), writer.layout_of(result)
    index = writer.tile(values[0], layout)
    assert result.shape is not None
    ones = writer.filled("1", result.element, source.shape, layout)
    if len(values) > 1:
        mask = writer.tile(values[1], layout)
        ones = writer.define(f"Cast({mask.text}, {result.element})", result.element, source.shape, layout)
        index = writer.define(f"{index.text} if {mask.text} else 0", index.element, source.shape, layout)
    memory = exchange(writer, result.element, result.shape)
    zeros = writer.filled("0", result.element, result.shape, target)
    writer.line(f"StoreShared({zeros.text}, {memory})")
    writer.line("Synchronize()")
    writer.line(f"Scatter({ones.text}, {memory}, {index.text}, dim=0, op=add)")
    writer.line("Synchronize()")
    made = writer.define(f"LoadShared({memory}, layout={writer.layout(target)})", result.element, result.shape, target)
    writer.line("Synchronize()")
    writer.set(operation, made)


@lowers("tt.cat")
def concatenate(writer: Writer, operation: Operation) -> None:
    source, result = (type_of(t) for t in (operation.types_in[0], operation.types_out[0]))
    halves = [writer.tile(v, writer.layout_of(source)) for v in writer.operands(operation)]
    target = writer.layout_of(result)
    first = halves[0].layout
    assert first is not None and source.shape is not None and result.shape is not None
    # Triton puts the registers of both one after another, in an order of elements that is its own choice.
    joined = Layout([2, *source.shape], [*(Digit(d.dim + 1, d.bit) for d in first.registers), Digit(0, 0)],
                    [Digit(d.dim + 1, d.bit) if d else None for d in first.threads])
    each = [viewed(writer, v, first.expand(0)) for v in halves]
    made = writer.define(f"Concat({each[0].text}, {each[1].text}, dim=0)", source.element, joined.shape, joined)
    writer.set(operation, viewed(writer, made, target) if len(target.registers) == len(joined.registers)
               else writer.tile(viewed(writer, made, joined.reshape(result.shape)), target))


@lowers("ttg.fp4_to_fp")
def unpack_fp4(writer: Writer, operation: Operation) -> None:
    """Bytes of two 4-bit floats each, the low half first, along a dimension."""
    source, result = (type_of(t) for t in (operation.types_in[0], operation.types_out[0]))
    dim = operation.integer("axis")
    packed = writer.tile(writer.operands(operation)[0], writer.layout_of(source))
    assert packed.layout is not None and result.shape is not None

    def wide(digit: Digit) -> Digit:
        return Digit(dim, digit.bit + 1) if digit.dim == dim else digit

    layout = Layout(result.shape, [Digit(dim, 0), *(wide(d) for d in packed.layout.registers)],
                    [wide(d) if d else None for d in packed.layout.threads])
    codes = writer.define(f"View({packed.text}, dtype=f4e2m1, layout={writer.layout(layout)})", "f4e2m1", result.shape, layout)
    made = writer.define(f"Cast({codes.text}, {result.element})", result.element, result.shape, layout)
    writer.set(operation, writer.tile(made, writer.layout_of(result)))
