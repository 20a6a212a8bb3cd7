"""Compiles one configuration at one revision for one target, and keeps what came of it."""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import tempfile

import cubin
from tree import Failure

# What a launch needs beside the machine code, from a kernel's report, and what ptxas says.
LAUNCH = ("threads", "shared_bytes", "workspace_bytes")
COMPILED = ("spill_store_bytes", "spill_load_bytes")
UNAVAILABLE = 3  # the exit status where there is no compiler
NO_COMPILER = {"TILEVM_NVRTC": "none", "TILEVM_NVCC": "none", "TILEVM_CACHE": "off"}


def without_comments(text):
    """The emitted text without what no compiler sees: comments, #line and the space around them.

    The prelude uses neither __LINE__ nor __FILE__.
    """
    lines = []
    for line in text.splitlines():
        # A string may hold `//`; what it holds is kept.
        line = re.sub(r'("(?:[^"\\]|\\.)*")|//.*', lambda match: match[1] or "", line)
        line = line.strip()
        if line and not line.startswith("#line"):
            lines.append(line)
    return "\n".join(lines)


def words_of(error):
    """An error without lines and columns, since comments of a program may have moved."""
    try:
        diagnostics = json.loads(error)["diagnostics"]
    except (ValueError, KeyError):
        return re.sub(r"[\w./-]+:\d+:\d+: ", "", error)
    return "\n".join(f"{d['code']} {d['message']}" + "".join(f"; {n['message']}" for n in d.get("notes", []))
                     for d in diagnostics if d["severity"] == "error")


class Compiler:
    """The command of one tree. `compile` is kept in a file by what was compiled and by what."""

    def __init__(self, tree, other, cache):
        self.tree = tree
        self.other = other
        self.cache = cache / "compiled"
        self.cache.mkdir(parents=True, exist_ok=True)

    def run(self, configuration, target, options, environment):
        """A compile in a folder of its own; its report, the output's bytes or None, and an error."""
        path = self.tree.path_of(configuration.file, self.other)
        root = pathlib.Path(str(path).removesuffix(configuration.file))
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder) / "output"
            done = subprocess.run(
                [self.tree.binary, "compile", configuration.file, *configuration.defines,
                 "--target", target, "--explain", "--json", "-o", output, *options],
                cwd=root, capture_output=True, text=True, check=False,
                env={**os.environ, "TILEVM_CACHE_DIR": f"{folder}/cache", **environment})
            if done.returncode == UNAVAILABLE:
                raise Failure(f"{self.tree.name} cannot compile here: {done.stdout or done.stderr}")
            if done.returncode < 0:
                raise Failure(f"{self.tree.name} was ended by signal {-done.returncode}; run this again")
            if not output.exists():
                return [], None, (done.stdout or done.stderr).strip()
            report = json.loads(done.stdout)["targets"][0]
            kernels = report["kernels"]
            # The report is of a compilation of its own, which a busy machine may not end in time.
            if not environment and any(fact not in k for k in kernels for fact in COMPILED):
                raise Failure(f"no registers of {configuration} for {target}: {report['error']}; run this again")
            return kernels, output.read_bytes(), None

    def text(self, configuration, target):
        """The emitted text without comments and each kernel's launch, or an error."""
        kernels, text, error = self.run(configuration, target, ["--emit", "cuda"], NO_COMPILER)
        if error is not None:
            return {"error": error}
        launches = {k["entry"]: {fact: k[fact] for fact in LAUNCH} for k in kernels}
        return {"text": without_comments(text.decode()), "launches": launches}

    def compile(self, configuration, target):
        """Each function's facts, or an error; kept for the next time."""
        # A program may include the files beside it.
        folder = self.tree.path_of(configuration.file, self.other).parent
        source = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.glob("*.tile"))))
        what = f"{configuration}\n{target}\n{self.tree.identity}\n{source.hexdigest()}"
        kept = self.cache / f"{hashlib.sha256(what.encode()).hexdigest()[:32]}.json"
        if kept.exists():
            return json.loads(kept.read_text())
        result = self.compile_now(configuration, target)
        partial = kept.with_suffix(f".{os.getpid()}.{id(result)}")
        partial.write_text(json.dumps(result))
        partial.rename(kept)
        return result

    def compile_now(self, configuration, target):
        kernels, image, error = self.run(configuration, target, ["--emit", "cubin"], {})
        if error is not None:
            return {"error": error}
        functions = cubin.read(image)
        for kernel in kernels:
            functions[kernel["entry"]].update({fact: kernel[fact] for fact in LAUNCH + COMPILED})
        return {"functions": functions}
