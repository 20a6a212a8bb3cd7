"""Kernels for GPU thread blocks, from Python: simulated to the bit, or run on a GPU.

    k = tilevm.load("programs/figure2.tile", M=64, N=64, K=64)
    c = k(a, b)
"""

from pathlib import Path
from typing import Any

from ._decorator import kernel
from ._errors import Diagnostic, Error, LimitError, Note, ProgramError, UnavailableError, UsageError
from ._kernel import Kernel, load, loads
from ._launch import Launch
from ._layout import Layout
from ._library import version
from ._packing import pack, unpack
from ._parameter import Parameter
from ._reports import Page

__all__ = ["Diagnostic", "Error", "Kernel", "Launch", "Layout", "LimitError", "Note", "Page", "Parameter", "ProgramError",
           "UnavailableError", "UsageError", "from_triton", "kernel", "load", "load_checkpoint", "loads", "pack", "pack_checkpoint",
           "programs", "unpack", "version"]
__version__ = version()


def programs() -> Path:
    """The folder of the programs that come with the package, as `load(programs() / "figure2.tile")`."""
    from . import _command

    return _command.programs()


def from_triton(*arguments: Any, **named: Any) -> Any:
    """A kernel of Triton as a Kernel: `from_triton(kernel, signature, constants, target="sm_80")` (tilevm.triton)."""
    from . import triton

    return triton.from_triton(*arguments, **named)


def load_checkpoint(path: Any) -> Any:
    """A checkpoint that others quantised, read module by module: a folder of safetensors files, one such file, or a GGUF file
    (docs/guides/checkpoints.md). Returns a tilevm.checkpoints.Checkpoint."""
    from . import checkpoints

    return checkpoints.load_checkpoint(path)


def pack_checkpoint(source: Any, destination: Any, progress: Any = None) -> Path:
    """Writes a folder of weights in packed form, from any checkpoint that load_checkpoint reads; an interrupted run goes on,
    and nothing is written over."""
    from . import checkpoints

    return checkpoints.pack_checkpoint(source, destination, progress)
