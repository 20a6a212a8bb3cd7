"""`python -m tilevm.checkpoints SOURCE DESTINATION` packs a checkpoint; without a destination it lists what is in it."""

from __future__ import annotations

import argparse
import sys

from . import CheckpointError, load_checkpoint, pack_checkpoint
from ._errors import shown
from ._pack import show_progress


def main() -> int:
    """The exit status: 0, 1 for a bad checkpoint, 2 for bad arguments."""
    parser = argparse.ArgumentParser("tilevm pack", description=__doc__)
    parser.add_argument("source", help="a folder of .safetensors files, one such file, or a .gguf file")
    parser.add_argument("destination", nargs="?", help="the folder that is written; an interrupted run goes on in it")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    options = parser.parse_args()
    try:
        if options.destination is None:
            with load_checkpoint(options.source) as checkpoint:
                print(f"{checkpoint.method or 'not quantised'}: {len(checkpoint.modules)} quantised modules, "
                      f"{len(checkpoint.tensors)} other tensors")
                for weight in checkpoint:
                    print(f"{shown(weight.name)}: {weight.format}, {weight.type}[{weight.outputs}, {weight.inputs}], group {weight.group}, "
                          f"{', '.join(weight.arrays)}")
            return 0
        folder = pack_checkpoint(options.source, options.destination, None if options.quiet else show_progress)
        if not options.quiet and sys.stderr.isatty():
            sys.stderr.write("\n")
        print(f"packed into {folder}")
        return 0
    except CheckpointError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
