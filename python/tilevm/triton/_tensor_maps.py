"""Descriptors, copies by tensor maps, and the barriers that count them (sm_90).

A descriptor is a view of which each launch makes a tensor map. One that is an argument comes as a pointer, extents and
strides; one that the kernel makes must be of its arguments, since the map exists before the kernel begins.
"""

from __future__ import annotations

import re
from math import prod
from typing import Optional, Sequence

from ._errors import NotImported
from ._mlir import Operation
from ._shared import descriptor, memory_of
from ._values import BITS, TOKEN, Descriptor, Memory, Value, element_of
from ._writer import Writer, lowers


def box_of(text: str) -> tuple[tuple[int, ...], str]:
    """The extents and the element type of `!tt.tensordesc<..>`, in the forms of several versions."""
    found = re.match(r"!tt\.tensordesc<(?:tensor<)?((?:\d+x)+)(\w+)", text)
    if not found:
        raise NotImported(f"a descriptor of the type {text[:60]}")
    return tuple(int(n) for n in found[1].split("x")[:-1]), element_of(found[2])


def view_of_argument(writer: Writer, text: str, base: str, extents: Sequence[str], strides: Sequence[str]) -> Value:
    """The descriptor that an argument is."""
    box, element = box_of(text)
    return _view(writer, base, element, box, extents, strides[:-1], False)


def _view(writer: Writer, base: str, element: str, box: tuple[int, ...], extents: Sequence[str], strides: Sequence[str],
          fill_nan: bool) -> Value:
    name = writer.fresh(f"map_{base}")
    made = f"shape=[{', '.join(extents)}], layout=strides({', '.join([*strides, '1'])}))"
    writer.maps.append(f"{name} = ViewGlobal({base}, dtype={element}, {made}")
    return Value("descriptor", name, element, box, map=Descriptor(name, element, box, fill_nan, f"ViewGlobal({base}, dtype=@, {made}"))


def map_of(value: Value) -> Descriptor:
    if value.map is None:
        raise NotImported("a tensor descriptor that is data", "make it once, of the kernel's arguments")
    return value.map


# A descriptor that the kernel makes.

@lowers("ttg.global_scratch_alloc")
def scratch(writer: Writer, operation: Operation) -> None:
    writer.set(operation, TOKEN)


@lowers("ttng.tensormap_create")
def create(writer: Writer, operation: Operation) -> None:
    """The map's numbers begin with the innermost dimension; strides are in bytes."""
    counts = operation.integers("operandSegmentSizes")
    names = iter(operation.operands)
    place, base, box, extents, strides, _ = ([next(names) for _ in range(count)] for count in counts[:6])
    pointer = writer.get(base[0])
    if pointer.kind != "pointer" or pointer.offset is not None:
        raise NotImported("a descriptor of memory that does not begin where an argument does",
                          "pass the part as an argument of its own, and keep offsets for the loads")
    bits = BITS[pointer.element]
    formula = Formula(writer)
    sizes = tuple(int(formula.text(name)) for name in reversed(box))
    steps = [formula.quotient(name, max(1, bits // 8)) for name in reversed(strides)]
    made = _view(writer, pointer.base, pointer.element, sizes, [formula.text(name) for name in reversed(extents)], steps,
                 operation.integer("fill_mode") == 1)
    writer.environment[place[0]] = made


@lowers("ttng.reinterpret_tensor_descriptor")
def reinterpret(writer: Writer, operation: Operation) -> None:
    writer.set(operation, writer.operands(operation)[0])


@lowers("ttng.tensormap_fenceproxy_acquire")
def acquire(writer: Writer, operation: Operation) -> None:
    del writer, operation


class Formula:
    """Integers as expressions of the kernel's arguments, which is all that a launch knows."""

    OPERATORS = {"arith.addi": "+", "arith.subi": "-", "arith.muli": "*", "arith.divsi": "/"}

    def __init__(self, writer: Writer) -> None:
        self.writer = writer

    def text(self, name: str, depth: int = 0) -> str:
        made = self.writer.module.makers.get(name)
        if made is None:
            value = self.writer.get(name)
            if value.kind == "scalar" and value.text in self.writer.parameters:
                return value.text
        elif made.name == "arith.constant":
            return str(int(made.attributes["value"].split(":")[0]))
        elif made.name in ("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast"):
            return self.text(made.operands[0], depth)
        elif made.name == "tt.get_num_programs":
            return f"grid_{'xyz'[made.integer('axis')]}"
        elif made.name in self.OPERATORS and depth < 20:
            a, b = (self.text(each, depth + 1) for each in made.operands)
            return f"({a} {self.OPERATORS[made.name]} {b})"
        raise NotImported("a descriptor whose extents or strides are computed",
                          "make descriptors of the kernel's arguments, or compile for sm_80, where they become pointers")

    def quotient(self, name: str, divisor: int) -> str:
        """A number of bytes as one of elements."""
        made = self.writer.module.makers.get(name)
        while made is not None and made.name in ("arith.extsi", "arith.trunci"):
            name, made = made.operands[0], self.writer.module.makers.get(made.operands[0])
        if made is not None and made.name == "arith.muli" and self._is(made.operands[1], divisor):
            return self.text(made.operands[0])
        return self.text(name) if divisor == 1 else f"({self.text(name)} / {divisor})"

    def _is(self, name: str, number: int) -> bool:
        made = self.writer.module.makers.get(name)
        return made is not None and made.name == "arith.constant" and made.attributes["value"].split(":")[0].strip() == str(number)


# Copies.

def _offset(writer: Writer, map_: Descriptor, coordinates: Sequence[Value], rank: int) -> str:
    """Where a box begins in the view. A tile of fewer dimensions is without those of extent 1."""
    missing = len(map_.box) - rank
    entries = []
    for extent, value in zip(map_.box, coordinates):
        fixed = missing > 0 and extent == 1
        missing -= fixed
        entries.append(f"{writer.native(value).text}{'' if fixed else ':'}")
    if missing:
        raise NotImported(f"a copy of boxes of {list(map_.box)} to a tile of {rank} dimensions")
    return "[" + ", ".join(entries) + "]"


def _as_element(writer: Writer, map_: Descriptor, element: str) -> Descriptor:
    """The descriptor of a memory whose elements are taken as another type of the same width."""
    line = f"{map_.name}_{element} = {map_.made.replace('@', element)}"
    if line not in writer.maps:
        writer.maps.append(line)
    return map_._replace(name=f"{map_.name}_{element}", element=element)


@lowers("ttng.async_tma_copy_global_to_local")
def load(writer: Writer, operation: Operation) -> None:
    counts = operation.integers("operandSegmentSizes")
    values = iter(writer.operands(operation))
    parts = [[next(values) for _ in range(count)] for count in counts]
    if len(counts) == 5:  # before there were image patches
        counts, parts = [*counts[:2], 0, *counts[2:]], [*parts[:2], [], *parts[2:]]
    if counts[2] or "multicast" in operation.attributes and operation.attributes["multicast"] not in ("false", "unit"):
        raise NotImported("a copy of image patches or to several blocks", "copy boxes to one block")
    map_, memory = map_of(parts[0][0]), memory_of(parts[4][0])
    if memory.element != map_.element:
        map_ = _as_element(writer, map_, memory.element)
    offset = _offset(writer, map_, parts[1], len(memory.shape))
    nan = ", fill_nan=true" if map_.fill_nan else ""
    writer.one_thread(parts[5][0], [
        f"CopyAsyncTensorGlobalToShared({memory.name}, {map_.name}, {barrier_of(writer, parts[3][0])}, offset={offset}, "
        f"shared_offset={memory.offset()}{nan})"])


@lowers("ttng.async_tma_copy_local_to_global")
def store(writer: Writer, operation: Operation) -> None:
    values = writer.operands(operation)
    map_, memory = map_of(values[0]), memory_of(values[-1])
    offset = _offset(writer, map_, values[1:-1], len(memory.shape))
    writer.one_thread(None, [
        f"CopyAsyncTensorSharedToGlobal({map_.name}, {memory.name}, offset={offset}, shared_offset={memory.offset()})",
        "CopyAsyncTensorCommitGroup()"])
    if operation.results:
        writer.set(operation, TOKEN)


@lowers("ttng.async_tma_store_wait", "ttng.async_tma_store_token_wait")
def store_wait(writer: Writer, operation: Operation) -> None:
    """Until 3.8 every such wait is for the reading of sources alone."""
    reads = writer.module.version < (3, 9) or "read_only" in operation.attributes
    pending = operation.integer("pendings") if "pendings" in operation.attributes else 0
    writer.one_thread(None, [f"CopyAsyncTensorWaitGroup({pending}{', read=true' if reads else ''})"])


@lowers("ttng.async_tma_reduce", "ttng.async_tma_gather", "ttng.async_tma_scatter")
def other_copy(writer: Writer, operation: Operation) -> None:
    raise NotImported("a copy by a tensor map that combines, gathers or scatters", "compile for sm_80, or use tl.load and tl.store")


# Barriers.

def barrier_of(writer: Writer, value: Value) -> str:
    """A barrier as operands: its name, and the stage where it has several."""
    memory = memory_of(value)
    if memory.element != "barrier":
        raise NotImported("a barrier that the kernel does not initialise")
    if prod(memory.shape) != 1 or len(memory.at) > 1:
        raise NotImported(f"a barrier of the shape {list(memory.shape)}", "index it to one stage")
    return f"{memory.name}, stage={memory.at[0]}" if memory.at else memory.name


class Parities:
    """The parities of a barrier that a loop initialises again and again.

    AllocateBarrier initialises once, so the first phase after an initialisation has the parity of the phases before.
    `now` are variables of that parity, one a stage, `last` what it was at the last initialisation. A phase takes one
    arrival, so every arrival changes it.
    """

    def __init__(self, writer: Writer, name: str, stages: int) -> None:
        self.writer = writer
        self.now = [writer.fresh(f"{name}_now") for _ in range(stages)]
        self.last = [writer.fresh(f"{name}_last") for _ in range(stages)]
        writer.shared += [f"{each} = 0" for each in [*self.now, *self.last]]

    def initialised(self, stage: int) -> None:
        self.writer.line(f"{self.last[stage]} = {self.now[stage]}")

    def arrived(self, stage: str) -> list[str]:
        if stage.isdigit():
            return [f"{self.now[int(stage)]} = 1 - {self.now[int(stage)]}"]
        return [f"{each} = 1 - {each} if {stage} == {k} else {each}" for k, each in enumerate(self.now)]

    def parity(self, phase: str, stage: str) -> str:
        if stage.isdigit():
            return f"({phase}) + {self.last[int(stage)]}"
        chosen = self.last[-1]
        for k in range(len(self.last) - 2, -1, -1):
            chosen = f"({self.last[k]} if {stage} == {k} else {chosen})"
        return f"({phase}) + {chosen}"


def parities_of(writer: Writer, memory: Memory) -> Optional[Parities]:
    return writer.parities.get(memory.name)


@lowers("ttng.init_barrier", "ttng.inval_barrier")
def initialise(writer: Writer, operation: Operation) -> None:
    """AllocateBarrier initialises all stages where the kernel begins."""
    memory = memory_of(writer.operands(operation)[0])
    if operation.name == "ttng.inval_barrier" or not writer.loops:
        return
    allocation = writer.module.allocation_of(operation.operands[0])
    if writer.module.arrivals[allocation] != 1 or memory.at and not memory.at[0].isdigit():
        raise NotImported("a barrier of several arrivals that is initialised in a loop", "initialise it once, outside of loops")
    if memory.name not in writer.parities:
        stages = descriptor(writer.module.makers[allocation].types_out[0])[0][0]
        writer.parities[memory.name] = Parities(writer, memory.name, stages if memory.at else 1)
    writer.parities[memory.name].initialised(int(memory.at[0]) if memory.at else 0)


def _count_arrival(writer: Writer, value: Value, condition: Optional[Value]) -> None:
    memory = memory_of(value)
    if (found := parities_of(writer, memory)) is not None:
        writer.under(condition, found.arrived(memory.at[0] if memory.at else "0"))


@lowers("ttng.barrier_expect")
def expect(writer: Writer, operation: Operation) -> None:
    """One thread arrives for its group, which has synchronized from 3.8 on."""
    values = writer.operands(operation)
    if writer.module.version >= (3, 8):
        writer.barrier()
    name, _, stage = barrier_of(writer, values[0]).partition(", ")
    writer.one_thread(values[1], [f"ArriveExpect({name}, bytes={operation.integer('size')}{', ' + stage if stage else ''})"])
    _count_arrival(writer, values[0], values[1])


@lowers("ttng.arrive_barrier")
def arrive(writer: Writer, operation: Operation) -> None:
    values = writer.operands(operation)
    count = operation.integer("count") if "count" in operation.attributes else 1
    name = barrier_of(writer, values[0])
    pred = values[1] if len(values) > 1 else None
    if "perThread" in operation.attributes and operation.attributes["perThread"] != "false":
        return writer.under(pred, [f"Arrive({name})"])
    writer.barrier()
    writer.one_thread(pred, [f"Arrive({name})"] * count)
    _count_arrival(writer, values[0], pred)


@lowers("ttng.wait_barrier")
def wait(writer: Writer, operation: Operation) -> None:
    values = writer.operands(operation)
    counts = operation.integers("operandSegmentSizes") if "operandSegmentSizes" in operation.attributes else [1, 1, 0, 0]
    name, _, stage = barrier_of(writer, values[0]).partition(", ")
    pred = values[2] if counts[2] else None
    parity, memory = writer.native(values[1]).text, memory_of(values[0])
    if (found := parities_of(writer, memory)) is not None:
        parity = found.parity(parity, memory.at[0] if memory.at else "0")
    writer.under(pred, [f"WaitBarrier({name}, parity={parity}{', ' + stage if stage else ''})"])


@lowers("ttng.async_copy_mbarrier_arrive")
def copies_arrive(writer: Writer, operation: Operation) -> None:
    raise NotImported("an arrival of cp.async copies at a barrier", "wait for the copies by wait_group, then arrive")
