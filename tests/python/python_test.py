"""The package of python/ on the host, and the examples of its page.

package.py has the usage.
"""

import concurrent.futures
import os
import pathlib
import pickle
import pty
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

from package import ROOT

import numpy
import tilevm

ADD = """
def add<1>(f32* a_ptr, f32* c_ptr, i32 n):
    a = LoadGlobal(ViewGlobal(a_ptr, shape=[2, 2]), layout=local(2, 2))
    for i in range(n):
        a = a + 1
    StoreGlobal(a, ViewGlobal(c_ptr, shape=[2, 2]))
"""
A = numpy.arange(4, dtype="float32").reshape(2, 2)


class IncludedFiles(unittest.TestCase):
    def test_files_come_from_the_folders_that_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "lib").mkdir()
            (root / "app").mkdir()
            (root / "lib/sizes.tile").write_text("const N = 4\n")
            (root / "app/ones.tile").write_text(
                'include "sizes.tile"\ndef f<1>(f32* y_ptr):\n'
                "    StoreGlobal(AllocateRegister(f32, layout=local(N), init=1.0), ViewGlobal(y_ptr, shape=[N]))\n")
            with self.assertRaisesRegex(tilevm.ProgramError, "there is no file"):
                tilevm.load(root / "app/ones.tile")
            for wrong in [None, 3, [3]]:
                with self.assertRaisesRegex(tilevm.UsageError, "`include` takes a folder or a list of folders"):
                    tilevm.load(root / "app/ones.tile", include=wrong)
            for include in [root / "lib", [str(root / "lib")]]:
                kernel = tilevm.load(root / "app/ones.tile", include=include)
                self.assertEqual(kernel().tolist(), [1, 1, 1, 1])
                self.assertEqual(pickle.loads(pickle.dumps(kernel))().tolist(), [1, 1, 1, 1])


class Calls(unittest.TestCase):
    def setUp(self):
        self.kernel = tilevm.loads(ADD)

    def test_outputs_are_made_or_passed(self):
        self.assertEqual(self.kernel(A, 2).tolist(), [[2, 3], [4, 5]])
        given = numpy.zeros((2, 2), "float32")
        self.assertIs(self.kernel(A, given, n=3), given)
        self.assertEqual(given.tolist(), [[3, 4], [5, 6]])

    def test_a_file_with_constants(self):
        k = tilevm.load(ROOT / "programs" / "figure2.tile", M=16, N=8, K=16)
        a = numpy.ones((16, 16), "float16")
        self.assertEqual(k(a, numpy.zeros(k.parameters[1].shape, "uint8")).tolist(), numpy.zeros((16, 8)).tolist())

    def test_a_docstring_is_a_kernel(self):
        @tilevm.kernel()
        def copy():
            """
            def copy<1>(f32* a_ptr, f32* c_ptr):
                StoreGlobal(LoadGlobal(ViewGlobal(a_ptr, shape=[2]), layout=local(2)), ViewGlobal(c_ptr, shape=[2]))
            """
        self.assertEqual(copy(numpy.array([1, 2], "float32")).tolist(), [1, 2])

    def test_threads_and_pickles_give_the_same(self):
        again = pickle.loads(pickle.dumps(self.kernel))
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda n: again(A, n).tolist(), range(20)))
        self.assertEqual(results, [(A + n).tolist() for n in range(20)])

    def test_a_tensor_that_no_statement_touches_is_given(self):
        unused = tilevm.loads(ADD.replace("(f32* a_ptr", "(f16* b_ptr, f32* a_ptr"))
        self.assertEqual([p.scalar for p in unused.parameters], [False, False, False, True])
        self.assertEqual(unused(numpy.zeros(1, "float16"), A, 3).tolist(), [[3, 4], [5, 6]])

    def test_mistakes_say_what_to_do(self):
        read_only = numpy.zeros((2, 2), "float32")
        read_only.flags.writeable = False
        for arguments, words in [((A.astype("float64"), 1), "astype('float32')"), ((A[0], 1), "shape [2, 2]"),
                                 ((A.T, 1), "ascontiguousarray"), ((A, read_only, 1), "read-only"),
                                 ((A.tolist(), 1), "NumPy array"), ((A, 1.5), "an integer"),
                                 ((A, 1 << 40), "does not hold"), ((), "not given `a_ptr`"),
                                 ((A, A, 1, 1), "were given")]:
            with self.subTest(words), self.assertRaises(tilevm.UsageError) as raised:
                self.kernel(*arguments)
            self.assertIn(words, str(raised.exception))
        with self.assertRaisesRegex(tilevm.UsageError, "no parameter `b`"):
            self.kernel(A, 1, b=2)

    def test_a_fault_of_a_run_has_its_place(self):
        bad = tilevm.loads(ADD.replace("for i in range(n)", "for i in range(1 // n)"))
        with self.assertRaisesRegex(tilevm.ProgramError, r"program\.tile:4:") as raised:
            bad(A, 0)
        self.assertEqual((raised.exception.diagnostics[0].line, raised.exception.diagnostics[0].column), (4, 20))

    def test_ctrl_c_ends_a_call(self):
        for engine in ("sim", "emu:O0"):
            with self.subTest(engine):
                try:
                    self.kernel(A, n=1, engine=engine)
                except tilevm.UnavailableError as error:
                    self.skipTest(str(error))
                threads = len(os.listdir("/proc/self/task"))
                timer = threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT))
                timer.start()
                given = numpy.zeros((2, 2), "float32")
                before = time.monotonic()
                with self.assertRaises(KeyboardInterrupt):
                    self.kernel(A, given, n=2_000_000_000, engine=engine, max_steps=1 << 60)
                self.assertLess(time.monotonic() - before, 8)
                self.assertFalse(given.any())
                timer.join()
                limit = time.monotonic() + 5
                while len(os.listdir("/proc/self/task")) > threads:
                    self.assertLess(time.monotonic(), limit, "a run that was stopped goes on")
                    time.sleep(0.01)
                self.assertEqual(self.kernel(A, 1).tolist(), [[1, 2], [3, 4]])

    def test_options_of_a_run(self):
        with self.assertRaisesRegex(tilevm.LimitError, "max|steps"):
            self.kernel(A, 1000, max_steps=100)
        with self.assertRaisesRegex(tilevm.UsageError, "did you mean `races`"):
            self.kernel(A, 1, checks="race")
        with self.assertRaisesRegex(tilevm.UsageError, "threads"):
            self.kernel(A, 1, threads=1 << 40)
        self.assertEqual(self.kernel(A, 1, checks="none", threads=1).tolist(), [[1, 2], [3, 4]])

    def test_a_child_of_a_fork_calls_as_well(self):
        self.kernel(A, 1)
        child = os.fork()
        if child == 0:
            os._exit(0 if self.kernel(A, 2).tolist() == [[2, 3], [4, 5]] else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_reports_are_made_without_the_command(self):
        text = """
            import tilevm, tests_of_reports as t
            k = tilevm.loads(t.ADD)
            assert k.stats(a_ptr="iota", n=2)["kernels"][0]["totals"]["global_load"]["bytes"] == 16
            assert k.stats(t.A, 2)["kernels"][0]["totals"]["global_load"]["bytes"] == 16
            assert k.explain()["kernels"][0]["name"] == "add"
            assert k.check() == ()
            try:
                k.stats(b_ptr="iota", n=2)
            except tilevm.UsageError as error:
                assert "b_ptr" in str(error)
            layout = tilevm.Layout("local(2, 1).spatial(2, 2)")
            assert "a cell is thread:local" in str(layout) and layout.html().startswith("<!DOCTYPE html>")
            try:
                tilevm.loads("def f<1>(f32* p):\\n    x = Lod(p)\\n")
            except tilevm.ProgramError as error:
                assert error.diagnostics[0].line == 2 and error.diagnostics[0].code.startswith("TV")
            """
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "tests_of_reports.py").write_text(
                f"import numpy\nADD = {ADD!r}\nA = numpy.arange(4, dtype='float32').reshape(2, 2)\n")
            script = "import subprocess\ndef no(*a, **k): raise AssertionError('a process')\n" \
                "subprocess.Popen.__init__ = no\n" + textwrap.dedent(text)
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False,
                                  env={**os.environ, "TILEVM_COMMAND": "/nowhere", "PYTHONPATH": os.pathsep.join(
                                      [folder, *filter(None, [os.environ.get("PYTHONPATH")])])})
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_page_of_a_run(self):
        page = self.kernel.page(a_ptr="iota", n=2)
        self.assertIn("</html>", page.html)
        self.assertIn("&lt;svg", page._repr_html_())
        self.assertIsNone(page.error)
        bad = tilevm.loads(ADD.replace("for i in range(n)", "for i in range(1 // n)")).page(n=0)
        self.assertEqual(bad.error.diagnostics[0].line, 4)
        with self.assertRaisesRegex(tilevm.UsageError, "b_ptr"):
            self.kernel.page(b_ptr="iota", n=2)
        with tempfile.TemporaryDirectory() as folder:
            page.save(pathlib.Path(folder) / "page.html")
            self.assertEqual((pathlib.Path(folder) / "page.html").read_text(), page.html)

    def test_engines_agree_where_there_is_a_compiler(self):
        try:
            self.assertTrue(self.kernel.diff("sim", "emu", n=3)["exact"])
        except tilevm.UnavailableError as error:
            self.skipTest(str(error))

    def test_the_debugger_answers(self):
        self.assertIn("LoadGlobal", self.kernel.debug("run", "next", n=1))

    def test_the_module_is_the_command(self):
        said = subprocess.run([sys.executable, "-m", "tilevm", "--version"], capture_output=True, text=True, check=True)
        self.assertEqual(said.stdout.strip(), f"tilevm {tilevm.version()}")


SIZED = """
def scale<cdiv(n, 32)>(f32* x_ptr, f32* y_ptr, i32 n, f32 factor):
    b = BlockIndices()
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[2 * n]), layout=spatial(32), offset=[b * 32:])
    StoreGlobal(x * factor, ViewGlobal(y_ptr, shape=[n]), offset=[b * 32:])

pipeline main(n: i32, factor: f32, x: f32[2 * n]) -> (y: f32[n]):
    scale(x, y, n, factor)
"""


class Sizes(unittest.TestCase):
    def setUp(self):
        self.kernel = tilevm.loads(SIZED)
        self.x = numpy.arange(200, dtype="float32")

    def test_a_size_is_told_by_a_shape(self):
        wanted = self.x[:100] * 3
        y = numpy.zeros(100, "float32")
        for made in (self.kernel(100, 3, self.x), self.kernel(3, self.x), self.kernel(self.x, factor=3),
                     self.kernel(x=self.x, factor=3), self.kernel(3, self.x, y=y), self.kernel(100, 3, self.x, y)):
            self.assertEqual(made.tolist(), wanted.tolist())
        self.assertEqual(self.kernel.stats(self.x, factor=3)["kernels"][0]["totals"]["global_store"]["bytes"], 400)

    def test_what_is_known_of_a_call(self):
        self.assertEqual(self.kernel.sizes(), {"n": None, "factor": None, "x": None, "y": None})
        self.assertEqual(self.kernel.sizes(x=self.x), {"n": 100, "factor": None, "x": None, "y": None})
        whole = {"n": 100, "factor": 0.5, "x": (200,), "y": (100,)}
        self.assertEqual(self.kernel.sizes(x=self.x, factor=0.5), whole)
        self.assertEqual(self.kernel.sizes(y=(100,), factor=0.5), whole)
        self.assertEqual(self.kernel.sizes(n=100, factor=0.5), whole)
        flag = tilevm.loads("def f<1>(i32* p, bool on):\n    if on:\n        "
                            "StoreGlobal(AllocateRegister(i32, layout=local(1), init=1), ViewGlobal(p, shape=[1]))\n"
                            "pipeline main(on: bool) -> (p: i32[1]):\n    f(p, on)\n")
        self.assertEqual(flag.sizes(on=True), {"on": True, "p": (1,)})

    def test_what_is_not_told(self):
        for arguments, named, words in (((self.x,), {}, "is not given `factor`"),
                                        ((), {"factor": 3}, "is not given `x`"),
                                        ((3, self.x[:199]), {}, "`n`, which the shape of no argument tells"),
                                        ((3, self.x, numpy.zeros(99, "float32")), {}, "`factor` is a number, f32; it was given an object of ndarray"),
                                        ((3, self.x), {"y": numpy.zeros(99, "float32")},
                                         "`n` is 100 by dimension 0 of `x`, but 99"),
                                        ((100, 3, self.x[:20]), {}, "f32\\[200\\]|of 800 bytes")):
            with self.subTest(words), self.assertRaisesRegex(tilevm.UsageError, words):
                self.kernel(*arguments, **named)


WRONG = "def f<1>(f32* p):\n    x = Lod(p)\n"
RED = "\x1b[1;31merror:\x1b[0m"


def on_a_terminal(script, **environment):
    """What a script writes to a terminal that is its standard error."""
    master, slave = pty.openpty()
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "CLICOLOR_FORCE")}
    process = subprocess.Popen([sys.executable, "-c", script], stderr=slave, env={**plain, "TERM": "xterm", **environment})
    os.close(slave)
    text = b""
    try:
        while piece := os.read(master, 4096):
            text += piece
    except OSError:  # the end of a terminal
        pass
    os.close(master)
    process.wait()
    return text.decode().replace("\r\n", "\n")


class Colours(unittest.TestCase):
    def error(self):
        try:
            tilevm.loads(WRONG)
        except tilevm.ProgramError as error:
            return error

    def test_a_traceback_on_a_terminal(self):
        script = f"import tilevm\ntilevm.loads({WRONG!r})"
        painted = on_a_terminal(script)
        self.assertIn("Traceback", painted)
        self.assertIn(RED, painted)
        self.assertNotIn("\x1b[1;31merror", on_a_terminal(script, NO_COLOR="1", PYTHON_COLORS="0"))
        self.assertNotIn("\x1b[1;31merror", on_a_terminal(script, TERM="dumb", PYTHON_COLORS="0"))
        cause = f"import tilevm\ntry: tilevm.loads({WRONG!r})\nexcept Exception as e: raise tilevm.UsageError('later') from e"
        self.assertIn(RED, on_a_terminal(cause))
        # A hook of the user's stays the one that prints.
        silent = "import sys\nsys.excepthook = lambda *_: None\nimport tilevm\nraise tilevm.Error('x')"
        self.assertEqual(on_a_terminal(silent), "")
        piped = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False).stderr
        self.assertIn("program.tile:2:9: error: ", piped)
        self.assertNotIn("\x1b[1;31m", piped)

    def test_texts_are_plain(self):
        error = self.error()
        self.assertNotIn("\x1b", str(error) + repr(error))
        self.assertIn(RED, error.painted)
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(again), again.painted, again.diagnostics), (str(error), error.painted, error.diagnostics))

    def test_notebooks(self):
        error = self.error()
        lines = error._render_traceback_()
        self.assertIn(RED, lines[-1])
        self.assertIn("python_test.py", "".join(lines))
        self.assertNotIn("_kernel.py", "".join(lines))
        self.assertIn('<span style="font-weight:bold;color:#c02020">error:</span>', error._repr_html_())
        os.environ["NO_COLOR"] = "1"
        try:
            self.assertNotIn("\x1b", "".join(error._render_traceback_()) + error._repr_html_())
            self.assertNotIn("color:", error._repr_html_())
        finally:
            del os.environ["NO_COLOR"]

    def test_places_are_data(self):
        first, = self.error().diagnostics
        self.assertEqual((first.code, first.severity, first.file, first.line, first.column, first.end_column),
                         ("TV0102", "error", "program.tile", 2, 9, 12))


class Others(unittest.TestCase):
    def test_packing_is_its_own_inverse(self):
        for bits in range(1, 9):
            for dtype, least in ((f"u{bits}", 0), (f"i{bits}", -(1 << bits - 1))):
                values = numpy.arange(least, least + (1 << bits))
                self.assertEqual(tilevm.unpack(tilevm.pack(values, dtype), dtype, len(values)).tolist(), values.tolist())
        with self.assertRaisesRegex(ValueError, "u3 holds 0 to 7"):
            tilevm.pack([8], "u3")

    def test_layouts(self):
        layout = tilevm.Layout("local(2, 1).spatial(2, 2)")
        self.assertEqual((layout.threads, layout.locals, layout.shape, layout[-1, -1]), (4, 2, (4, 2), (3, 1)))
        self.assertTrue(layout._repr_html_().startswith("<svg"))
        with self.assertRaises(IndexError):
            layout[4, 0]
        with self.assertRaises(tilevm.ProgramError) as raised:
            tilevm.Layout("local(2,")
        self.assertEqual(raised.exception.diagnostics[0].column, 6)

    def test_the_page(self):
        blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/guides/python.md").read_text(), re.M | re.S)
        self.assertGreater(len(blocks), 4)
        names = {}
        for block in blocks:
            exec(compile(block, "docs/guides/python.md", "exec"), names)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
