"""Warp specialisation: partitions of a kernel that groups of warps run at the same time.

What comes before `ttg.warp_specialize` is done by the first warps, while the others wait. Scalars are computed by all
warps here, since partitions use them; everything else is in the group of the first warps. Where that group does something
before, the partitions begin at a named barrier, and where it goes on afterwards, they end at one, as Triton has it.
"""

from __future__ import annotations

import re
from typing import Sequence

from ._errors import NotImported
from ._mlir import Block, Operation
from ._values import Value
from ._writer import Writer, lower_all, lowers

BEGIN, END = 1, 2  # named barriers
NAME = re.compile(r"[A-Za-z_]\w*")


def is_specialized(block: Block) -> bool:
    return any(each.name == "ttg.warp_specialize" for each in block.operations)


def lower_specialized(writer: Writer, block: Block) -> None:
    """A kernel's only block, which has one `ttg.warp_specialize`."""
    places = [k for k, each in enumerate(block.operations) if each.name == "ttg.warp_specialize"]
    if len(places) > 1:
        again = block.operations[places[1]]
        raise NotImported("a second warp_specialize", "specialise once", again.origin, again.name)
    place = places[0]
    specialize = block.operations[place]
    before = _first_warps(writer, block.operations[:place])
    parts = Partitions(writer, specialize)
    after = [each for each in block.operations[place + 1:] if each.name not in ("tt.return", "ttg.local_dealloc")]
    own = _captured(writer, lambda: lower_all(writer, specialize.regions[0][0].operations[:-1]))
    last = _captured(writer, lambda: lower_all(writer, after))
    warps = writer.module.threads // 32 + sum(parts.warps)
    begins, ends = bool(before), any(not each.lstrip().startswith("#") for each in last)
    writer.begin(specialize)
    writer.line("Synchronize()")
    _group(writer, 0, writer.module.threads // 32,
           [*before, *([f"    SyncNamedBarrier({BEGIN}, {warps})"] if begins else []), *own,
            *([f"    SyncNamedBarrier({END}, {warps})", *last] if ends else [])])
    for first, count, body in parts.written(writer):
        _group(writer, first, first + count, [*([f"    SyncNamedBarrier({BEGIN}, {warps})"] if begins else []), *body,
                                              *([f"    SyncNamedBarrier({END}, {warps})"] if ends else [])])


def _group(writer: Writer, begin: int, end: int, lines: Sequence[str]) -> None:
    writer.line(f"with warps({begin}, {end}):")
    writer.lines += [f"    {each}" for each in lines or ["    pass"]]
    writer.forget_line()


def _captured(writer: Writer, body) -> list[str]:  # type: ignore[no-untyped-def]
    """The lines that `body` writes."""
    kept, writer.lines = writer.lines, []
    writer.forget_line()
    try:
        body()
        return writer.lines
    finally:
        writer.lines = kept
        writer.forget_line()


def _first_warps(writer: Writer, operations: Sequence[Operation]) -> list[str]:
    """Writes the scalars, and gives the lines of what the first warps do alone."""
    alone: list[str] = []
    names: set[str] = set()
    for operation in operations:
        lines = _captured(writer, lambda operation=operation: lower_all(writer, [operation]))  # type: ignore[misc]
        code = [each for each in lines if not each.lstrip().startswith("#")]
        values = [writer.environment[name] for name in operation.results if name in writer.environment]
        uses = {name for each in code for name in NAME.findall(each)}
        if not operation.regions and not uses & names and all(_is_scalar(each) for each in values) and operation.results:
            writer.lines += lines
            continue
        alone += lines
        names |= {found[1] for each in code if (found := re.match(r"\s*(\w+) = ", each))}
    writer.alone = names
    return alone if any(not each.lstrip().startswith("#") for each in alone) else []


def _is_scalar(value: Value) -> bool:
    if value.kind == "pointer":
        return value.offset is None or value.offset.kind in ("scalar", "splat")
    return value.kind in ("scalar", "splat", "memory", "token", "descriptor")


class Partitions:
    """The other groups of warps: those whose regions do something."""

    def __init__(self, writer: Writer, specialize: Operation) -> None:
        holder = specialize.regions[1][0].operations[0]
        starts = specialize.integers("warpGroupStartIds")
        counts = specialize.integers("partitionNumWarps")
        captured = holder.operands or specialize.operands
        self.found: list[tuple[int, int, Block]] = []
        for first, count, region in zip(starts, counts, holder.regions):
            block = region[0]
            if len(region) != 1:
                raise NotImported("a partition of warps with branches between blocks", "", holder.origin, holder.name)
            if all(each.name in ("ttg.warp_return", "arith.constant") for each in block.operations):
                continue
            for (name, _, _), value in zip(block.arguments, captured):
                writer.environment[name] = _shared_by_groups(writer, writer.get(value))
            self.found.append((first, count, block))

    @property
    def warps(self) -> list[int]:
        return [count for _, count, _ in self.found]

    def written(self, writer: Writer) -> list[tuple[int, int, list[str]]]:
        made = []
        threads = writer.threads
        for first, count, block in self.found:
            writer.threads = 32 * count
            made.append((first, count, _captured(writer, lambda: lower_all(writer, block.operations[:-1]))))
        writer.threads = threads
        return made


def _shared_by_groups(writer: Writer, value: Value) -> Value:
    if not _is_scalar(value) or writer.alone & set(NAME.findall(value.text)):
        raise NotImported("a value of the first warps that another partition uses",
                          "compute it in the partition, or pass it through shared memory")
    return value


@lowers("ttg.warp_specialize")
def nested(writer: Writer, operation: Operation) -> None:
    raise NotImported("warp_specialize in a loop or a branch", "specialise where the kernel begins, with loops in the partitions")


@lowers("ttg.warp_yield", "ttg.warp_return", "ttg.warp_specialize.partitions")
def end_of_partition(writer: Writer, operation: Operation) -> None:
    del writer, operation
