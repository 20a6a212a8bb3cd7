"""The words of the repository: each comment, docstring, message and page says something complete in terms of the field.

`words_test.py FILE..` shows the findings in those files alone.
"""

import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/words"))

import passages  # noqa: E402
import rules  # noqa: E402

# Files whose words are someone else's, or the subject of a rule.
EXCEPT = ("tests/words/", "tests/fuzz/corpus/", "tests/findings/")


def files():
    """All files of the repository, tracked or about to be."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True,
                            text=True, check=False)
    names = listed.stdout.split("\n") if listed.returncode == 0 else [
        str(path.relative_to(ROOT)) for folder in ("isa", "frontend", "sim", "backend", "vm", "std", "programs", "docs", "tests",
                                                   "python") for path in (ROOT / folder).rglob("*")]
    return [ROOT / name for name in names if name and not name.startswith(EXCEPT) and (ROOT / name).is_file()]


def findings(paths):
    for path in paths:
        for line, rule, words in rules.findings_in(passages.passages_of(path)):
            yield f"{path.relative_to(ROOT)}:{line}: [{rule.name}] \"{words}\": {rule.way_out}"


class Rules(unittest.TestCase):
    def test_each_rule_finds_its_example_and_accepts_the_way_out(self):
        for rule in rules.RULES:
            with self.subTest(rule=rule.name):
                self.assertRegex(rule.bad, rule.pattern)
                self.assertNotRegex(rule.good, rule.pattern)
                self.assertEqual([found.name for _, found, _ in rules.findings_in(
                    [passages.Passage(rule.kinds[0], 1, rule.good)])], [])

    def test_prose_is_found_in_each_kind_of_file(self):
        sources = {
            "a.cc": ('int x = 1;  ///< of a row\nauto s = "0.1 is no f16";\n// Of two\n// lines.\nauto r = R"(// Of text)";\n',
                     [(1, "member"), (2, "is no"), (3, "head")]),
            "a.py": ('"""Of a module."""\n\n\ndef f():\n    """Likewise."""\n    return "#"  # fine\n',
                     [(1, "head"), (5, "head")]),
            "a.md": ("# Title\n\nA paragraph. Of it\nmore.\n\n```\nOf code\n```\n- Those of a list\n", [(3, "head"), (9, "head")]),
            "a.tile": ("# The same of columns.\ndef f<1>(f32* x):\n    pass\n", [(1, "head")]),
        }
        for name, (text, expected) in sources.items():
            with self.subTest(name=name):
                found = rules.findings_in(passages.passages_in(name, text))
                self.assertEqual([(line, rule.name) for line, rule, _ in found], expected)


class Words(unittest.TestCase):
    def test_there_is_no_finding(self):
        checked = files()
        self.assertGreater(len(checked), 1000)
        found = list(findings(checked))
        self.assertEqual(found, [], "\n".join(["words to change:", *found]))


if __name__ == "__main__":
    if sys.argv[1:]:
        given = list(findings(pathlib.Path(argument).resolve() for argument in sys.argv[1:]))
        print("\n".join(given) or "no finding")
        sys.exit(bool(given))
    unittest.main()
