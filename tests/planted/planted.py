#!/usr/bin/env python3
"""Does the net catch fish? Plants single changes and tells which test catches each, without a GPU.

  planted.py plan [--seed N] [--count N]   chooses changes at random among all sites
  planted.py plan --chosen                 takes those of chosen/*.txt, which people chose
  planted.py build                         one build that has all of them, none of them active
  planted.py run [--limit SECONDS]         the first test that fails, for each; goes on where it was
  planted.py report                        the table, in Markdown

Nothing of this is in an ordinary build. The sources and a build with tests (`./dev test --quick`
makes one) are copied to --work; each changed expression becomes a choice between both, so that one
build serves all changes ($PLANTED chooses). Only what changed is compiled again: the copy is
mounted where the checkout is, in a mount namespace of its own, which needs root or user namespaces.

Tests are found by what they run: each is run once with nothing planted, and notes the sites that
it reaches. A change is then tried with the tests that reach it, the quickest first.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import sites as finder

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
# What is planted where, and how many of a hundred.
AREAS = {
    "emitter": (["backend/emit", "backend/machine", "backend/select"], 32),
    "planner": (["isa/access", "isa/dot", "isa/analysis"], 16),
    "prelude": (["backend/prelude"], 18),
    "simulator": (["sim/exec", "sim/mma", "sim/arithmetic", "sim/tiles", "sim/access"], 20),
    "checks": (["sim/checks", "isa/rules", "isa/verify"], 14),
}
# Parts of the prelude that are only text: PTX, which no host compiler reads.
DEVICE_PARTS = ("device", "bulk")
UNITS = ["isa", "frontend", "sim", "backend", "vm"]


def say(text):
    print(f"planted: {text}", flush=True)


# --- plan -----------------------------------------------------------------------------------------

def arguments_of():
    return ["-std=c++20", "-xc++", f"-I{ROOT}", "-DTILEVM_SOURCE_DIR=\"\""]


def sites_of(index, path):
    text = (ROOT / path).read_text()
    if path.endswith(".cuh"):
        if Path(path).stem in DEVICE_PARTS:
            return finder.find_by_pattern(path, text)
        unit = str(ROOT / "tests/unit/backend/emit_host_prelude.h")
        return finder.find(index, path, text, arguments_of(), str(ROOT), unit)
    return finder.find(index, path, text, arguments_of(), str(ROOT))


def overlaps(a, b):
    return a.path == b.path and a.begin < b.end and b.begin < a.end


def choose(found, chosen, chance):
    """One site of a kind chosen at random, so that frequent kinds do not crowd out the others."""
    by_kind = {}
    for site in found:
        if not any(overlaps(site, other) for other in chosen):
            by_kind.setdefault(site.kind, []).append(site)
    if not by_kind:
        return None
    return chance.choice(by_kind[chance.choice(sorted(by_kind))])


def plan_area(index, folders, count, chance):
    files = sorted(str(path.relative_to(ROOT)) for folder in folders
                   for path in (ROOT / folder).iterdir() if path.suffix in (".cc", ".cuh"))
    files = chance.sample(files, min(len(files), count // 3 + 2))  # each takes seconds to parse
    known, chosen = {}, []
    for _ in range(20 * count):
        if len(chosen) == count:
            break
        path = chance.choice(files)
        if path not in known:
            known[path] = sites_of(index, path)
        site = choose(known[path], chosen, chance)
        if site is not None and sum(other.path == path for other in chosen) < 6:
            chosen.append(site)
    return chosen


def read_chosen(text):
    """The changes of a text: a name after `# `, a path, lines that go (`- `) and come (`+ `)."""
    changes = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("# "):
            changes.append({"name": line[2:], "path": None, "old": [], "new": []})
        elif not line:
            continue
        elif line[:2].strip() in ("-", "+") and line[1:2] in ("", " "):
            changes[-1]["old" if line[0] == "-" else "new"].append(line[2:])
        elif changes and changes[-1]["path"] is None:
            changes[-1]["path"] = line
        else:
            sys.exit(f"planted: line {number} is neither `# name`, a path, `- ` nor `+ `: {line}")
    return [{**each, "old": "\n".join(each["old"]), "new": "\n".join(each["new"])}
            for each in changes]


def area_of(path):
    return next(area for area, (folders, _) in AREAS.items()
                if str(Path(path).parent) in folders)


def chosen_entry(change, area):
    """The entry of a change; None, with a word to who reads, if its text is there no more."""
    path = ROOT / change["path"]
    data = path.read_bytes() if path.exists() else b""
    if data.count(change["old"].encode()) != 1:
        say(f"left out, since its text is not in {change['path']} once: {change['name']}")
        return None
    begin = data.index(change["old"].encode())
    return {**change, "begin": begin, "kind": change["name"], "area": area,
            "form": "text" if path.suffix == ".cuh" else "inline",
            "line": data[:begin].count(b"\n") + 1}


def plan_chosen():
    entries = []
    for file in sorted((HERE / "chosen").glob("*.txt")):
        for change in read_chosen(file.read_text()):
            entry = chosen_entry(change, area_of(change["path"]))
            if entry is None:
                continue
            end = entry["begin"] + len(entry["old"].encode())
            if any(each["path"] == entry["path"] and each["begin"] < end and
                   entry["begin"] < each["begin"] + len(each["old"].encode()) for each in entries):
                say(f"left out, since another one changes the same text: {entry['name']}")
                continue
            entries.append(entry)
    return entries


def write_plan(options, entries):
    for number, entry in enumerate(entries):
        entry["number"] = number
    options.work.mkdir(parents=True, exist_ok=True)
    (options.work / "plan.json").write_text(json.dumps(entries, indent=1))


def plan(options):
    if options.chosen:
        write_plan(options, plan_chosen())
        return
    sys.path.append("/usr/lib/python3/dist-packages")  # where Debian's python3-clang-19 is
    try:
        from clang import cindex
    except ImportError:
        sys.exit("planted: install python3-clang-19, which reads the syntax tree")
    libraries = sorted(Path("/usr/lib").glob("*/libclang-19.so*"))
    if not libraries:
        sys.exit("planted: install python3-clang-19, which brings libclang-19")
    cindex.Config.set_library_file(str(libraries[0]))
    chance = random.Random(options.seed)
    chosen = []
    for area, (folders, share) in AREAS.items():
        some = plan_area(cindex, folders, round(options.count * share / 100), chance)
        for site in some:
            text = (ROOT / site.path).read_bytes()[:site.begin]
            entry = site.as_dict()
            entry.update(area=area, line=text.count(b"\n") + 1)
            chosen.append(entry)
        say(f"{area}: {len(some)} changes")
    write_plan(options, chosen)


def read_plan(options):
    return json.loads((options.work / "plan.json").read_text())


# --- build ----------------------------------------------------------------------------------------

def substituted(data, entries, text_of):
    """The bytes of a file with the text of each entry in place of what it was."""
    for entry in sorted(entries, key=lambda each: -each["begin"]):
        begin, old = entry["begin"], entry["old"].encode()
        if data[begin:begin + len(old)] != old:
            sys.exit(f"planted: {entry['path']}:{entry['line']} is no longer what was planned")
        data = data[:begin] + text_of(entry).encode() + data[begin + len(old):]
    return data


def write_if_changed(path, data):
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def instrument(options, entries):
    """Writes the instrumented sources into the copy. Host tests of the prelude read instrumented
    files of it from a folder of their own; the embedded text of it is not instrumented."""
    copy = options.work / "copy"
    by_path = {}
    for entry in entries:
        by_path.setdefault(entry["path"], []).append(entry)
    for path, some in by_path.items():
        some = [each for each in some if each["form"] != "text" and "broken" not in each]
        original = (ROOT / path).read_bytes()
        changed = substituted(original, some,
                              lambda each: finder.instrumented(each, each["number"]))
        include = b'#include "tests/planted/planted.h"\n#line 1\n'
        if path.endswith(".cuh"):
            write_if_changed(copy / "planted" / path, changed)
        else:
            write_if_changed(copy / path, include + changed)
    for name in ("planted.h", "planted.cc"):
        write_if_changed(copy / "tests/planted" / name, (HERE / name).read_bytes())
    hook(copy, [path for path in by_path if path.endswith(".cc")])


def hook(copy, changed):
    """The copy's build: planted.cc in the library that all others use, the instrumented prelude for
    the tests that compile it (and for nothing else, which would be compiled again), and its text."""
    quiet = "PROPERTY COMPILE_OPTIONS -Wno-error)\n"
    lists = (ROOT / "CMakeLists.txt").read_text()
    lists = lists.replace("tilevm_library(isa)\n", "tilevm_library(isa)\n"
                          "target_sources(tilevm_isa PRIVATE tests/planted/planted.cc)\n"
                          f"set_property(SOURCE {' '.join(changed)} {quiet}")
    write_if_changed(copy / "CMakeLists.txt", lists.encode())
    lists = (ROOT / "tests/CMakeLists.txt").read_text()
    users = [str(path) for path in sorted((ROOT / "tests/unit/backend").glob("*.cc"))
             if re.search(r"emit_host_prelude\.h|emit_prelude_types\.h|recipe_machine\.h", path.read_text())]
    lists += (f"\nset_property(SOURCE {' '.join(users)} PROPERTY INCLUDE_DIRECTORIES "
              "${PROJECT_SOURCE_DIR}/planted)\n"
              f"set_property(SOURCE {' '.join(users)} APPEND {quiet}")
    write_if_changed(copy / "tests/CMakeLists.txt", lists.encode())
    path = copy / "backend/emit/emit.cc"
    emit = path.read_bytes()
    if b"planted::text" not in emit:
        emit = re.sub(rb"(append\(\"(\w+)\", )(prelude_\w+)\)", rb'\1planted::text("\2", \3))', emit)
        path.write_bytes(b'#include "tests/planted/planted.h"\n#line 1\n' + emit)


def mounted(options, command, **more):
    """Runs a command where the checkout is, with the copy mounted there."""
    script = f"mount --bind '{options.work}/copy' '{ROOT}' && cd '{ROOT}' && " + command
    namespaces = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    return subprocess.run(namespaces + ["sh", "-c", script], **more)


def targets(options):
    return ["tilevm", "filetest"] + [f"unit_{name}" for name in UNITS if name not in options.skip]


def build(options):
    entries = read_plan(options)
    copy = options.work / "copy"
    if not copy.exists():
        say("copying the checkout with its build")
        shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", "build-*"))
    for _ in range(8):
        instrument(options, entries)
        log = options.work / "build.log"
        with open(log, "wb") as file:
            done = mounted(options, "nice cmake -B build && nice cmake --build "
                           f"build --parallel {options.jobs} --target {' '.join(targets(options))} -- -k 0",
                           stdout=file, stderr=file)
        if done.returncode == 0:
            (options.work / "plan.json").write_text(json.dumps(entries, indent=1))
            say(f"built {sum('broken' not in each for each in entries)} changes")
            return
        if not drop_broken(log.read_text(errors="replace"), entries):
            sys.exit(f"planted: the build fails; see {log}")
    sys.exit("planted: the build still fails")


def drop_broken(log, entries):
    """Marks the changes on lines with errors; how many."""
    count = 0
    for path, line in set(re.findall(r"([\w/.]+):(\d+):\d+: (?:fatal )?error", log)):
        for entry in entries:
            first, last = entry["line"], entry["line"] + entry["old"].count("\n")
            if path.endswith(entry["path"]) and first <= int(line) <= last and "broken" not in entry:
                entry["broken"] = True
                say(f"does not compile: {entry['path']}:{entry['line']} {entry['new'][:60]}")
                count += 1
    return count


# --- tests ----------------------------------------------------------------------------------------

def all_tests(options):
    """Commands by name. A unit's tests are run source by source."""
    tests = {}
    for unit in UNITS:
        if unit in options.skip:
            continue
        for source in sorted((ROOT / f"tests/unit/{unit}").glob("*.cc")):
            if "TEST_CASE" in source.read_text():
                tests[f"unit_{unit} {source.name}"] = [
                    f"build/tests/unit_{unit}", f"--source-file=*{source.name}", "--abort-after=1"]
    files = sorted((ROOT / "tests/filetests").rglob("*.tile")) + sorted(
        (ROOT / "programs").glob("*.tile"))
    for file in files:
        path = str(file.relative_to(ROOT))
        tests[f"tile {path}"] = ["build/tests/filetest", "sim", path]
    for path in sorted((ROOT / "tests/filetests").rglob("*.tile")) if options.emu else []:
        path = str(path.relative_to(ROOT))
        tests[f"emu {path}"] = ["build/tests/filetest", "emu:O0", path]
    for name, command in (each.split("=", 1) for each in options.test):
        tests[name] = command.split()
    return tests


class Child:
    """Runs tests with the copy mounted; one process for all, since a mount takes time."""

    def __init__(self, options):
        self.options = options

    def run(self, command, environment, limit):
        """The status, or None after the time limit, the output's end and the seconds."""
        begin = time.monotonic()
        process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment},
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   start_new_session=True, preexec_fn=lambda: os.nice(19))
        try:
            output, _ = process.communicate(timeout=limit)
            status = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            status = None
        return status, output.decode(errors="replace"), time.monotonic() - begin


def enter_mount(options):
    """Starts this script again with the copy mounted over the checkout."""
    if os.environ.get("PLANTED_MOUNTED") == "1":
        return
    os.environ["PLANTED_MOUNTED"] = "1"
    arguments = " ".join(f"'{each}'" for each in sys.argv[1:])
    script = f"/usr/bin/env python3 '{HERE}/planted.py' {arguments}"
    sys.exit(mounted(options, script).returncode)


def quiet_environment(options):
    return {"RC_PARAMS": "seed=1", "TILEVM_CACHE_DIR": str(options.work / "cache")}


def write_numbers(options, entries):
    path = options.work / "numbers.txt"
    path.write_text("".join(f"{Path(each['path']).stem} {each['number']}\n" for each in entries
                            if each["path"].endswith(".cuh")))
    return str(path)


def reach(options, entries, tests, child):
    """By test: seconds, and the numbers that it reaches. Kept in a file."""
    kept = options.work / "reach.json"
    reached = json.loads(kept.read_text()) if kept.exists() else {}
    for name, command in tests.items():
        if name in reached:
            continue
        seen = options.work / "seen"
        seen.write_bytes(b"\0" * (1 << 16))
        environment = {**quiet_environment(options), "PLANTED_SEEN": str(seen),
                       "PLANTED_NUMBERS": write_numbers(options, entries)}
        status, output, seconds = child.run(command, environment, 300)
        if status not in (0, 77):
            say(f"{name} fails with nothing planted and is left out: {output[-200:]}")
        numbers = [i for i, byte in enumerate(seen.read_bytes()) if byte]
        reached[name] = {"passes": status == 0, "seconds": seconds, "numbers": numbers}
        kept.write_text(json.dumps(reached))
    return reached


def changed_text(options, entry):
    """A file with the changed part of the prelude."""
    data = substituted((ROOT / entry["path"]).read_bytes(), [entry], lambda each: each["new"])
    path = options.work / "text"
    name = Path(entry["path"]).stem
    path.write_bytes(name.encode() + b"\n" + data.replace(b"#pragma once\n", b""))
    return str(path)


def first_catch(options, entry, order, tests, reached, child):
    environment = {**quiet_environment(options), "PLANTED": str(entry["number"])}
    if entry["path"].endswith(".cuh"):
        environment["PLANTED_TEXT"] = changed_text(options, entry)
    for name in order:
        limit = 10 + 10 * reached[name]["seconds"]
        status, output, _ = child.run(tests[name], environment, limit)
        if status != 0:
            case = re.search(r"TEST CASE:\s+(.+)", output)
            return {"caught": name, "how": "time limit" if status is None else f"status {status}",
                    "case": case.group(1).strip() if case else ""}
    return {"caught": None, "tried": len(order)}


def run(options):
    enter_mount(options)
    entries = [each for each in read_plan(options) if "broken" not in each]
    tests, child = all_tests(options), Child(options)
    reached = reach(options, entries, tests, child)
    results_file = options.work / "results.json"
    results = json.loads(results_file.read_text()) if results_file.exists() else {}
    begin = time.monotonic()
    for entry in entries:
        number = str(entry["number"])
        order = sorted((name for name in tests if reached[name]["passes"] and
                        entry["number"] in reached[name]["numbers"]),
                       key=lambda name: reached[name]["seconds"])
        known = results.get(number)
        if known and (known["caught"] or known["tried"] == len(order)):
            continue
        if options.limit and time.monotonic() - begin > options.limit:
            break
        results[number] = first_catch(options, entry, order, tests, reached, child)
        results_file.write_text(json.dumps(results, indent=1))
        say(f"{number} {entry['path']}:{entry['line']} {entry['kind']}: "
            f"{results[number]['caught'] or 'SURVIVES'}")
    print(summary(entries, results))


# --- report ---------------------------------------------------------------------------------------

def summary(entries, results):
    lines = ["| area | changes | caught | not reached by a test | survived |", "|---|---|---|---|---|"]
    for area in list(AREAS) + ["all"]:
        some = [results[str(each["number"])] for each in entries
                if area in (each["area"], "all") and str(each["number"]) in results]
        caught = sum(bool(each["caught"]) for each in some)
        unreached = sum(not each["caught"] and each["tried"] == 0 for each in some)
        lines.append(f"| {area} | {len(some)} | {caught} | {unreached} | "
                     f"{len(some) - caught - unreached} |")
    return "\n".join(lines)


def cell(text):
    text = re.sub(r"\s+", " ", text).replace("|", "\\|")
    return f"`{text[:70]}`" if text else "nothing"


def report(options):
    entries = [each for each in read_plan(options) if "broken" not in each]
    results = json.loads((options.work / "results.json").read_text())
    print(summary(entries, results))
    print("\n| site | change | from | to | caught by |\n|---|---|---|---|---|")
    for each in entries:
        result = results.get(str(each["number"]))
        if result is None:
            continue
        by = result["caught"] or ("no test reaches it" if result["tried"] == 0 else "**survives**")
        print(f"| `{each['path']}:{each['line']}` | {each['kind']} | {cell(each['old'])} | "
              f"{cell(each['new'])} | {by} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["plan", "build", "run", "report"])
    parser.add_argument("--work", type=Path, default=ROOT.parent / "tilevm-planted")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--chosen", action="store_true", help="the changes in chosen/*.txt")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=0, help="seconds; results are kept")
    parser.add_argument("--skip", action="append", default=[], choices=UNITS, help="leave out a unit")
    parser.add_argument("--emu", action="store_true", help="also run .tile files by emu")
    parser.add_argument("--test", action="append", default=[], metavar="NAME=COMMAND")
    options = parser.parse_args()
    options.work = options.work.resolve()
    globals()[options.command](options)


if __name__ == "__main__":
    main()
