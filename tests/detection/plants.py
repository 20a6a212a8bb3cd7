"""Faults planted in programs that are right: one change of what orders threads, copies or blocks."""
import pathlib
import re

PROGRAMS = pathlib.Path(__file__).parent / "programs"
ORDERING = re.compile(r"^( *)(\w+ = )?(Synchronize|CopyAsyncCommitGroup|CopyAsyncWaitGroup|"
                      r"LockSemaphore|ReleaseSemaphore|AtomicAdd)\((.*)\)$")


def programs():
    """Names and lines of all programs."""
    for path in sorted(PROGRAMS.glob("*.tile")):
        yield path.stem, path.read_text().splitlines()


def changes(lines):
    """Each program with one fault: what was done, and the lines."""
    has_ring = "ring" in lines[0].split() or "slots" in lines[0].split()
    for i, line in enumerate(lines):
        # Another stage of a ring than the one that is ready, or free.
        for stage in re.finditer(r"\b(\w+) % (\w+)", line) if has_ring else ():
            other = f"({stage[1]} + 1) % {stage[2]}"
            yield (f"line {i + 1}, {stage[0]} is {other}",
                   lines[:i] + [line[:stage.start()] + other + line[stage.end():]] + lines[i + 1:])
        found = ORDERING.match(line)
        if not found:
            continue
        indent, result, name, arguments = found.groups()

        def replaced(new):
            return lines[:i] + [indent + new] + lines[i + 1:]

        where = f"line {i + 1}, {name}"
        if not result:
            yield f"{where} missing", replaced("pass")
        if name == "CopyAsyncWaitGroup":
            yield f"{where} of one more", replaced(f"{name}({arguments} + 1)")
        if name in ("LockSemaphore", "ReleaseSemaphore"):
            view, value, *rest = arguments.split(", ", 2)
            for text in (f"{value} + 1", f"{value} - 1", f"{value} + 7"):
                yield f"{where} of {text}", replaced(f"{name}({', '.join([view, text, *rest])})")
            for place in rest:
                other = place.replace("]", " + 1]")
                yield f"{where} at {other}", replaced(f"{name}({view}, {value}, {other})")
