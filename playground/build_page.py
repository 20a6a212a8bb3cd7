"""Makes the playground's page: build_page.py BUILD OUT.

BUILD has the module (tilevm.js, tilevm.wasm), OUT/index.html is one file that needs no server and fetches nothing:
module, worker, style and all programs are in it.
"""

import base64
import gzip
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "playground" / "page"
FIRST = "programs/figure2.tile"


def patterns():
    """The grammar's patterns with the kinds of tokens that they are, in order."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "editors" / "generate.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    kinds = {f"{name}.tilevm": kind for kind, name in generate.TEXTMATE.items()}
    grammar = json.loads((ROOT / "editors/vscode/syntaxes/tilevm.tmLanguage.json").read_text())
    return [(kinds[one["name"]], one["match"]) for one in grammar["patterns"]]


def gallery():
    """Programs that can be run, and the parts that they include."""
    programs, parts = [], []
    for file in sorted(ROOT.glob("programs/**/*.tile")):
        text = file.read_text()
        one = {"path": file.relative_to(ROOT).as_posix(), "text": text}
        if re.search(r"^(pipeline \w+|def \w+<)", text, re.MULTILINE):
            programs.append(one | {"cases": re.findall(r"^# args: (.*)$", text, re.MULTILINE)})
        else:
            parts.append(one)
    return programs, parts


def groups(programs):
    """Labels with paths: programs of a folder below its name, all others first."""
    by_label = {}
    for one in programs:
        folder = pathlib.PurePath(one["path"]).parent.name
        by_label.setdefault("programs" if folder == "programs" else folder.replace("_", " "), []).append(one["path"])
    return sorted(by_label.items(), key=lambda item: (item[0] != "programs", item[0]))


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


def make_page(build):
    version = re.search(r"project\(tilevm VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    programs, parts = gallery()
    data = {"version": version, "first": FIRST, "patterns": patterns(), "programs": programs, "parts": parts,
            "groups": groups(programs)}
    wasm = packed(build / "tilevm.wasm")
    print(f"module: {len(wasm)} bytes packed")
    worker = (build / "tilevm.js").read_text() + "\n" + script("engine.js", "worker.js")
    texts = {
        "/*STYLE*/": (PAGE / "style.css").read_text(),
        "/*DATA*/": json.dumps(data).replace("<", "\\u003c"),
        "/*WORKER*/": in_element(worker),
        "/*WASM*/": base64.b64encode(wasm).decode(),
        "/*SCRIPT*/": in_element(script("words.js", "editor.js", "client.js", "playground.js", "debugging.js", "start.js")),
    }
    return re.sub("|".join(re.escape(name) for name in texts), lambda found: texts[found[0]],
                  (PAGE / "index.html").read_text())


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    build, out = map(pathlib.Path, sys.argv[1:])
    page = make_page(build)
    out.mkdir(parents=True, exist_ok=True)
    (out / "index.html").write_text(page)
    print(out / "index.html")


if __name__ == "__main__":
    main()
