"""Kernels for GPU thread blocks, from Python: simulated to the bit, or run on a GPU.

    k = tilevm.load("programs/figure2.tile", M=64, N=64, K=64)
    c = k(a, b)
"""

from ._errors import Diagnostic, Error, LimitError, ProgramError, UnavailableError, UsageError
from ._kernel import Kernel, Parameter, kernel, load, loads
from ._layout import Layout
from ._library import version
from ._packing import pack, unpack

__all__ = ["Diagnostic", "Error", "Kernel", "Layout", "LimitError", "Parameter", "ProgramError", "UnavailableError",
           "UsageError", "kernel", "load", "loads", "pack", "unpack", "version"]
__version__ = version()
