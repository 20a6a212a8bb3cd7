"""Layouts as values: which thread holds which element in which register."""

from __future__ import annotations

import json
from typing import Any

from ._library import LIBRARY, report, text_of


class Layout:
    """A layout of registers or memory: `Layout("local(2, 1).spatial(8, 4)")`.

    `*` composes, `/` divides, `layout[i, j]` is (thread, local) of an element in registers or its offset in memory.
    Layouts are equal if their canonical texts are. ProgramError: the text is not a layout.
    """

    def __init__(self, text: str) -> None:
        facts = json.loads(_told(text, "json"))
        self.text: str = facts["text"]
        self.kind: str = facts["kind"]
        self.shape: tuple[int, ...] = tuple(facts["shape"])
        self.threads: int | None = facts.get("threads")
        self.locals: int | None = facts.get("locals")
        self.replicas: int | None = facts.get("replicas")
        self.fragments: tuple[dict[str, Any], ...] = tuple(facts.get("fragments", ()))
        self._places: list[Any] = facts.get("places") or facts["offsets"]

    def __mul__(self, other: Layout) -> Layout:
        return Layout(f"({self.text}) * ({other.text})") if isinstance(other, Layout) else NotImplemented

    def __truediv__(self, other: Layout) -> Layout:
        return Layout(f"({self.text}) / ({other.text})") if isinstance(other, Layout) else NotImplemented

    def __getitem__(self, index: int | tuple[int, ...]) -> Any:
        index = index if isinstance(index, tuple) else (index,)
        if len(index) != len(self.shape):
            raise IndexError(f"{self.text} has {len(self.shape)} dimensions, {len(index)} indices were given")
        place = 0
        for i, extent in zip(index, self.shape):
            if not -extent <= i < extent:
                raise IndexError(f"index {i} is outside of 0 to {extent - 1} of {self.text}")
            place = place * extent + i % extent
        if place >= len(self._places):
            raise IndexError(f"places of the first {len(self._places)} elements are kept, this is element {place}")
        found = self._places[place]
        return tuple(found) if isinstance(found, list) else found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Layout({self.text!r})"

    def __reduce__(self) -> Any:
        return Layout, (self.text,)

    def __str__(self) -> str:
        return _told(self.text, "text")

    def svg(self) -> str:
        """The picture, a self-contained SVG."""
        return _told(self.text, "svg")

    def html(self) -> str:
        """A self-contained page whose cells answer the pointer."""
        return _told(self.text, "html")

    def _repr_html_(self) -> str:
        return self.svg()


def _told(text: str, form: str) -> str:
    return report(LIBRARY.tilevm_layout, text_of(text, "the layout"), form.encode())
