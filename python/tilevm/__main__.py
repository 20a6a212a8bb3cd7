"""`python -m tilevm` is the command."""

import os
import sys

from tilevm import _command


def main() -> None:
    command = _command.path()
    os.environ.setdefault("TILEVM_PYTHON", sys.executable)  # `tilevm triton` asks this one for Triton
    os.execv(command, [command, *sys.argv[1:]])


if __name__ == "__main__":
    main()
