"""`tilevm triton`: a kernel's program as text.

    tilevm triton FILE.ttgir -o FILE.tile
    tilevm triton FILE.py:kernel -s x='*fp32' -s n=i32 -c BLOCK=128 --target sm_90 -o FILE.tile
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import os
import sys
from typing import Any, Optional, Sequence

from .._errors import OF_STATUS, Error, UsageError
from . import from_triton, module_text
from ._module import Module
from ._program import program_of


def _pairs(words: Sequence[str], what: str) -> dict[str, str]:
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"`{word}` is not a {what}; write NAME=VALUE")
        found[name] = value
    return found


def _value(text: str) -> Any:
    """A constant: a Python literal, a type such as `tl.float16`, or a text."""
    if text.startswith("tl."):
        import triton.language as tl

        return getattr(tl, text[3:])
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def _kernel(path: str, name: str) -> Any:
    """A function of a Python file, which is run for it."""
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
    if spec is None or spec.loader is None or not os.path.isfile(path):
        raise UsageError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        raise UsageError(f"{path} has no `{name}`")
    return getattr(module, name)


def _module(options: argparse.Namespace) -> str:
    path, colon, name = options.file.rpartition(":")
    if not colon or not path.endswith(".py"):
        return module_text(options.file, options.compiled_by)
    constants = {key: _value(text) for key, text in _pairs(options.constant, "constant").items()}
    settings = {key: _value(text) for key, text in _pairs(options.option, "option").items()}
    return from_triton(_kernel(path, name), _pairs(options.signature, "type"), constants, target=options.target or "sm_80",
                       **settings).module


def _parse(words: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("tilevm triton", description="Writes the program of a Triton or Gluon kernel.")
    parser.add_argument("file", help="FILE.ttgir, FILE.py:KERNEL, or a module that --module wrote")
    parser.add_argument("-s", "--signature", action="append", default=[], metavar="NAME=TYPE",
                        help="a parameter's type, such as x='*fp32', n=i32 or n=i32:16 for multiples of 16")
    parser.add_argument("-c", "--constant", action="append", default=[], metavar="NAME=VALUE", help="a tl.constexpr's value")
    parser.add_argument("-O", "--option", action="append", default=[], metavar="NAME=VALUE",
                        help="an option of a launch, such as num_warps=8")
    parser.add_argument("--target", default="", help="sm_80 (the default), sm_86, sm_89 or sm_90")
    parser.add_argument("--compiled-by", default="", metavar="VERSION", help="the Triton that made a .ttgir, if another one")
    parser.add_argument("--module", metavar="FILE", help="writes the module's own text, which needs no Triton any more")
    parser.add_argument("-o", "--output", metavar="FILE", help="where the program goes; standard output if left out")
    return parser.parse_args(words)


def main(words: Optional[Sequence[str]] = None) -> int:
    options = _parse(words)
    try:
        module = _module(options)
        program = program_of(Module(module))
    except (Error, OSError) as error:
        status = next((number for number, kind in OF_STATUS.items() if isinstance(error, kind)), 2)
        print(f"tilevm triton: {error}", file=sys.stderr)
        return status
    if options.module:
        with open(options.module, "w", encoding="utf-8") as out:
            out.write(module)
    if options.output:
        with open(options.output, "w", encoding="utf-8") as out:
            out.write(program.text)
    else:
        sys.stdout.write(program.text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
