"""usage: remove_waits.py [--target sm_80] [CASE..]

Removes every wait, fence, arrival and barrier of pipelined kernels, one at a time, and lets every wait for groups leave one more
in flight.
Each such program must be reported, or be equal to the last bit where the unchanged program's notes call the statement
redundant. Prints a line for each case, and ends with 1 if a change is neither."""

from __future__ import annotations

import argparse
import copy
import os
import re
import sys
import warnings

warnings.simplefilter("ignore")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases  # noqa: E402
import numpy  # noqa: E402

import tilevm.triton  # noqa: E402
from tilevm import triton as guest  # noqa: E402

PIPELINED = {
    "sm_80": ["matmul_f16_3_stages", "matmul_f16_4_stages", "matmul_f16_8_warps", "matmul_f16_sums", "matmul_i8", "matmul_tf32",
              "matmul_f64", "split_k", "matmul_int4", "matmul_words", "experts", "attention_causal", "attention_backward",
              "decode_pages"],
    "sm_90": ["matmul_f16_3_stages", "matmul_i8", "matmul_tf32", "matmul_int4", "attention_causal", "box", "boxes_of_a_row",
              "descriptors_1_stages", "descriptors_3_stages", "descriptors_given", "attention_boxes", "gluon_boxes",
              "gluon_specialised", "gluon_specialised_sums"]}
# Elements that nothing has written yet, accesses in flight, races, stores that the async proxy does not see, products left, phases of barriers, barriers before
# their initialisation, copies left, and waits that cannot end.
REPORTS = ("TV0404", "TV0405", "TV0406", "TV0409", "TV0420", "TV0421", "TV0422", "TV0423", "TV0425")
STATEMENTS = re.compile(r"\s*(Synchronize\(\)|FenceProxy\(\)|(?:Copy|Dot)Async(?:Tensor)?WaitGroup\((\d+).*\)|WaitBarrier\(.*\)|"
                        r"Arrive(?:Expect)?\(.*\)|SyncNamedBarrier\(.*\))$")


def changes(text):
    """The line of each wait, fence, arrival and barrier, what is done to it, and the program without or with less of it."""
    lines = text.split("\n")
    for k, line in enumerate(lines):
        found = STATEMENTS.match(line)
        if not found:
            continue
        blanks = line[:len(line) - len(line.lstrip())]
        looser = [line.replace(f"({found[2]}", f"({int(found[2]) + 1}", 1)] if found[2] else []
        for new in [blanks + "pass", *looser]:
            yield k + 1, f"{line.strip()} -> {new.strip()}", "\n".join([*lines[:k], new, *lines[k + 1:]])


def outputs_of(kernel, names, descriptors, case):
    """What a launch leaves in the arrays, or the error that it ends with."""
    arguments = copy.deepcopy(case.make_arguments())
    values = {names.get(name, name): value.view("b") if getattr(value, "dtype", None) == numpy.uint8 else value
              for name, value in arguments.items()}
    for name, parts in descriptors.items():
        values.update(guest._numbers_of(name, values[name], parts))
    try:
        kernel(**values, **dict(zip(("grid_x", "grid_y", "grid_z"), (*case.grid, 1, 1))))
    except tilevm.ProgramError as error:
        return error
    return [value.tobytes() for value in arguments.values() if hasattr(value, "tobytes")]


def study(case, target):
    """(changes, reported, redundant, missed), and what was missed."""
    made = tilevm.triton.from_triton(case.kernel, case.types, case.constants, target=target, **case.options)
    plain = outputs_of(made, made.names, made.descriptors, case)
    if isinstance(plain, tilevm.ProgramError):
        return 0, 0, 0, 1, [f"the unchanged program is reported: {plain}"]
    count = reported = same = 0
    missed = []
    for line, what, text in changes(made.text):
        count += 1
        kernel = tilevm.loads(text, target=made._recipe[3], entry=made.name)
        result = outputs_of(kernel, made.names, made.descriptors, case)
        if isinstance(result, tilevm.ProgramError):
            code = result.diagnostics[0].code
            reported += code in REPORTS
            if code not in REPORTS:
                missed.append(f"line {line}, {what}: {code}")
        elif result == plain:
            same += 1
        else:
            missed.append(f"line {line}, {what}: other results and no report")
    return count, reported, same, len(missed), missed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    every, totals = cases.load_all(), [0, 0, 0, 0]
    for name in options.cases or PIPELINED[options.target]:
        *counts, missed = study(every[name], options.target)
        totals = [a + b for a, b in zip(totals, counts)]
        print(f"{name}: {counts[0]} changes, {counts[1]} reported, {counts[2]} without effect, {counts[3]} missed", flush=True)
        for each in missed:
            print(f"  {each}")
    print(f"all: {totals[0]} changes, {totals[1]} reported, {totals[2]} without effect, {totals[3]} missed")
    return 1 if totals[3] else 0


if __name__ == "__main__":
    sys.exit(main())
