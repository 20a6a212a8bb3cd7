"""Which program, with which constants, multiplies by quantized weights fastest, and from how many rows on the weights
are better dequantized for the framework's matmul: what was measured, for each device.

Two tables are read, the user's first: $TILEVM_TUNED, else tilevm/tuned.jsonl in the folder of settings, and tuned.jsonl
of the package. A line is a result of `tilevm tune` (docs/guides/bench.md) for a program of PROGRAMS, or
{"command": "crossover", "environment": {"device": ..}, "rows": ..}: from so many rows on weights are dequantized, or with
"program": HOPPER multiplied by that program.
"""

from __future__ import annotations

import functools
import json
import math
import os
import pathlib
import re
from typing import Any, Iterator, NamedTuple, Optional

from ._errors import ProgramError, UsageError
from ._library import HERE

PIPELINED = "matmul_quantized_pipelined.tile"
HOPPER = "quantized_matmul/hopper.tile"
PROGRAMS = (PIPELINED, "quantized_matmul/few_rows.tile", "quantized_matmul/many_rows.tile", HOPPER)
PROBLEM = ("M", "N", "K", "Q", "GROUP", "W", "ZERO", "T", "ZEROS")  # constants that are not choice


class Plan(NamedTuple):
    """How a layer multiplies: a program of PROGRAMS, constants of it, and where they come from."""

    program: str = PIPELINED
    constants: dict[str, Any] = {}
    source: str = ""


class Row(NamedTuple):
    """A point that was measured on a device and gives the simulator's bits; `type` is that of the program's weights."""

    device: str
    architecture: str
    program: str
    type: str
    rows: int
    outputs: int
    inputs: int
    group: int
    constants: dict[str, str]
    us: float
    source: str


def bits_of(type_: str) -> int:
    """The bits of a type of weights. UsageError: it has not 1 to 8 bits."""
    digits = re.match(r"[iufb](\d+)", type_)
    if digits is None or not 1 <= int(digits[1]) <= 8:
        raise UsageError(f"`{type_}` is not a type of 1 to 8 bits, as u4, i6, f6e3m2 and b1 are")
    return int(digits[1])


def zero_of(type_: str) -> int:
    """The code whose weight is 0: the middle of unsigned codes, else 0."""
    return 1 << bits_of(type_) - 1 if type_[0] == "u" else 0


def program_type(program: str, type_: str) -> str:
    """The type that a program has for weights of a type. The programs of quantized_matmul/ have no zero: u4 with a zero
    of 8 is i4 with the first bit inverted."""
    return "i" + type_[1:] if program != PIPELINED and type_[0] == "u" else type_


def constants_of(program: str, rows: int, outputs: int, inputs: int, type_: str, group: int) -> dict[str, Any]:
    """The constants of a program that follow from what is multiplied."""
    own: dict[str, Any] = {"M": rows, "N": outputs, "K": inputs, "Q": program_type(program, type_), "GROUP": group}
    if program == PIPELINED:
        own.update(W=bits_of(type_), ZERO=zero_of(type_))
    return own


def user_file() -> pathlib.Path:
    """Where the user's table is: $TILEVM_TUNED, else tilevm/tuned.jsonl in the folder of settings."""
    named = os.environ.get("TILEVM_TUNED")
    settings = os.environ.get("XDG_CONFIG_HOME") or pathlib.Path.home() / ".config"
    return pathlib.Path(named) if named else pathlib.Path(settings) / "tilevm" / "tuned.jsonl"


def _device_of(line: dict[str, Any]) -> str:
    """"NVIDIA H200" of "NVIDIA H200, sm_90, 139 GiB, 132 multiprocessors": the name that torch has."""
    return str(line["environment"]["device"]).split(", ")[0]


def _lines(file: pathlib.Path) -> list[dict[str, Any]]:
    """The objects of a table; no file has none. UsageError: it is not a table."""
    try:
        text = file.read_text()
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read ({error}); correct or remove it, or name another one in "
                         "TILEVM_TUNED") from None
    found = []
    whole = text.endswith("\n")
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        try:
            data = json.loads(line)
            _device_of(data)
            found.append(data)
        except (KeyError, TypeError, ValueError) as error:
            if number == len(lines) and not whole:
                break  # `tilevm tune` was interrupted in it
            raise UsageError(f"{file}, line {number}, is not a result of `tilevm tune` and no crossover ({error!r}); "
                             "correct or remove it") from None
    return found


def _architecture_of(line: dict[str, Any]) -> str:
    """"sm_90" of the same; "" where it is not told."""
    words = str(line["environment"]["device"]).split(", ")
    return words[1] if len(words) > 1 else ""


@functools.lru_cache(maxsize=64)
def _defaults(program: str, constants: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """What a program multiplies by default, with some of its constants given."""
    from . import _command
    from ._kernel import load

    k = load(_command.programs() / program, entry="main", **dict(constants))
    a, q, scale = k.parameters[:3]
    assert a.shape and q.shape and scale.shape
    return {"M": str(a.shape[0]), "N": str(q.shape[1]), "K": str(q.shape[0]), "Q": q.type,
            "GROUP": str(-(-q.shape[0] // scale.shape[0]))}


def _row(line: dict[str, Any], source: str) -> Optional[Row]:
    """A result as a row; None: of another program or form, not timed, or not proved to be exact."""
    name = str(line["file"]).replace(os.sep, "/")
    program = next((each for each in PROGRAMS if ("/" + name).endswith("/" + each)), None)
    if program is None or line["us"] is None or line["exact"] is not True:
        return None
    given = dict(word.split("=", 1) for word in (*line["defines"], *str(line["point"]).split()))
    if given.get("T", "f16") != "f16" or given.get("ZEROS", "0") != "0":
        return None
    chosen = {key: value for key, value in given.items() if key not in PROBLEM}
    if any(key not in given for key in ("M", "N", "K", "Q", "GROUP")):
        given = {**_defaults(program, tuple(sorted(given.items()))), **given}
    return Row(_device_of(line), _architecture_of(line), program, given["Q"], int(given["M"]), int(given["N"]), int(given["K"]),
               int(given["GROUP"]), chosen, float(line["us"]), str(line.get("source") or source))


def _rows(file: pathlib.Path, device: str, architecture: str = "") -> Iterator[Row]:
    """The rows of a device, and of others of an architecture ("": of none)."""
    for number, line in enumerate(_lines(file), 1):
        if line.get("command") == "crossover":
            continue
        if _device_of(line) != device and (not architecture or _architecture_of(line) != architecture):
            continue
        try:
            row = _row(line, f"{file}, line {number}")
        except (KeyError, TypeError, ValueError, ProgramError) as error:
            raise UsageError(f"{file}, line {number}, does not tell what was timed ({error!r}); remove it") from None
        if row is not None:
            yield row


def _distance(row: Row, type_: str, inputs: int, outputs: int, group: int, rows: int) -> Optional[float]:
    """How far a row is from what is asked, in powers of two; None: weights of another number of bits. u4 for i4 is an
    eighth: the same bytes, and one instruction more or less for eight weights."""
    wanted = program_type(row.program, type_)
    if row.type != wanted and (bits_of(row.type) != bits_of(wanted) or ("f" in (row.type[0], wanted[0])
                                                                       and row.type[0] != wanted[0])):
        return None

    def ratio(a: int, b: int) -> float:
        return abs(math.log2(a / b))

    return (row.type != wanted) / 8 + ratio(row.outputs, outputs) + ratio(row.inputs, inputs) + ratio(row.rows, rows) / 2 + \
        ratio(row.group, group) / 4


def _is_legal(row: Row, type_: str, inputs: int, outputs: int, group: int) -> bool:
    from . import _command
    from ._kernel import load

    own = constants_of(row.program, row.rows, outputs, inputs, type_, group)
    try:
        load(_command.programs() / row.program, entry="matmul", **{**row.constants, **own})
    except ProgramError:
        return False
    return True


def choose(device: str, type_: str, inputs: int, outputs: int, group: int, rows: int, architecture: str = "",
           programs: tuple[str, ...] = PROGRAMS) -> Plan:
    """The plan for weights [inputs, outputs] of a type, with a scale for `group` of them, and about so many rows.

    That of the nearest row of the device that the program takes: the same problem, else the same number of bits and
    the nearest shape; of equals the user's, then the fastest. A row of another device of the same architecture
    ("sm_90") is nearer than one of this device for half as many rows. Without any row it is the plan of no constants, or
    for groups that are not multiples of 32 of steps of 16 weights. `programs` are those whose rows count.
    """
    found: list[Any] = []
    for place, file in enumerate((user_file(), HERE / "tuned.jsonl")):
        for row in _rows(file, device, architecture) if device else ():
            distance = _distance(row, type_, inputs, outputs, group, rows)
            if distance is not None and row.program in programs:
                found.append((distance + (row.device != device) / 4, place, row.us, len(found), row))
    for *_, row in sorted(found):
        if _is_legal(row, type_, inputs, outputs, group):
            return Plan(row.program, dict(row.constants), row.source)
    return Plan() if group % 32 == 0 else Plan(constants={"BK": 16})


def crossover(device: str) -> Optional[int]:
    """From how many rows on weights are dequantized for the framework's matmul: that of the device, the user's first;
    of a GPU that is in no table the least of any. None: never, as on the CPU, whose name is ""."""
    return _crossover(device, "")


MANY_ROWS = 1024  # rows for which many_plan() chooses the fastest point


def many_plan(device: str, type_: str, inputs: int, outputs: int, group: int, architecture: str = "") -> Optional[tuple[int, Plan]]:
    """From how many rows on HOPPER multiplies fastest, and its plan for the weights; None where no crossover says it."""
    rows = _crossover(device, HOPPER) if architecture == "sm_90" else None
    if rows is None:
        return None
    found = choose(device, type_, inputs, outputs, group, MANY_ROWS, architecture, (HOPPER,))
    return rows, found if found.program == HOPPER else Plan(HOPPER)


def _crossover(device: str, program: str) -> Optional[int]:
    """The rows of the crossover to a program, "" to the framework's matmul."""
    if not device:
        return None
    every: list[tuple[str, int]] = []
    for file in (user_file(), HERE / "tuned.jsonl"):
        for number, line in enumerate(_lines(file), 1):
            if line.get("command") != "crossover" or line.get("program", "") != program:
                continue
            count = line.get("rows")
            if not isinstance(count, int) or count < 1:
                raise UsageError(f"{file}, line {number}: `rows` is {count!r}; it is a number of rows, at least 1")
            every.append((_device_of(line), count))
    own = [count for name, count in every if name == device]
    return own[0] if own else min((count for _, count in every), default=None)
