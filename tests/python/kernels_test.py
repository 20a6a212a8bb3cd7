"""Kernels that are docstrings, what reports take, and in which words a caller is answered. package.py has the usage."""

import inspect
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import unittest

from package import FAKE_DRIVER  # noqa: F401

import numpy
import tilevm

FILE = pathlib.Path(__file__).name


@tilevm.kernel
def scale(x, y, s):
    """
    def scale_kernel<1>(f32* x, f32* y, f32 s):
        StoreGlobal(LoadGlobal(ViewGlobal(x, shape=[4]), layout=local(4)) * s, ViewGlobal(y, shape=[4]))
    """


@tilevm.kernel(N=8)
def inputs_alone(x, s):
    """const N = 4
    def inputs_kernel<1>(f32* x, f32* y, f32 s):
        StoreGlobal(LoadGlobal(ViewGlobal(x, shape=[N]), layout=local(N)) * s, ViewGlobal(y, shape=[N]))
    """


X = numpy.arange(4, dtype="f4")


def line_of(text):
    """The number of the line of this file that has a text."""
    lines = pathlib.Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line and "line_of" not in line)


class Docstrings(unittest.TestCase):
    def test_without_brackets(self):
        self.assertEqual(scale(X, s=2).tolist(), [0, 2, 4, 6])
        self.assertEqual(inputs_alone(numpy.ones(8, "f4"), 3).tolist(), [3] * 8)

    def test_it_has_the_functions_names(self):
        self.assertEqual((scale.__name__, scale.__qualname__, scale.__module__), ("scale", "scale", __name__))
        self.assertIn("def scale_kernel<1>", scale.__doc__)
        self.assertEqual(scale.name, "scale_kernel")
        self.assertEqual(tilevm.loads(inspect.cleandoc(scale.__doc__)).__name__, "scale_kernel")
        again = pickle.loads(pickle.dumps(scale))
        self.assertEqual((again.__name__, again.__doc__, again(X, s=1).tolist()), ("scale", scale.__doc__, X.tolist()))

    def test_a_mistake_has_its_place_in_the_file(self):
        with self.assertRaises(tilevm.ProgramError) as raised:
            @tilevm.kernel
            def wrong():
                """
                def wrong<1>(f32* x):
                    y = Lod(x)
                """
        number = line_of("y = Lod(x)")
        column = 1 + pathlib.Path(__file__).read_text().splitlines()[number - 1].index("Lod")
        first, = raised.exception.diagnostics
        self.assertEqual((pathlib.Path(first.file).name, first.line, first.column, first.end_column),
                         (FILE, number, column, column + 3))
        for message in (str(raised.exception), raised.exception.painted):
            self.assertIn(f"{FILE}:{number}:{column}", message)
        self.assertIn("y = Lod(x)", str(raised.exception))

    def test_a_fault_has_its_place_in_the_file(self):
        @tilevm.kernel
        def divides(p, n):
            """def divides<1>(i32* p, i32 n):
                StoreGlobal(AllocateRegister(i32, layout=local(1), init=7 / n), ViewGlobal(p, shape=[1]))
            """
        number = line_of("init=7 / n")
        column = 1 + pathlib.Path(__file__).read_text().splitlines()[number - 1].index("7 / n")
        with self.assertRaisesRegex(tilevm.ProgramError, f"{FILE}:{number}:{column}") as raised:
            divides(n=0)
        self.assertEqual((raised.exception.diagnostics[0].line, raised.exception.diagnostics[0].column), (number, column))
        self.assertEqual([each.line for each in divides.check(n=0)], [number])
        self.assertEqual(divides.page(n=0).error.diagnostics[0].line, number)

    def test_a_docstring_with_escapes_has_a_name_of_its_own(self):
        def escaped():
            "def f<1>(f32* x):\n    y = Lod(x)\n"
        with self.assertRaisesRegex(tilevm.ProgramError, "escaped.tile:2:9"):
            tilevm.kernel(escaped)
        names = {}
        exec('def f():\n    """\n    def f<1>(f32* x):\n        y = Lod(x)\n    """\n', names)  # no file has it
        with self.assertRaisesRegex(tilevm.ProgramError, "f.tile:2:9"):
            tilevm.kernel(names["f"])

    def test_a_function_that_is_none(self):
        def other(x, z, s):
            pass

        def defaults(x, y, s=1):
            pass

        def more(*arguments):
            pass

        def body(x, y, s):
            """
            def f<1>(f32* x, f32* y, f32 s):
                StoreGlobal(LoadGlobal(ViewGlobal(x, shape=[4]), layout=local(4)) * s, ViewGlobal(y, shape=[4]))
            """
            return x

        for function, words in ((other, "`other` has the parameters x, z, s, and the kernel `scale_kernel` has x, y, s"),
                                (defaults, "`s` of `defaults` has a default"), (more, "takes `\\*arguments`")):
            function.__doc__ = inspect.cleandoc(scale.__doc__)
            with self.subTest(words), self.assertRaisesRegex(tilevm.UsageError, words):
                tilevm.kernel(function)
        with self.assertRaisesRegex(tilevm.UsageError, f"line {line_of('return x')}, which never run"):
            tilevm.kernel(body)
        with self.assertRaisesRegex(tilevm.UsageError, "no docstring"):
            tilevm.kernel(lambda: None)
        for given in (3, "def f<1>():\n    pass\n"):
            with self.assertRaisesRegex(tilevm.UsageError, "takes a function"):
                tilevm.kernel(given)


class Reports(unittest.TestCase):
    def test_they_take_what_a_call_takes(self):
        y = numpy.zeros(4, "f4")
        for arguments, named in (((X, y, 2), {}), ((X, 2), {}), ((X,), {"s": 2}), ((), {"x": X, "s": 2}), ((), {"x": "iota", "s": 2})):
            self.assertEqual(scale.stats(*arguments, **named)["kernels"][0]["totals"]["global_load"]["bytes"], 16)
            page = scale.page(*arguments, **named)
            self.assertIsNone(page.error)
            self.assertIn("6", page.html)
            self.assertEqual(scale.check(*arguments, **named), ())
        self.assertEqual(scale.check(), ())
        with self.assertRaisesRegex(tilevm.UsageError, "astype\\('float32'\\)"):
            scale.page(X.astype("f8"), 2)
        with self.assertRaisesRegex(tilevm.UsageError, "astype\\('float32'\\)"):
            scale.check(X.astype("f8"), 2)

    def test_a_page_leaves_outputs_alone(self):
        y = numpy.zeros(4, "f4")
        scale.page(X, y, 2)
        self.assertEqual(y.tolist(), [0] * 4)

    def test_checks_of_a_run_are_data(self):
        k = tilevm.loads("""
            def f<1>(f32* x, f32* y):
                x = LoadGlobal(ViewGlobal(x, shape=[4]), layout=local(4))
                Synchronize()
                StoreGlobal(x, ViewGlobal(y, shape=[8]))
        """)
        found = {(each.severity, each.line) for each in k.check(X)} - {(each.severity, each.line) for each in k.check()}
        self.assertIn(("note", 4), found)  # a barrier that nothing needs
        self.assertIn("warning", {severity for severity, _ in found})  # elements that nothing stored
        self.assertEqual(k.check(x="iota"), k.check(X))

    def test_the_command_takes_arrays_as_well(self):
        self.assertIn("0 2 4 6", scale.debug("run", "print y", x=X, s=2))
        try:
            self.assertTrue(scale.diff("sim", "emu", X, s=2)["exact"])
        except tilevm.UnavailableError as error:
            self.skipTest(str(error))

    def test_bench_needs_a_gpu(self):
        script = "import tilevm, kernels_test as t\ntry: t.scale.bench(t.X, s=2, repeat=3)\n" \
            "except tilevm.UnavailableError as error: print('unavailable')"
        arguments = [sys.executable, "-c", f"import sys; sys.argv[1:] = {sys.argv[1:]!r}; sys.path[:0] = {sys.path!r}\n" + script]
        environment = {"TILEVM_LIBCUDA": "/nowhere/libcuda.so"}
        done = subprocess.run(arguments, capture_output=True, text=True, check=False, env={**__import__("os").environ, **environment})
        self.assertEqual((done.stdout, done.stderr[-2000:]), ("unavailable\n", ""))

    def test_a_kernel_in_a_notebook(self):
        html = inputs_alone._repr_html_()
        for words in ("<b>inputs_kernel</b>", "<td>x</td><td>f32</td><td>[8]</td><td>read</td>", "N = 8", "written", "a number",
                      "def inputs_kernel&lt;1&gt;"):
            self.assertIn(words, html)
        sized = tilevm.loads("pipeline main(n: i32, inout x: f32[n]):\n    f(x)\ndef f<1>(f32* x):\n    x = ViewGlobal(x, shape=[1])\n"
                             "    StoreGlobal(LoadGlobal(x, layout=local(1)), x)\n")
        self.assertIn("<td>by the call</td><td>read and written</td>", sized._repr_html_())


class Words(unittest.TestCase):
    """No message names an option of the command, which a caller does not have."""

    def refused(self, call):
        with self.assertRaises(tilevm.Error) as raised:
            call()
        said = [str(raised.exception), raised.exception.painted, *(each.message for each in raised.exception.diagnostics),
                *(note.message for each in raised.exception.diagnostics for note in each.notes)]
        for text in said:
            self.assertIsNone(re.search(r"(?<![\w-])--?[A-Za-z][a-z-]*\b(?! \d)", text.split("\n")[0]), text)
        return said[0]

    def test_constants(self):
        text = "const N = 4\nconst M in [1, 2] = 1\nrequire N < 10\ndef f<1>(f32* x):\n    StoreGlobal(LoadGlobal(ViewGlobal(x, " \
            "shape=[N]), layout=local(N)), ViewGlobal(x, shape=[N]))\n"
        self.assertIn("N=a b: ", self.refused(lambda: tilevm.loads(text, N="a b")))
        self.assertIn("error: K: the file has no such constant", self.refused(lambda: tilevm.loads(text, K=1)))
        self.refused(lambda: tilevm.loads(text, M=7))
        self.refused(lambda: tilevm.loads(text, N=70))
        self.refused(lambda: tilevm.loads(text, N=0))
        # The text of a program is shown as it is, whatever it says.
        with self.assertRaisesRegex(tilevm.ProgramError, "y = Lod\\(x\\)  # -D N=3 --in x"):
            tilevm.loads("def f<1>(f32* x):\n    y = Lod(x)  # -D N=3 --in x\n")

    def test_data_by_name(self):
        self.assertIn("parameter `f32 s`: give s=VALUE", self.refused(lambda: scale.stats(x="iota")))
        self.refused(lambda: scale.page(x="iota", s="three"))
        self.refused(lambda: scale.page(x="iotta", s=1))
        self.refused(lambda: scale.check(x="full:", s=1))
        self.refused(lambda: tilevm.loads("def f<1>(f32* x, i32 n):\n    StoreGlobal(LoadGlobal(ViewGlobal(x, shape=[n]), "
                                          "layout=local(4)), ViewGlobal(x, shape=[n]))\n").stats(n=4))
        with tempfile.TemporaryDirectory() as folder:
            numpy.save(f"{folder}/x.npy", numpy.zeros(3, "f4"))
            self.refused(lambda: scale.stats(x=f"{folder}/x.npy", s=1))

    def test_what_the_command_says(self):
        for call in (lambda: scale.diff("sim", "emu", x="iotta", s=1), lambda: scale.debug("run", x="iota")):
            self.refused(call)

    def test_entries(self):
        two = "def f<1>(f32* x):\n    Synchronize()\ndef g<1>(f32* x):\n    Synchronize()\n"
        self.assertIn("name the entry with entry=", self.refused(lambda: tilevm.loads(two)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
