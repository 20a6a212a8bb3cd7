"""The program's text: what is before and after the body that the lowerings write."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from . import _arithmetic, _control, _debug, _dot, _math, _pointers, _reduce, _shape, _shared  # noqa: F401 (they register)
from ._errors import NotImported
from ._module import Module
from ._values import Value, type_of
from ._writer import Writer

# Scalars of parameters that the language has no kernels for: how they come, and what they are inside.
NARROW = {"i8": "i32", "i16": "i32", "f16": "f32", "bf16": "f32"}
HELPER = """def broadcast(x: tile, L: layout) -> tile:
    return x if AllocateRegister(u1, layout=L, init=1) else x
"""


class Program(NamedTuple):
    """A program. `parameters` are the kernel's own, before the extents of the grid, by the names of the user's source;
    `notes` say what is not exact."""

    text: str
    name: str
    parameters: dict[str, str]
    target: str
    notes: tuple[str, ...]


def program_of(module: Module) -> Program:
    """Lowers a module. NotImported: it has something that the language does not say."""
    writer = Writer(module)
    function = module.kernel
    blocks = function.regions[0]
    names, types, head = _parameters(writer, module, blocks[0].arguments)
    _control.lower_blocks(writer, blocks)
    name = re.sub(r"\W", "_", function.attributes["sym_name"].strip('"').split(".")[-1])
    text = _assemble(writer, module, name, [f"{types[each]} {each}" for each in names], head)
    by_source = dict(zip(module.parameters or names, names))
    return Program(text, name, by_source, module.target, tuple(_notes(writer)))


def _parameters(writer: Writer, module: Module, arguments: list) -> tuple[list[str], dict[str, str], list[str]]:  # type: ignore[type-arg]
    """The parameters' names and types, and lines that the kernel begins with."""
    names, types, head = [], {}, []
    promised = _promises(module)
    for place, (value, text, origin) in enumerate(arguments):
        type_ = type_of(text)
        if type_.text.startswith("!tt.tensordesc"):
            raise NotImported("a tensor descriptor as an argument", "make it in the kernel, and compile for sm_80", origin)
        given = module.parameters[place] if place < len(module.parameters) else ""
        name = writer.fresh(given or (origin.name if origin and origin.name else f"p{place}"))
        names.append(name)
        if type_.pointer:
            types[name] = f"{'i8' if type_.element == 'u1' else type_.element}*"
            writer.environment[value] = Value("pointer", "", type_.element, None, base=name)
            continue
        if type_.element == "u1":
            types[name] = "bool"
            writer.environment[value] = Value("scalar", name, "u1")
        elif type_.element in NARROW:
            types[name] = NARROW[type_.element]
            layout = writer.layout_of(type_of("i32"))
            head.append(f"{name}_ = Cast(AllocateRegister({types[name]}, layout={writer.layout(layout)}, init={name}), "
                        f"{type_.element})")
            writer.environment[value] = Value("tile", f"{name}_", type_.element, (), layout)
        elif type_.element in ("i32", "i64", "f32"):
            types[name] = type_.element
            writer.environment[value] = Value("scalar", name, type_.element)
        else:
            raise NotImported(f"a scalar argument of {type_.element}", "pass it in an array of one element", origin)
        if promised[place] and type_.element in ("i32", "i64"):
            head.append(f'Assert({name} % {promised[place]} == 0, "the kernel was compiled for multiples of {promised[place]}")')
    return names, types, head


def _promises(module: Module) -> list[int]:
    """What divides each parameter, as Triton's compiler knew it; 0 where nothing does."""
    text = module.kernel.attributes.get("arg_attrs", "")
    parts = re.findall(r"\{([^{}]*)\}", text)
    found = []
    for part in parts:
        divisor = re.search(r"tt\.divisibility = (\d+)", part)
        found.append(int(divisor[1]) if divisor and int(divisor[1]) > 1 else 0)
    return found + [0] * 256


def _assemble(writer: Writer, module: Module, name: str, parameters: list[str], head: list[str]) -> str:
    body = "\n".join(writer.lines)
    types = {each.split()[-1]: each.split()[0].rstrip("*") for each in parameters}
    lines = [f"# {name}, imported from Triton {module.version_text} for sm_{module.capability}."]
    lines += [f"# Not as on a GPU: {note}." for note in _notes(writer)]
    lines += [f"# target: {module.target}", "", *writer.layout_constants(), ""]
    lines += HELPER.split("\n") if "broadcast(" in body else []
    grid = ["grid_x", "grid_y", "grid_z"]
    lines.append(f"@threads({module.threads})")
    lines.append(f"def {name}<{', '.join(grid)}>({', '.join([*parameters, *(f'i32 {each}' for each in grid)])}):")
    if re.search(r"\bblock_[xyz]\b", body):
        lines.append("    block_x, block_y, block_z = BlockIndices()")
    if writer.view_lines(types):
        lines.append("    unbounded = max(i64(grid_x), 4294967295)")
    lines += [f"    {line}" for line in [*writer.view_lines(types), *writer.shared, *head]]
    return "\n".join(lines) + "\n" + body + "\n"


def _notes(writer: Writer) -> list[str]:
    """Each with the lines of the user's source that it is about."""
    found = []
    for text, origins in sorted(writer.notes.items()):
        places: dict[str, list[int]] = {}
        for origin in origins:
            if origin:
                places.setdefault(os.path.basename(origin.file), []).append(origin.line)
        shown = "; ".join(f"{file}:{', '.join(map(str, sorted(lines)))}" for file, lines in sorted(places.items()))
        found.append(f"{text} ({shown})" if shown else text)
    return found
