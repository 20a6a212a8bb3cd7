"""Tensors of a GPU and prepared launches, over the stand-in for the driver: its device's memory is the host's, its
kernels do nothing, and its log has each launch. package.py has the usage.
"""

import ctypes
import os
import pathlib
import pickle
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest

from package import FAKE_DRIVER

import numpy

FOLDER = tempfile.TemporaryDirectory()
unittest.addModuleCleanup(FOLDER.cleanup)
LOG = pathlib.Path(FOLDER.name) / "log"
NVCC = pathlib.Path(FOLDER.name) / "nvcc"
NVCC.write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo ', V13.0' && exit 0\n"
                "printf '.version 9.0\\n.target sm_90\\n' > output\n")
NVCC.chmod(0o755)
os.environ.update(TILEVM_LIBCUDA=FAKE_DRIVER, TILEVM_NVRTC="/nowhere/libnvrtc.so", TILEVM_NVCC=str(NVCC),
                  TILEVM_CACHE="off")
DRIVER = ctypes.CDLL(FAKE_DRIVER)
DRIVER.fake_time_of_launch.restype = ctypes.c_double
DRIVER.fake_time_of_launch.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
import tilevm  # noqa: E402

ADD = """
def add<1>(f32* a_ptr, f32* b_ptr, f32* c_ptr, i32 n):
    a = LoadGlobal(ViewGlobal(a_ptr, shape=[4, 8]), layout=local(4, 8))
    b = LoadGlobal(ViewGlobal(b_ptr, shape=[4, 8]), layout=local(4, 8))
    StoreGlobal(a + b, ViewGlobal(c_ptr, shape=[4, 8]))
"""
FIVE = """
def five<1>(f16* a, f16* b, f16* c, f16* d, f16* e):
    x = LoadGlobal(ViewGlobal(a, shape=[32]), layout=spatial(32))
    y = LoadGlobal(ViewGlobal(b, shape=[32]), layout=spatial(32))
    z = LoadGlobal(ViewGlobal(c, shape=[32]), layout=spatial(32))
    w = LoadGlobal(ViewGlobal(d, shape=[32]), layout=spatial(32))
    StoreGlobal(x + y + z + w, ViewGlobal(e, shape=[32]))
"""
CALLS_WITH_TORCH, CALLS_WITH_INTERFACE = 24, 60
TWICE = """
def add<1>(f32* a_ptr, f32* c_ptr):
    a = LoadGlobal(ViewGlobal(a_ptr, shape=[32]), layout=spatial(32))
    StoreGlobal(a + 1, ViewGlobal(c_ptr, shape=[32]))
pipeline twice(a: f32[32]) -> (c: f32[32]):
    t = AllocateGlobal(f32, shape=[32])
    add(a, t)
    add(t, c)
"""


def aligned(array):
    """An array in memory that begins at a multiple of 16, as memory of a GPU does."""
    raw = numpy.zeros(array.nbytes + 16, "uint8")
    begin = -raw.ctypes.data % 16
    copy = raw[begin:begin + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


class Torch:
    """What is used of torch, over arrays of NumPy."""

    class Tensor:
        def __init__(self, array, device=0):
            self.array, self.index = array, device
            self.dtype = getattr(sys.modules["torch"], array.dtype.name)
            self.shape, self.device = array.shape, types.SimpleNamespace(type="cuda", index=device)
            self.is_cuda = True
            self.pointer = array.ctypes.data

        def is_contiguous(self):
            return self.array.flags.c_contiguous

        def stride(self):
            return tuple(s // self.array.itemsize for s in self.array.strides)

        def get_device(self):
            return self.index

        def data_ptr(self):
            return self.pointer

        def numel(self):
            return self.array.size

        def element_size(self):
            return self.array.itemsize

    def __enter__(self):
        torch = types.ModuleType("torch")
        for name in ("float16", "float32", "float64", "uint8", "int32"):
            setattr(torch, name, type(name, (), {"__repr__": lambda self, name=name: f"torch.{name}"})())
        torch.Tensor = self.Tensor
        torch.zeros = lambda shape, dtype, device: self.Tensor(aligned(numpy.zeros(shape, repr(dtype)[6:])), device.index)
        torch.cuda = types.SimpleNamespace(
            current_stream=lambda device=None: types.SimpleNamespace(cuda_stream=0x50 + device))
        torch._C = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda device: 0x50 + device)
        sys.modules["torch"] = torch
        return torch

    def __exit__(self, *_):
        del sys.modules["torch"]


class Interface:
    """A tensor by `__cuda_array_interface__`, as CuPy and Numba have it."""

    def __init__(self, array, read_only=False, stream=None):
        self.array = array
        self.__cuda_array_interface__ = {"shape": array.shape, "typestr": array.dtype.str, "version": 3,
                                         "data": (array.ctypes.data, read_only), "stream": stream,
                                         "strides": None if array.flags.c_contiguous else array.strides}


class Exchange:
    """A tensor by DLPack alone, as JAX has it; `version` is that of the capsule."""

    deleted = 0

    def __init__(self, array, version=None, read_only=False, device=0, freed=False):
        self.array, self.version, self.read_only, self.device, self.freed = array, version, read_only, device, freed
        self.streams = []

    def __dlpack_device__(self):
        return (2, self.device)

    def __dlpack__(self, *, stream=None, **versions):
        if self.freed:
            raise RuntimeError("Array has been deleted")
        if versions and self.version is None:
            raise TypeError("max_version")
        self.streams.append(stream)
        array = self.array

        class Tensor(ctypes.Structure):
            _fields_ = [("data", ctypes.c_void_p), ("kind", ctypes.c_int), ("device", ctypes.c_int),
                        ("rank", ctypes.c_int), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                        ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                        ("offset", ctypes.c_uint64)]

        class Managed(ctypes.Structure):
            _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]

        class Versioned(ctypes.Structure):
            _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", Tensor)]

        shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        strides = (ctypes.c_int64 * array.ndim)(*(s // array.itemsize for s in array.strides))
        tensor = Tensor(array.ctypes.data - 64, 2, self.device, array.ndim, {"f": 2, "i": 0, "u": 1}[array.dtype.kind],
                        8 * array.itemsize, 1, ctypes.addressof(shape), ctypes.addressof(strides), 64)
        managed = Managed(tensor) if self.version is None else Versioned(self.version, 0, None, None, self.read_only, tensor)
        self.kept = (shape, strides, managed)
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(managed), b"dltensor" if self.version is None else b"dltensor_versioned", None)


def log_of(call):
    """What the driver was asked during a call."""
    os.environ["FAKE_CUDA_LOG"] = str(LOG)
    LOG.write_text("")
    try:
        call()
    finally:
        del os.environ["FAKE_CUDA_LOG"]
    return LOG.read_text()


def streams_of(call):
    return re.findall(r"^launch .* stream (\S+)$", log_of(call), re.M)


def tensors(count=3):
    return [aligned(numpy.ones((4, 8), "float32")) for _ in range(count)]


class Device(unittest.TestCase):
    def refused(self, words, call, *arguments, **named):
        with self.assertRaises(tilevm.UsageError) as raised:
            call(*arguments, **named)
        self.assertIn(words, str(raised.exception))

    def setUp(self):
        self.kernel = tilevm.loads(ADD)


class Calls(Device):
    def test_torch_goes_to_its_current_stream(self):
        with Torch() as torch:
            a, b, c = map(torch.Tensor, tensors())
            self.assertEqual(streams_of(lambda: self.assertIs(self.kernel(a, b, c, 1), c)), ["0x50"])
            self.assertEqual(streams_of(lambda: self.kernel(a, b, c, 1, stream=0x77)), ["0x77"])
            stream = types.SimpleNamespace(cuda_stream=0x78)
            self.assertEqual(streams_of(lambda: self.kernel(a, b, c, 1, stream=stream)), ["0x78"])

    def test_outputs_of_torch_are_made(self):
        with Torch() as torch:
            a, b, _ = map(torch.Tensor, tensors())
            made = self.kernel(a, b, n=1)
            self.assertIsInstance(made, torch.Tensor)
            self.assertEqual((made.shape, made.dtype), ((4, 8), torch.float32))

    def test_the_interface_and_dlpack_are_not_copied(self):
        for kind in (Interface, Exchange, lambda x: Exchange(x, version=1)):
            a, b, c = map(kind, tensors())
            self.assertEqual(streams_of(lambda: self.kernel(a, b, c, 1, stream=0x60)), ["0x60"])
            launch = self.kernel.prepare()
            launch(a, b, c, 1, stream=0x60)
            self.assertEqual(list(launch._words)[0:6:2], [x.array.ctypes.data for x in (a, b, c)])

    def test_dlpack_is_told_the_stream(self):
        a, b, c = map(Exchange, tensors())
        self.kernel(a, b, c, 1, stream=0x60)
        self.kernel(a, b, c, 1)
        self.assertEqual(a.streams, [0x60, 1])

    def test_the_interface_names_the_stream(self):
        a, b, c = (Interface(x, stream=0x61) for x in tensors())
        self.assertEqual(streams_of(lambda: self.kernel(a, b, c, 1)), ["0x61"])
        self.refused("is ready on stream 0x61", self.kernel, a, b, c, 1, stream=0x62)

    def test_a_pipeline_has_memory_of_its_own_on_each_stream(self):
        k = tilevm.loads(TWICE)
        with Torch() as torch:
            a, c = (torch.Tensor(aligned(numpy.ones(32, "float32"))) for _ in range(2))
            for stream, allocations in ((1, 1), (1, 0), (2, 1), (1, 0)):
                told = log_of(lambda: k(a, c, stream=stream))
                self.assertEqual((told.count("allocate"), told.count("launch")), (allocations, 2), told)

    def test_the_program_is_that_of_the_device(self):
        with Torch() as torch:
            a, b, c = map(torch.Tensor, tensors())
            self.refused("sm_80", tilevm.loads(ADD, target="sm_80"), a, b, c, 1)

    def test_cuda_on_arrays_of_the_host(self):
        a, b, _ = tensors()
        self.assertIn("launch", log_of(lambda: self.kernel(a, b, n=1, engine="cuda")))


class Mistakes(Device):
    def test_the_host_and_the_device_do_not_mix(self):
        with Torch() as torch:
            a, b, c = map(torch.Tensor, tensors())
            self.refused("`b_ptr` is not on a GPU, and this launch is on GPU 0; pass a tensor there", self.kernel, a,
                         tensors()[0], c, 1)
            self.refused("`a_ptr` is on a GPU, and `sim` reads memory of the host; pass x.cpu()", self.kernel, a, b, c, 1,
                         engine="sim")

    def test_another_device(self):
        with Torch() as torch:
            a, b, c = map(torch.Tensor, tensors())
            self.refused("`b_ptr` is on GPU 1, and this launch is on GPU 0; move it there", self.kernel, a,
                         torch.Tensor(b.array, 1), c, 1)
        a, b, c = tensors()
        self.refused("is on GPU 1", self.kernel.prepare(), Exchange(a), Exchange(b, device=1), Exchange(c), 1)
        with self.assertRaises(tilevm.UnavailableError):
            self.kernel.prepare(device=7)

    def test_what_does_not_fit(self):
        good = tensors()
        wide = aligned(numpy.ones((4, 16), "float32"))[:, ::2]
        off = aligned(numpy.ones(33, "float32"))[1:].reshape(4, 8)
        half = aligned(numpy.ones((4, 8), "float16"))
        small = aligned(numpy.ones((4, 4), "float32"))
        with Torch() as torch:
            for kind in (torch.Tensor, Interface, Exchange):
                a, b, c = map(kind, good)
                way = "x.to(torch.float32)" if kind is torch.Tensor else "x.astype('float32')"
                for bad, words in ((kind(wide), "is not contiguous; pass x.contiguous()"),
                                   (kind(off), "not a multiple of 16 bytes; pass a copy"),
                                   (kind(half), "it was given float16, pass " + way),
                                   (kind(small), "an array of shape [4, 8]; it was given [4, 4]")):
                    with self.subTest(kind=kind.__name__, words=words):
                        self.refused(words, self.kernel, bad, b, c, 1)
                        self.refused(words, self.kernel, a, b, bad, 1)

    def test_none_is_no_input(self):
        a, b, _ = map(Interface, tensors())
        self.refused("`b_ptr` is f32[4, 8], an input, and it was given None; only outputs may be None", self.kernel, a, None, b, 1)
        changed = tilevm.loads("def f<1>(f32* a, f32* x):\n    a, x = [ViewGlobal(p, shape=[4, 8]) for p in [a, x]]\n"
                               "    StoreGlobal(LoadGlobal(a, layout=local(4, 8)) + LoadGlobal(x, layout=local(4, 8)), x)\n")
        self.refused("`x` is f32[4, 8], an input", changed, a, None)

    def test_what_is_read_only(self):
        a, b, c = tensors()
        self.refused("`c_ptr` is written, and this tensor is read-only; pass a copy", self.kernel, Interface(a), Interface(b),
                     Interface(c, read_only=True), 1)
        self.refused("read-only", self.kernel, Exchange(a), Exchange(b), Exchange(c, version=1, read_only=True), 1)
        self.kernel(Interface(a, read_only=True), Interface(b), Interface(c), 1)  # only outputs are written

    def test_what_was_freed(self):
        with Torch() as torch:
            a, b, c = map(torch.Tensor, tensors())
            b.pointer = 0  # as torch has it after storage.resize_(0)
            self.refused("`b_ptr` has no memory: its storage was freed", self.kernel, a, b, c, 1)
        a, b, c = tensors()
        self.refused("Array has been deleted; pass a tensor that its framework still has", self.kernel, Exchange(a),
                     Exchange(b, freed=True), Exchange(c), 1)

    def test_outputs_that_cannot_be_made(self):
        a, b, _ = tensors()
        self.refused("is an output; pass a tensor for it", self.kernel, Exchange(a), Exchange(b), n=1)

    def test_another_thread(self):
        launch = self.kernel.prepare()
        arguments = [*map(Interface, tensors()), 1]
        raised = []

        def call():
            try:
                launch(*arguments)
            except tilevm.UsageError as error:
                raised.append(str(error))
            self.kernel(*arguments)  # which prepares for the thread

        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        self.assertEqual(len(raised), 1)
        self.assertIn("call prepare() in each thread", raised[0])

    def test_a_child_of_a_fork(self):
        launch = self.kernel.prepare()
        arguments = [*map(Interface, tensors()), 1]
        child = os.fork()
        if child == 0:
            try:
                launch(*arguments)
            except tilevm.UsageError as error:
                os._exit(0 if "CUDA does not survive a fork" in str(error) else 1)
            os._exit(2)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        launch(*arguments)

    def test_pickles(self):
        self.refused("pickle the kernel and call prepare() on the other side", pickle.dumps, self.kernel.prepare())
        again = pickle.loads(pickle.dumps(self.kernel))
        again.prepare()(*map(Interface, tensors()), 1)

    def test_numbers_of_arguments_and_streams(self):
        launch = self.kernel.prepare()
        a, b, c = map(Interface, tensors())
        self.refused("is launched with a_ptr, b_ptr, c_ptr, n; 3 arguments", launch, a, b, c)
        self.refused("an integer", launch, a, b, c, 1.5)
        self.refused("pass its number", launch, a, b, c, 1, stream="x")
        self.refused("is not on a GPU", launch, a, None, c, 1)

    def test_without_a_gpu(self):
        os.environ["FAKE_CUDA_INIT"] = "100"
        try:
            script = f"import tilevm\nk = tilevm.loads({ADD!r})\n" \
                "try: k.prepare()\nexcept tilevm.UnavailableError as error: print(error)"
            said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
        finally:
            del os.environ["FAKE_CUDA_INIT"]
        self.assertTrue(said.strip())


def time_launches(name, launch, call, tensors):
    """Microseconds of a call on tensors and of the C function that it ends in, the best of many rounds."""
    function = ctypes.cast(tilevm._library.LIBRARY.tilevm_launch, ctypes.c_void_p)
    rounds, count = [], 500
    for _ in range(20):
        raw = DRIVER.fake_time_of_launch(function, launch._handle, launch._words, len(tensors), count)
        begin = time.perf_counter()
        for _ in range(count):
            call(*tensors)
        rounds.append(((time.perf_counter() - begin) / count * 1e6, raw / 1e3))
    whole, raw = min(each[0] for each in rounds), min(each[1] for each in rounds)
    print(f"{name}: {whole:.2f} us a launch, of which the C function takes {raw:.2f}; "
          f"median of rounds {statistics.median(each[0] for each in rounds):.2f}")
    return whole, raw


def calls_of(call, tensors):
    """How many functions a call on tensors enters, those of Python and those of C: a count that no busy machine changes."""
    events = []
    sys.setprofile(lambda frame, event, argument: events.append(event))
    try:
        call(*tensors)
    finally:
        sys.setprofile(None)
    return events.count("call") + events.count("c_call") - 1  # without that of setprofile itself


class Overhead(unittest.TestCase):
    def test_of_a_prepared_launch(self):
        """The work of a launch of five tensors: its functions are counted, its time is printed."""
        k = tilevm.loads(FIVE)
        for name, most in (("torch", CALLS_WITH_TORCH), ("interface", CALLS_WITH_INTERFACE)):
            with Torch() as torch:
                launch = k.prepare()
                kind = torch.Tensor if name == "torch" else Interface
                five = [kind(aligned(numpy.ones(32, "float16"))) for _ in range(5)]
                launch(*five)
                _, raw = time_launches(name, launch, launch, five)
                self.assertGreater(raw, 0)
                self.assertLessEqual(calls_of(launch, five), most)

    def test_of_the_import(self):
        """`import tilevm` loads no package of others, and none of the standard library's large modules."""
        script = "import sys; before = set(sys.modules); import tilevm; print(*sorted(set(sys.modules) - before))"
        loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        roots = {name.split(".")[0] for name in loaded.stdout.split()}
        self.assertIn("tilevm", roots)
        others = roots - set(sys.stdlib_module_names) - {"tilevm"}
        self.assertEqual(others, set())
        self.assertEqual(roots & {"asyncio", "unittest", "multiprocessing", "http", "email", "xml", "pydoc"}, set())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
