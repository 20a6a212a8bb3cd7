#!/usr/bin/env python3
"""Writes python/tilevm/tuned.jsonl, the table that tilevm.nn begins with: the points of quantized_matmul.jsonl as
`tilevm tune` would write them, and crossovers. `--check` compares instead.

Only rows with activations of f16 and without zero points, which the layer has. Each point gave the simulator's bits on
a reduced problem (docs/benchmarks.md).
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = "tests/bench/results/quantized_matmul.jsonl"
TABLE = ROOT / "python/tilevm/tuned.jsonl"
PROBLEM = ("M", "N", "K", "Q", "GROUP", "T", "ZEROS")
# Read off the rows of u4 with m = 64 and 256 (1.42 and 0.52 times cuBLAS's speed); the time to dequantize is not in it.
CROSSOVERS = [{"schema": 1, "command": "crossover", "environment": {"device": "NVIDIA H200, sm_90, 139 GiB, 132 multiprocessors"},
               "rows": 100, "source": "docs/benchmarks.md: between m = 64 and 256, without the time to dequantize"}]


def table():
    lines = list(CROSSOVERS)
    for number, text in enumerate((ROOT / RESULTS).read_text().splitlines(), 1):
        bench = json.loads(text)
        given = dict(define.split("=", 1) for define in bench["defines"])
        if not bench["file"].startswith("programs/quantized_matmul/") or given.get("T", "f16") != "f16" or "ZEROS" in given:
            continue
        given.setdefault("GROUP", "128")  # the program's
        kernel, = bench["kernels"]
        lines.append({
            "schema": 1, "command": "tune", "key": f"bench {number}", "file": bench["file"],
            "defines": [f"{name}={given[name]}" for name in PROBLEM if name in given],
            "point": " ".join(f"{name}={value}" for name, value in given.items() if name not in PROBLEM),
            "rounds": bench["rounds"], "us": round(kernel["us"]["median"], 2), "reason": "",
            "registers": kernel["registers"], "spill_bytes": kernel["spill_bytes"], "shared_bytes": kernel["shared_bytes"],
            "exact": True, "environment": {**bench["environment"], "compiler": bench["environment"]["compiler"].split(" (")[0]},
            "source": f"{RESULTS}, line {number}"})
    return "".join(json.dumps(line) + "\n" for line in lines)


def main():
    if sys.argv[1:] == ["--check"]:
        if TABLE.read_text() != table():
            sys.exit(f"{TABLE} is not what its results give; run tests/bench/tuned_table.py")
    else:
        TABLE.write_text(table())


if __name__ == "__main__":
    main()
