"""The package that a test imports: that of python/ with the libraries of a build folder, or one that is installed.

The arguments of a test are LIBRARY COMMAND FAKE_DRIVER, or `installed` and FAKE_DRIVER. The process ends with 77, a
skip, where there is no NumPy.
"""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

if sys.argv[1:2] == ["installed"]:
    FAKE_DRIVER = sys.argv[2] if len(sys.argv) > 2 else ""
else:
    os.environ["TILEVM_LIBRARY"], os.environ["TILEVM_COMMAND"], FAKE_DRIVER = sys.argv[1:4]
    os.environ["PYTHONPATH"] = str(ROOT / "python")
    sys.path.insert(0, str(ROOT / "python"))

try:
    import numpy  # noqa: F401
except ImportError:
    print("SKIP: there is no NumPy")
    sys.exit(77)
