"""Kernels of Triton and Gluon as guests: imported by the user's own Triton, run, checked and debugged as programs.

    k = tilevm.from_triton(kernel, {"x": "*fp32", "y": "*fp32", "n": "i32"}, {"BLOCK": 128})
    k[(8,)](x, y, 1000)

What is imported and what is exact: docs/guides/triton_guest.md.
"""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Sequence, Union

from .._errors import UsageError
from .._kernel import Kernel
from ._compile import capability_of, expand, signature_of, ttgir_of
from ._errors import NotImported
from ._module import MARK, Module
from ._program import Program, program_of

__all__ = ["Guest", "NotImported", "from_triton", "import_file", "import_module"]

GRID = ("grid_x", "grid_y", "grid_z")


class Guest(Kernel):
    """An imported kernel. It is a Kernel whose last parameters are the extents of the grid; `k[grid](..)` sets them.

    `text` is the program, `notes` what of it is not as on a GPU, `module` the text of Triton's module.
    """

    text: str
    module: str
    notes: tuple[str, ...]
    names: dict[str, str]
    descriptors: dict[str, list[str]]

    @classmethod
    def of(cls, module: str, path: str = "") -> Guest:
        """From a module's text. NotImported: it has something that is not imported. ProgramError: the program is wrong."""
        program = program_of(Module(module))
        made = cls(program.text, path or f"{program.name}.tile", {}, program.target, program.name)
        made.text, made.notes, made.module = program.text, program.notes, module
        made.names, made.descriptors = program.parameters, program.descriptors
        return made

    def __reduce__(self) -> Any:
        return Guest.of, (self.module, self._recipe[1])

    def __getitem__(self, grid: Union[int, Sequence[int]]) -> Any:
        """The kernel for a grid, as Triton's launches write it: a function of the kernel's own arguments, in order or by
        name. Arrays are read and written in place; those of a type's other signedness, and of bool, as they are."""
        extents = (grid,) if isinstance(grid, int) else tuple(grid)
        if not 1 <= len(extents) <= 3:
            raise UsageError(f"a grid has one to three extents; {len(extents)} were given")
        sizes = dict(zip(GRID, (*extents, 1, 1)))
        parts = {part for found in self.descriptors.values() for part in found}
        own = [p for p in self.parameters if p.name not in GRID and p.name not in parts]

        def launch(*arguments: Any, engine: Optional[str] = None, checks: Optional[str] = None, threads: int = 0,
                   max_steps: int = 0, backend: Optional[str] = None, **named: Any) -> None:
            if len(arguments) > len(own):
                raise UsageError(f"`{self.name}` takes {', '.join(p.name for p in own)}; {len(arguments)} arguments were given")
            given = {**dict(zip((p.name for p in own), arguments)),
                     **{self.names.get(name, name): value for name, value in named.items()}}
            for name, found in self.descriptors.items():
                given.update(_numbers_of(name, given.get(name), found))
            values = {p.name: value if p.scalar else _as_elements(p.type, value)
                      for p in own if (value := given.get(p.name)) is not None}
            self(**values, **{name: value for name, value in given.items() if name not in values}, **sizes, engine=engine,
                 backend=backend, checks=checks, threads=threads, max_steps=max_steps)

        return launch


def _numbers_of(name: str, array: Any, parts: Sequence[str]) -> dict[str, int]:
    """The extents and strides, in elements, of an array that is passed for a descriptor."""
    shape = tuple(getattr(array, "shape", ()))
    if len(shape) != len(parts) // 2:
        raise UsageError(f"`{name}` is a descriptor of {len(parts) // 2} dimensions; pass an array that has as many")
    strides = [1] * len(shape)
    for dim in range(len(shape) - 2, -1, -1):
        strides[dim] = strides[dim + 1] * int(shape[dim + 1])
    return dict(zip(parts, [*map(int, shape), *strides]))


def _as_elements(element: str, value: Any) -> Any:
    """An array as one of the element type, where only the signedness differs: memory has no sign."""
    from .._host import dtype_of, is_packed
    from .._types import ML_NAMES

    # The types of ml_dtypes have one signedness, and ml_dtypes may be missing.
    if is_packed(element) or element in ML_NAMES or not hasattr(value, "view") or not hasattr(value, "dtype"):
        return value
    wanted = dtype_of(element)
    alike = getattr(value.dtype, "kind", "") in "uib" and wanted.kind in "ui" and value.dtype.itemsize == wanted.itemsize
    return value.view(wanted) if alike and value.dtype != wanted else value


def from_triton(kernel: Any, signature: Union[Mapping[str, Any], Sequence[Any]], constants: Optional[Mapping[str, Any]] = None,
                *, target: str = "sm_80", **options: Any) -> Guest:
    """Compiles a kernel with the user's own Triton, without a GPU, and imports it.

    signature   types by names, `"*fp32"`, `"i32"`, `"i32:16"` for multiples of 16, `"fp32"`; or example arguments, by names
                or in order
    constants   values of `tl.constexpr` parameters
    target      the GPU that Triton compiles for: sm_80, sm_86, sm_89 or sm_90
    options     those of a launch, such as num_warps=8, num_stages=3, enable_fp_fusion=False

    NotImported: the kernel has something that is not imported. UnavailableError: Triton is not installed. Errors of
    Triton's own compiler pass through.
    """
    constants = dict(constants or {})
    if not hasattr(kernel, "params"):
        raise UsageError(f"{kernel!r} is not a kernel; pass a function under @triton.jit")
    capability = capability_of(target)
    names = [parameter.name for parameter in kernel.params]
    for parameter in kernel.params:
        default = getattr(parameter, "default", None)
        if getattr(parameter, "has_default", False) and parameter.name not in constants and \
                getattr(parameter, "is_constexpr", False):
            constants[parameter.name] = default
    if unknown := [name for name in constants if name not in names]:
        raise UsageError(f"the kernel has no parameter `{unknown[0]}`; it has {', '.join(names)}")
    types = signature_of(names, constants, signature)
    ttgir, fusion = ttgir_of(kernel, types, constants, capability, options)
    return Guest.of(expand(ttgir, capability, fusion, [name for name in names if name in types]))


def import_module(text: str, name: str = "") -> Guest:
    """Imports a module's own text, as `Guest.module` and `tilevm triton --module` give it; Triton is not needed."""
    return Guest.of(text, name)


def import_file(path: Union[str, os.PathLike[str]], *, compiled_by: str = "", fusion: bool = True) -> Guest:
    """Imports a .ttgir file, with Triton, or a module's own text. `compiled_by` is the version of Triton that made TTGIR, where
    it is not this one: orders of sums depend on it. `fusion` says whether products and sums are contracted there."""
    return Guest.of(module_text(os.fspath(path), compiled_by, fusion))


def module_text(path: str, compiled_by: str = "", fusion: bool = True) -> str:
    """The module's own text of a file."""
    import re

    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.startswith(MARK):
        return text
    own = re.search(r'ttg\.target = "cuda:(\d+)"', text)
    if not own:
        raise UsageError(f"{path} is not TTGIR for an NVIDIA GPU")
    made = expand(text, int(own[1]), fusion)
    if not compiled_by:
        return made
    if not re.fullmatch(r"\d+\.\d+(\.\w+)*", compiled_by):
        raise UsageError(f"`{compiled_by}` is not a version of Triton; write 3.6.0")
    return re.sub(r'"triton": "[^"]*"', f'"triton": "{compiled_by}"', made, count=1)
