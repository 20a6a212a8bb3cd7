"""Programs of programs/ against NumPy.

    programs.py TILEVM FOLDER [NAME ..]

runs the oracles of all programs, or of some. Exits with 77 where NumPy is not installed.
"""

import sys

try:
    import ml_dtypes
    import numpy
except ImportError as error:
    print(f"SKIP: {error} (tests/oracles/requirements.txt; ./dev test installs it)")
    sys.exit(77)

import apt_llm
import attention
import first_kernels
import flute
import marlin
import moe
import turbomind
from program_support import Tilevm

ORACLES = {"first_kernels": first_kernels.first_kernels, "attention": attention.attention, "apt_llm": apt_llm.apt_llm, "flute": flute.flute, "marlin": marlin.marlin, "turbomind": turbomind.turbomind, "moe": moe.moe}

tilevm = Tilevm(sys.argv[1], sys.argv[2])
for name in sys.argv[3:] or ORACLES:
    ORACLES[name](tilevm)
