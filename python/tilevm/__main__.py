"""`python -m tilevm` is the command."""

import os
import sys

from tilevm import _command


def main() -> None:
    command = _command.path()
    os.execv(command, [command, *sys.argv[1:]])


if __name__ == "__main__":
    main()
