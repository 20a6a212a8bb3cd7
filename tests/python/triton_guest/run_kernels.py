"""usage: run_kernels.py [--table FILE] [--modules FOLDER] [--no-emu] [CASE..]

Compiles every case with the Triton of this Python, imports it, runs it in the simulator with all checks, compares it with
NumPy and with the emulated GPU. Prints a line for each, and ends with 1 if one is wrong. `--table` adds a table for the docs,
`--modules` keeps the modules' own texts."""

from __future__ import annotations

import argparse
import copy
import os
import sys
import time
import warnings

warnings.simplefilter("ignore")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases  # noqa: E402
import triton  # noqa: E402

import tilevm.triton  # noqa: E402


def run(case, target, modules, emulate):
    """What came of a case: (imports, runs, equals NumPy, sim = emu, what is wrong)."""
    try:
        kernel = tilevm.triton.from_triton(case.kernel, case.types, case.constants, target=target, **case.options)
    except tilevm.Error as error:
        return "no", "", "", "", str(error)
    if modules:
        version = "_".join(triton.__version__.split(".")[:2])
        with open(os.path.join(modules, f"{case.name}.{target}.{version}.txt"), "w", encoding="utf-8") as out:
            text = kernel.module
            for folder in (os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.path.dirname(triton.__file__))):
                text = text.replace(folder + "/", "")
            out.write(text)
    arguments = case.make_arguments()
    outputs = copy.deepcopy(arguments)
    try:
        kernel[case.grid](**outputs)
    except tilevm.Error as error:
        return "yes", "no", "", "", str(error)
    difference = cases.wrong(case, arguments, outputs)
    same = ""
    if emulate:
        other = copy.deepcopy(arguments)
        try:
            kernel[case.grid](**other, engine="emu")
            import numpy

            alike = all(numpy.asarray(a).tobytes() == numpy.asarray(other[name]).tobytes()
                        for name, a in outputs.items() if hasattr(a, "tobytes"))
            same = "yes" if alike else "no"
        except tilevm.Error as error:
            same, difference = "no", difference or f"emu: {error}"
    return "yes", "yes", "no" if difference else "yes", same, difference


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--table")
    parser.add_argument("--modules")
    parser.add_argument("--no-emu", action="store_true")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    if options.modules:
        os.makedirs(options.modules, exist_ok=True)
    rows, bad = [], 0
    for name, case in sorted(cases.load_all().items()):
        for target in case.targets:
            if options.cases and name not in options.cases:
                continue
            begin = time.monotonic()
            imports, runs, equals, same, what = run(case, target, options.modules, not options.no_emu)
            good = (imports, runs, equals) == ("yes",) * 3 and same in ("", "yes")
            bad += not good
            rows.append((name, target, imports, runs, equals, same))
            print(f"{'ok  ' if good else 'FAIL'} {name} {target} {time.monotonic() - begin:.1f} s {what}", flush=True)
    print(f"{len(rows) - bad} of {len(rows)} are right")
    if options.table:
        with open(options.table, "w", encoding="utf-8") as out:
            out.write("| kernel | target | imports | runs | equals NumPy | sim = emu |\n|---|---|---|---|---|---|\n")
            out.writelines(f"| {' | '.join(row)} |\n" for row in rows)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
