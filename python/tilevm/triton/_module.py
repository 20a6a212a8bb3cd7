"""A module of Triton as a text of its own: the generic form, with barriers in it, and before it lines of JSON with what
the generic form does not say. _expand.py writes it, with Triton; everything else reads it, without."""

from __future__ import annotations

import json
import re
from collections import Counter
from math import prod
from typing import Optional

from . import _barriers, _mlir
from ._errors import NotImported
from ._layouts import Layout
from ._values import MOST_DIMENSIONS, extents_of

MARK = "// tilevm: "
# Operations that give a part of shared memory, or another view of it.
PARTS = {"ttg.memdesc_index", "ttg.memdesc_subslice", "ttg.memdesc_subview", "ttg.memdesc_trans", "ttg.memdesc_reshape",
         "ttg.memdesc_reinterpret"}


class Module:
    """A module as it is lowered. NotImported: it is for no NVIDIA GPU, or has more than one block in a cluster."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._read(text)
        except (AttributeError, IndexError, KeyError, SyntaxError, TypeError, ValueError) as error:
            raise NotImported(f"a module that cannot be read ({error})") from None

    def _read(self, text: str) -> None:
        facts = [json.loads(line[len(MARK):]) for line in text.split("\n") if line.startswith(MARK)]
        head = next((each for each in facts if "triton" in each), None)
        if head is None:
            raise NotImported("a text that is not a module of tilevm.triton", "give a .ttgir file or FILE.py:kernel")
        self.version = tuple(int(n) for n in re.findall(r"\d+", head["triton"])[:2])
        self.version_text: str = head["triton"]
        self.capability: int = head["capability"]
        self.fusion: bool = head["fusion"]
        self.has_barriers: bool = head["barriers"]
        self.parameters: list[str] = head.get("parameters", [])
        self._bases = {each["type"]: each["bases"] for each in facts if "bases" in each}
        self._layouts: dict[str, Layout] = {}
        self._sources = {(each["file"], each["line"]): each["source"] for each in facts if "source" in each}
        self.root = _mlir.read(text)
        operations = list(self.root.walk())
        self.functions = {each.attributes["sym_name"].strip('"'): each for each in operations if each.name == "tt.func"}
        if not self.has_barriers:
            _barriers.place(self.root, self.version >= (3, 8))
        self._blocks = {name: block for each in operations for region in each.regions for block in region
                        for name in block.defines()}
        self.makers = {name: each for each in operations for name in each.results}
        self.uses = Counter(name for each in operations for name in each.operands)
        self.arrivals = self._arrivals(operations)
        self.as_tf32 = self._multiplied_as_tf32(operations)
        self.used = {name for each in operations for name in each.operands}
        self.products = {name for each in operations if each.name == "arith.mulf" for name in each.results}
        self.threads = 32 * self.root.integer("ttg.num-warps")
        specialized = any(each.name == "ttg.warp_specialize" for each in operations)
        self.all_threads = 32 * self.root.integer("ttg.total-num-warps") if specialized else self.threads
        if int(self.root.attributes.get("ttg.num-ctas", "1 : i32").split(":")[0]) != 1:
            raise NotImported("a cluster of several blocks (num_ctas > 1)", "compile with num_ctas=1")

    def _arrivals(self, operations: list[_mlir.Operation]) -> dict[str, int]:
        """Allocations that are barriers, and how many arrivals a phase of one takes."""
        found: dict[str, int] = {}
        for each in operations:
            if each.name != "ttng.init_barrier":
                continue
            name, count = self.allocation_of(each.operands[0]), each.integer("count")
            if found.setdefault(name, count) != count:
                raise NotImported(f"barriers of {found[name]} and of {count} arrivals in one allocation",
                                  "allocate those of each count apart", each.origin, each.name)
        return found

    def is_chosen_after_load(self, name: str) -> bool:
        """Whether every load of what a copy wrote is followed by a choice between the element and another value, so that
        what masked elements have in shared memory does not matter."""
        own = self.makers[self.allocation_of(name)]
        kind = re.sub(r"^!ttg\.memdesc<\d+x", "!ttg.memdesc<", own.types_out[0])
        loads = [each for each in self.root.walk() if each.name == "ttg.local_load" and each.types_in[0] == kind]
        users = [each for each in self.root.walk() if any(load.results[0] in each.operands for load in loads)]
        return bool(loads) and all(each.name == "arith.select" and each.operands[0] not in
                                   {load.results[0] for load in loads} for each in users)

    def _multiplied_as_tf32(self, operations: list[_mlir.Operation]) -> set[str]:
        """Allocations of f32 that a product of warp groups reads as tf32."""
        return {self.allocation_of(name) for each in operations if each.name == "ttng.warp_group_dot"
                for name, text in zip(each.operands[:2], each.types_in) if re.match(r"!ttg\.memdesc<(\d+x)+f32,", text)}

    def block_of(self, name: str) -> Optional[_mlir.Block]:
        """The block that defines a value, as an argument or by an operation."""
        return self._blocks.get(name)

    def allocation_of(self, name: str) -> str:
        """The allocation of which a value is a part, as far as operations and not arguments say."""
        while (made := self.makers.get(name)) is not None and made.name in PARTS:
            name = made.operands[0]
        return name

    @property
    def kernel(self) -> _mlir.Operation:
        """The function that is launched."""
        public = [each for each in self.functions.values() if "public" in each.attributes.get("sym_visibility", "public")]
        if len(public) != 1:
            raise NotImported(f"a module of {len(public)} kernels")
        return public[0]

    @property
    def sums_are_trees(self) -> bool:
        """Whether a thread combines its own elements as a tree: until Triton 3.7 it did so one after another."""
        return self.version >= (3, 8)

    @property
    def target(self) -> str:
        return {90: "sm_90a", 100: "sm_100a", 103: "sm_100a"}.get(self.capability, f"sm_{self.capability}")

    def layout(self, type_: str) -> Layout:
        """The layout of a tensor's type."""
        if type_ not in self._layouts:
            shape = extents_of(type_)
            key = layout_key(type_)
            if key not in self._bases:
                raise NotImported(f"a tensor of the type {type_[:120]}, whose layout the module does not give")
            registers, lanes, warps = self._bases[key]
            layout = Layout.of_bases(shape, registers, [*lanes, *warps])
            flat = len(shape) > MOST_DIMENSIONS
            self._layouts[type_] = layout.reshape([prod(shape)]) if flat else layout
        return self._layouts[type_]

    def source_line(self, origin: _mlir.Origin) -> Optional[str]:
        """The text of a line of the user's source."""
        return self._sources.get((origin.file, origin.line))


def layout_key(type_: str) -> str:
    """A tensor's type without its element type, which no register layout depends on."""
    found = re.match(r"tensor<((?:\d+x)+)(?:!tt\.ptr<[\w.]+(?:,\d+)?>|\w+),(#.*)>$", type_.replace(" ", ""))
    return f"{found[1]}{found[2]}" if found else type_
