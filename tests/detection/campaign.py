#!/usr/bin/env python3
"""Detection campaign: random programs, an independent oracle for each, and the simulator's report.

    campaign.py TILEVM threads 0..999      races, copies and needless barriers within a block
    campaign.py TILEVM changes             all single changes of ordering patterns
    campaign.py TILEVM blocks 0..999       random programs whose blocks order themselves
    campaign.py TILEVM groups 0..999       groups of warps, mbarriers, copies, proxies
    campaign.py TILEVM planted             faults planted in the programs of programs/

Prints each program whose report is not what the oracle expects, and at the end how many were missed,
were reported without need, crashed, or have another line. Exit status 1 if there were any.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import subprocess
import sys
import tempfile

import blocks
import groups
import plants
import threads


def report_of(tilevm, text):
    """The exit status and the diagnostics of a run."""
    with tempfile.NamedTemporaryFile("w", suffix=".tile", delete=False) as file:
        file.write(text)
    try:
        done = subprocess.run([tilevm, "run", "--json", "--threads", "1", file.name],
                              capture_output=True, text=True, timeout=120)
        answer = json.loads(done.stdout) if done.stdout else {"diagnostics": []}
        return done.returncode, answer["diagnostics"]
    finally:
        os.unlink(file.name)


def judge_threads(tilevm, seed):
    program = threads.random_program(random.Random(seed))
    fault, needless = threads.expected(program)
    status, diagnostics = report_of(tilevm, program.text)
    errors = [(d["code"], d["line"]) for d in diagnostics if d["severity"] == "error"]
    notes = {d["line"] for d in diagnostics if d["code"] == "TV0408"}
    if status not in (0, 1):
        return "crashed", f"status {status}", program.text
    if fault and not errors:
        return "missed", f"{fault}", program.text
    if errors and not fault:
        return "false", f"{errors}", program.text
    if fault and errors != [fault]:
        return "other", f"expected {fault}, got {errors}", program.text
    if not fault and notes != needless:
        return "redundancy", f"expected {sorted(needless)}, got {sorted(notes)}", program.text
    return ("faulty" if fault else "right"), "", ""


def judge_blocks(tilevm, name, program):
    program = [blocks.freeze(b) for b in program]
    try:
        fault = blocks.Oracle(program).run()
    except OverflowError:
        return "too large", "", ""
    text = blocks.text_of(program)
    status, diagnostics = report_of(tilevm, text)
    errors = [d for d in diagnostics if d["severity"] == "error"]
    if status not in (0, 1) or (status == 1 and not errors):
        return "crashed", f"{name}: status {status}", text
    if fault and not errors:
        return "missed", f"{name}: {fault}", text
    if errors and not fault:
        return "false", f"{name}: {errors[0]['message']}", text
    if errors and not {e["code"] for e in errors} <= {"TV0406", "TV0409", "TV0404"}:
        return "other", f"{name}: {errors}", text
    return ("faulty" if fault else "right"), "", ""


CODES_OF_GROUPS = {"TV0405": "race", "TV0406": "race", "TV0409": "deadlock", "TV0420": "fence", "TV0422": "phase",
                   "TV0425": "exit"}


def judge_groups(tilevm, seed):
    program = groups.random_program(random.Random(seed))
    faults = groups.Oracle(program).judge()
    if faults is None:
        return "too large", "", ""
    status, diagnostics = report_of(tilevm, program.text())
    errors = [d for d in diagnostics if d["severity"] == "error"]
    if status not in (0, 1) or (status == 1 and not errors):
        return "crashed", f"{seed}: status {status}", program.text()
    if faults and not errors:
        return "missed", f"{seed}: {sorted(faults)}", program.text()
    if errors and not faults:
        return "false", f"{seed}: {errors[0]['message']}", program.text()
    if not errors:
        return "right", "", ""
    kind = CODES_OF_GROUPS.get(errors[0]["code"])
    # A wait that may be overtaken waits for ever in some order.
    if len(errors) > 1 or (kind not in faults and not (kind == "phase" and "deadlock" in faults)):
        return "other", f"{seed}: expected {sorted(faults)}, got {[(e['code'], e['message']) for e in errors]}", program.text()
    return "faulty", "", ""


def judge_planted(tilevm, name, program):
    """A program that is right has no report at all, one with a planted fault exactly one."""
    lines, faulty = program
    text = "\n".join(lines) + "\n"
    status, diagnostics = report_of(tilevm, text)
    errors = [d for d in diagnostics if d["severity"] == "error"]
    if status not in (0, 1) or (status == 1 and not errors):
        return "crashed", f"{name}: status {status}", text
    if not faulty:
        return ("false", f"{name}: {diagnostics[0]['message']}", text) if diagnostics else ("right", "", "")
    if len(errors) != 1:
        return "missed", name, text
    return "faulty", "", ""


def cases(mode, seeds):
    if mode == "planted":
        for name, lines in plants.programs():
            yield name, (lines, False)
            for what, changed in plants.changes(lines):
                yield f"{name}, {what}", (changed, True)
        return
    if mode == "changes":
        for name, pattern in blocks.patterns():
            yield name, pattern
            for what, changed in blocks.changes(pattern):
                yield f"{name}, {what}", changed
        return
    for seed in seeds:
        yield seed, (None if mode in ("threads", "groups") else blocks.random_program(random.Random(seed)))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tilevm")
    parser.add_argument("mode", choices=["threads", "changes", "blocks", "groups", "planted"])
    parser.add_argument("seeds", nargs="?", default="0..99")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", type=int, default=5, help="programs that are printed")
    options = parser.parse_args()
    first, last = (int(n) for n in options.seeds.split(".."))
    counts = collections.Counter()
    good = ("faulty", "right", "too large")

    def judge(case):
        name, program = case
        if options.mode == "threads":
            return name, judge_threads(options.tilevm, name)
        if options.mode == "groups":
            return name, judge_groups(options.tilevm, name)
        if options.mode == "planted":
            return name, judge_planted(options.tilevm, name, program)
        return name, judge_blocks(options.tilevm, name, program)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, (verdict, why, text) in pool.map(judge, cases(options.mode, range(first, last + 1))):
            counts[verdict] += 1
            if verdict not in good and sum(counts[v] for v in counts if v not in good) <= options.show:
                print(f"{verdict}: {name}: {why}\n{text}")
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    return 1 if any(verdict not in good for verdict in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
