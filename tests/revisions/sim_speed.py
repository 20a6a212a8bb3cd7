#!/usr/bin/env python3
"""Whether two revisions simulate equally fast: rows of sim_bench, each timed alternately.

  tests/revisions/sim_speed.py OLD [NEW]       NEW: this checkout, which must be built

OLD and NEW are revisions, unpacked and built in build/revisions, or folders in which sim_bench was
built (`cmake --preset release -DTILEVM_TESTS=ON -DTILEVM_BENCH=ON`, then
`cmake --build --preset release --target sim_bench`).

A row is timed ROUNDS times at each, in the order old new new old, so that a machine that slows down
slows both. Other work on the machine only ever adds time, so the mean of the fastest quarter of the
rounds is compared; the ratio of the medians stands beside it. Exits with 1 where NEW is slower by
more than the limit.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys

from tree import CACHE, ROOT, Failure, find_tree, note

BINARY = pathlib.Path("build/tests/sim_bench")
BUILD = [["cmake", "--preset", "release", "-DTILEVM_TESTS=ON", "-DTILEVM_BENCH=ON"],
         ["cmake", "--build", "--preset", "release", "--target", "sim_bench"]]


def rows_of(tree, words):
    listed = subprocess.run([tree.binary, "--benchmark_list_tests"], capture_output=True, text=True, check=True)
    return [row for row in listed.stdout.split("\n") if row and re.search(words, row)]


def seconds_of(tree, row, seconds):
    """The time of one iteration, as sim_bench measures it in one process."""
    done = subprocess.run([tree.binary, f"--benchmark_filter=^{re.escape(row)}$", "--benchmark_format=json",
                           f"--benchmark_min_time={seconds}"], capture_output=True, text=True, check=True)
    result, = json.loads(done.stdout)["benchmarks"]
    return result["real_time"] / {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1}[result["time_unit"]]


def compare(old, new, row, arguments):
    """The mean of the fastest rounds at each tree, the ratio of these, and that of the medians."""
    times = {old: [], new: []}
    for i in range(arguments.rounds):
        for tree in (old, new) if i % 2 == 0 else (new, old):
            times[tree].append(seconds_of(tree, row, arguments.seconds))
    fastest = max(1, arguments.rounds // 4)
    before, after = (statistics.mean(sorted(times[tree])[:fastest]) for tree in (old, new))
    return before, after, after / before, statistics.median(times[new]) / statistics.median(times[old])


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", metavar="OLD")
    parser.add_argument("new", metavar="NEW", nargs="?", default=str(ROOT))
    parser.add_argument("--rounds", type=int, default=32, metavar="N")
    parser.add_argument("--seconds", type=float, default=0.05, metavar="S", help="for each row in each round (0.05)")
    parser.add_argument("--limit", type=float, default=3, metavar="PERCENT", help="what NEW may be slower by (3)")
    parser.add_argument("--rows", default="", metavar="REGEX")
    parser.add_argument("--cache", type=pathlib.Path, default=CACHE, metavar="FOLDER")
    return parser.parse_args()


def main():
    arguments = read_arguments()
    old, new = (find_tree(name, BINARY, BUILD, arguments.cache) for name in (arguments.old, arguments.new))
    rows = rows_of(new, arguments.rows)
    known = rows_of(old, arguments.rows)
    slower = []
    print(f"{'row':42}{'old ms':>11}{'new ms':>11}{'new/old':>9}{'medians':>9}")
    for row in rows:
        if row not in known:
            note(f"{row}: only at {new.name}")
            continue
        before, after, ratio, medians = compare(old, new, row, arguments)
        mark = ""
        if ratio > 1 + arguments.limit / 100:
            slower.append(row)
            mark = "  SLOWER"
        print(f"{row.removesuffix('/real_time'):42}{before * 1e3:11.4f}{after * 1e3:11.4f}{ratio:9.3f}"
              f"{medians:9.3f}{mark}", flush=True)
    print(f"{len(slower)} of {len(rows)} rows are slower by more than {arguments.limit:g} %")
    return 1 if slower else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"sim_speed: {failure}")
