"""oclgrind .. python opencl_faults.py FAULT [fixed]: one kernel of faults.cl."""

import pathlib
import sys

import numpy as np

import opencl_host


def main():
    name, options = sys.argv[1], "-DFIXED" if "fixed" in sys.argv[2:] else ""
    device = opencl_host.Device()
    source = pathlib.Path(__file__).with_name("faults.cl").read_text(encoding="utf-8")
    x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    groups = 2 if name == "inter_block_race" else 1
    device.launch(device.kernel(source, name, options), [device.buffer(x), device.buffer(y)],
                  (64 * groups,), (64,))


if __name__ == "__main__":
    main()
