"""Every shipped program with a kernel runs as it is: `tilevm run FILE`, with no word of warning, and with
`--check all,padding,outside`: no element from outside of a view reaches an output, no index names one.

What a program needs beside random data it says itself, in a line `# data:`. Figure 9 is in the programs with the faults
that the paper printed.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FAULTY = {"programs/figure9_as_printed.tile"}
# A cache of which a step writes few tokens
UNWRITTEN = {"programs/attention/append.tile"}
# Counts the zeros that are read behind the end, and takes away as many: its result depends on them, and is right.
CORRECTED = {"programs/histogram.tile"}
# Kernels that programs which include the file launch
INCLUDED = {"programs/quantized_matmul/hopper_weights.tile"}
# Programs whose sizes take long: smaller ones, by the file's own names.
SMALLER = {
    "programs/figure2.tile": ["M=64", "N=64", "K=64"],
    "programs/matmul_f16_i6.tile": ["M=64", "N=64", "K=64"],
}


def has_kernel(text):
    return re.search(r"^def \w+<", text, re.MULTILINE) is not None


def run(tilevm, file):
    checks = "all,outside" if file in CORRECTED else "all,padding,outside"
    command = [tilevm, "run", file, "--check", checks, *(word for each in SMALLER.get(file, []) for word in ("-D", each))]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def main():
    (tilevm,) = sys.argv[1:]
    files = [path for path in sorted((ROOT / "programs").rglob("*.tile")) if has_kernel(path.read_text())]
    assert len(files) > 25, "the programs were not found"
    failed = 0
    for path in files:
        file = path.relative_to(ROOT).as_posix()
        if file in INCLUDED:
            continue
        result = run(tilevm, file)
        warnings = [line for line in result.stderr.splitlines() if ": warning: " in line]
        if file in UNWRITTEN:
            warnings = [line for line in warnings if not line.endswith("[TV0412]")]
        ends_well = result.returncode == 0 and not warnings
        if ends_well == (file in FAULTY):
            failed += 1
            print(f"{file}: status {result.returncode}\n{result.stderr}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
