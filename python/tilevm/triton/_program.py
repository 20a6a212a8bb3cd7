"""The program's text: what is before and after the body that the lowerings write."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from . import (_arithmetic, _control, _debug, _dot, _math, _pointers, _reduce, _shape, _shared,  # noqa: F401 (they register)
               _specialize, _tensor_maps)
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
    `descriptors` are the extents and strides that follow those which are tensor descriptors; `notes` say what is not exact."""

    text: str
    name: str
    parameters: dict[str, str]
    descriptors: dict[str, list[str]]
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
    parts = [each for found in writer.descriptors.values() for each in found]
    own = [each for each in names if each not in parts]
    by_source = dict(zip(module.parameters or own, own))
    return Program(text, name, by_source, writer.descriptors, module.target, tuple(_notes(writer)))


def _parameters(writer: Writer, module: Module, arguments: list) -> tuple[list[str], dict[str, str], list[str]]:  # type: ignore[type-arg]
    """The parameters' names and types, and lines that the kernel begins with."""
    names: list[str] = []
    types: dict[str, str] = {}
    head: list[str] = []
    described: list[tuple[str, str, str, int]] = []
    promised = _promises(module)
    given_names, parts = iter(module.parameters), _parts(arguments)
    for place, (value, text, origin) in enumerate(arguments):
        type_ = type_of(text)
        given = parts[place] or next(given_names, "")
        name = writer.fresh(given or (origin.name if origin and origin.name else f"p{place}"))
        names.append(name)
        if type_.text.startswith("!tt.tensordesc"):
            box, element = _tensor_maps.box_of(text)
            types[name] = f"{element}*"
            described.append((value, text, name, len(box)))
            continue
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
            writer.parameters.add(name)
            writer.environment[value] = Value("scalar", name, type_.element)
        else:
            raise NotImported(f"a scalar argument of {type_.element}", "pass it in an array of one element", origin)
        if promised[place] and type_.element in ("i32", "i64"):
            head.append(f'Assert({name} % {promised[place]} == 0, "the kernel was compiled for multiples of {promised[place]}")')
    for value, text, name, rank in described:
        begin = names.index(name) + 1
        writer.descriptors[name] = names[begin:begin + 2 * rank]
        extents, strides = names[begin:begin + rank], names[begin + rank:begin + 2 * rank]
        writer.environment[value] = _tensor_maps.view_of_argument(writer, text, name, extents, strides)
        head.append(f'Assert({strides[-1]} == 1, "neighbours of the last dimension are side by side")')
    return names, types, head


def _parts(arguments: list) -> list[str]:  # type: ignore[type-arg]
    """For each argument the name that it has as a part of the descriptor before it, `extent` or `stride`; else empty."""
    found: list[str] = []
    for place, (value, text, _) in enumerate(arguments):
        if len(found) > place:
            continue
        found.append("")
        if text.startswith("!tt.tensordesc"):
            rank, name = len(_tensor_maps.box_of(text)[0]), value.strip("%")
            found += [f"{name}_extent"] * rank + [f"{name}_stride"] * rank
    return found


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
    lines.append(f"@threads({module.all_threads})")
    lines.append(f"def {name}<{', '.join(grid)}>({', '.join([*parameters, *(f'i32 {each}' for each in grid)])}):")
    if re.search(r"\bblock_[xyz]\b", body):
        lines.append("    block_x, block_y, block_z = BlockIndices()")
    if writer.view_lines(types):
        lines.append("    unbounded = max(i64(grid_x), 4294967295)")
    lines += [f"    {line}" for line in [*writer.view_lines(types), *writer.maps, *writer.shared, *head]]
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
