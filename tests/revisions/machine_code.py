#!/usr/bin/env python3
"""Whether two revisions make the same machine code; no GPU is needed, only NVRTC.

  tests/revisions/machine_code.py OLD [NEW]       NEW: this checkout, which must be built

Compiles every program of programs/ with the constants of each of its tests and every measured
configuration of the quantised product (tests/bench/quantized_matmul.sh --list) for each target, at
both revisions, and compares code, registers, memory and constants of each kernel. A configuration
that a target refuses must be refused with the same words. Exits with 1 where something differs.

A program that was rewritten has other constants for the same kernel: --measured compares the
measured rows one by one, each with the program and the constants of its own revision. The kernels
are compared then, not what belongs to the whole cubin, where the prelude's constants are in the
order in which a program first uses their types.

OLD and NEW are revisions, unpacked and built in build/revisions, or folders with a build of theirs
(build/tilevm). What was compiled is kept there, so a run that was stopped goes on where it was.
"""

import argparse
import concurrent.futures
import os
import pathlib
import sys
import time

import configurations
from compiling import Compiler, words_of
from tree import CACHE, ROOT, Failure, find_tree, note

TARGETS = ["sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120"]
SHOWN = ("code", "registers", "stack", "spill_store_bytes", "spill_load_bytes", "shared_bytes")


def numbers(facts):
    return ", ".join(f"{fact} {facts[fact]}" for fact in SHOWN if fact in facts)


def compare_functions(old, new):
    """Lines about functions that differ."""
    lines = []
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name, {}), new.get(name, {})
        if before == after:
            continue
        parts = [fact for fact in sorted(before.keys() | after.keys()) if before.get(fact) != after.get(fact)]
        lines.append(f"  {name or 'the whole cubin'}: {', '.join(parts)}")
        lines.append(f"    old: {numbers(before) or before}")
        lines.append(f"    new: {numbers(after) or after}")
    return lines


def compare_results(old, new):
    """What differs between two results of `compile` or `text`, as lines; none if they are equal."""
    if old == new:
        return []
    if "error" in old or "error" in new:
        before, after = (words_of(result["error"]) if "error" in result else "compiles" for result in (old, new))
        return [] if before == after else [f"  old: {before}", f"  new: {after}"]
    if "functions" in old:
        return compare_functions(old["functions"], new["functions"])
    return ["  the emitted text or what a launch needs differs"]


def kernels_of(result):
    """A result of `compile` without what belongs to the whole cubin."""
    functions = result.get("functions")
    return result if functions is None else {"functions": {name: functions[name] for name in functions if name}}


def compare(task):
    """A line for the list of all, and the lines of a difference."""
    compilers, pair, target, text_first = task
    outcome = "text"
    different = True
    if text_first:
        results = [compiler.text(configuration, target) for compiler, configuration in zip(compilers, pair)]
        different = compare_results(*results)
    if different:
        outcome = "code"
        results = [compiler.compile(configuration, target) for compiler, configuration in zip(compilers, pair)]
        different = compare_results(*(map(kernels_of, results) if pair[0] is not pair[1] else results))
    if not different and "error" in results[1]:
        outcome = "refused"
    head = f"{'DIFFERS' if different else 'equal':8}{outcome:8}{target:8} {pair[1]}"
    functions = results[1].get("functions", {})
    details = [f"    {name}: {numbers(facts)}" for name, facts in functions.items() if name]
    return outcome, [head, *(different or details)], bool(different)


def summary(outcomes, differing, seconds):
    count = {kind: outcomes.count(kind) for kind in ("code", "text", "refused")}
    return (f"{len(outcomes)} compilations: {count['code']} compared by machine code, {count['text']} equal in "
            f"text, {count['refused']} refused at both; {differing} differ; {seconds:.0f} s")


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", metavar="OLD")
    parser.add_argument("new", metavar="NEW", nargs="?", default=str(ROOT))
    parser.add_argument("--text-first", action="store_true",
                        help="compile only what differs in text when comments are left out; and vector_add.tile, "
                             "which would show other options of the compiler")
    parser.add_argument("--tests", action="store_true", help="every .tile test as well")
    parser.add_argument("--measured", action="store_true",
                        help="only the measured rows, each with the program and the constants of its own revision")
    parser.add_argument("--only", default="", metavar="WORDS", help="configurations that contain these words")
    parser.add_argument("--target", action="append", metavar="TARGET", help=f"one of {' '.join(TARGETS)}")
    parser.add_argument("--report", type=pathlib.Path, metavar="FILE",
                        help="a line for each compilation, and its kernels")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--cache", type=pathlib.Path, default=CACHE, metavar="FOLDER")
    return parser.parse_args()


def make_tasks(arguments):
    trees = [find_tree(name, pathlib.Path("build/tilevm"), [["./dev", "build"]], arguments.cache)
             for name in (arguments.old, arguments.new)]
    compilers = [Compiler(trees[0], trees[1], arguments.cache), Compiler(trees[1], trees[0], arguments.cache)]
    tasks = []
    if arguments.measured:
        pairs = configurations.measured_pairs(*(tree.folder for tree in trees))
    else:
        pairs = [(configuration, configuration) for configuration in configurations.find(ROOT, arguments.tests)]
    for pair in pairs:
        if arguments.only not in str(pair[1]):
            continue
        for target in arguments.target or TARGETS:
            text = arguments.text_first and pair[1].file != "programs/vector_add.tile"
            tasks.append((compilers, pair, target, text))
    if not tasks:
        raise Failure(f"no configuration contains `{arguments.only}`")
    return tasks


def main():
    arguments = read_arguments()
    begin = time.monotonic()
    tasks = make_tasks(arguments)
    note(f"{len(tasks)} compilations at each of two revisions, {arguments.jobs} at a time")
    outcomes, report, differing = [], [], 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for outcome, lines, differs in pool.map(compare, tasks):
            outcomes.append(outcome)
            report += lines
            differing += differs
            if differs:
                print("\n".join(lines), flush=True)
            if len(outcomes) % 100 == 0:
                note(f"{len(outcomes)} of {len(tasks)}, {time.monotonic() - begin:.0f} s")
    if arguments.report:
        arguments.report.write_text("\n".join(report) + "\n")
    print(summary(outcomes, differing, time.monotonic() - begin))
    return 1 if differing else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"machine_code: {failure}")
