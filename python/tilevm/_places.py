"""Programs that are texts within Python files: lines and columns of messages are those of the files.

A program of a docstring is opened under the name of the Python file, with as many empty lines before it as the file has.
So its lines are those of the file. Columns come without the indentation of the docstring, which is added here.
"""

from __future__ import annotations

import ast
import linecache
import re
from typing import Any, NamedTuple

from ._errors import Diagnostic

OPENING = re.compile(r"[rRuU]?('''|\"\"\"|'|\")")


class Place(NamedTuple):
    """A program within a Python file: its text with empty lines before it, and the columns that each line lost."""

    path: str
    text: str
    margins: dict[int, int]


_margins: dict[str, dict[int, int]] = {}  # by file, by line


def node_of(function: Any) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The syntax tree of a function; None where its source is not known."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == function.__name__ and \
                min([node.lineno, *(each.lineno for each in node.decorator_list)]) == code.co_firstlineno:
            return node
    return None


def place_of(node: ast.FunctionDef | ast.AsyncFunctionDef | None, path: str) -> Place | None:
    """Where the docstring of a function is; None where the file has it otherwise than as it stands, as with escapes."""
    doc = node.body[0].value if node is not None and isinstance(node.body[0], ast.Expr) else None
    if not isinstance(doc, ast.Constant) or not isinstance(doc.value, str):
        return None
    texts, first = doc.value.split("\n"), doc.lineno
    rows = [line.rstrip("\n") for line in linecache.getlines(path)[first - 1:first - 1 + len(texts)]]
    opening = OPENING.match(rows[0], doc.col_offset) if rows else None
    if opening is None or len(rows) != len(texts) or "\t" in doc.value:
        return None
    ends = [len(row) for row in rows[:-1]] + [(opening.end() if len(rows) == 1 else 0) + len(texts[-1])]
    if [rows[0][opening.end():ends[0]], *(row[:end] for row, end in zip(rows[1:], ends[1:]))] != texts:
        return None
    margin = margin_of(texts, doc.col_offset)
    margins = {first + i: margin for i in range(1, len(texts))}
    margins[first] = opening.end() + len(texts[0]) - len(texts[0].lstrip())
    return Place(path, "\n" * (first - 1) + "\n".join([texts[0].lstrip(), *(text[margin:] for text in texts[1:])]), margins)


def margin_of(lines: list[str], column: int | None = None) -> int:
    """How many columns the lines after the first one lose. Where the first one is not an empty line, the program begins in the
    `column` of the docstring; without it, in that of the others, or one step less if they are the first one's block."""
    least = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
    if not lines[0].strip():
        return least
    if column is not None:
        return min(least, column)
    return max(0, least - 4) if lines[0].rstrip().endswith(":") else least


def keep(place: Place) -> None:
    """Messages about these lines get their columns from now on."""
    _margins.setdefault(place.path, {}).update(place.margins)


def in_file(found: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """Diagnostics with the columns of the files."""
    if not _margins:
        return found
    return tuple(_moved(each)._replace(notes=tuple(map(_moved, each.notes))) for each in found)


def _moved(place: Any) -> Any:
    margins = _margins.get(place.file)
    if margins is None:
        return place
    return place._replace(column=place.column + margins.get(place.line, 0),
                          end_column=place.end_column + margins.get(place.end_line, 0))


def text_in_file(message: str) -> str:
    """A rendered message with the columns of the files."""
    for path, margins in _margins.items():
        if path in message:
            message = re.sub(re.escape(path) + r":(\d+):(\d+)",
                             lambda m: f"{path}:{m[1]}:{int(m[2]) + margins.get(int(m[1]), 0)}", message)
    return message
