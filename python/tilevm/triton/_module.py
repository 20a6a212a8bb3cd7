"""A module of Triton as a text of its own: the generic form, with barriers in it, and before it lines of JSON with what
the generic form does not say. _expand.py writes it, with Triton; everything else reads it, without."""

from __future__ import annotations

import json
import re
from math import prod
from typing import Optional

from . import _barriers, _mlir
from ._errors import NotImported
from ._layouts import Layout
from ._values import MOST_DIMENSIONS, extents_of

MARK = "// tilevm: "


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
            _barriers.place(self.root)
        self.used = {name for each in operations for name in each.operands}
        self.products = {name for each in operations if each.name == "arith.mulf" for name in each.results}
        self.threads = 32 * self.root.integer("ttg.num-warps")
        if int(self.root.attributes.get("ttg.num-ctas", "1 : i32").split(":")[0]) != 1:
            raise NotImported("a cluster of several blocks (num_ctas > 1)", "compile with num_ctas=1")

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
