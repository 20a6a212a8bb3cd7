"""Runs the same mathematics and the same planted faults in tilevm and in three other simulators.

    python compare.py speed RESULTS      times every case and counts the elements that differ
    python compare.py faults RESULTS     runs every planted fault, and its fixed form
    python compare.py tables RESULTS     prints both as Markdown

RESULTS is a JSON file that `speed` and `faults` add to. See run.sh, which calls this.
"""

import datetime
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile

import numpy as np

import cases

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
TILEVM = os.environ.get("TILEVM", str(ROOT / "build" / "tilevm"))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
REPEATS = int(os.environ.get("REPEATS", "3"))
ENVIRONMENT = dict(os.environ, TRITON_INTERPRET="1", NUMBA_ENABLE_CUDASIM="1",
                   OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2")
CHECKS = ["--data-races", "--uninitialized"]
# Oclgrind 21.10 looks for uninitialized values only in code without LLVM's `freeze`.
UNOPTIMISED = ["--build-options", "-cl-opt-disable"]

# Engine, variant: the words before CASE FOLDER REPEATS.
ENGINES = {
    ("triton", ""): [sys.executable, str(HERE / "triton_engine.py")],
    # Its GPU threads are Python threads, which get in each other's way on more than one core.
    ("numba", ""): ["taskset", "-c", "0", sys.executable, str(HERE / "numba_engine.py")],
    ("oclgrind", "no checks"): ["oclgrind", sys.executable, str(HERE / "opencl_engine.py")],
    ("oclgrind", "races"): ["oclgrind", "--data-races", sys.executable,
                            str(HERE / "opencl_engine.py")],
    ("oclgrind", "races, uninitialized"): ["oclgrind", *CHECKS, *UNOPTIMISED, sys.executable,
                                           str(HERE / "opencl_engine.py")],
}
TILEVM_VARIANTS = {"all checks": [], "all checks, one thread": ["--threads", "1"],
                   "no checks": ["--check", "none"]}
FAULTS = ["missing_barrier", "missing_barrier_before_reuse", "out_of_bounds",
          "out_of_bounds_shared", "uninitialized_shared", "uninitialized_register",
          "inter_block_race", "missing_wait", "copy_source_overwritten", "division_by_zero",
          "endless_loop", "sub_byte_neighbours"]
PATIENCE = 10  # seconds, for a kernel of 64 threads


def run(command, timeout=600):
    """(exit status, or None after the timeout; output of both streams)."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              env=ENVIRONMENT, timeout=timeout, check=False)
        return done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired as late:
        return None, (late.stdout or b"").decode() + (late.stderr or b"").decode()


# Speed ------------------------------------------------------------------------------------------


def tilevm_command(case, size, folder):
    """The command that computes a case from the files in `folder`."""
    if case["kind"] == "vadd":
        return [TILEVM, "run", ROOT / "programs/vector_add.tile", "-D", f"N={size[0]}",
                "-D", f"TILE={case['tile'][0]}", "--in", f"a={folder}/a.npy",
                "--in", f"b={folder}/b.npy", "--out", f"c={folder}/ours.npy"]
    defines = [f"{name}={value}" for name, value in zip("MNK", size)]
    defines += [f"B{name}={value}" for name, value in zip("MNK", case["tile"])]
    program, b = ROOT / "programs/matmul_f16_i6.tile", f"b=packed:{folder}/b.npy"
    if case["kind"] == "matmul":
        program, b = HERE / "matmul_f16.tile", f"b={folder}/b.npy"
        if case["tile"][1] > 8:
            defines += ["WM=2", "WN=2"]
    options = [word for define in defines for word in ("-D", define)]
    return [TILEVM, "run", program, *options, "--in", f"a={folder}/a.npy", "--in", b,
            "--out", f"c={folder}/ours.npy"]


def time_tilevm(command):
    """Seconds of the launches in one run of the command (`--stats` would count on top)."""
    status, output = run([*command, "--json"])
    if status != 0:
        raise RuntimeError(output)
    return float(re.search(r'"time_ms": ([0-9.e+-]+)', output)[1]) / 1000


def write_inputs(case, size, folder):
    for name, array in cases.make_inputs(case["kind"], size).items():
        np.save(f"{folder}/{name}.npy", array)
    pathlib.Path(folder, "size.json").write_text(json.dumps(size), encoding="utf-8")


def count_different(folder):
    """(elements whose bits differ from tilevm's, elements)."""
    theirs, ours = np.load(f"{folder}/c.npy"), np.load(f"{folder}/ours.npy")
    bits = {2: np.uint16, 4: np.uint32}[ours.itemsize]
    return int((theirs.view(bits) != ours.view(bits)).sum()), int(ours.size)


def row(name, engine, variant, size):
    return {"case": name, "engine": engine, "variant": variant, "size": list(size), "seconds": []}


def time_other(command, made, folder):
    """Adds one round of another engine to its row; also what it computed, compared with tilevm."""
    case = cases.CASES[made["case"]]
    write_inputs(case, made["size"], folder)
    status, output = run([*command, made["case"], folder, REPEATS])
    if status != 0 or "FATAL" in output:
        raise RuntimeError(f"{made['engine']} {made['case']}: {output}")
    made["seconds"] += json.loads(re.search(r'(?m)^\{"seconds".*$', output)[0])["seconds"]
    time_tilevm(tilevm_command(case, made["size"], folder))
    made["different"], made["of"] = count_different(folder)


def time_ours(rows, folder):
    """Adds one round of every variant of tilevm to its row."""
    case, size = cases.CASES[rows[0]["case"]], rows[0]["size"]
    write_inputs(case, size, folder)
    command = tilevm_command(case, size, folder)
    for made in rows:
        options = TILEVM_VARIANTS[made["variant"]]
        made["seconds"] += [time_tilevm([*command, *options]) for _ in range(REPEATS + 1)][1:]


def speed_of(name):
    """The rows of a case. Rounds go through all engines, so that a busy minute hits all alike."""
    sizes = cases.CASES[name]["sizes"]
    others = [(command, row(name, engine, variant, sizes[engine]))
              for (engine, variant), command in ENGINES.items() if engine in sizes]
    ours = [row(name, "tilevm", variant, sizes["tilevm"]) for variant in TILEVM_VARIANTS]
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            time_ours(ours, folder)
            for command, made in others:
                time_other(command, made, folder)
    rows = ours + [made for _, made in others]
    for made in rows:
        made["median"] = statistics.median(made["seconds"])
        made["rate"] = cases.work(made["size"]) / made["median"]
    return rows


def speed():
    """The rows of all cases, and the load of the machine at the begin and at the end."""
    rows, loads = [], [os.getloadavg()[0]]
    for name in cases.CASES:
        rows += speed_of(name)
        loads.append(os.getloadavg()[0])
        print(f"{name}: done, load {loads[-1]:.1f}", file=sys.stderr)
    return {"speed": rows, "load": loads}


# Faults -----------------------------------------------------------------------------------------

# What counts as one report, and what as a word that the fault cannot be said in the language.
REPORTS = {
    "tilevm": r"(?m)^\S+: error: ",
    "oclgrind": r"(?m)^(?:[\w-]+ data race at|Invalid \w+ of size|Uninitialized value|Index \()",
    "numba": r"(?m)^(?:\w*Error|\w*Exception): ",
    "triton": r"(?m)^(?:[\w.]*Error|[\w.]*Exception): ",
}


def fault_command(engine, name, fixed):
    if engine == "tilevm":
        return [TILEVM, "run", HERE / "faults.tile", "--entry", name, "-D",
                f"FIXED={'true' if fixed else 'false'}", "--in", "x=i32[64]=iota",
                "--in", "y=i32[64]=zeros", "--max-steps", "1000000"]
    words = [name] + (["fixed"] if fixed else [])
    if engine == "oclgrind":
        return ["oclgrind", *CHECKS, *UNOPTIMISED, sys.executable, HERE / "opencl_faults.py",
                *words]
    return [sys.executable, HERE / f"{engine}_faults.py", *words]


def fault(engine, name, fixed):
    """{"outcome": found, silent, warning, no end or cannot be said; "reports": how many}."""
    status, output = run(fault_command(engine, name, fixed), PATIENCE)
    reports = len(re.findall(REPORTS[engine], output))
    if status is None:
        outcome = "no end"
    elif "cannot be said" in output:
        outcome = "cannot be said"
    elif reports > 0:
        outcome = "found"
    elif status != 0 or "FATAL" in output:
        raise RuntimeError(f"{engine} {name}: status {status}\n{output}")
    else:
        outcome = "warning" if "RuntimeWarning" in output else "silent"
    return {"fault": name, "engine": engine, "fixed": fixed, "outcome": outcome,
            "reports": reports}


def faults():
    return {"faults": [fault(engine, name, fixed) for name in FAULTS for engine in REPORTS
                       for fixed in (False, True)]}


# Results ----------------------------------------------------------------------------------------


def machine():
    """Where and with what: processor, cores, versions."""
    from importlib.metadata import version
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text("utf-8"))
    return {
        "date": datetime.date.today().isoformat(),
        "processor": model[1] if model else platform.processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "triton": version("triton"), "numba": version("numba"), "numpy": version("numpy"),
        "oclgrind": re.search(r"Oclgrind ([0-9.]+)", run(["oclgrind", "--version"])[1])[1],
        "tilevm": run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"])[1].strip(),
    }


def number(value):
    """1234567 as 1.23 M."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g}"


def speed_table(rows):
    """One line a case and engine, fastest variant of tilevm with all checks as the measure."""
    print("| case | engine | size | rate | tilevm does this many times as much "
          "| differing elements |")
    print("|---|---|---|---|---|---|")
    for name, case in cases.CASES.items():
        mine = [r for r in rows if r["case"] == name]
        ours = next(r for r in mine if r["engine"] == "tilevm" and r["variant"] == "all checks")
        unit = cases.UNITS[case["kind"]]
        for r in sorted(mine, key=lambda r: -r["rate"]):
            engine = r["engine"] + (f", {r['variant']}" if r["variant"] else "")
            ratio = ours["rate"] / r["rate"]
            shown = f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"
            differ = f"{r['different']:,} of {r['of']:,}" if "of" in r else ""
            size = " x ".join(f"{extent:,}" for extent in r["size"])
            factor = "" if r["engine"] == "tilevm" else shown
            print(f"| {name} | {engine} | {size} | {number(r['rate'])} {unit}/s | {factor} "
                  f"| {differ} |")


def fault_table(rows):
    """One line a fault; `found (n)` with the number of reports."""
    engines = list(REPORTS)
    print(f"| fault | {' | '.join(engines)} |\n|---|{'---|' * len(engines)}")
    for name in FAULTS:
        cells = []
        for engine in engines:
            r = next(r for r in rows if r["fault"] == name and r["engine"] == engine
                     and not r["fixed"])
            cells.append(f"{r['outcome']} ({r['reports']:,})" if r["reports"] else r["outcome"])
        print(f"| {name.replace('_', ' ')} | {' | '.join(cells)} |")
    false = {engine: sum(r["reports"] for r in rows if r["engine"] == engine and r["fixed"])
             for engine in engines}
    print("| reports on the mended kernels | "
          + " | ".join(str(false[engine]) for engine in engines) + " |")


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("speed", "faults", "tables"):
        sys.exit(__doc__)
    what, path = sys.argv[1], pathlib.Path(sys.argv[2])
    results = json.loads(path.read_text("utf-8")) if path.exists() else {"schema": 1}
    if what == "tables":
        speed_table(results["speed"])
        print()
        fault_table(results["faults"])
        return
    results.setdefault("machines", {})[what] = machine()
    results.update(speed() if what == "speed" else faults())
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
