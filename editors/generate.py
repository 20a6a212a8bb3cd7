#!/usr/bin/env python3
"""Writes the highlighters of this folder from the words of the language.

    generate.py TILEVM            writes them
    generate.py TILEVM --check    exit 1 if one is not what it would write

The words come from `tilevm isa --words`, which derives them from the instruction set and the parser.
What a word is depends on little beside it, so one ordered list of patterns serves every
highlighter: at each place of a line the first pattern that matches decides.
"""

import json
import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent


def either(words):
    return "|".join(sorted(map(re.escape, words), key=lambda word: (-len(word), word)))


def patterns(words):
    """(kind, regular expression) in order; kinds are those of RULES' users below."""
    # Programs name their tiles b1 and b2 (Figure 2 of the paper does), which are types of bipolar
    # integers as well. So these are types only where a type must stand.
    bipolar = [word for word in words["types"] if re.fullmatch(r"b\d", word)]
    types = [word for word in words["types"] if word not in bipolar] + ["bool"]
    return [
        ("comment", r"#.*$"),
        ("string", r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'"),
        ("decorator", r"(?<=@)\w+"),
        ("number", r"\b0[xX][0-9a-fA-F_]+\b|\b0[bB][01_]+\b|\b0[oO][0-7_]+\b"
                   r"|(?<![\w.])(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?(?!\w)"),
        ("definition", r"(?<=\bdef )\w+|(?<=\bpipeline )\w+"),
        ("operand", r"\b[A-Za-z_]\w*(?==(?!=))"),
        ("type", r"(?<=: )(?:dtype|layout)\b(?= )"),
        ("type", rf"(?<=\w=)(?:{either(bipolar)})\b|\b(?:{either(bipolar)})\b(?=\*|\[)"
                 rf"|(?<=: |= )(?:{either(bipolar)})\b(?=[^\w]*$)|(?<=, )(?:{either(bipolar)})\b(?=, shape|\))"),
        ("keyword", rf"\b(?:{either(words['keywords'])})\b"),
        ("instruction", rf"\b(?:{either(words['instructions'])})\b(?=\s*\()"),
        ("layout", rf"\b(?:{either(words['layouts'])})\b|(?<=\.)(?:{either(words['layout_methods'])})\b"),
        ("type", rf"\b(?:{either(types)}|u?int(?:[1-8]|16|32|64)|b?float(?:16|32|64)|tfloat32|bipolar[1-8]"
                 r"|float[3-8]_e[1-6]m[1-6])\b"),
        ("call", r"\b[A-Za-z_]\w*(?=\()"),
        ("name", r"\b[A-Za-z_]\w*\b"),
    ]


TEXTMATE = {
    "comment": "comment.line.number-sign", "string": "string.quoted", "decorator": "entity.name.function.decorator",
    "number": "constant.numeric", "definition": "entity.name.function", "operand": "variable.parameter",
    "type": "support.type", "keyword": "keyword.control", "instruction": "support.function",
    "layout": "support.function.layout", "call": "entity.name.function.call", "name": "variable.other",
}


def textmate(words):
    return json.dumps({
        "$comment": "Written by editors/generate.py; do not edit.",
        "name": "tilevm", "scopeName": "source.tilevm", "fileTypes": ["tile"],
        "patterns": [{"name": f"{TEXTMATE[kind]}.tilevm", "match": match} for kind, match in patterns(words)],
    }, indent=2) + "\n"


PYGMENTS = {
    "comment": "Comment.Single", "string": "String", "decorator": "Name.Decorator", "number": "Number",
    "definition": "Name.Function", "operand": "Name.Attribute", "type": "Keyword.Type", "keyword": "Keyword",
    "instruction": "Name.Builtin", "layout": "Name.Builtin.Pseudo", "call": "Name.Function", "name": "Name",
}


def pygments(words):
    rules = "".join(f"            (r\"\"\"{match}\"\"\", {PYGMENTS[kind]}),\n"
                    for kind, match in patterns(words))
    return f'''"""A Pygments lexer for tilevm's programs. Written by editors/generate.py; do not edit.

    pygmentize -x -l editors/pygments/tilevm_lexer.py:TilevmLexer program.tile
"""

import re

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, String, Text


class TilevmLexer(RegexLexer):
    """Lexer of `.tile` files."""

    name = "tilevm"
    aliases = ["tilevm"]
    filenames = ["*.tile"]
    flags = re.MULTILINE
    tokens = {{
        "root": [
{rules}            (r"\\s+", Text),
            (r".", Text),
        ]
    }}
'''


def emacs_words(words):
    """The longest match first is the regexp-opt of Emacs."""
    lists = {
        "keywords": words["keywords"], "instructions": words["instructions"],
        "layouts": words["layouts"] + words["layout_methods"], "types": words["types"] + ["bool"],
    }
    text = ";;; tilevm-words.el --- words of the language  -*- lexical-binding: t -*-\n"
    text += ";;; Commentary:\n;; Written by editors/generate.py; do not edit.\n;;; Code:\n"
    for name, items in lists.items():
        quoted = " ".join(f'"{item}"' for item in items)
        text += f"\n(defconst tilevm-{name}\n  '({quoted}))\n"
    return text + "\n(provide 'tilevm-words)\n;;; tilevm-words.el ends here\n"


def vim(words):
    def keywords(group, items):
        return f"syntax keyword {group} {' '.join(items)}\n"
    return ('" Written by editors/generate.py; do not edit.\nif exists("b:current_syntax") | finish | endif\n'
            + keywords("tilevmKeyword", words["keywords"])
            + keywords("tilevmInstruction", words["instructions"])
            + keywords("tilevmLayout", words["layouts"] + words["layout_methods"])
            + keywords("tilevmType", words["types"] + ["bool"])
            + 'syntax match tilevmDecorator "@\\w\\+"\nsyntax match tilevmNumber "\\<\\d[0-9a-fA-FxXob_.]*\\>"\n'
            + 'syntax match tilevmComment "#.*$"\nsyntax region tilevmString start=+"+ skip=+\\\\"+ end=+"+ oneline\n'
            + "".join(f"highlight default link tilevm{mine} {theirs}\n" for mine, theirs in (
                ("Keyword", "Keyword"), ("Instruction", "Function"), ("Layout", "Macro"), ("Type", "Type"),
                ("Decorator", "PreProc"), ("Number", "Number"), ("Comment", "Comment"), ("String", "String")))
            + 'let b:current_syntax = "tilevm"\n')


FILES = {
    "vscode/syntaxes/tilevm.tmLanguage.json": textmate,
    "pygments/tilevm_lexer.py": pygments,
    "emacs/tilevm-words.el": emacs_words,
    "nvim/syntax/tilevm.vim": vim,
}


def words_of(tilevm):
    return json.loads(subprocess.run([tilevm, "isa", "--words"], check=True, capture_output=True).stdout)


def main(arguments):
    if not arguments or arguments[1:] not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    words = words_of(arguments[0])
    stale = 0
    for name, write in FILES.items():
        path, text = FOLDER / name, write(words)
        if path.exists() and path.read_text() == text:
            continue
        if "--check" in arguments:
            print(f"editors/{name} is stale; run: editors/generate.py build/tilevm", file=sys.stderr)
            stale = 1
        else:
            path.write_text(text)
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
