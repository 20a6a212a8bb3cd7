"""Reductions and scans, by one operation or by any region over tuples.

A reduction goes through the digits of its dimension: first those of a thread's registers, then those of lanes, the most
significant basis first, then those of warps. This is the order of Triton's shuffles, so sums of floats have its bits.
"""

from __future__ import annotations

from math import prod
from typing import Optional, Sequence

from ._errors import NotImported
from ._layouts import Layout, log2
from ._mlir import Block, Operation
from ._shape import viewed
from ._values import MOST_DIMENSIONS, Value, extents_of, type_of
from ._writer import Writer, lower_all, lowers

# A region of one operation on the elements: what Reduce and Scan call it.
SIMPLE = {"arith.addi": "add", "arith.addf": "add", "arith.muli": "mul", "arith.mulf": "mul", "arith.maxnumf": "max",
          "arith.minnumf": "min", "arith.maxsi": "max", "arith.minsi": "min", "arith.andi": "bit_and", "arith.ori": "bit_or",
          "arith.xori": "bit_xor"}
MOST_REGISTERS = 10  # bits of a thread's own elements that a function combines
ORDERED = {"arith.addf", "arith.mulf"}


def simple_of(region: list[Block]) -> Optional[str]:
    """The operation of a region that has only one, on its two arguments."""
    if len(region) != 1 or len(region[0].operations) != 2:
        return None
    only, end = region[0].operations
    arguments = [name for name, _, _ in region[0].arguments]
    return only.name if only.name in SIMPLE and sorted(only.operands) == sorted(arguments) and \
        end.operands == only.results else None


class Combination:
    """A region as a function of tuples of tiles."""

    def __init__(self, writer: Writer, region: list[Block]) -> None:
        if len(region) != 1:
            raise NotImported("a combination with branches", "write it with tl.where")
        self.writer, self.block = writer, region[0]

    def __call__(self, a: Sequence[Value], b: Sequence[Value]) -> list[Value]:
        """The region on elements, which here are tiles of one layout."""
        writer, block = self.writer, self.block
        for (name, _, _), value in zip(block.arguments, [*a, *b]):
            writer.environment[name] = value
        current = writer.current
        lower_all(writer, block.operations[:-1])
        writer.current = current
        results = [writer.environment[name] for name in block.operations[-1].operands]
        model = a[0]
        assert model.layout is not None
        return [v if v.kind == "tile" and v.layout == model.layout else
                writer.tile(Value(v.kind, v.text, v.element, model.shape, v.layout, small=v.small), model.layout)
                for v in results]


class Axis:
    """Tiles whose elements along a dimension are combined. A view is written where it is used, in the same line."""

    def __init__(self, writer: Writer, tiles: Sequence[Value], dim: int) -> None:
        self.writer, self.dim = writer, dim
        self.become(tiles)

    def become(self, tiles: Sequence[Value]) -> None:
        found = tiles[0].layout
        assert found is not None
        self._tiles, self.layout = list(tiles), found

    @property
    def tiles(self) -> list[Value]:
        """The tiles under the layout that the axis has now."""
        if self._tiles[0].layout != self.layout:
            self._tiles = [viewed(self.writer, each, self.layout) for each in self._tiles]
        return self._tiles

    def texts(self) -> list[str]:
        """The tiles as operands."""
        same = self._tiles[0].layout == self.layout
        return [each.text if same else f"View({each.text}, layout={self.writer.layout(self.layout)})" for each in self._tiles]

    def split(self, bit: int) -> None:
        """Gives a bit of the dimension a dimension of its own: [above, 2, below]."""
        shape, dim = self.layout.shape, self.dim
        self.view([*shape[:dim], shape[dim] >> (bit + 1), 2, 1 << bit, *shape[dim + 1:]])

    def view(self, shape: Sequence[int]) -> None:
        self.layout = self.layout.reshape(shape)

    def reduce(self, op: str, dims: Sequence[int]) -> None:
        """Combines the elements along dimensions by one operation."""
        shown, layout = dims[0] if len(dims) == 1 else list(dims), self.layout.reduce(dims)
        self.become([self.writer.define(f"Reduce({text}, {op}, dims={shown})", each.element, layout.shape, layout, each.text)
                     for text, each in zip(self.texts(), self._tiles)])

    def parts(self, dim: int) -> list[list[Value]]:
        """Both elements along a dimension of extent 2, of each tile, in all threads that held one of them."""
        gathered = self.layout.gathered(dim)
        if gathered != self.layout:
            self.become([self.writer.define(f"ConvertLayout({text}, layout={self.writer.layout(gathered)})", each.element,
                                            gathered.shape, gathered, each.text)
                         for text, each in zip(self.texts(), self._tiles)])
        return [self.slice(dim, k) for k in range(2)]

    def slice(self, dim: int, index: int) -> list[Value]:
        """The elements with an index along a dimension that each thread holds whole."""
        kept = Layout([1 if d == dim else n for d, n in enumerate(self.layout.shape)],
                      [digit for digit in self.layout.registers if digit.dim != dim], self.layout.threads)
        return [self.writer.define(f"Slice({text}, {dim}, {index}, 1)", each.element, kept.shape, kept, each.text)
                for text, each in zip(self.texts(), self._tiles)]

    def merge(self, count: int) -> None:
        """Makes `count` dimensions, from that of the axis on, one dimension again."""
        shape, dim = self.layout.shape, self.dim
        self.view([*shape[:dim], prod(shape[dim:dim + count]), *shape[dim + count:]])


def digits_of(layout: Layout, dim: int) -> tuple[list[int], list[int]]:
    """The bits of a dimension that count registers, and those that count threads, in the order of their bases."""
    return [d.bit for d in layout.registers if d.dim == dim], [d.bit for d in layout.threads if d and d.dim == dim]


@lowers("tt.reduce")
def reduce(writer: Writer, operation: Operation) -> None:
    dim = operation.integer("axis")
    types = [type_of(t) for t in operation.types_in]
    tiles = [writer.tile(v, writer.layout_of(t)) for v, t in zip(writer.operands(operation), types)]
    extents = extents_of(operation.types_in[0])
    if len(extents) > MOST_DIMENSIONS:  # [above, the dimension, below]
        shape = [prod(extents[:dim]), extents[dim], prod(extents[dim + 1:])]
        tiles = [viewed(writer, tile, tile.layout.reshape(shape)) for tile in tiles if tile.layout]
        dim = 1
    name = simple_of(operation.regions[0]) if len(tiles) == 1 else None
    if name and (name not in ORDERED or types[0].element in ("i32",)):
        axis = Axis(writer, tiles, dim)
        axis.reduce(SIMPLE[name], [dim])
        results = axis.tiles
    else:
        results = reduced_in_order(writer, tiles, dim, operation.regions[0], name)
    for number, (value, text) in enumerate(zip(results, operation.types_out)):
        result = type_of(text)
        layout = writer.layout_of(result)
        assert value.layout is not None
        if result.shape is not None:
            if value.layout.shape != result.shape:
                value = viewed(writer, value, value.layout.reshape(result.shape))
            value = writer.tile(value, layout)
        elif value.layout != layout:
            value = viewed(writer, value, layout)
        writer.set(operation, value, number)


def reduced_in_order(writer: Writer, tiles: Sequence[Value], dim: int, region: list[Block], name: Optional[str]) -> list[Value]:
    """By Triton's order: a thread's registers, then lanes and warps."""
    axis = Axis(writer, tiles, dim)
    combine = Combination(writer, region)
    op = SIMPLE.get(name or "")
    registers, _ = digits_of(axis.layout, dim)
    if registers:
        in_thread(axis, combine, op, registers)
    while (left := digits_of(axis.layout, dim)[1]):
        step(axis, combine, op, _next_digit(axis.layout, dim, left))
    if op is None and writer.module.threads > 32 and len(tiles) > 1:
        writer.note("a reduction by a function that is not symmetric may differ from lane to lane in Triton")
    shape = axis.layout.shape
    axis.view([*shape[:dim], *shape[dim + 1:]])
    return axis.tiles


def _next_digit(layout: Layout, dim: int, left: Sequence[int]) -> int:
    """Lanes before warps, the most significant basis of each first."""
    lanes = [d.bit for d in layout.threads[:5] if d and d.dim == dim]
    return lanes[-1] if lanes else left[-1]


def step(axis: Axis, combine: Combination, op: Optional[str], bit: int) -> None:
    """Combines both values of a bit of the dimension."""
    axis.split(bit)
    if op:
        axis.reduce(op, [axis.dim + 1])
        axis.merge(2)
        return
    a, b = axis.parts(axis.dim + 1)
    axis.become(combine(a, b))
    axis.merge(3)


def in_thread(axis: Axis, combine: Combination, op: Optional[str], registers: Sequence[int]) -> None:
    """Combines the elements that a thread has: one after another up to Triton 3.7, later as a tree of neighbours."""
    dim, shape = axis.dim, axis.layout.shape
    runs = _runs(log2(shape[dim]), set(registers))
    axis.view([*shape[:dim], *(1 << len(bits) for bits, _ in runs), *shape[dim + 1:]])
    own = [k for k, (_, in_registers) in enumerate(runs) if in_registers]
    tree = axis.writer.module.sums_are_trees
    if op and tree:
        axis.reduce(op, [dim + k for k in own])
        axis.merge(len(runs) - len(own)) if len(runs) > len(own) else axis.view([*shape[:dim], 1, *shape[dim + 1:]])
        return
    if len(registers) > MOST_REGISTERS:
        raise NotImported(f"a reduction by a function of more than {1 << MOST_REGISTERS} elements a thread",
                          "reduce blocks of them first, or use more warps")
    elements = [_element(axis, runs, own, registers, k) for k in range(1 << len(registers))]
    while tree and len(elements) > 1:
        elements = [combine(elements[k], elements[k + 1]) for k in range(0, len(elements), 2)]
    total = elements[0]
    for each in elements[1:]:
        total = combine(total, each)
    axis.become(total)
    axis.merge(len(runs))


def _runs(bits: int, registers: set[int]) -> list[tuple[list[int], bool]]:
    """The bits of a dimension from the most significant on, in runs of bits of registers and runs of bits of threads."""
    runs: list[tuple[list[int], bool]] = []
    for bit in range(bits - 1, -1, -1):
        if runs and runs[-1][1] == (bit in registers):
            runs[-1][0].append(bit)
        else:
            runs.append(([bit], bit in registers))
    return runs


def _element(axis: Axis, runs: Sequence[tuple[list[int], bool]], own: Sequence[int], registers: Sequence[int],
             number: int) -> list[Value]:
    """The tiles of one register along the dimension, by its number."""
    part = Axis(axis.writer, axis.tiles, axis.dim)
    for k in own:
        index = 0
        for bit in runs[k][0]:
            index = 2 * index + (number >> registers.index(bit) & 1)
        part.become(part.slice(axis.dim + k, index))
    return part.tiles


@lowers("tt.scan")
def scan(writer: Writer, operation: Operation) -> None:
    dim = operation.integer("axis")
    types = [type_of(t) for t in operation.types_in]
    reverse = operation.attributes.get("reverse", "false").split(":")[0].strip() in ("true", "unit")
    tiles = [writer.tile(v, writer.layout_of(t)) for v, t in zip(writer.operands(operation), types)]
    name = simple_of(operation.regions[0]) if len(tiles) == 1 else None
    if name in ORDERED or len(tiles) > 1 or name is None:
        writer.note("the order of a scan of floats, which is tilevm's own")
    if name and not reverse:
        made = [writer.define(f"Scan({tiles[0].text}, {SIMPLE[name]}, dim={dim})", types[0].element, types[0].shape,
                              tiles[0].layout)]
    else:
        made = doubling(writer, tiles, dim, Combination(writer, operation.regions[0]), reverse)
    for number, value in enumerate(made):
        writer.set(operation, value, number)


def doubling(writer: Writer, tiles: Sequence[Value], dim: int, combine: Combination, reverse: bool) -> list[Value]:
    """A scan by blocks of 2, 4, 8 .. elements: the later half of each takes the total of the earlier one."""
    axis, totals = Axis(writer, tiles, dim), Axis(writer, tiles, dim)
    shape = axis.layout.shape
    for level in range(log2(shape[dim])):
        totals.split(0)
        first, second = totals.parts(dim + 1)
        earlier, later = (second, first) if reverse else (first, second)
        axis.split(level)
        wide = axis.layout
        layout = writer.layout(wide)
        upper = writer.define(f"Iota(i32, layout={layout}, dim={dim + 1}) == {0 if reverse else 1}", "u1", wide.shape, wide)
        before = [writer.tile(writer.spread(each, wide.shape), wide) for each in earlier]
        joined = combine(before, axis.tiles)
        axis.become([writer.define(f"{new.text} if {upper.text} else {old.text}", old.element, wide.shape, wide, old.text)
                     for new, old in zip(joined, axis.tiles)])
        axis.view(shape)
        totals.become(combine(earlier, later))
        totals.merge(3)
    return axis.tiles


@lowers("tt.reduce.return", "tt.scan.return")
def end_of_region(writer: Writer, operation: Operation) -> None:
    del writer, operation
