"""The steps of docs/inside/adding_an_instruction.md, taken for its example: new_instruction_test.py CXX LIBRARY..

Each block of C++ in the page names its file and goes there, in a copy. The copies compile with warnings as errors. What
walks over all instructions in each phase links with them, and without any one of the steps it does not, naming `Square`.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/inside/adding_an_instruction.md"
COMPILER, LIBRARIES = sys.argv[1], sys.argv[2:]
FLAGS = ["-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", "-Wno-maybe-uninitialized"]
# The line before which a block goes.
BEFORE = {
    "isa/inst/compute.h": "/// Its instructions, in the order of the reference.",
    "isa/rules/compute.cc": "}  // namespace tilevm::isa",
    "sim/exec/exec_compute.cc": "}  // namespace tilevm::sim",
    "backend/emit/emit_compute.cc": "}  // namespace tilevm::backend",
    "vm/naive/naive_block.cc": "  void execute(const isa::Fma& inst",
    "vm/fuzz/instruction_makers.cc": "template <>\nstruct Maker<isa::Fma>",
}
# What walks over all instructions: the source, the step without which it does not link, and the missing function.
WALKERS = {
    "isa/rules/rules.cc": ("isa/rules/compute.cc", "result_types"),
    "sim/exec/semantics.cc": ("sim/exec/exec_compute.cc", "prepare"),
    "backend/emit/emit_kernel.cc": ("backend/emit/emit_compute.cc", "emit_plain"),
}
# Steps that stop the compiler instead: the source itself walks over all instructions.
COMPILED = ("vm/naive/naive_block.cc", "vm/fuzz/instruction_makers.cc")


def blocks():
    """The page's C++ by its files."""
    return dict(re.findall(r"^```cpp (\S+)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL))


class Steps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.work = pathlib.Path(cls.folder.name)
        for file, block in blocks().items():
            text = (ROOT / file).read_text()
            begin, line, rest = text.rpartition(BEFORE[file])
            if not line:
                raise AssertionError(f"{file} has no line `{BEFORE[file]}`")
            if file == "isa/inst/compute.h":
                rest = re.sub(r">;", ", Square>;", rest, count=1)  # the list of the category
            (cls.work / file).parent.mkdir(parents=True, exist_ok=True)
            (cls.work / file).write_text(f"{begin}{block}\n{line}{rest}")
        sources = [file for file in blocks() if file.endswith(".cc")] + list(WALKERS)
        with concurrent.futures.ThreadPoolExecutor(min(os.cpu_count() or 1, 2)) as pool:
            cls.said = dict(zip(sources, pool.map(cls.compile, sources)))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def compile(cls, source, changed=True):
        """What the compiler says; makes NAME.o of a source, the changed copy or the one of the tree."""
        copy = cls.work / source
        file = copy if changed and copy.exists() else ROOT / source
        out = cls.work / (source.replace("/", "_") + ".o")
        done = subprocess.run([COMPILER, *FLAGS, "-c", "-I", str(cls.work), "-I", str(ROOT), str(file), "-o", str(out)],
                              capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
        return done.stderr if done.returncode else ""

    def link(self, sources):
        main = self.work / "main.cc"
        main.write_text("int main() {}\n")
        objects = [str(self.work / (source.replace("/", "_") + ".o")) for source in sources]
        done = subprocess.run([COMPILER, str(main), *objects, "-Wl,--start-group", *LIBRARIES, "-Wl,--end-group", "-pthread",
                               "-ldl", "-o", str(self.work / "linked")], capture_output=True, text=True, check=False,
                              env={**os.environ, "LC_ALL": "C"})
        return done.stderr

    def test_the_page_has_a_block_for_each_file(self):
        self.assertEqual(set(blocks()), set(BEFORE))

    def test_the_steps_compile(self):
        for source, said in self.said.items():
            with self.subTest(source=source):
                self.assertEqual(said[:2000], "")

    def test_each_phase_links_with_its_step_and_not_without(self):
        for walker, (step, function) in WALKERS.items():
            with self.subTest(walker=walker):
                self.assertNotRegex(self.link([walker, step]), "Square")
                self.assertRegex(self.link([walker]), rf"undefined reference to .*{function}<tilevm::isa::Square>")

    def test_without_a_second_meaning_or_a_maker_nothing_compiles(self):
        for source in COMPILED:
            with self.subTest(source=source):
                self.assertRegex(self.compile(source, changed=False), "Square")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
