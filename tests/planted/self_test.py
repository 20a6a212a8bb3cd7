#!/usr/bin/env python3
"""Tests of what planted.py does without a build: sites by pattern, and texts with both versions."""

import unittest

import planted
import sites


def site(old, new, form="choice", begin=0):
    return {"old": old, "new": new, "form": form, "begin": begin, "path": "a.cc", "line": 1,
            "number": 7}


class Instrumented(unittest.TestCase):
    def test_a_choice_has_both_expressions(self):
        self.assertEqual(sites.instrumented(site("a < b", "a <= b"), 7),
                         "(::planted::is(7) ? (a <= b) : (a < b))")

    def test_a_condition_is_negated_when_chosen(self):
        self.assertEqual(sites.instrumented(site("x", "!(x)", "negation"), 7),
                         "(::planted::is(7) != static_cast<bool>(x))")

    def test_a_statement_is_left_out_when_chosen(self):
        self.assertEqual(sites.instrumented(site("f(x)", "", "guard"), 7),
                         "if (!::planted::is(7)) f(x)")


    def test_a_change_of_people_says_itself_where_the_choice_is(self):
        self.assertEqual(sites.instrumented(site("if (a)", "if (!PLANTED && a)", "inline"), 7),
                         "if (!::planted::is(7) && a)")


class Chosen(unittest.TestCase):
    TEXT = "# no test\na.cc\n- if (a)\n-   f();\n+ if (PLANTED || a)\n+   f();\n\n# next\nb.cc\n- x\n+ y\n"

    def test_a_change_has_a_name_a_path_and_lines(self):
        first, second = planted.read_chosen(self.TEXT)
        self.assertEqual(first["name"], "no test")
        self.assertEqual(first["path"], "a.cc")
        self.assertEqual(first["old"], "if (a)\n  f();")
        self.assertEqual(first["new"], "if (PLANTED || a)\n  f();")
        self.assertEqual((second["name"], second["old"], second["new"]), ("next", "x", "y"))

    def test_another_line_is_refused(self):
        with self.assertRaises(SystemExit):
            planted.read_chosen("# a\na.cc\n- x\nwhat is this\n")

    def test_every_kept_change_is_of_a_known_area_and_changes_something(self):
        names = set()
        for file in sorted((planted.HERE / "chosen").glob("*.txt")):
            for change in planted.read_chosen(file.read_text()):
                with self.subTest(change["name"]):
                    self.assertTrue(planted.area_of(change["path"]))
                    self.assertNotEqual(change["old"], change["new"])
                    self.assertNotIn(change["name"], names)
                    self.assertEqual("PLANTED" in change["new"],
                                     not change["path"].endswith(".cuh"))
                    names.add(change["name"])
        self.assertGreater(len(names), 60)


class Texts(unittest.TestCase):
    def test_sites_of_a_file_do_not_move_one_another(self):
        changes = [site("a", "first", begin=0), site("c", "third", begin=4)]
        self.assertEqual(planted.substituted(b"a b c", changes, lambda each: each["new"]),
                         b"first b third")

    def test_a_file_that_changed_since_the_plan_is_refused(self):
        with self.assertRaises(SystemExit):
            planted.substituted(b"x b c", [site("a", "b")], lambda each: each["new"])

    def test_offsets_count_bytes(self):
        text = "é b".encode()
        self.assertEqual(planted.substituted(text, [site("b", "c", begin=3)],
                                             lambda each: each["new"]), "é c".encode())

    def test_a_change_that_does_not_compile_is_dropped(self):
        entries = [site("a", "b"), {**site("a", "b"), "path": "b.cc"}]
        self.assertEqual(planted.drop_broken("/x/a.cc:1:5: error: no\n", entries), 1)
        self.assertTrue(entries[0]["broken"])
        self.assertNotIn("broken", entries[1])


class Changes(unittest.TestCase):
    def test_a_number_of_emitted_code_is_one_greater(self):
        self.assertEqual(sites.with_number_changed('"mma.m16n8 {}"'), None)
        self.assertEqual(sites.with_number_changed('"x + 31"'), '"x + 32"')
        self.assertIsNone(sites.with_number_changed('"x{0}"'))

    def test_words_of_emitted_code_are_exchanged(self):
        self.assertIn('"a - {}"', sites.changes_of_format('"a + {}"'))

    def test_device_code_has_sites_outside_of_comments(self):
        text = "// x << 1\n  y = x << 1;\n  asm volatile(\"bar\");\n"
        found = {(each.begin, each.new) for each in sites.find_by_pattern("a.cuh", text)}
        self.assertIn((text.index("x << 1;") + 2, ">>"), found)
        self.assertNotIn((text.index("<<"), ">>"), found)
        self.assertIn((text.index("  asm"), ""), found)


class Sums(unittest.TestCase):
    def test_the_table_counts_each_area(self):
        entries = [{"number": 0, "area": "checks"}, {"number": 1, "area": "checks"}]
        results = {"0": {"caught": "unit"}, "1": {"caught": None, "tried": 0}}
        self.assertIn("| checks | 2 | 1 | 1 | 0 |", planted.summary(entries, results))


if __name__ == "__main__":
    unittest.main()
