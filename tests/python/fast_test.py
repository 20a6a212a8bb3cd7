"""The extension tilevm_fast (python/fast) over the stand-in for the driver: what it launches is what the package launches,
what does not fit is left to the package, and what a call takes. package.py has the usage; 77 where the extension or a C
compiler with Python's headers is missing (`./dev wheel fast` builds the extension).
"""

import ctypes
import os
import subprocess
import sys
import sysconfig
import tempfile
import unittest

from device_test import FIVE, Interface, aligned, calls_of, streams_of, time_launches

import numpy
import tilevm

try:
    import tilevm_fast
except ImportError:
    print("SKIP: there is no tilevm_fast")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = tempfile.TemporaryDirectory()
unittest.addModuleCleanup(FOLDER.cleanup)
BUILD = subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-std=c11", "-Wall", "-Wextra", "-Wno-missing-field-initializers",
                        f"-I{sysconfig.get_path('include')}", "-o", f"{FOLDER.name}/fake_tensors.so",
                        f"{HERE}/fake_tensors.c"], capture_output=True, text=True, check=False)
if BUILD.returncode != 0:
    print(f"SKIP: the stand-in for a framework cannot be built: {BUILD.stderr}")
    sys.exit(77)
sys.path.insert(0, FOLDER.name)
import fake_tensors  # noqa: E402

SCALED = """
def scaled<1>(f32* a_ptr, f32* c_ptr, i32 n):
    a = LoadGlobal(ViewGlobal(a_ptr, shape=[4, 8]), layout=local(4, 8))
    StoreGlobal(a * n, ViewGlobal(c_ptr, shape=[4, 8]))
"""
FLOAT, UINT = 2, 1
CALLS = 4


def tensor(array, **others):
    made = fake_tensors.Tensor(array.ctypes.data, array.shape, code=FLOAT, bits=8 * array.itemsize, **others)
    KEPT.append(array)
    return made


KEPT = []


class Fast(unittest.TestCase):
    def setUp(self):
        self.launch = tilevm.loads(SCALED).prepare()
        self.a, self.c = (aligned(numpy.ones((4, 8), "float32")) for _ in range(2))

    def test_tensors_go_by_their_frameworks_functions(self):
        before = fake_tensors.times_asked()
        self.assertEqual(streams_of(lambda: self.launch(tensor(self.a), tensor(self.c), 3)), ["0x90"])
        self.assertEqual(streams_of(lambda: self.launch(tensor(self.a), tensor(self.c), 3, stream=0x77)), ["0x77"])
        self.assertEqual(fake_tensors.times_asked() - before, 4)
        words = list(self.launch._words)
        self.assertEqual((words[0], words[2], words[1], words[3]), (self.a.ctypes.data, self.c.ctypes.data, 0, 0))
        self.assertEqual(ctypes.c_int32.from_address(words[4]).value, 3)
        strided = tensor(self.a, strides=(8, 1))
        self.assertEqual(streams_of(lambda: self.launch(strided, tensor(self.c), 3)), ["0x90"])

    def test_what_does_not_fit_is_left_to_the_package(self):
        handled = self.launch._fast
        good = tensor(self.c)
        off = aligned(numpy.ones(40, "float32"))
        wrong = [tensor(self.a, device=1), tensor(aligned(numpy.ones((4, 8), "float16"))), tensor(self.a, strides=(1, 4)),
                 tensor(aligned(numpy.ones((4, 4), "float32"))), fake_tensors.Tensor(off.ctypes.data + 4, (4, 8), bits=32),
                 fake_tensors.Tensor(self.a.ctypes.data, (4, 8), code=UINT, bits=32), fake_tensors.Tensor(0, ()),
                 fake_tensors.Tensor(0, (4, 8), bits=32), self.a, None, Interface(self.a)]
        for each in wrong:
            self.assertEqual(handled((each, good, 3), None), -1)
        self.assertEqual(handled((good, good), None), -1)
        self.assertEqual(handled([good, good, 3], None), -1)
        self.assertEqual(handled((good, good, 3), "x"), -1)
        self.assertEqual(handled((good, good, 3), 0), 0)

    def test_other_tensors_are_launched_as_before(self):
        self.assertEqual(streams_of(lambda: self.launch(Interface(self.a), Interface(self.c), 3)), ["(nil)"])
        mixed = [Interface(self.a), tensor(self.c)]
        with self.assertRaisesRegex(tilevm.UsageError, "is not on a GPU"):
            self.launch(mixed[0], mixed[1], 3)  # this stand-in has no other way to be read
        with self.assertRaisesRegex(tilevm.UsageError, "2 arguments were given"):
            self.launch(tensor(self.a), tensor(self.c))

    def test_it_can_be_left_out(self):
        os.environ["TILEVM_FAST"] = "0"
        try:
            self.assertIsNone(tilevm.loads(SCALED).prepare()._fast)
        finally:
            del os.environ["TILEVM_FAST"]
        interface, tilevm_fast.INTERFACE = tilevm_fast.INTERFACE, 2
        try:
            self.assertIsNone(tilevm.loads(SCALED).prepare()._fast)
        finally:
            tilevm_fast.INTERFACE = interface

    def test_a_type_that_is_gone_is_not_mixed_up(self):
        for _ in range(50):
            kind = type("Own", (fake_tensors.Tensor,), {})
            own = kind(self.a.ctypes.data, (4, 8), bits=32)
            self.assertEqual(self.launch._fast((own, own, 3), None), 0)
            self.assertEqual(self.launch._fast((self.a, own, 3), None), -1)


class Overhead(unittest.TestCase):
    def test_of_a_prepared_launch(self):
        """The work of a launch of five tensors, arguments converted: its functions are counted, its time is printed."""
        launch = tilevm.loads(FIVE).prepare()
        five = [tensor(aligned(numpy.ones(32, "float16"))) for _ in range(5)]
        self.report("a stand-in for a framework", launch, launch, five)

    def test_with_torch(self):
        """The calls with tensors of torch, whose memory is the host's as that of the stand-in for the driver is."""
        try:
            import torch
        except ImportError:
            self.skipTest("there is no torch")
        launch = tilevm.loads(FIVE).prepare()
        host = tilevm_fast.Launcher(ctypes.cast(tilevm._library.LIBRARY.tilevm_launch, ctypes.c_void_p).value,
                                    launch._handle.value, ctypes.addressof(launch._words), 5, 1, 0)
        for place in range(5):
            host.add(place, [(FLOAT, 16)], [32])
        five = [torch.ones(32, dtype=torch.float16) for _ in range(5)]
        self.assertEqual(host.launch(tuple(five), 0), 0)
        launch._fast = host.launch
        self.report(f"torch {torch.__version__}, memory of the host", launch, lambda *x: launch(*x, stream=0), five)

    def report(self, name, launch, call, five):
        call(*five)
        time_launches(name, launch, call, five)
        self.assertLessEqual(calls_of(call, five), CALLS)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
