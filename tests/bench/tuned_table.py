#!/usr/bin/env python3
"""Writes python/tilevm/tuned.jsonl, the table that tilevm.nn begins with: crossovers, the points of
quantized_matmul.jsonl as `tilevm tune` would write them, and the winners of tuned_shapes.jsonl.

  tests/bench/tuned_table.py [--check]      --check compares instead
  tests/bench/tuned_table.py --add FILE     takes the winners of a file of `tilevm tune` into tuned_shapes.jsonl first:
                                            for each GPU, program and problem the fastest point that is proved

Of the first only rows with activations of f16 and without zero points, which the layer has. Each point gave the
simulator's bits on a reduced problem (docs/results/quantized_2026_11_25.md).
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = "tests/bench/results/quantized_matmul.jsonl"
SHAPES = "tests/bench/results/tuned_shapes.jsonl"
TABLE = ROOT / "python/tilevm/tuned.jsonl"
PROBLEM = ("M", "N", "K", "Q", "GROUP", "T", "ZEROS")
# What quantized_linear.py printed.
CROSSOVERS = [{"schema": 1, "command": "crossover", "environment": {"device": device}, "rows": 192,
               "source": "tests/bench/quantized_linear.py, u4 8192 x 57344"} for device in ("NVIDIA H200", "NVIDIA H100 80GB HBM3")]


def lines_of(file):
    return [json.loads(text) for text in file.read_text().splitlines()] if file.exists() else []


def problem_of(line):
    return line["environment"]["device"], line["file"], *sorted(line["defines"])


def winners(lines):
    """The fastest proved line of each problem, in the order of the problems' first ones."""
    fastest = {}
    for line in lines:
        if line.get("command") != "tune" or line["us"] is None or line["exact"] is not True:
            continue
        best = fastest.setdefault(problem_of(line), line)
        if line["us"] < best["us"]:
            fastest[problem_of(line)] = line
    return list(fastest.values())


def split_choice(line):
    """The constants that were given as the problem's alone, and before the point those that the search left as they were."""
    given = {define: define.split("=")[0] in PROBLEM for define in line["defines"]}
    return {"defines": [define for define in given if given[define]],
            "point": " ".join([*(define for define in given if not given[define]), line["point"]])}


def add(file):
    """The number of winners of `file` that are new, or faster than those that are kept."""
    kept = ROOT / SHAPES
    before = lines_of(kept)
    new = []
    for line in lines_of(file):
        if line.get("command") != "tune":
            continue
        program = pathlib.PurePath(line["file"])
        environment = line["environment"]
        new.append({**line, **split_choice(line), "file": f"programs/{program.parent.name}/{program.name}",
                    "us": line["us"] and round(line["us"], 2),
                    "environment": {**environment, "compiler": environment["compiler"].split(" (")[0]}})
    after = winners(before + new)
    kept.write_text("".join(json.dumps(line) + "\n" for line in after))
    return sum(line not in before for line in after)


def measured():
    for number, bench in enumerate(lines_of(ROOT / RESULTS), 1):
        given = dict(define.split("=", 1) for define in bench["defines"])
        if not bench["file"].startswith("programs/quantized_matmul/") or given.get("T", "f16") != "f16" or "ZEROS" in given:
            continue
        given.setdefault("GROUP", "128")  # the program's
        kernel, = bench["kernels"]
        yield {
            "schema": 1, "command": "tune", "key": f"bench {number}", "file": bench["file"],
            "defines": [f"{name}={given[name]}" for name in PROBLEM if name in given],
            "point": " ".join(f"{name}={value}" for name, value in given.items() if name not in PROBLEM),
            "rounds": bench["rounds"], "us": round(kernel["us"]["median"], 2), "reason": "",
            "registers": kernel["registers"], "spill_bytes": kernel["spill_bytes"], "shared_bytes": kernel["shared_bytes"],
            "exact": True, "environment": {**bench["environment"], "compiler": bench["environment"]["compiler"].split(" (")[0]},
            "source": f"{RESULTS}, line {number}"}


def table():
    tuned = [{**line, "source": f"{SHAPES}, line {number}"} for number, line in enumerate(lines_of(ROOT / SHAPES), 1)]
    return "".join(json.dumps(line) + "\n" for line in [*CROSSOVERS, *measured(), *tuned])


def main():
    if sys.argv[1:] == ["--check"]:
        if TABLE.read_text() != table():
            sys.exit(f"{TABLE} is not what its results give; run tests/bench/tuned_table.py")
        return
    if len(sys.argv) == 3 and sys.argv[1] == "--add":
        print(f"{add(pathlib.Path(sys.argv[2]))} winners of {sys.argv[2]} are new in {SHAPES}")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    TABLE.write_text(table())


if __name__ == "__main__":
    main()
