"""What is compiled for a comparison: programs with the constants that tests and measurements set."""

import re
import shlex
import subprocess

from tree import Failure

MEASURED = "tests/bench/quantized_matmul.sh"


class Configuration:
    """A program and its options `-D NAME=VALUE`, in the order in which they were given."""

    def __init__(self, file, words):
        self.file = file
        self.defines = []
        for option, value in zip(words, words[1:]):
            if option in ("-D", "--define"):
                self.defines += ["-D", value]

    def __str__(self):
        return shlex.join([self.file, *self.defines])


def cases_of(path, root):
    """The configurations of a .tile test (tests/filetest/expectations.h has the comments' form)."""
    text = path.read_text()
    file = str(path.relative_to(root))
    if program := re.search(r"^# program: *(\S+)", text, re.MULTILINE):
        file = program[1]
    cases = re.findall(r"^# args:(.*)", text, re.MULTILINE)
    return [Configuration(file, shlex.split(case)) for case in ["", *cases]]


def measured(root):
    """The rows of the table of the quantised product in docs/results/quantized_2026_11_25.md."""
    done = subprocess.run(["sh", MEASURED, "--list"], cwd=root, stdout=subprocess.PIPE, text=True,
                          check=True)
    rows = [shlex.split(line) for line in done.stdout.splitlines()]
    return [Configuration(row[0], row[1:]) for row in rows]


def measured_pairs(old, new):
    """The rows of two revisions, one by one: the same kernels, perhaps of another program."""
    rows = measured(old), measured(new)
    if len(rows[0]) != len(rows[1]):
        raise Failure(f"the revisions measure {len(rows[0])} and {len(rows[1])} rows")
    return list(zip(*rows))


def find(root, all_tests):
    """All configurations, each once; `all_tests`: of every .tile test, not only of programs/."""
    found = []
    for path in [*sorted(root.glob("programs/**/*.tile")), *sorted(root.glob("tests/filetests/**/*.tile"))]:
        found += cases_of(path, root)
    found += measured(root)
    unique = {str(c): c for c in found if all_tests or c.file.startswith("programs/")}
    return list(unique.values())
