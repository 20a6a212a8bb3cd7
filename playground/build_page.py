"""Makes the playground's page: build_page.py BUILD OUT [DOCS], with DOCS the address of the documentation.

BUILD has the module (tilevm.js, tilevm.wasm), OUT/index.html is one file that needs no server and fetches nothing:
module, worker, style and all programs are in it.
"""

import base64
import gzip
import html
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "playground" / "page"
FIRST = "programs/vector_add.tile"

# The menu by what programs teach, the simplest first. A program that is in no group stops the build.
MENU = [
    ("First steps", ["vector_add", "transpose", "reduction", "scan", "histogram"]),
    ("A wrong program: three faults", ["figure9_as_printed"]),
    ("Rows: softmax, norms, positions", ["softmax", "layernorm", "rmsnorm_residual", "rope", "top_k"]),
    ("Products on tensor cores", ["figure2", "matmul_f16_i6", "matmul_f16_pipelined", "matmul_gelu", "matmul_swiglu",
                                  "convolution"]),
    ("Products that blocks share", ["split_k_matmul", "stream_k_matmul"]),
    ("Weights of a few bits", ["dequantize", "matmul_quantized_pipelined", "quantized_matmul_i8",
                               "quantized_matmul/few_rows", "quantized_matmul/many_rows",
                               "quantized_matmul/reference"]),
    ("Attention", ["attention/prefill", "attention/prefill_hopper", "attention/decode", "attention/append"]),
    ("Published kernels", ["marlin/matmul", "marlin/sparse_matmul", "flute/matmul", "apt_llm/matmul",
                           "turbomind/gemm", "turbomind/gemm_quantized", "moe/moe"]),
]

# What tests say of a program; the gallery shows the program without it.
TEST_LINE = re.compile(r"# (?:test|args|expect|expect-values|error|reduce): ")


def patterns():
    """The grammar's patterns with the kinds of tokens that they are, in order."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "editors" / "generate.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    kinds = {f"{name}.tilevm": kind for kind, name in generate.TEXTMATE.items()}
    grammar = json.loads((ROOT / "editors/vscode/syntaxes/tilevm.tmLanguage.json").read_text())
    return [(kinds[one["name"]], one["match"]) for one in grammar["patterns"]]


def without_tests(text):
    """A program's text without what tests say of it, and without the empty comments that this leaves."""
    lines = [line for line in text.split("\n") if not TEST_LINE.match(line)]
    comments = [line.startswith("#") and line != "#" for line in lines] + [False]
    return "\n".join(line for i, line in enumerate(lines) if line != "#" or comments[i + 1])


def title(text):
    """The first sentence of a program's first comment."""
    comment = re.match(r"(?:#.*\n)*", text)[0]
    words = " ".join(line.lstrip("# ") for line in comment.splitlines())
    return re.split(r"(?<=[^.]\.)\s", words + " ")[0]


def gallery():
    """Programs that can be run, and the parts that they include."""
    programs, parts = [], []
    for file in sorted(ROOT.glob("programs/**/*.tile")):
        text = file.read_text()
        shown = without_tests(text)
        one = {"path": file.relative_to(ROOT).as_posix(), "text": shown, "title": title(shown)}
        if re.search(r"^(pipeline \w+|def \w+<)", text, re.MULTILINE):
            programs.append(one | {"cases": re.findall(r"^# args: (.*)$", text, re.MULTILINE)})
        else:
            parts.append(one)
    return programs, parts


def groups(programs):
    """Labels with paths, in the order of the menu."""
    listed = [(label, [f"programs/{name}.tile" for name in names]) for label, names in MENU]
    in_menu = sorted(path for _, paths in listed for path in paths)
    there = sorted(one["path"] for one in programs)
    if in_menu != there:
        raise SystemExit(f"MENU and programs/ differ: {', '.join(sorted(set(in_menu) ^ set(there)))}")
    return listed


def links(docs):
    """Links to the pages of docs/ and to the repository, as far as their addresses are known: where the page is part of
    the site, and where the checkout came from."""
    origin = subprocess.run(["git", "-C", ROOT, "config", "--get", "remote.origin.url"], stdout=subprocess.PIPE,
                            text=True, check=False).stdout.strip()
    repository = re.sub(r"^git@([^:]+):", r"https://\1/", origin).removesuffix(".git")
    if not docs and re.match(r"https?://", repository):
        docs = f"{repository}/tree/HEAD/docs"
    known = [("Docs", docs), ("Source", repository if re.match(r"https?://", repository) else "")]
    return "".join(f'<a href="{html.escape(address)}">{name}</a>' for name, address in known if address)


def script(*names):
    return "\n".join((PAGE / name).read_text() for name in names)


def in_element(text):
    """A text that a script element holds as it is."""
    if re.search(r"</script|<!--", text, re.IGNORECASE):
        raise SystemExit("a script of the page would end its element")
    return text


def packed(file):
    """A file as gzip; by zopfli, where it is installed, which takes a twentieth less room."""
    if shutil.which("zopfli"):
        return subprocess.run(["zopfli", "--i5", "-c", file], stdout=subprocess.PIPE, check=True).stdout
    return gzip.compress(file.read_bytes(), 9, mtime=0)


def make_page(build, docs):
    version = re.search(r"project\(tilevm VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    programs, parts = gallery()
    data = {"version": version, "first": FIRST, "patterns": patterns(), "programs": programs, "parts": parts,
            "groups": groups(programs)}
    wasm = packed(build / "tilevm.wasm")
    print(f"module: {len(wasm)} bytes packed")
    worker = (build / "tilevm.js").read_text() + "\n" + script("engine.js", "worker.js")
    texts = {
        "<!--LINKS-->": links(docs),
        "/*STYLE*/": (PAGE / "style.css").read_text(),
        "/*DATA*/": json.dumps(data).replace("<", "\\u003c"),
        "/*WORKER*/": in_element(worker),
        "/*WASM*/": base64.b64encode(wasm).decode(),
        "/*SCRIPT*/": in_element(script("words.js", "editor.js", "client.js", "playground.js", "debugging.js", "start.js")),
    }
    return re.sub("|".join(re.escape(name) for name in texts), lambda found: texts[found[0]],
                  (PAGE / "index.html").read_text())


def main():
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    build, out = map(pathlib.Path, sys.argv[1:3])
    page = make_page(build, sys.argv[3] if len(sys.argv) == 4 else "")
    out.mkdir(parents=True, exist_ok=True)
    (out / "index.html").write_text(page)
    print(out / "index.html")


if __name__ == "__main__":
    main()
