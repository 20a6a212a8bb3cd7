"""Layouts: which bit of a thread's number or of a register's number is which bit of which index.

Triton gives every register layout as bases over GF(2). Each basis that occurs is one bit of one dimension, or none (a
replica), so a layout is two lists of digits, and the language's `layout(..)` says it in full.
"""

from __future__ import annotations

import re
from math import prod
from typing import Callable, NamedTuple, Optional, Sequence

from ._errors import NotImported


class Digit(NamedTuple):
    """A bit of an index; bit 0 is the least significant."""

    dim: int
    bit: int


def log2(n: int) -> int:
    if n <= 0 or n & (n - 1):
        raise NotImported(f"an extent of {n}, which is not a power of two")
    return n.bit_length() - 1


class Layout:
    """A register layout. `registers` and `threads` begin with their least significant bit; None is a replica."""

    def __init__(self, shape: Sequence[int], registers: Sequence[Digit], threads: Sequence[Optional[Digit]]) -> None:
        self.shape = tuple(shape)
        self.registers = tuple(registers)
        self.threads = tuple(threads)
        self.key = (self.shape, self.registers, self.threads)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @classmethod
    def of_bases(cls, shape: Sequence[int], registers: Sequence[Sequence[int]],
                 threads: Sequence[Sequence[int]]) -> Layout:
        """From bases; copies of an element in other registers are left out."""
        seen: set[Digit] = set()

        def digit(basis: Sequence[int]) -> Optional[Digit]:
            parts = [(d, value) for d, value in enumerate(basis) if value]
            if not parts:
                return None
            if len(parts) > 1 or parts[0][1] & (parts[0][1] - 1):
                raise NotImported(f"a register layout with an exclusive or, of basis {list(basis)}",
                                  "use a layout whose bases are single bits: a blocked, slice, mma or dot operand layout")
            found = Digit(parts[0][0], log2(parts[0][1]))
            if found in seen:
                return None
            seen.add(found)
            return found

        own = [digit(basis) for basis in registers]
        layout = cls(shape, [each for each in own if each is not None], [digit(basis) for basis in threads])
        if len(seen) != sum(log2(n) for n in shape):
            raise NotImported("a register layout that does not cover its tensor")
        return layout

    @classmethod
    def scalar(cls, threads: int) -> Layout:
        """The layout of a tile without dimensions, which every thread holds."""
        return cls((), (), (None,) * log2(threads))

    # Other layouts of the same threads.

    def reshape(self, shape: Sequence[int]) -> Layout:
        """The elements by the row-major order of another shape."""
        if prod(shape) != prod(self.shape):
            raise NotImported(f"a reshape of {list(self.shape)} to {list(shape)}")
        where: list[Digit] = []
        for dim in range(len(shape) - 1, -1, -1):
            where += [Digit(dim, bit) for bit in range(log2(shape[dim]))]
        begin, total = {}, 0
        for dim in range(len(self.shape) - 1, -1, -1):
            begin[dim] = total
            total += log2(self.shape[dim])
        return self._renamed(shape, lambda digit: where[begin[digit.dim] + digit.bit])

    def permute(self, order: Sequence[int]) -> Layout:
        """Dimension d of the result is dimension order[d]."""
        new = {old: d for d, old in enumerate(order)}
        return self._renamed([self.shape[d] for d in order], lambda digit: Digit(new[digit.dim], digit.bit))

    def expand(self, dim: int) -> Layout:
        """With a dimension of extent 1 before `dim`."""
        return self.reshape([*self.shape[:dim], 1, *self.shape[dim:]])

    def reduce(self, dims: Sequence[int]) -> Layout:
        """Without dimensions: their threads become replicas, their registers vanish."""
        kept = [d for d in range(len(self.shape)) if d not in dims]
        new = {old: d for d, old in enumerate(kept)}
        return Layout([self.shape[d] for d in kept],
                      [Digit(new[each.dim], each.bit) for each in self.registers if each.dim not in dims],
                      [Digit(new[each.dim], each.bit) if each and each.dim not in dims else None for each in self.threads])

    def gathered(self, dim: int) -> Layout:
        """Each thread holds a whole dimension, as the most significant registers."""
        own = [each for each in self.registers if each.dim != dim]
        whole = [Digit(dim, bit) for bit in range(log2(self.shape[dim]))]
        return Layout(self.shape, own + whole, [None if each and each.dim == dim else each for each in self.threads])

    def _renamed(self, shape: Sequence[int], rename: Callable[[Digit], Digit]) -> Layout:
        return Layout(shape, [rename(each) for each in self.registers],
                      [rename(each) if each else None for each in self.threads])

    # Text.

    def text(self) -> str:
        """As the language writes it: `layout(shape, mode shape, spatial modes, local modes)`."""
        places = {digit: ("r", k) for k, digit in enumerate(self.registers)}
        places.update({digit: ("t", k) for k, digit in enumerate(self.threads) if digit})
        modes: list[list[Digit]] = []
        for dim, extent in enumerate(self.shape):
            for bit in range(log2(extent) - 1, -1, -1):
                digit = Digit(dim, bit)
                before = modes[-1][-1] if modes and modes[-1][-1].dim == dim else None
                kind, at = places[digit]
                if before is not None and places[before] == (kind, at + 1):
                    modes[-1].append(digit)
                else:
                    modes.append([digit])
        number = {mode[-1]: m for m, mode in enumerate(modes)}
        spatial: list[int] = []
        for held in reversed(self.threads):
            if held is None:
                if spatial and spatial[-1] < 0:
                    spatial[-1] *= 2
                else:
                    spatial.append(-2)
            elif held in number:
                spatial.append(number[held])
        local = [number[digit] for digit in reversed(self.registers) if digit in number]
        return f"layout({list(self.shape)}, {[1 << len(mode) for mode in modes]}, {spatial}, {local})"


def memory_layout(shape: Sequence[int], encoding: str) -> str:
    """The language's text of a shared encoding; empty for row-major order without a swizzle."""
    swizzled = re.search(r"#ttg\.swizzled_shared<\{vec=(\d+),perPhase=(\d+),maxPhase=(\d+),order=\[([\d,]+)\]", encoding)
    if swizzled:
        vec, per_phase, phases = (int(each) for each in swizzled.groups()[:3])
        return _swizzled(shape, vec, per_phase, phases, [int(each) for each in swizzled[4].split(",")])
    wide = re.search(r"#ttg\.nvmma_shared<\{swizzlingByteWidth=(\d+),transposed=(\w+),elementBitWidth=(\d+)", encoding)
    if wide:
        return _for_matrices(shape, int(wide[1]), wide[2] == "true", int(wide[3]))
    raise NotImported(f"shared memory with the encoding {encoding.split('<')[0]}",
                      "use a swizzled_shared or nvmma_shared encoding")


def _strides(shape: Sequence[int], order: Sequence[int]) -> list[int]:
    """A layout of the last dimensions by `order`, fastest first, and row-major before them."""
    lead = len(shape) - len(order)
    strides, step = [0] * len(shape), 1
    for dim in [lead + d for d in order] + list(range(lead - 1, -1, -1)):
        strides[dim] = step
        step *= shape[dim]
    return strides


def _swizzled(shape: Sequence[int], vec: int, per_phase: int, phases: int, order: Sequence[int]) -> str:
    strides = _strides(shape, order)
    text = f"memory_layout({list(shape)}, {list(shape)}, {strides})"
    if strides == _strides(shape, list(range(len(shape) - 1, -1, -1))):
        text = f"row_major({', '.join(map(str, shape))})"
    fast = shape[len(shape) - len(order) + order[0]]
    phases = min(phases, max(1, fast // vec))
    if phases > 1:
        text += f".swizzle({log2(vec)}, {log2(phases)}, {log2(fast) + log2(per_phase) - log2(vec)})"
    return text


def _for_matrices(shape: Sequence[int], width: int, transposed: bool, bits: int) -> str:
    if width == 0:
        raise NotImported("nvmma_shared memory without a swizzle", "choose a tile with rows of 32 bytes or more")
    if len(shape) < 2:
        raise NotImported("nvmma_shared memory of one dimension")
    lead = list(shape[:-2])
    rows, columns = (shape[-1], shape[-2]) if transposed else (shape[-2], shape[-1])
    inner = min(columns, width * 8 // bits)
    strides: list[int] = []
    step = rows * columns
    for extent in reversed(lead):
        strides.insert(0, step)
        step *= extent
    parts, steps = [rows, columns // inner, inner], [inner, rows * inner, 1]
    if transposed:
        parts, steps = parts[1:] + parts[:1], steps[1:] + steps[:1]
    return (f"memory_layout({list(shape)}, {lead + parts}, {strides + steps})"
            f".swizzle({4 - log2(bits // 8)}, {log2(width // 16)}, 3)")
