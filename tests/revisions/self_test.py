"""The comparisons themselves: what they must see, and what they must not mind. No GPU, no NVRTC."""

import json
import pathlib
import struct
import tempfile
import unittest

import compiling
import configurations
import cubin
import machine_code
from tree import ROOT, Tree


def make_cubin(code=b"\x01" * 16, registers=24, names=("kernel",), lines=b"line 1"):
    """A small ELF file with the sections that matter, and one that does not."""
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in names)
    symbols = b"\0" * 24
    info = b""
    for number, name in enumerate(names, 1):
        symbols += struct.pack("<IBBHQQ", strings.index(name.encode()), 0x12, 0, 4, 0, len(code))
        info += struct.pack("<BBHII", 4, cubin.REGISTERS, 8, number, registers)
    contents = [("", 0, b"", 0), (".strtab", 3, strings, 0), (".symtab", 2, symbols, 1),
                (".nv.info", 0x70000000, info, 2), (f".text.{names[0]}", 1, code, 0),
                (".debug_line", 1, lines, 0)]
    heads = b"\0".join(name.encode() for name, *_ in contents) + b"\0.shstrtab\0"
    contents.append((".shstrtab", 3, heads, 0))
    image = b"\x7fELF\x02\x01" + b"\0" * 58
    table = b""
    for name, kind, data, link in contents:
        at = heads.index(name.encode() + b"\0")
        table += struct.pack("<IIQQQQIIQQ", at, kind, 0, 0, len(image), len(data), link, 0, 1, 0)
        image += data
    image = image[:0x28] + struct.pack("<Q", len(image)) + image[0x30:]
    image = image[:0x3A] + struct.pack("<HHH", 64, len(contents), len(contents) - 1) + image[0x40:]
    return image + table


def compare(old, new):
    return machine_code.compare_results({"functions": cubin.read(old)}, {"functions": cubin.read(new)})


class Cubins(unittest.TestCase):
    def test_facts(self):
        facts = cubin.read(make_cubin())["kernel"]
        self.assertEqual((facts["code"], facts["registers"], facts["stack"]), (16, 24, 0))

    def test_lines_of_the_source_do_not_matter(self):
        self.assertEqual(compare(make_cubin(), make_cubin(lines=b"line 2, which is longer")), [])

    def test_code_matters(self):
        self.assertIn(".text", compare(make_cubin(), make_cubin(code=b"\x02" * 16))[0])

    def test_registers_matter(self):
        lines = compare(make_cubin(), make_cubin(registers=25))
        self.assertIn("registers", lines[0])
        self.assertIn("registers 25", lines[2])

    def test_a_missing_kernel_matters(self):
        self.assertNotEqual(compare(make_cubin(names=("kernel", "second")), make_cubin()), [])

    def test_what_is_no_elf_file(self):
        with self.assertRaises(ValueError):
            cubin.read(b"// PTX")


class Texts(unittest.TestCase):
    def test_comments_and_lines_do_not_matter(self):
        text = compiling.without_comments('#line 7\n  f(1);  // one\n\n// two\nasm("a // b");  // three\n')
        self.assertEqual(text, 'f(1);\nasm("a // b");')

    def refusal(self, line, message):
        return {"error": json.dumps({"diagnostics": [{"code": "TV0312", "severity": "error", "line": line,
                                                      "message": message}]})}

    def test_lines_in_errors_do_not_matter(self):
        self.assertEqual(machine_code.compare_results(self.refusal(4, "too large"), self.refusal(9, "too large")), [])
        self.assertEqual(compiling.words_of("programs/a.tile:4:5: error: x"), "error: x")

    def test_other_errors_matter(self):
        lines = machine_code.compare_results(self.refusal(4, "too large"), self.refusal(4, "too many"))
        self.assertEqual(lines, ["  old: TV0312 too large", "  new: TV0312 too many"])
        self.assertNotEqual(machine_code.compare_results({"error": "one"}, {"functions": {}}), [])


class Configurations(unittest.TestCase):
    def cases(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a.tile"
            path.write_text(text)
            return [str(case) for case in configurations.cases_of(path, path.parent)]

    def test_only_constants_count(self):
        cases = self.cases("# test: run\n# args: -D M=1 --in a=rand:1 -D 'L=local(2, 1)' --wild\n")
        self.assertEqual(cases, ["a.tile", "a.tile -D M=1 -D 'L=local(2, 1)'"])

    def test_a_test_may_name_its_program(self):
        self.assertEqual(self.cases("# program: programs/b.tile\n# args: -D N=2\n"),
                         ["programs/b.tile", "programs/b.tile -D N=2"])

    def test_every_measured_row(self):
        rows = {str(row) for row in configurations.measured(ROOT)}
        self.assertGreaterEqual(len(rows), 71)
        self.assertTrue(all("-D K=8192" in row for row in rows))

    def test_rows_of_two_revisions_are_compared_one_by_one(self):
        pairs = configurations.measured_pairs(ROOT, ROOT)
        self.assertEqual(len(pairs), len(configurations.measured(ROOT)))
        self.assertTrue(all(str(old) == str(new) for old, new in pairs))

    def test_the_constants_of_the_whole_cubin_are_no_kernel(self):
        result = {"functions": cubin.read(make_cubin())}
        self.assertEqual(sorted(machine_code.kernels_of(result)["functions"]), ["kernel"])
        refused = {"error": "too large"}
        self.assertIs(machine_code.kernels_of(refused), refused)

    def test_a_program_beside_the_file_matters(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "programs").mkdir()
            (root / "programs/a.tile").write_text('include "b.tile"\n')
            (root / "tilevm").write_text("a build")
            keys = []
            for text in ("const N = 1\n", "const N = 2\n"):
                (root / "programs/b.tile").write_text(text)
                compiler = compiling.Compiler(Tree("tree", root, root / "tilevm"), None, root)
                compiler.compile_now = lambda configuration, target: {"error": str(len(list(root.glob("compiled/*.json"))))}
                keys.append(compiler.compile(configurations.Configuration("programs/a.tile", []), "sm_80"))
            self.assertEqual(keys, [{"error": "0"}, {"error": "1"}])


if __name__ == "__main__":
    unittest.main()
