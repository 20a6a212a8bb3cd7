"""Prose of the repository: comments, docstrings, strings that users see, and pages, each with its first line."""

import ast
import dataclasses
import io
import pathlib
import re
import tokenize

COMMENT = "comment"      # lines of their own
TRAILING = "trailing"    # after code
MEMBER = "member"        # `///<`, which an editor shows alone
DOCSTRING = "docstring"
STRING = "string"        # text of a literal, which may be part of a message
PROSE = "prose"          # a paragraph, an item or a heading of a page


# Marks before the text of a line: it goes on with the line before, or it does not.
CONTINUED, BEGUN = "\1", "\0"


@dataclasses.dataclass
class Passage:
    kind: str
    line: int
    text: str


CPP_TOKEN = re.compile(
    r'(?P<raw>R"(?P<mark>[^()\\\s]{0,16})\((?P<body>.*?)\)(?P=mark)")'
    r'|(?P<string>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<char>(?<![0-9A-Fa-f])'(?:[^'\\\n]|\\.)+')"
    r"|(?P<line>//[^\n]*)"
    r"|(?P<block>/\*.*?\*/)",
    re.DOTALL,
)
# What is no prose: rules drawn with dashes, directives of tools, and the end of a namespace.
NO_PROSE = re.compile(r"^(-{3,}.*|=+|NOLINT.*|clang-format (on|off).*|namespace\b.*|[A-Z_]+)?$")


def _of_cpp(text):
    lines = text.split("\n")
    for match in CPP_TOKEN.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match["string"] is not None:
            yield Passage(STRING, line, match["string"][1:-1])
        elif match["line"] is not None:
            words = match["line"].lstrip("/")
            alone = lines[line - 1].lstrip().startswith("//")
            kind = MEMBER if words.startswith("<") else COMMENT if alone else TRAILING
            yield Passage(kind, line, (CONTINUED if alone and kind == MEMBER else "") + words.lstrip("<").strip())


def _of_hashes(text):
    for line, words in enumerate(text.split("\n"), 1):
        match = re.match(r'^((?:[^"#]|"[^"]*")*)#\s?(.*)$', words)
        if match and not words.startswith("#!"):
            yield Passage(TRAILING if match[1].strip() else COMMENT, line, match[2].strip())


def _of_python(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            yield Passage(DOCSTRING, node.body[0].lineno, ast.get_docstring(node))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            kind = TRAILING if token.line[: token.start[1]].strip() else COMMENT
            yield Passage(kind, token.start[0], token.string.lstrip("#").strip())


def _of_page(text):
    is_code = False
    for line, words in enumerate(text.split("\n"), 1):
        if words.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
        elif not is_code and words.strip() and not re.match(r"^\s*(<|\|[-| :]+$)", words):
            starts = re.match(r"^\s*([-*>|#]|\d+\.)", words)
            mark = BEGUN if starts else ""
            yield Passage(PROSE, line, mark + (words.strip().lstrip("-*>|# 0123456789.").strip() if starts else words.strip()))


def _joined(passages):
    """Lines of one comment or one paragraph as one passage."""
    last = None
    for passage in passages:
        mark, passage.text = passage.text[:1], passage.text.lstrip(CONTINUED + BEGUN)
        is_next = last is not None and passage.line == last.line + 1 + last.text.count("\n")
        continues = is_next and mark != BEGUN and (
            (passage.kind == last.kind and passage.kind in (COMMENT, PROSE))
            or (passage.kind == COMMENT and last.kind in (MEMBER, TRAILING) and passage.text[:1].islower())
            or (passage.kind == last.kind == MEMBER and mark == CONTINUED))
        if continues and passage.text and last.text:
            last.text += "\n" + passage.text
            continue
        if last is not None:
            yield last
        last = passage
    if last is not None:
        yield last


def passages_in(name: str, text: str):
    """The passages of a text, in order of their lines, read as a file of that name; none where it holds no prose."""
    suffix = pathlib.PurePath(name).suffix
    if suffix in (".cc", ".h", ".cuh", ".cu", ".c"):
        found = _of_cpp(text)
    elif suffix == ".py":
        found = sorted(_of_python(text), key=lambda passage: passage.line)
    elif suffix == ".md":
        found = _of_page(text)
    elif suffix in (".tile", ".sh", ".cmake") or pathlib.PurePath(name).name in ("CMakeLists.txt", "dev"):
        found = _of_hashes(text)
    else:
        found = []
    return [passage for passage in _joined(found) if not NO_PROSE.match(passage.text)]


def passages_of(path: pathlib.Path):
    """The passages of a file."""
    return passages_in(path.name, path.read_text(encoding="utf-8", errors="replace"))
