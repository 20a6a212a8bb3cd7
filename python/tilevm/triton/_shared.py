"""Shared memory, asynchronous copies and barriers."""

from __future__ import annotations

import re
from math import prod
from typing import Optional

from ._errors import NotImported
from ._layouts import Layout, memory_layout
from ._mlir import Operation
from ._pointers import index_of
from ._values import TOKEN, Memory, Value, element_of, type_of
from ._writer import Writer, lowers


def descriptor(text: str) -> tuple[tuple[int, ...], str, str]:
    """The shape, the element type and the encoding of `!ttg.memdesc<..>`."""
    found = re.match(r"!ttg\.memdesc<((?:\d+x)+)(\w+),(#.*)>$", text)
    if not found:
        raise NotImported(f"shared memory of the type {text[:60]}")
    return tuple(int(n) for n in found[1].split("x")[:-1]), element_of(found[2]), found[3]


def memory_of(value: Value) -> Memory:
    if value.memory is None:
        raise NotImported("shared memory that is not an allocation of this kernel")
    return value.memory


@lowers("ttg.local_alloc")
def allocate(writer: Writer, operation: Operation) -> None:
    shape, element, encoding = descriptor(operation.types_out[0])
    name = writer.fresh()
    if (arrivals := writer.module.arrivals.get(operation.results[0])) is not None:
        stages = prod(shape)
        writer.shared.append(f"{name} = AllocateBarrier(arrivals={arrivals}{f', stages={stages}' if stages > 1 else ''})")
        return writer.set(operation, Value("memory", memory=Memory(name, "barrier", shape)))
    if operation.results[0] in writer.module.as_tf32:
        element = "tf32"
    writer.shared.append(f"{name} = AllocateShared({element}, shape={list(shape)}, layout={memory_layout(shape, encoding)})")
    writer.set(operation, Value("memory", memory=Memory(name, element, shape)))
    if operation.operands:
        store_tile(writer, writer.operands(operation)[0], operation.types_in[0], Memory(name, element, shape))


def store_tile(writer: Writer, value: Value, text: str, memory: Memory) -> None:
    tile = writer.tile(value, writer.layout_of(type_of(text)))
    if memory.order:
        assert tile.layout is not None
        inverse = [memory.order.index(d) for d in range(len(memory.order))]
        layout = tile.layout.permute(inverse)
        tile = writer.define(f"View({tile.text}, layout={writer.layout(layout)})", tile.element, layout.shape, layout)
    text = f"View({tile.text}, dtype=tf32)" if memory.element == "tf32" else tile.text
    writer.line(f"StoreShared({text}, {memory.name}, offset={memory.offset()})")


@lowers("ttg.local_dealloc")
def deallocate(writer: Writer, operation: Operation) -> None:
    del writer, operation


@lowers("ttg.memdesc_index")
def index(writer: Writer, operation: Operation) -> None:
    value, place = writer.operands(operation)
    memory = memory_of(value)
    if memory.begin is not None or memory.order is not None:
        raise NotImported("an index into a part of shared memory", "index the whole allocation first")
    writer.set(operation, Value("memory", memory=memory._replace(at=(*memory.at, writer.native(place).text),
                                                                 shape=memory.shape[1:])))


@lowers("ttg.memdesc_subslice", "ttg.memdesc_subview")
def subslice(writer: Writer, operation: Operation) -> None:
    memory = memory_of(writer.operands(operation)[0])
    shape = descriptor(re.sub(r"(,mutable)?,\d+(x\d+)*>$", r"\1>", operation.types_out[0]))[0]
    if operation.name == "ttg.memdesc_subview":
        raise NotImported("a part of shared memory whose place is data", "use Triton 3.7 or later")
    offsets = operation.integers("offsets")
    if memory.order is not None:
        offsets = [offsets[memory.order.index(d)] for d in range(len(offsets))]
    begin = tuple(a + b for a, b in zip(memory.begin or (0,) * len(offsets), offsets))
    writer.set(operation, Value("memory", memory=memory._replace(begin=begin, shape=shape)))


@lowers("ttg.memdesc_trans")
def transpose(writer: Writer, operation: Operation) -> None:
    memory = memory_of(writer.operands(operation)[0])
    order = operation.integers("order")
    before = memory.order or tuple(range(len(order)))
    writer.set(operation, Value("memory", memory=memory._replace(
        order=tuple(before[d] for d in order), shape=tuple(memory.shape[d] for d in order))))


@lowers("ttg.local_load")
def load(writer: Writer, operation: Operation) -> None:
    type_ = type_of(operation.types_out[0])
    writer.set(operation, load_tile(writer, memory_of(writer.operands(operation)[0]), writer.layout_of(type_), type_.element))


def load_tile(writer: Writer, memory: Memory, layout: Layout, element: str, hint: str = "") -> Value:
    """A part of shared memory as a tile."""
    def loaded(stored: Layout) -> str:
        text = f"LoadShared({memory.name}, layout={writer.layout(stored)}, offset={memory.offset()})"
        return f"View({text}, dtype={element})" if memory.element == "tf32" and element != "tf32" else text

    if not memory.order:
        return writer.define(loaded(layout), element, layout.shape, layout, hint)
    # Dimension d of the tile is dimension order[d] of memory.
    inverse = [memory.order.index(d) for d in range(len(memory.order))]
    text = loaded(layout.permute(inverse))
    return writer.define(f"View({text}, layout={writer.layout(layout)})", element, layout.shape, layout, hint)


@lowers("ttg.local_store")
def store(writer: Writer, operation: Operation) -> None:
    value, target = writer.operands(operation)
    store_tile(writer, value, operation.types_in[0], memory_of(target))


@lowers("ttg.async_copy_global_to_local")
def copy(writer: Writer, operation: Operation) -> None:
    values = writer.operands(operation)
    segments = operation.integers("operandSegmentSizes")
    where, memory = values[0], memory_of(values[1])
    mask = values[2] if segments[2] else None
    other: Optional[Value] = values[2 + segments[2]] if len(segments) > 3 and segments[3] else None
    zero = other is None or other.literal and other.text in ("0", "0.0", "false")
    if not zero and not writer.module.is_chosen_after_load(operation.operands[1]):
        raise NotImported("an asynchronous copy whose `other` is not zero", "load with other=0 and choose with tl.where")
    layout = writer.layout_of(type_of(operation.types_in[0]))
    index_ = index_of(writer, where, mask, layout)
    if memory.element == "tf32":
        writer.view(where.base, "f32")  # the argument's own type is what launches and readers go by
    view = writer.view(where.base, memory.element)
    writer.line(f"CopyAsync({memory.name}, {view}, shared_offset={memory.offset()}, index={index_.text}, dim=0)")
    writer.set(operation, TOKEN)


@lowers("ttg.async_commit_group")
def commit(writer: Writer, operation: Operation) -> None:
    writer.line("CopyAsyncCommitGroup()")
    writer.set(operation, TOKEN)


@lowers("ttg.async_wait")
def wait(writer: Writer, operation: Operation) -> None:
    writer.line(f"CopyAsyncWaitGroup({operation.integer('num')})")
    writer.set(operation, TOKEN)


@lowers("ttg.barrier", "gpu.barrier", "ttg.local_barrier", "nvvm.barrier0")
def barrier(writer: Writer, operation: Operation) -> None:
    writer.line("Synchronize()")


@lowers("ttng.fence_async_shared")
def fence(writer: Writer, operation: Operation) -> None:
    del operation
    writer.line("FenceProxy()")
