"""A kernel as HTML."""

from __future__ import annotations

from html import escape
from typing import Any

from ._parameter import Parameter


def _role(parameter: Parameter) -> str:
    if parameter.scalar:
        return "a number"
    if parameter.output:
        return "read and written" if parameter.input else "written"
    return "read"


def _row(parameter: Parameter) -> str:
    shape = "" if parameter.scalar else "by the call" if parameter.shape is None else str(list(parameter.shape))
    cells = (parameter.name, parameter.type, shape, _role(parameter))
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def kernel_html(name: str, parameters: tuple[Parameter, ...], recipe: tuple[Any, ...], warnings: str) -> str:
    """A table of parameters, the constants that were given, warnings, and the text or the file of the program."""
    text, path, constants, target = recipe[:4]
    given = ", ".join(f"{key} = {value}" for key, value in constants.items())
    facts = [f"<code>{escape(given)}</code>"] if given else []
    facts += [f"for <code>{escape(target)}</code>"] if target else []
    html = f"<p><b>{escape(name)}</b> of <code>{escape(str(path))}</code>{', ' if facts else ''}{', '.join(facts)}</p>"
    head = "".join(f"<th>{title}</th>" for title in ("parameter", "type", "shape", "role"))
    html += f"<table><tr>{head}</tr>{''.join(map(_row, parameters))}</table>"
    if warnings:
        html += f"<pre>{escape(warnings)}</pre>"
    if text is not None:
        html += f"<details><summary>program</summary><pre>{escape(text.strip(chr(10)))}</pre></details>"
    return f"<div>{html}</div>"
