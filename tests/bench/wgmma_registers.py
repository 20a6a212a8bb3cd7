#!/usr/bin/env python3
"""Whether machine code of sm_90a touches registers of products in flight: writes the left operand of a wgmma, or reads or writes
its sums, on any path before a wait retires the product. ptxas has to keep to that, and versions of it were reported not to.

    tilevm compile programs/quantized_matmul/hopper.tile --emit cubin -o a.cubin
    tests/bench/wgmma_registers.py a.cubin..        # needs nvdisasm; status 1: something does
"""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Iterator, NamedTuple

INSTRUCTION = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(?:@(!?U?P\w+)\s+)?([A-Za-z0-9_.]+)\s*(.*?)\s*;")
LABEL = re.compile(r"(\.L_x_\d+)")
# Instructions whose first register is none that they write.
READ_ONLY = {"BAR", "BRA", "BSSY", "BSYNC", "CCTL", "DEPBAR", "ERRBAR", "EXIT", "FENCE", "FSETP", "HSETP2", "ISETP", "MEMBAR", "NANOSLEEP",
             "NOP", "PLOP3", "R2P", "R2UR", "RED", "SYNCS", "VOTEU", "WARPGROUP", "WARPSYNC"}
LOADS = {"ATOMG", "LD", "LDC", "LDG", "LDL", "LDS"}
MOST_GROUPS = 6  # older groups of products than these are taken to be over


class Instruction(NamedTuple):
    at: str
    predicate: str
    operation: str
    operands: str

    @property
    def name(self) -> str:
        return self.operation.split(".")[0]


class Function(NamedTuple):
    name: str
    code: list[Instruction]
    labels: dict[str, int]


def functions(cubin: str) -> Iterator[Function]:
    text = subprocess.run(["nvdisasm", "-c", cubin], capture_output=True, text=True, check=True).stdout
    found = None
    for line in text.splitlines():
        begin, label, instruction = re.match(r"\.text\.(\S+):", line), LABEL.match(line), INSTRUCTION.search(line)
        if begin:
            if found:
                yield found
            found = Function(begin[1], [], {})
        elif found and label:
            found.labels[label[1]] = len(found.code)
        elif found and instruction:
            found.code.append(Instruction(instruction[1], instruction[2] or "", instruction[3], instruction[4]))
    if found:
        yield found


def successors(function: Function, i: int) -> list[int]:
    instruction = function.code[i]
    following = [i + 1]
    if instruction.name == "BRA":
        target = LABEL.search(instruction.operands)
        is_plain = not instruction.predicate and not re.match(r"!?U?P\d", instruction.operands)
        following = ([] if is_plain else following) + ([function.labels[target[1]]] if target else [])
    elif instruction.name in ("EXIT", "RET") and not instruction.predicate:
        following = []
    return [j for j in following if j < len(function.code)]


def written(instruction: Instruction) -> set[int]:
    """The registers that an instruction writes."""
    name, parts = instruction.name, instruction.operation.split(".")
    first = re.match(r"(?:U?P\w+,\s*)?R(\d+)", instruction.operands)
    if not first or name in READ_ONLY or name.startswith(("U", "ST")):
        return set()
    count = 1
    if name in LOADS:
        count = 4 if "128" in parts else 2 if "64" in parts else 1
    elif name == "LDSM":
        count = int(parts[-1]) if parts[-1] in ("2", "4") else 1
    elif "WIDE" in parts or name in ("DADD", "DMUL", "DFMA") or (name == "CS2R" and "32" not in parts):
        count = 2
    return set(range(int(first[1]), int(first[1]) + count))


def product(instruction: Instruction) -> tuple[set[int], set[int]]:
    """The registers of a product's sums, and of its left operand."""
    registers = [int(n) for n in re.findall(r"(?<!U)R(\d+)", instruction.operands.split("gdesc")[0])]
    shape = re.search(r"64x(\d+)x", instruction.operation)
    assert shape and registers, instruction
    count = int(shape[1]) // (2 if ".F16" not in instruction.operation or ".F32" in instruction.operation else 4)
    left = set(range(registers[1], registers[1] + 4)) if len(registers) > 1 else set()
    return set(range(registers[0], registers[0] + count)), left


def touched(instruction: Instruction, sums: frozenset[int], left: frozenset[int]) -> set[int]:
    """The registers of products in flight that an instruction must leave alone."""
    if instruction.name.endswith("GMMA"):
        return product(instruction)[0] & left
    used = {int(n) for n in re.findall(r"\bR(\d+)", instruction.operands)} if instruction.name != "R2UR" else set()
    return written(instruction) & (sums | left) | used & sums


def after(instruction: Instruction, state: tuple) -> tuple:
    """Products that are in no group yet, and groups, after an instruction: for each, registers of sums and of left operands."""
    (sums, left), groups = state
    if instruction.name.endswith("GMMA"):
        own = product(instruction)
        sums, left = sums | own[0], left | own[1]
        if "gsb0" in instruction.operands:
            groups = (*groups, (sums, left))[-MOST_GROUPS:]
            sums = left = frozenset()
    elif instruction.operation.startswith("WARPGROUP.DEPBAR"):
        pending = int(instruction.operands.split(",")[1], 16)
        groups = groups[len(groups) - min(pending, len(groups)):]
    return (sums, left), groups


def faults(function: Function) -> set[tuple[str, str, str]]:
    """Every path is walked, once with each state."""
    none: frozenset[int] = frozenset()
    found, seen, work = set(), set(), [(0, ((none, none), ()))]
    while work:
        i, state = work.pop()
        if (i, state) in seen or i >= len(function.code):
            continue
        seen.add((i, state))
        instruction = function.code[i]
        flying = [state[0], *state[1]]
        wrong = touched(instruction, none.union(*(each[0] for each in flying)), none.union(*(each[1] for each in flying)))
        found |= {(instruction.at, f"{instruction.operation} {instruction.operands}", f"R{n}") for n in wrong}
        work += [(j, after(instruction, state)) for j in successors(function, i)]
    return found


def main() -> int:
    status = 0
    for cubin in sys.argv[1:]:
        for function in functions(cubin):
            count = sum(each.name.endswith("GMMA") for each in function.code)
            wrong = sorted(faults(function)) if count else []
            if count:
                print(f"{cubin}: {function.name}: {count} products, {len(wrong)} accesses to their registers in flight")
            for at, text, register in wrong[:8]:
                print(f"  {at}: {text}: {register}")
            status |= bool(wrong)
    return status


if __name__ == "__main__":
    sys.exit(main())
