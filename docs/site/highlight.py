"""Blocks of code as HTML with colours: `.tile` by the project's own lexer, other languages by Pygments'."""

import html
import importlib.util
import pathlib
import re

import pygments
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

ROOT = pathlib.Path(__file__).resolve().parents[2]
FORMATTER = HtmlFormatter(nowrap=True)
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What blocks of the pages are called, and a lexer of Pygments for it.
OTHERS = {"cpp": "cpp", "c": "c", "python": "python", "py": "python", "sh": "bash", "json": "json", "yaml": "yaml",
          "lua": "lua", "cmake": "cmake", "cuda": "cuda", "diff": "diff"}


def _own_lexer():
    path = ROOT / "editors/pygments/tilevm_lexer.py"
    spec = importlib.util.spec_from_file_location("tilevm_lexer", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.TilevmLexer()


TILE = _own_lexer()


def _of_console(text):
    """A session: commands after a prompt stand out from what they print; carets and codes of reports have colours."""
    lines = []
    for line in html.escape(text, quote=False).split("\n"):
        prompt = re.match(r"(\$|\(tilevm\)) (.*)$", line)
        if prompt:
            line = f'<span class="gp">{prompt[1]}</span> <b>{prompt[2]}</b>'
        line = re.sub(r"\b(error|warning|note)(?=: )", r'<span class="report-\1">\1</span>', line, count=1)
        line = re.sub(r"^(\s*)(\^[~]*)(\s*)$", r'\1<span class="report-error">\2</span>\3', line)
        lines.append(line)
    return "\n".join(lines)


def colored(language, text):
    """The text as HTML, or None where the language is not known. A block of no language that begins with a prompt is a session."""
    if not language:
        return _of_console(text) if text.startswith("$ ") else html.escape(text, quote=False)
    if language == "tile":
        return pygments.highlight(text, TILE, FORMATTER)
    if language == "console":
        return _of_console(text)
    try:
        return pygments.highlight(text, get_lexer_by_name(OTHERS[language]), FORMATTER)
    except (KeyError, ClassNotFound):
        return None


def with_colors(page):
    """A page of Markdown whose blocks of known languages are HTML."""
    def block(found):
        code = colored(found[1], found[2])
        return found[0] if code is None else f'<div class="highlight"><pre><code>{code}</code></pre></div>'
    return BLOCK.sub(block, page)


def styles():
    """The style sheet of the colours, for light and for dark screens."""
    light = HtmlFormatter(style="default").get_style_defs(".highlight")
    dark = HtmlFormatter(style="native").get_style_defs(".highlight")
    keep = re.compile(r"^\.highlight \.\w+ \{.*$", re.MULTILINE)
    return "\n".join(keep.findall(light)) + "\n@media (prefers-color-scheme: dark) {\n" + "\n".join(keep.findall(dark)) + "\n}\n"
