"""The guest `tilevm.triton` without Triton: modules that were kept are imported, run, and compared with NumPy. package.py has
the usage. `triton_guest/run_kernels.py` and `triton_guest/remove_waits.py` do the same and more where Triton is installed.
"""

import copy
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import types
import unittest

from package import ROOT

import numpy
import tilevm
from tilevm import triton as guest
from tilevm.triton import _barriers, _layouts, _mlir, _module
from tilevm.triton._errors import NotImported

FOLDER = ROOT / "tests/python/triton_guest"
sys.path.insert(0, str(FOLDER))
KEPT = sorted((FOLDER / "modules").glob("*.txt"))


def stand_in():
    """What the kernels' files take of Triton when they are read: decorators and names of types."""

    class Names(types.ModuleType):
        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return Names(name)

    package, language = types.ModuleType("triton"), Names("triton.language")
    package.jit = lambda *functions, **_: functions[0] if functions else lambda function: function
    package.language = language
    sys.modules.update({"triton": package, "triton.language": language})
    around = package
    for part in ("experimental", "gluon", "language", "nvidia", "hopper"):
        inner = Names(f"{around.__name__}.{part}")
        setattr(around, part, inner)
        sys.modules[inner.__name__] = around = inner
    package.experimental.gluon.jit = package.jit


STANDS_IN = importlib.util.find_spec("triton") is None
if STANDS_IN:
    stand_in()
import cases
import on_gpu

CASES = cases.load_all()


def kept(name):
    return (FOLDER / "modules" / name).read_text(encoding="utf-8")


class KeptModules(unittest.TestCase):
    def test_there_are_modules_of_every_family_of_kernels(self):
        self.assertGreaterEqual(len(KEPT), 20)

    def test_they_compute_what_numpy_computes(self):
        for path in KEPT:
            name, target, *_ = path.stem.split(".")
            with self.subTest(path.stem):
                case = CASES[name]
                arguments = case.make_arguments()
                outputs = copy.deepcopy(arguments)
                guest.import_module(path.read_text(encoding="utf-8"))[case.grid](**outputs)
                self.assertEqual(cases.wrong(case, arguments, outputs), "", target)

    def test_both_engines_give_equal_bits(self):
        case = CASES["softmax"]
        results = []
        for backend in ("sim", "emu"):
            outputs = case.make_arguments()
            try:
                guest.import_module(kept("softmax.sm_80.3_9.txt"))[case.grid](**outputs, backend=backend)
            except tilevm.UnavailableError as error:
                self.skipTest(str(error))
            results.append(outputs["y"].tobytes())
        self.assertEqual(*results)


class Hardware(unittest.TestCase):
    """Kernels that Triton 3.6.0 compiled and an H100 ran, on data of NumPy's generator: hashes of what it gave."""

    recorded = json.loads((FOLDER / "hardware/recorded.json").read_text(encoding="utf-8"))["sha256"]

    def compare(self, name, grid, output, *arguments, **named):
        guest.import_module((FOLDER / f"hardware/{name}.txt").read_text(encoding="utf-8"))[grid](*arguments, **named)
        self.assertEqual(hashlib.sha256(output.tobytes()).hexdigest(), self.recorded[name])

    def rows(self, name, seed):
        x = (numpy.random.default_rng(seed).standard_normal((64, 784)) * 4).astype("f")
        y = numpy.zeros_like(x)
        self.compare(name, (64,), y, x, y, 784)

    def test_sums_of_rows(self):
        self.rows("sum", 0)

    def test_softmax_by_approximate_instructions(self):
        self.rows("softmax", 0)

    def test_layernorm_without_fusion(self):
        self.rows("layernorm", 3)

    def test_a_product_whose_threads_hold_eight_neighbours_along_k(self):
        arguments = on_gpu.arguments_of(CASES["matmul_int4"], 0)
        self.compare("matmul_int4", (1, 1), arguments["c"], **arguments)

    def test_products_of_three_types_by_wgmma(self):
        random = numpy.random.default_rng(0)
        random.standard_normal((64, 784))
        for name in ("f16", "bf16", "tf32"):
            a, b = random.standard_normal((208, 144)).astype("f"), random.standard_normal((144, 160)).astype("f")
            with self.subTest(name):
                a, b = (_as(name, x) for x in (a, b))
                c = numpy.zeros((208, 160), "f")
                self.compare(f"matmul_{name}", (2, 2), c, a, b, c, 208, 160, 144)


def _as(name, x):
    """Operands of f16 or bf16, rounded to nearest even, or of f32."""
    if name != "bf16":
        return x.astype("e" if name == "f16" else "f")
    bits = x.view("I").astype(numpy.uint64)
    codes = ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype("H")
    try:
        import ml_dtypes

        return codes.view(ml_dtypes.bfloat16)
    except ImportError:
        return codes


class Reports(unittest.TestCase):
    def test_a_missing_wait_is_found_at_the_line_of_the_kernel(self):
        module = guest.import_module(kept("matmul_f16_3_stages.sm_80.3_9.txt"))
        self.assertIn("CopyAsyncWaitGroup(2)", module.text)
        loose = tilevm.loads(module.text.replace("CopyAsyncWaitGroup(2)", "CopyAsyncWaitGroup(4)"), target="sm_80",
                             entry=module.name)
        case = CASES["matmul_f16_3_stages"]
        with self.assertRaises(tilevm.ProgramError) as caught:
            loose(**case.make_arguments(), grid_x=case.grid[0], grid_y=case.grid[1], grid_z=1)
        self.assertEqual(caught.exception.diagnostics[0].code, "TV0405")
        self.assertRegex(str(caught.exception), r"\nproducts\.py:\d+: .*tl\.")
        first = caught.exception.diagnostics[0]
        self.assertEqual((first.origin.file, first.notes[0].origin.file), ("products.py", "products.py"))

    def test_elements_outside_are_found_on_both_sides(self):
        text = kept("add.sm_80.3_9.txt")
        self.assertIn('"arith.cmpi"', text)
        for predicate, where in (("2 : i64", "behind"), ("4 : i64", "behind")):
            with self.subTest(where=where, predicate=predicate):
                changed = text.replace("predicate = 2 : i64", f"predicate = {predicate}") if predicate[0] != "2" else text
                arguments = CASES["add"].make_arguments()
                arguments["n"] = 3000 if predicate[0] == "2" else 10
                with self.assertRaises(tilevm.ProgramError) as caught:
                    guest.import_module(changed)[(6,)](**arguments)
                self.assertIn("TV0401", str(caught.exception))
        before = text.replace('"tt.make_range"() <{end = 512 : i32, start = 0 : i32}>',
                              '"tt.make_range"() <{end = 502 : i32, start = -10 : i32}>')
        self.assertNotEqual(before, text)
        with self.assertRaises(tilevm.ProgramError) as caught:
            guest.import_module(before)[(2,)](**CASES["add"].make_arguments())
        self.assertIn("TV0401", str(caught.exception))

    def test_programs_that_store_to_the_same_elements_are_found(self):
        text = kept("add.sm_80.3_9.txt")
        overlapping = text.replace("value = 512 : i32", "value = 256 : i32")
        self.assertNotEqual(overlapping, text)
        with self.assertRaises(tilevm.ProgramError) as caught:
            guest.import_module(overlapping)[(2,)](**CASES["add"].make_arguments())
        self.assertEqual(caught.exception.diagnostics[0].code, "TV0406")
        self.assertIn("another block", str(caught.exception))

    def test_a_promise_of_the_compiler_is_checked(self):
        module = guest.import_module(kept("matmul_f16_3_stages.sm_80.3_9.txt"))
        arguments = {**CASES["matmul_f16_3_stages"].make_arguments(), "K": 100}
        with self.assertRaises(tilevm.ProgramError) as caught:
            module[(1, 1)](**arguments)
        self.assertIn("multiples of 16", str(caught.exception))

    def test_what_is_not_exact_is_named(self):
        notes = guest.import_module(kept("cross_entropy.sm_80.3_9.txt")).notes
        self.assertTrue(any("libdevice's log" in note and "rows.py:" in note for note in notes), notes)
        for exact in ("add", "softmax"):
            self.assertEqual(guest.import_module(kept(f"{exact}.sm_80.3_9.txt")).notes, ())


class Asynchrony(unittest.TestCase):
    """Hopper's barriers, copies by tensor maps and products of warp groups, of a kernel with specialised warps."""

    def setUp(self):
        self.module = guest.import_module(kept("gluon_specialised.sm_90.3_9.txt"))
        self.case = CASES["gluon_specialised"]

    def report(self, old, new, count=1):
        """The first report of the program with a change."""
        self.assertIn(old, self.module.text)
        changed = tilevm.loads(self.module.text.replace(old, new, count), target="sm_90a", entry=self.module.name)
        arguments = self.case.make_arguments()
        for name, parts in self.module.descriptors.items():
            arguments.update(guest._numbers_of(name, arguments[name], parts))
        with self.assertRaises(tilevm.ProgramError) as caught:
            changed(**arguments, grid_x=2, grid_y=1, grid_z=1)
        return caught.exception.diagnostics[0]

    def test_a_stage_that_is_given_back_too_early(self):
        found = self.report("DotAsyncWaitGroup(0)", "DotAsyncWaitGroup(1)")
        self.assertEqual(found.code, "TV0405")
        self.assertEqual(found.origin.file, "hopper.py")

    def test_one_thread_that_arrives_for_warps_that_may_go_on(self):
        before, _, after = self.module.text.partition("DotAsyncWaitGroup(0)")
        self.assertIn("Synchronize()", after)
        found = self.report("DotAsyncWaitGroup(0)" + after.partition("Synchronize()")[0] + "Synchronize()",
                            "DotAsyncWaitGroup(0)" + after.partition("Synchronize()")[0] + "pass")
        self.assertIn(found.code, ("TV0405", "TV0406"))

    def test_an_arrival_that_is_missing(self):
        self.assertEqual(self.report("Arrive(empty, stage=s)", "pass").code, "TV0409")

    def test_bytes_that_nobody_expects(self):
        self.assertEqual(self.report("bytes=16384", "bytes=8192").code, "TV0422")

    def test_a_descriptor_takes_an_array_of_its_dimensions(self):
        arguments = self.case.make_arguments()
        arguments["da"] = arguments["da"].reshape(-1)
        with self.assertRaisesRegex(tilevm.UsageError, "`da` is a descriptor of 2 dimensions"):
            self.module[(2, 1)](**arguments)

    def test_a_barrier_that_a_loop_initialises(self):
        text = guest.import_module(kept("boxes_of_a_row.sm_90.3_9.txt")).text
        self.assertRegex(text, r"_last = \w+_now\n")
        self.assertRegex(text, r"WaitBarrier\(\w+, parity=\(0\) \+ \w+_last\)")

    def test_a_descriptor_of_what_the_kernel_computes_is_refused(self):
        text, of_arguments = kept("boxes_of_a_row.sm_90.3_9.txt"), "(%source_0, %x, %2, %3, %N, %M,"
        self.assertIn(of_arguments, text)
        with self.assertRaisesRegex(NotImported, r"hopper\.py:\d+: `ttng\.tensormap_create`: .* are computed is not imported; .*sm_80"):
            guest.import_module(text.replace(of_arguments, of_arguments.replace("%N", "%place")))


class Refusals(unittest.TestCase):
    def refusal(self, old, new):
        text = kept("add.sm_80.3_9.txt")
        self.assertIn(old, text)
        with self.assertRaises(NotImported) as caught:
            guest.import_module(text.replace(old, new))
        return str(caught.exception)

    def test_an_unknown_operation_has_its_name_its_line_and_what_to_do(self):
        message = self.refusal('"arith.addf"', '"ttng.tc_gen5_mma"')
        self.assertRegex(message, r"^elements\.py:\d+: `ttng\.tc_gen5_mma`: this operation is not imported; .*sm_80")

    def test_broken_text_is_an_error(self):
        self.assertIn("not a module", str(self.failing("def f<1>():\n")))
        self.assertIn("cannot be read", self.refusal('"tt.return"() :', '"tt.return"( :'))
        self.assertIn("cannot be read", self.refusal('}) {"ttg.num-ctas"', '{"ttg.num-ctas"'))
        text = kept("add.sm_80.3_9.txt")
        for cut in range(0, text.index('}) {"ttg.num-ctas"'), 211):
            with self.assertRaises(tilevm.Error):
                guest.import_module(text[:cut])

    def failing(self, text):
        with self.assertRaises(tilevm.UsageError) as caught:
            guest.import_module(text)
        return caught.exception

    def test_a_kernel_that_is_none(self):
        with self.assertRaises(tilevm.UsageError) as caught:
            tilevm.from_triton(print, {})
        self.assertIn("is not a kernel", str(caught.exception))


@unittest.skipIf(STANDS_IN, "Triton is not installed")
class WithTriton(unittest.TestCase):
    """What needs the user's Triton; `triton_guest/run_kernels.py` compiles every kernel."""

    def test_kernels_are_compiled_for_two_targets(self):
        for name, target in (("add", "sm_80"), ("softmax", "sm_90"), ("matmul_f16_3_stages", "sm_80"), ("welford", "sm_90")):
            with self.subTest(name):
                case = CASES[name]
                kernel = tilevm.from_triton(case.kernel, case.types, case.constants, target=target, **case.options)
                arguments = case.make_arguments()
                outputs = copy.deepcopy(arguments)
                kernel[case.grid](**outputs)
                self.assertEqual(cases.wrong(case, arguments, outputs), "")

    def test_types_follow_from_example_arguments(self):
        case = CASES["add"]
        arguments = {**case.make_arguments(), "n": 992}
        kernel = tilevm.from_triton(case.kernel, list(arguments.values()), case.constants, num_warps=2)
        self.assertIn("n % 16 == 0", kernel.text)
        self.assertIn("@threads(64)", kernel.text)
        kernel[(2,)](*arguments.values())
        self.assertTrue((arguments["out"][:992] == (arguments["x"] + arguments["y"])[:992]).all())

    def test_mistakes_of_a_call(self):
        kernel = CASES["add"].kernel
        types = CASES["add"].types
        for call, message in (((kernel, types, {"BLOK": 1}), "no parameter `BLOK`"),
                              ((kernel, {**types, "z": "i32"}, {"BLOCK": 4}), "no parameter `z`"),
                              ((kernel, {"x": "*fp32"}, {"BLOCK": 4}), "the type of `y` is not given"),
                              ((kernel, [1, 2], {"BLOCK": 4}), "2 arguments are given"),
                              ((kernel, {**types, "n": object()}, {"BLOCK": 4}), "pass an array")):
            with self.subTest(message), self.assertRaisesRegex(tilevm.UsageError, message):
                tilevm.from_triton(*call)
        with self.assertRaisesRegex(tilevm.UsageError, "the target is `gfx942`"):
            tilevm.from_triton(kernel, types, {"BLOCK": 512}, target="gfx942")

    def test_the_command_writes_a_program(self):
        command = [sys.executable, "-W", "ignore", "-m", "tilevm.triton", f"{FOLDER}/elements.py:add", "-s", "x=*fp32", "-s", "y=*fp32",
                   "-s", "out=*fp32", "-s", "n=i32", "-c", "BLOCK=512"]
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'python'}:{FOLDER}"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("def add<grid_x, grid_y, grid_z>(f32* x, f32* y, f32* out, i32 n,", done.stdout)
        wrong = subprocess.run([*command[:-2], "-c", "BLOK=5"], capture_output=True, text=True, env=environment, check=False)
        self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))
        self.assertIn("no parameter `BLOK`", wrong.stderr)


class Launches(unittest.TestCase):
    def test_grids_and_names(self):
        kernel = guest.import_module(kept("add.sm_80.3_9.txt"))
        arguments = CASES["add"].make_arguments()
        x, y, out = (arguments[name] for name in ("x", "y", "out"))
        kernel[2](x, y, out, n=1000)
        self.assertTrue((out == x + y).all())
        for grid, message in (((1, 2, 3, 4), "one to three"), ((), "one to three")):
            with self.assertRaisesRegex(tilevm.UsageError, message):
                kernel[grid]
        with self.assertRaisesRegex(tilevm.UsageError, "5 arguments"):
            kernel[(2,)](x, y, out, 1000, 7)
        with self.assertRaisesRegex(tilevm.UsageError, "not given `n`"):
            kernel[(2,)](x, y, out)

    def test_a_guest_is_pickled(self):
        import pickle

        kernel = pickle.loads(pickle.dumps(guest.import_module(kept("add.sm_80.3_9.txt"))))
        arguments = CASES["add"].make_arguments()
        kernel[(2,)](**arguments)
        self.assertTrue((arguments["out"] == arguments["x"] + arguments["y"]).all())


class Layouts(unittest.TestCase):
    def test_text_of_bases(self):
        layout = _layouts.Layout.of_bases([4, 8], [[0, 1], [2, 0]], [[0, 2], [0, 4], [1, 0], [0, 0]])
        self.assertEqual(layout.text(), "layout([4, 8], [2, 2, 4, 2], [-2, 1, 2], [0, 3])")
        self.assertEqual(layout.reduce([1]).text(), "layout([4], [2, 2], [-2, 1, -4], [0])")
        self.assertEqual(layout.reshape([32]).reshape([4, 8]), layout)
        self.assertEqual(layout.permute([1, 0]).permute([1, 0]), layout)
        self.assertEqual(tilevm.Layout(layout.text()).shape, (4, 8))

    def test_an_exclusive_or_is_refused(self):
        with self.assertRaisesRegex(NotImported, "exclusive or"):
            _layouts.Layout.of_bases([4], [[1], [3]], [])

    def test_memory(self):
        swizzled = "#ttg.swizzled_shared<{vec=8,perPhase=2,maxPhase=4,order=[1,0]}>"
        self.assertEqual(_layouts.memory_layout([2, 64, 32], swizzled), "row_major(2, 64, 32).swizzle(3, 2, 3)")
        self.assertEqual(_layouts.memory_layout([64, 32], swizzled.replace("[1,0]", "[0,1]")),
                         "memory_layout([64, 32], [64, 32], [1, 64]).swizzle(3, 2, 4)")
        with self.assertRaisesRegex(NotImported, "padded_shared"):
            _layouts.memory_layout([4], "#ttg.padded_shared<[4:+4]>")


class Barriers(unittest.TestCase):
    def test_older_versions_get_one_for_each_conflict(self):
        text = kept("matmul_f16_3_stages.sm_80.3_9.txt")
        root = _mlir.read(text)
        theirs = sum(each.name == "ttg.barrier" for each in root.walk())
        for each in root.walk():
            for region in each.regions:
                for block in region:
                    block.operations = [o for o in block.operations if o.name != "ttg.barrier"]
        _barriers.place(root)
        self.assertEqual(sum(each.name == "ttg.barrier" for each in root.walk()), theirs - 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
