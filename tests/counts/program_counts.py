"""The table of docs/results/program_counts.md: what the programs ask of a GPU, counted without one.

    program_counts.py TILEVM                     checks what the simulator counts (a test)
    program_counts.py TILEVM --write             writes it
    program_counts.py TILEVM --write --machine   writes what the CUDA compiler makes as well: needs NVRTC or nvcc, and nvdisasm
"""

import argparse
import functools
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from rows import ROWS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "results" / "program_counts.md"
BEGIN, END = "<!-- counts -->\n", "<!-- end of counts -->\n"
HEADER = ["kernel", "instructions", "registers; spilled", "sectors, of the ideal", "bank conflicts", "mma; of the scheme", "bytes in flight; blocks"]
MACHINE = (1, 2)  # columns that the CUDA compiler decides
TENSOR = re.compile(r"\b[HIBQ]G?MMA\b|\bHMMA|\bIMMA|\bBMMA|\bQMMA")


@functools.cache
def command(tilevm, *words):
    ran = subprocess.run([tilevm, *words], capture_output=True, text=True, cwd=ROOT)
    if ran.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{ran.stderr}")
    return ran.stdout


def program(row):
    return [f"programs/{row.file}.tile", *[f"-D{d}" for d in row.defines]]


def simulated(tilevm, row):
    """Columns from a run: sectors, bank conflicts, tensor-core instructions, bytes of copies ahead."""
    inputs = [word for i in row.inputs for word in ("--in", i)]
    out = command(tilevm, "run", *program(row), "--entry", row.entry, *inputs, "--orders", "0", "--stats", "--json")
    kernel = next(k for k in json.loads(out)["stats"]["kernels"] if k["kernel"] == row.kernel)
    totals = kernel["totals"]
    sectors, ideal = [sum(t.get(name, 0) for t in totals.values()) for name in ("sectors", "ideal_sectors")]
    spread = [(s, t) for s in kernel["statements"] for t in s["accesses"].values()]
    conflicts = {}
    for statement, counts in spread:
        if counts.get("bank_conflicts"):
            name = statement["instruction"]
            conflicts[name] = conflicts.get(name, 0) + counts["bank_conflicts"]
    dots = [s["executions"] for s in kernel["statements"] if s["instruction"] in ("Dot", "DotSparse")]
    products = ""
    if dots:
        mma = sum(kernel["tensor_cores"].values()) / max(dots) / (kernel["threads"] // 32)
        products = f"{mma:g}; {row.products}" + (f" + {row.extra}" if row.extra else "")
    copies = {}
    for statement, counts in spread:
        if statement["instruction"] == "CopyAsync":
            place = (statement.get("file"), statement["line"], statement["column"])
            copies[place] = max(copies.get(place, 0), counts["bytes"] / statement["executions"])
    flight = f"{row.stages * sum(copies.values()) / 1024:.0f} KB" if copies else ""
    return [row.name, f"{sectors / max(1, ideal):.2f}", ", ".join(f"{n:,} ({name})" for name, n in conflicts.items()) or "0", products, flight]


def loops(listing):
    """The instructions of each loop of a function: from the target of a jump backwards to the jump."""
    code, labels = [], {}
    for line in listing:
        if match := re.match(r"\s*(\.L_\w+):", line):
            labels[match[1]] = len(code)
        elif match := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(.*?);", line):
            code.append(match[1])
    found = []
    for i, text in enumerate(code):
        match = re.search(r"\bBRA.*`\((\.L_\w+)\)", text)
        if match and labels.get(match[1], i + 1) <= i:
            found.append(code[labels[match[1]] : i + 1])
    return code, found


def instructions(row, listing):
    """The counts of the innermost loop that multiplies most, or counts, for one element; of all code where no loop does."""
    article = "an" if row.what[0] in "aeio" else "a"
    code, found = loops(listing)
    code = [c for c in code if not c.startswith("NOP")]
    marker = TENSOR if row.products else re.compile(r"ATOMS|SHFL|REDUX|LDG")
    if not row.products and any("REDUX" in c for loop in found for c in loop):
        marker = re.compile("REDUX")  # one instruction where others have a chain of shuffles
    found = [loop for loop in found if any(marker.search(c) for c in loop)]
    if not found or row.kernel in ("softmax", "layernorm", "rmsnorm", "rope", "append"):
        steps = sum(bool(TENSOR.search(c)) for c in code) / (row.products + row.extra) if row.products else 1
        return f"{len(code) / max(1, steps) / row.elements:.1f} {article} {row.what}"
    most = max(sum(bool(marker.search(c)) for c in loop) for loop in found)
    loop = min((loop for loop in found if sum(bool(marker.search(c)) for c in loop) == most), key=len)
    steps = sum(bool(TENSOR.search(c)) for c in loop) / (row.products + row.extra) if row.products else 1
    return f"{len(loop) / max(1, steps) / row.elements:.1f} {article} {row.what}"


def compiled(tilevm, row, nvdisasm):
    """Columns of the CUDA compiler, and the blocks that a multiprocessor holds."""
    report = json.loads(command(tilevm, "compile", *program(row), "--target", "sm_90a", "--explain", "--json"))
    kernel = next(k for k in report["targets"][0]["kernels"] if k["name"] == row.kernel)
    with tempfile.TemporaryDirectory() as folder:
        cubin = pathlib.Path(folder) / "program.cubin"
        command(tilevm, "compile", *program(row), "--target", "sm_90a", "--emit", "cubin", "-o", str(cubin))
        text = subprocess.run([nvdisasm, "-c", str(cubin)], capture_output=True, text=True, check=True).stdout
    listing = text.split(f".text.{kernel['entry']}:\n")[1].split("//-----")[0].splitlines()
    return instructions(row, listing), f"{kernel['registers']}; {kernel['spill_store_bytes'] + kernel['stack_bytes']}", kernel["blocks_per_multiprocessor"]


def table_of(page):
    lines = page.split(BEGIN)[1].split(END)[0].splitlines()[2:]
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in lines]
    return {row[0]: row for row in cells}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tilevm")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--machine", action="store_true")
    parser.add_argument("--only", default="", help="machine code of the rows whose names contain this")
    parser.add_argument("--nvdisasm", default="nvdisasm")
    options = parser.parse_args()
    page = PAGE.read_text()
    known = table_of(page)
    rows, wrong = [], []
    for row in ROWS:
        name, sectors, conflicts, products, flight = simulated(options.tilevm, row)
        old = known.get(name, [name] + [""] * 6)
        machine, blocks = [old[i] for i in MACHINE], old[6].split("; ")[-1]
        if options.machine and options.only in name:
            *machine, blocks = compiled(options.tilevm, row, options.nvdisasm)
        rows.append([name, *machine, sectors, conflicts, products, f"{flight}; {blocks}" if flight else f"{blocks}"])
        if rows[-1] != old:
            wrong.append(f"{name}: the page has {old[3:]}, the simulator counts {rows[-1][3:]}")
    if options.write:
        lines = ["| " + " | ".join(cells) + " |" for cells in [HEADER, ["---"] * 7, *rows]]
        PAGE.write_text(page.split(BEGIN)[0] + BEGIN + "\n".join(lines) + "\n" + END + page.split(END)[1])
    elif wrong or set(known) != {row[0] for row in rows}:
        sys.exit("\n".join(wrong + ["program_counts.py --write writes docs/results/program_counts.md"]))


main()
