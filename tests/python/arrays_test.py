"""What a kernel takes on the host: arrays that are one another's memory, types that are missing in NumPy, what is
refused and in which words. package.py has the usage. Where ml_dtypes is installed its arrays are tried, too.
"""

import itertools
import subprocess
import sys
import unittest
from unittest import mock

import package  # noqa: F401  the package that is tested

import numpy
import tilevm
from tilevm import _host, _types

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

REVERSE = """
const N = 256
def reverse<N / 32>(f32* x_ptr, f32* y_ptr):
    b = BlockIndices()
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[N]), layout=spatial(32), offset=[(N / 32 - 1 - b) * 32:])
    StoreGlobal(x * 2.0, ViewGlobal(y_ptr, shape=[N]), offset=[b * 32:])
"""
DOUBLE = """
const N = 8
const T: dtype = f32
def double<1>(T* x_ptr, T* y_ptr):
    StoreGlobal(LoadGlobal(ViewGlobal(x_ptr, shape=[N]), layout=local(N)) * 2.0, ViewGlobal(y_ptr, shape=[N]))
pipeline twice(x: T[N]) -> (y: T[N]):
    t = AllocateGlobal(T, shape=[N])
    double(x, t)
    double(t, y)
"""
SPLIT = """
const N = 64
def split<2>(f32* x_ptr, f32* y_ptr, f32* z_ptr):
    b = BlockIndices()
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[N]), layout=spatial(32), offset=[b * 32:])
    StoreGlobal(x, ViewGlobal(y_ptr, shape=[N]), offset=[b * 32:])
    StoreGlobal(x * 2.0, ViewGlobal(z_ptr, shape=[N]), offset=[b * 32 SHIFT:])
"""


def double(type_, entry="double"):
    return tilevm.loads(DOUBLE, T=type_, entry=entry)


def engines():
    """The engines that work here: emu needs a compiler."""
    found = ["sim"]
    try:
        double("f32")(numpy.zeros(8, "f4"), engine="emu")
        found.append("emu")
    except tilevm.UnavailableError:
        pass
    return found


class Engines(unittest.TestCase):
    def test_backend_is_the_old_name_of_engine(self):
        x = numpy.arange(8, dtype="f4")
        self.assertEqual(double("f32")(x, backend="sim").tolist(), (2 * x).tolist())
        with self.assertRaisesRegex(tilevm.UsageError, "`engine` and `backend`, its old name, are both given"):
            double("f32")(x, engine="sim", backend="sim")
        with self.assertRaisesRegex(tilevm.UsageError, "unknown engine `simm`; did you mean `sim`"):
            double("f32")(x, engine="simm")


class OneMemory(unittest.TestCase):
    def test_a_kernel_works_in_place(self):
        for engine, entry in itertools.product(engines(), ("double", "twice")):
            x = numpy.arange(8, dtype="f4")
            wanted = x * (2 if entry == "double" else 4)
            self.assertIs(double("f32", entry)(x, x, engine=engine), x)
            self.assertEqual(x.tolist(), wanted.tolist(), (engine, entry))

    def test_races_in_it_are_found(self):
        x = numpy.arange(256, dtype="f4")
        with self.assertRaisesRegex(tilevm.ProgramError, "TV0406(.|\n)*arguments are one array: `x_ptr = y_ptr`"):
            tilevm.loads(REVERSE)(x, x)
        self.assertEqual(x.tolist(), list(range(256)))  # a run that fails changes nothing
        self.assertEqual(tilevm.loads(REVERSE)(x).tolist()[:32], (x[224:] * 2).tolist())

    def test_two_outputs_in_one_array(self):
        x, y = numpy.arange(64, dtype="f4"), numpy.zeros(64, "f4")
        own, crossed = [tilevm.loads(SPLIT.replace("SHIFT", shift)) for shift in ("", "- b * 32 + (1 - b) * 32")]
        for engine in engines():
            self.assertEqual(own(x, y, y, engine=engine)[0].tolist(), (2 * x).tolist())  # the later store stays
        with self.assertRaisesRegex(tilevm.ProgramError, "TV0406"):
            crossed(x, y, y)
        with self.assertRaisesRegex(tilevm.ProgramError, "TV0406"):
            tilevm.loads(REVERSE.replace("y_ptr", "x_ptr, f32* y_ptr", 1).replace("(f32* x_ptr, f32* x_ptr,", "(f32* x_ptr,"))(
                *[numpy.zeros(256, "f4")] * 2)

    def test_overlapping_slices_are_refused(self):
        whole = numpy.zeros(12, "f4")
        for engine in engines():
            for x, y in ((whole[:8], whole[4:]), (whole[4:], whole[:8]), (whole[1:9], whole[2:10])):
                with self.assertRaisesRegex(tilevm.UsageError, "`x_ptr` and `y_ptr` of `double` overlap(.|\n)*`inout`"):
                    double("f32")(x, y, engine=engine)
        two = numpy.zeros(16, "f4")
        two[:8] = 1
        self.assertEqual(double("f32")(two[:8], two[8:]).tolist(), [2] * 8)  # beside each other
        add = tilevm.loads("def f<1>(f32* a, f32* b, f32* c):\n    a, b, c = [ViewGlobal(p, shape=[8]) for p in [a, b, c]]\n"
                           "    StoreGlobal(LoadGlobal(a, layout=local(8)) + LoadGlobal(b, layout=local(8)), c)\n")
        self.assertEqual(add(whole[:8], whole[4:]).tolist(), [0] * 8)  # inputs may overlap
        both = numpy.ones(8, "f4")
        self.assertEqual(add(both, both, both).tolist(), [2] * 8)

    def test_reports_see_one_memory(self):
        x = numpy.arange(256, dtype="f4")
        k = tilevm.loads(REVERSE)
        self.assertIn("TV0406", [each.code for each in k.check(x, x)])
        self.assertEqual(k.page(x, x).error.diagnostics[0].code, "TV0406")
        self.assertIsNone(k.page(x).error)


class Inputs(unittest.TestCase):
    def test_none_is_no_input(self):
        k = double("f32")
        x = numpy.ones(8, "f4")
        self.assertEqual(k(x, None).tolist(), [2] * 8)
        for call in (lambda: k(None), lambda: k(None, x), lambda: k(x_ptr=None), lambda: k.stats(None, x), lambda: k.page(None, x),
                     lambda: k.check(None, x)):
            with self.assertRaisesRegex(tilevm.UsageError, "`x_ptr` is f32\\[8\\], an input.*only outputs may be None"):
                call()
        changed = tilevm.loads(DOUBLE.replace("(x: T[N]) -> (y: T[N])", "(inout y: T[N])").replace("double(x, t)", "double(y, t)"))
        with self.assertRaisesRegex(tilevm.UsageError, "only outputs may be None"):
            changed(None)

    def test_no_dimensions_are_one_element(self):
        k = tilevm.loads(DOUBLE, N=1, entry="double")
        self.assertEqual(k(numpy.array(3, "f4")).tolist(), [6])
        y = numpy.zeros((), "f4")
        self.assertIs(k(numpy.array([3], "f4"), y), y)
        self.assertEqual(y, 6)
        with self.assertRaisesRegex(tilevm.UsageError, "shape \\[8\\]; it was given \\[\\]"):
            double("f32")(numpy.array(3, "f4"))

    def test_masks_are_not_dropped(self):
        masked = numpy.ma.masked_array(numpy.ones(8, "f4"), [True] + [False] * 7)
        with self.assertRaisesRegex(tilevm.UsageError, "masked array.*filled"):
            double("f32")(masked)
        with self.assertRaisesRegex(ValueError, "masked array.*filled"):
            tilevm.pack(numpy.ma.masked_array([1, 2], [True, False]), "u4")


class Types(unittest.TestCase):
    """bf16 and floats of 8 bits, which are missing in NumPy."""

    def test_codes_in_codes_out(self):
        for type_, codes, one, two in (("bf16", "uint16", 0x3F80, 0x4000), ("f8e4m3", "uint8", 0x38, 0x40),
                                       ("f8e5m2", "uint8", 0x3C, 0x40), ("f8e8m0", "uint8", 127, 128)):
            y = double(type_)(numpy.full(8, one, codes))
            self.assertEqual((str(y.dtype), y.tolist()), (codes, [two] * 8), type_)
            with mock.patch.dict(sys.modules, {"ml_dtypes": None}):  # as if it were not installed
                y = double(type_)(numpy.full(8, one, codes))
            self.assertEqual((str(y.dtype), y.tolist()), (codes, [two] * 8), type_)

    def test_an_output_that_numpy_lacks(self):
        k = tilevm.loads("def f<1>(f32* x_ptr, bf16* y_ptr):\n    x = LoadGlobal(ViewGlobal(x_ptr, shape=[8]), layout=local(8))\n"
                         "    StoreGlobal(Cast(x, bf16), ViewGlobal(y_ptr, shape=[8]))\n")
        x, codes = numpy.ones(8, "f4"), numpy.zeros(8, "uint16")
        self.assertEqual(k(x, codes).tolist(), [0x3F80] * 8)
        with mock.patch.dict(sys.modules, {"ml_dtypes": None}), \
                self.assertRaisesRegex(tilevm.UsageError, "install ml_dtypes, or pass an array of uint16"):
            k(x)
        if ml_dtypes is not None:
            self.assertEqual(k(x).dtype, ml_dtypes.bfloat16)

    @unittest.skipIf(ml_dtypes is None, "there is no ml_dtypes")
    def test_numbers_of_ml_dtypes(self):
        for type_, name in _types.ML_NAMES.items():
            x = numpy.ones(8, getattr(ml_dtypes, name))
            y = double(type_)(x)
            self.assertEqual((y.dtype, y.astype("f4").tolist()), (x.dtype, [2] * 8), type_)

    def test_what_is_said_gives_the_same_numbers(self):
        """Each way out, taken as it stands, makes an array that is accepted and has the numbers."""
        tensor = numpy.ones(8, "f4")
        for type_, given, words in [("bf16", tensor, "x.astype(ml_dtypes.bfloat16), or its codes as uint16"),
                                    ("bf16", tensor.astype("int16"), "x.view('uint16') if these are the bits"),
                                    ("bf16", tensor.astype("f2").view("V2"), "x.view(ml_dtypes.bfloat16) if these are its bits"),
                                    ("f8e4m3", tensor.astype("f2"), "x.astype(ml_dtypes.float8_e4m3fn), or its codes as uint8"),
                                    ("f16", tensor.astype("u2"), "x.astype('float16'), or x.view('float16') if these are the bits"),
                                    ("f16", tensor, "x.astype('float16')"),
                                    ("f32", tensor.astype("c8"), "x.real.astype('float32')")]:
            with self.subTest(type_, given=str(given.dtype)), self.assertRaises(tilevm.UsageError) as raised:
                double(type_)(given)
            self.assertIn(words, str(raised.exception))

    def test_packed_types(self):
        copy = "def f<1>(T* x_ptr, T* y_ptr):\n    StoreGlobal(LoadGlobal(ViewGlobal(x_ptr, shape=[8]), layout=local(8)), " \
            "ViewGlobal(y_ptr, shape=[8]))\n"
        for type_, given, words in [("u4", numpy.ones(8, "i8"), "tilevm.pack(x, 'u4')"), ("i3", numpy.ones(8, "f4"), "tilevm.pack(x.astype('int8'), 'i3')"),
                                    ("f4e2m1", numpy.ones(8, "f4"), "tilevm.pack(x.astype(ml_dtypes.float4_e2m1fn), 'f4e2m1')"),
                                    ("f5e2m2", numpy.ones(8, "f4"), "tilevm.pack(codes, 'f5e2m2')"),
                                    ("b2", numpy.ones(8, "i4"), "tilevm.pack(x, 'b2')"), ("tf32", numpy.ones(8, "f4"), "x.view('uint8').reshape(-1)"),
                                    ("u4", numpy.ones(8, "u1"), "pass the bytes of tilevm.pack(x, 'u4')")]:
            k = tilevm.loads(copy.replace("T*", type_ + "*"))
            with self.subTest(type_), self.assertRaises(tilevm.UsageError) as raised:
                k(given)
            self.assertIn(words, str(raised.exception))
        words = tilevm.loads(copy.replace("T*", "tf32*"))(numpy.ones(8, "f4").view("uint8").reshape(-1))
        self.assertEqual(words.view("f4").tolist(), [1] * 8)

    @unittest.skipIf(ml_dtypes is None, "there is no ml_dtypes")
    def test_pack_takes_the_types_of_ml_dtypes(self):
        for type_, name in {**_types.SMALL_NAMES, **{t: n for t, n in _types.ML_NAMES.items() if t != "bf16"}}.items():
            dtype = numpy.dtype(getattr(ml_dtypes, name))
            bits = _types.type_bits(type_)
            codes = numpy.arange(1 << bits, dtype="u1")
            values = codes.view(dtype) if type_[0] != "i" else codes.astype("int8").astype(dtype)
            packed = tilevm.pack(values, type_)
            wanted = codes.astype("int8") if type_[0] == "i" else codes
            got = tilevm.unpack(packed, type_, 1 << bits)
            if type_[0] == "i":
                self.assertEqual((got & ((1 << bits) - 1)).tolist(), (wanted & ((1 << bits) - 1)).tolist(), type_)
            else:
                self.assertEqual(got.tolist(), wanted.tolist(), type_)
        with self.assertRaisesRegex(ValueError, "x.astype\\(ml_dtypes.float4_e2m1fn\\)"):
            tilevm.pack(numpy.ones(8, "f4"), "f4e2m1")
        with self.assertRaisesRegex(ValueError, "float6_e2m3fn"):  # another type of as many bits has other codes
            tilevm.pack(numpy.ones(8, ml_dtypes.float6_e3m2fn), "f6e2m3")
        self.assertEqual(tilevm.pack(numpy.ones(8, ml_dtypes.int4), "u3").tolist(), tilevm.pack([1] * 8, "u3").tolist())

    def test_bipolar_numbers_are_odd(self):
        for bits in range(1, 9):
            values = numpy.arange(1 - (1 << bits), 1 << bits, 2)
            packed = tilevm.pack(values, f"b{bits}")
            self.assertEqual(tilevm.unpack(packed, f"b{bits}", len(values)).tolist(), values.tolist())
            self.assertEqual(packed.tolist(), tilevm.pack(numpy.arange(1 << bits), f"u{bits}").tolist())
        with self.assertRaisesRegex(ValueError, "b4 holds odd numbers; 2 is among the values"):
            tilevm.pack([1, 2], "b4")

    def test_codes_of_dlpack(self):
        from tilevm._dlpack import KINDS
        from tilevm._launch import dlpack_types

        self.assertEqual(dlpack_types("f8e8m0"), [(14, 8), (1, 8)])
        self.assertEqual(dlpack_types("f8e4m3"), [(10, 8), (1, 8)])
        self.assertEqual(dlpack_types("bf16"), [(4, 16), (1, 16)])
        self.assertEqual(KINDS[11], "float8_e4m3fnuz")  # another type, which is refused by its name


class OfOthers(unittest.TestCase):
    """Arrays that are known by DLPack alone."""

    def test_jax(self):
        script = """
import numpy, tilevm, arrays_test as t
import jax.numpy as jnp
for type_, name in t._types.ML_NAMES.items():
    x = jnp.ones(8, name)
    y = t.double(type_)(x)
    assert y.astype("f4").tolist() == [2] * 8, y
    try:
        t.double(type_)(x, x)
        raise SystemExit("an array of JAX was written")
    except tilevm.UsageError as error:
        assert "read-only" in str(error), error
try:
    t.double("f16")(jnp.ones(8, "bfloat16"))
except tilevm.UsageError as error:
    assert "it was given bfloat16, pass x.astype('float16')" in str(error), error
"""
        if subprocess.run([sys.executable, "-c", "import jax, ml_dtypes"], capture_output=True, check=False).returncode != 0:
            self.skipTest("there is no JAX")
        path = [sys.path[0], *sys.path]
        arguments = [sys.executable, "-c", f"import sys; sys.argv[1:] = {sys.argv[1:]!r}; sys.path[:0] = {path!r}\n" + script]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr[-2000:]), (0, ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
