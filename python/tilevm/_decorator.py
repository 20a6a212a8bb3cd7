"""Kernels that are docstrings of functions."""

from __future__ import annotations

import ast
from typing import Any, Callable, overload

from ._errors import UsageError
from ._kernel import Kernel, loads
from ._places import keep, margin_of, node_of, place_of


@overload
def kernel(function: Callable[..., Any], /) -> Kernel: ...
@overload
def kernel(**options: Any) -> Callable[[Callable[..., Any]], Kernel]: ...


def kernel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Makes a kernel of the docstring of a function: `@tilevm.kernel`, or with options of loads(), `@tilevm.kernel(N=4)`.

    Messages name lines and columns of the Python file. Parameters of the function, if it has any, are those of the
    kernel, in order: all, or all that are not pure outputs. The kernel has the function's name and docstring.
    UsageError: they are others, or the function has no docstring, or statements after it, which would never run.
    """
    return _make(function, options) if function is not None else lambda given: _make(given, options)


def _make(function: Callable[..., Any], options: dict[str, Any]) -> Kernel:
    import inspect

    if not inspect.isfunction(function):
        raise UsageError(f"@tilevm.kernel takes a function whose docstring is the program; it was given {function!r}")
    lines, name = (function.__doc__ or "").split("\n"), f"{function.__name__}.tile"
    if not any(line.strip() for line in lines):
        raise UsageError(f"`{function.__name__}` has no docstring; write the program there")
    margin = margin_of(lines)
    text = "\n".join([lines[0].lstrip(), *(line[margin:] for line in lines[1:])]).lstrip("\n")
    node = node_of(function)
    _check_body(function.__name__, node)
    place = place_of(node, function.__code__.co_filename)
    if place is not None:
        keep(place)
        text, name = place.text, place.path
    made = loads(text, **{"name": name, **options})
    _check_parameters(function, made)
    for each in ("__name__", "__qualname__", "__doc__", "__module__"):
        setattr(made, each, getattr(function, each))
    return made


def _check_parameters(function: Callable[..., Any], made: Kernel) -> None:
    import inspect

    name, parameters = function.__name__, inspect.signature(function).parameters
    for each in parameters.values():
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            raise UsageError(f"`{name}` takes `{each}`, which a kernel does not; name the parameters of `{made.name}`, or none")
        if each.default is not each.empty:
            raise UsageError(f"`{each.name}` of `{name}` has a default, which a kernel does not have; give it in each call")
    every = [p.name for p in made.parameters]
    needed = [p.name for p in made.parameters if p.scalar or p.input or not p.output]
    if parameters and list(parameters) not in (every, needed):
        raise UsageError(f"`{name}` has the parameters {', '.join(parameters)}, and the kernel `{made.name}` has "
                         f"{', '.join(every)}; name these, or all that are not pure outputs ({', '.join(needed)}), or none")


def _check_body(name: str, node: Any) -> None:
    """The function is never called, so that a statement that does something is a mistake."""
    for each in node.body[1:] if node is not None else ():
        is_nothing = isinstance(each, ast.Pass) or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        if not is_nothing:
            raise UsageError(f"`{name}` has statements after its docstring, as in line {each.lineno}, which never run; leave "
                             "them out")
