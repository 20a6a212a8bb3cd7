"""tilevm.nn as on a GPU, with torch's tensors in memory of the host over the stand-in for the driver: which launches a
layer puts on which stream, and what it loads for them. package.py has the usage; 77 where there is no torch.
"""

import os
import pathlib
import sys
import tempfile
import threading
import unittest

import package  # noqa: F401  the package that is tested

try:
    import torch
except ImportError:
    print("SKIP: there is no torch")
    sys.exit(77)

import torch_on_host

os.environ["TILEVM_FAST"] = "0"  # the extension asks torch for the stream of a real GPU
torch_on_host.use()
import tilevm  # noqa: E402
import tilevm.nn  # noqa: E402
from tilevm import _operator  # noqa: E402
from tilevm._tuned import PROGRAMS, Plan  # noqa: E402

PLANS = {"the default": Plan(), "few rows": Plan(PROGRAMS[1], {"BN": 64, "WARPS": 2})}
SHARED = Plan(PROGRAMS[1], {"BN": 64, "WARPS": 2, "SPLIT": 2})  # its blocks add in a workspace


def launched_by(call):
    """What the driver was asked: a line for each launch that a call puts, with its stream."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        os.environ["FAKE_CUDA_LOG"] = str(log)
        try:
            call()
        finally:
            del os.environ["FAKE_CUDA_LOG"]
        return log.read_text().splitlines() if log.exists() else []


def make_layer(plan=None):
    return tilevm.nn.QuantizedLinear(128, 64, "u4", 64, bias=False, plan=plan)


def launches():
    return set(map(id, _operator._own.known.values()))


class Layers(unittest.TestCase):
    def setUp(self):
        torch_on_host.STREAM[0] = 0
        _operator._own.__dict__.clear()

    def on(self, stream, layer, x):
        torch_on_host.STREAM[0] = stream
        return launched_by(lambda: layer(x))

    def test_a_call_is_one_launch_on_the_current_stream(self):
        for name, plan in PLANS.items():
            with self.subTest(name):
                layer, x = make_layer(plan), torch.zeros(16, 128, dtype=torch.float16)
                layer(x)
                for stream in (0, 0x70, 0x80):
                    lines = self.on(stream, layer, x)
                    self.assertEqual(len(lines), 1, lines)
                    self.assertIn(hex(stream) if stream else "(nil)", lines[0])
                torch_on_host.STREAM[0] = 0

    def test_one_launch_is_loaded_for_all_streams_and_layers_of_a_shape(self):
        x = torch.zeros(16, 128, dtype=torch.float16)
        for stream in (0, 0x70, 0x80):
            for _ in range(2):
                self.on(stream, make_layer(PLANS["few rows"]), x)
        self.assertEqual(len(launches()), 1)

    def test_launches_that_share_memory_are_loaded_for_each_stream(self):
        layer, x = make_layer(SHARED), torch.zeros(16, 128, dtype=torch.float16)
        for stream in (0x70, 0x80, 0x70, 0x80):
            self.on(stream, layer, x)
        self.assertFalse(next(iter(_operator._own.known.values())).may_overlap)
        self.assertEqual(len(launches()), 2)

    def test_each_thread_has_its_own(self):
        layer, x = make_layer(PLANS["few rows"]), torch.zeros(16, 128, dtype=torch.float16)
        layer(x)
        here, there = launches(), []

        def work():
            layer(x)
            there.append((launches(), list(_operator._own.known.values())))
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        self.assertEqual(len(there[0][0]), 1)
        self.assertFalse(here & there[0][0])

    def test_a_child_of_a_fork_loads_anew(self):
        layer, x = make_layer(PLANS["few rows"]), torch.zeros(16, 128, dtype=torch.float16)
        layer(x)
        before = list(_operator._own.known.values())
        child = os.fork()
        if child == 0:
            worked = False
            try:
                layer(x)
                worked = True
            except tilevm.Error:  # a real driver does not survive a fork; it must be the library that says so
                worked = True
            finally:
                os._exit(0 if worked and not {*map(id, before)} & launches() else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_shapes_of_results(self):
        layer = make_layer(PLANS["few rows"])
        for shape in ((16, 128), (3, 128), (2, 7, 128), (128,), (1, 1, 1, 128)):
            x = torch.zeros(shape, dtype=torch.float16)
            self.assertEqual(layer(x).shape, (*shape[:-1], 64))
            self.assertEqual(layer(x.requires_grad_()).shape, (*shape[:-1], 64))
        self.assertEqual(layer(torch.zeros(128, 32, dtype=torch.float16).t()).shape, (32, 64))
        self.assertEqual(layer(torch.zeros(0, 128, dtype=torch.float16)).shape, (0, 64))

    def test_mistakes(self):
        layer = make_layer(PLANS["few rows"])
        layer(torch.zeros(4, 128, dtype=torch.float16))
        for x, words in ((torch.zeros(4, 128), "x.half"), (torch.zeros(4, 256, dtype=torch.float16), "rows of 256 numbers, and the layer has 128 inputs"),
                         (torch.zeros(4 * 128 + 1, dtype=torch.float16)[1:].view(4, 128), "no multiple of 16 bytes")):
            with self.assertRaisesRegex(tilevm.UsageError, words):
                layer(x)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
