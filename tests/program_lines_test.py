"""Lines of programs and of the Triton forms beside them, as docs/kernels/beside_triton.md gives them.

A line counts if it is neither blank nor a comment. A program's lines are those of a kernel, and of the functions of
its file that it calls; of Triton's form those of its kernels.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
# The kernel of a file, the page and the names of the Triton kernels, and the lines that it may have
PROGRAMS = {
    "softmax": ("softmax", "kernels.md", ["softmax"], 15),
    "layernorm": ("layernorm", "kernels.md", ["layernorm"], 15),
    "attention/decode": ("decode", "beside_triton.md", ["decode", "merge"], 80),
    "flute/matmul": ("matmul", "beside_triton.md", ["lookup_matmul"], 60),
}


def definitions(text):
    """The lines of each function and kernel that count, by its name."""
    found, name = {}, None
    for line in text.splitlines():
        if match := re.match(r"def (\w+)", line):
            name = match[1]
            found[name] = []
        elif line.strip() and not line[0].isspace() and not (name and line.startswith(")")):
            name = None
        if name and line.strip() and not line.strip().startswith("#"):
            found[name].append(line)
    return found


def lines_of(file, kernel):
    known = definitions((ROOT / "programs" / f"{file}.tile").read_text())
    taken, left = set(), [kernel]
    while left:
        name = left.pop()
        if name not in taken:
            taken.add(name)
            words = set(re.findall(r"(\w+)\(", "\n".join(known[name])))
            left += [other for other in known if other in words]
    return sum(len(known[name]) for name in taken)


def lines_of_triton(page, kernels):
    text = (ROOT / "docs/kernels" / page).read_text()
    blocks = re.findall(r"^```(?:python)?\n(@triton\.jit\n.*?)^```", text, re.MULTILINE | re.DOTALL)
    known = definitions("\n".join(blocks))
    return sum(1 + len(known[name]) for name in kernels)  # and the decorator


def main():
    page = (ROOT / "docs" / "kernels" / "beside_triton.md").read_text()
    wrong = []
    for file, (kernel, triton_page, triton, limit) in PROGRAMS.items():
        ours = lines_of(file, kernel)
        row = f"| `{file}.tile` | {ours} | {lines_of_triton(triton_page, triton)} | {limit} |"
        if ours > limit:
            wrong.append(f"{file}: {ours} lines, {limit} at most")
        if row not in page:
            wrong.append(f"docs/kernels/beside_triton.md lacks the row: {row}")
    if wrong:
        sys.exit("\n".join(wrong))


# What the counting itself must see: comments, blank lines, functions that call others, and those that nobody calls.
assert {k: len(v) for k, v in definitions("def f():\n    # no\n    g()\n\nconst x = 1\ndef g():\n    pass\n").items()} == {"f": 2, "g": 2}
main()
