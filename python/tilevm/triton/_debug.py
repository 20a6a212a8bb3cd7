"""Assertions and prints of the device."""

from __future__ import annotations

import json

from ._mlir import Operation
from ._values import type_of
from ._writer import Writer, lowers, number


@lowers("tt.assert")
def assertion(writer: Writer, operation: Operation) -> None:
    value = writer.operands(operation)[0]
    message = json.dumps(operation.attributes.get("message", '""').strip('"'))
    writer.line(f"Assert({value.text}, {message})")


@lowers("tt.print")
def show(writer: Writer, operation: Operation) -> None:
    label = json.dumps(operation.attributes.get("prefix", '""').strip('"').strip())
    for value, text in zip(writer.operands(operation), operation.types_in):
        type_ = type_of(text)
        if value.kind in ("splat", "spread"):
            value = writer.tile(value, writer.layout_of(type_))
        shown = number(value) if value.kind == "tile" else value.text
        writer.line(f"Print({shown}, {label})")
