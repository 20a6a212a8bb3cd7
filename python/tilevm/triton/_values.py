"""What a value of TTGIR is in the program that is written."""

from __future__ import annotations

import re
from math import prod
from typing import NamedTuple, Optional

from ._errors import NotImported
from ._layouts import Layout

# Element types by their names in MLIR.
TYPES = {"f64": "f64", "f32": "f32", "f16": "f16", "bf16": "bf16", "f8E4M3FN": "f8e4m3", "f8E5M2": "f8e5m2",
         "f8E8M0FNU": "f8e8m0", "i1": "u1", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64"}
UNSIGNED = {"u1": "u1", "i8": "u8", "i16": "u16", "i32": "u32", "i64": "u64"}
BITS = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16, "f8e4m3": 8, "f8e5m2": 8, "f8e8m0": 8, "u1": 1, "i8": 8, "i16": 16,
        "i32": 32, "i64": 64}
# Types of which the language has scalars: what Triton calls i1 is a bool there.
NATIVE = {"i32", "i64", "f32", "u1"}


class Type(NamedTuple):
    """The type of a value: `shape` is None for a scalar; `element` is the language's name, or that of the pointee."""

    element: str
    shape: Optional[tuple[int, ...]]
    pointer: bool
    text: str


MOST_DIMENSIONS = 8  # of a tile of the language


def extents_of(text: str) -> tuple[int, ...]:
    """The extents of a tensor's type, however many there are."""
    found = re.match(r"tensor<((?:\d+x)*)", text)
    return tuple(int(n) for n in found[1].split("x")[:-1]) if found else ()


def element_of(text: str) -> str:
    if text not in TYPES:
        raise NotImported(f"the type {text}")
    return TYPES[text]


def type_of(text: str) -> Type:
    """Reads `f32`, `!tt.ptr<f32>`, `tensor<128x64xf32,#..>` or `tensor<4x!tt.ptr<f32>,#..>`.

    A tensor of more dimensions than a tile has, such as the cubes of tl.sort, is one of a single dimension here.
    """
    tensor = re.match(r"tensor<((?:\d+x)*)(!tt\.ptr<[\w.]+(?:,\d+)?>|\w+)(?:,#.*)?>$", text)
    shape = extents_of(text) if tensor else None
    if shape is not None and len(shape) > MOST_DIMENSIONS:
        shape = (prod(shape),)
    inner = tensor[2] if tensor else text
    pointer = re.match(r"!tt\.ptr<(\w+)", inner)
    if not tensor and not pointer and inner not in TYPES:
        return Type(inner, None, False, text)  # a token, a descriptor: nothing that computes
    return Type(element_of(pointer[1] if pointer else inner), shape, bool(pointer), text)


class Memory(NamedTuple):
    """A part of a shared tensor: `at` fixes its first dimensions, `begin` is where the part begins in the others,
    `order` permutes them."""

    name: str
    element: str
    shape: tuple[int, ...]
    at: tuple[str, ...] = ()
    begin: Optional[tuple[int, ...]] = None
    order: Optional[tuple[int, ...]] = None

    def offset(self) -> str:
        begin = self.begin or (0,) * len(self.shape)
        return "[" + ", ".join([*self.at, *(f"{each}:" for each in begin)]) + "]"

    def stored_offset(self) -> str:
        """As offset(), of a matrix that products read whole."""
        if self.begin and any(self.begin):
            raise NotImported("a part of a matrix in shared memory as an operand of an asynchronous product",
                              "index whole stages of the allocation")
        return self.offset()


class Descriptor(NamedTuple):
    """A view `name` and the extents of the boxes that are copied."""

    name: str
    element: str
    box: tuple[int, ...]
    fill_nan: bool = False
    made: str = ""  # how the view is made, but for its element type


class Value:
    """A value.

    kind      what `text` is
    scalar    an expression of the language, the same in all threads
    tile      a variable with a tile of `layout`
    splat     a scalar, or a literal, that counts as a tile of `shape`
    spread    a variable with a tile of fewer elements that broadcasts to `shape`; `small` is its shape
    pointer   nothing: `base` is a parameter, `offset` a value that counts elements, None for zero
    memory    nothing: `memory` is a part of a shared tensor, or a barrier
    descriptor  a view of which launches make tensor maps; `map` has its boxes
    token     nothing
    """

    def __init__(self, kind: str, text: str = "", element: str = "", shape: Optional[tuple[int, ...]] = None,
                 layout: Optional[Layout] = None, *, small: Optional[Value] = None, base: str = "",
                 offset: Optional[Value] = None, memory: Optional[Memory] = None, literal: bool = False,
                 map: Optional[Descriptor] = None) -> None:
        self.kind, self.text, self.element, self.shape, self.layout = kind, text, element, shape, layout
        self.small, self.base, self.offset, self.memory, self.literal = small, base, offset, memory, literal
        self.map = map

    def __repr__(self) -> str:
        return f"<{self.kind} {self.text} {self.element} {self.shape}>"


TOKEN = Value("token")
