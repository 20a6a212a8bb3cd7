"""How fast codes of checkpoints become packed codes: GB of a checkpoint for each second of two cores' time, which other
work on the machine changes less than the clock. checkpoints.py [--inputs K] [--outputs N]; needs NumPy.
"""

import argparse
import pathlib
import statistics
import sys
import time

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from tilevm.checkpoints import _compressed, _gguf, _gptq  # noqa: E402


def cases(k, n):
    rng = numpy.random.default_rng(0)

    def words(*shape):
        return rng.integers(0, 1 << 32, shape, dtype="u4").view("i4")
    scales = numpy.ones((k // 128, n), "f2")
    for bits in (3, 4, 8):
        own = {"qweight": (words(k * bits // 32, n), "I32"), "scales": (scales, "F16"), "qzeros": (words(k // 128, n * bits // 32), "I32")}
        yield f"GPTQ {bits} bits", own["qweight"][0].nbytes, \
            lambda own=own, bits=bits: _gptq.read_gptq("x", own.__getitem__, own.__contains__, bits, 2, 128)
    awq = {"qweight": (words(k, n // 8), "I32"), "scales": (scales, "F16"), "qzeros": (words(k // 128, n // 8), "I32")}
    yield "AWQ", awq["qweight"][0].nbytes, lambda: _gptq.read_awq("x", awq.__getitem__)
    packed = {"weight_packed": (words(n, k // 8), "I32"), "weight_scale": (scales.T.copy(), "F16"), "weight_shape": (numpy.array([n, k]), "I64")}
    yield "pack-quantized 4 bits", packed["weight_packed"][0].nbytes, \
        lambda: _compressed.read_packed("x", packed.__getitem__, packed.__contains__, 4, 128)
    fp8 = {"weight": (words(n, k // 4).view("u1"), "F8_E4M3"), "weight_scale": (numpy.ones(1, "f4"), "F32")}
    yield "FP8", fp8["weight"][0].nbytes, lambda: _compressed.read_eight("x", fp8.__getitem__, fp8.__contains__)
    for name, block in _gguf.BLOCKS.items():
        data = rng.integers(0, 256, n // 4 * (k // block.weights) * block.bytes, dtype="u1")
        yield name, data.nbytes, lambda name=name, data=data: _gguf.read_block("x", name, data, k, n // 4)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=8192)
    parser.add_argument("--outputs", type=int, default=8192)
    options = parser.parse_args()
    for name, count, work in cases(options.inputs, options.outputs):
        work()
        times = []
        for _ in range(5):
            begin = time.process_time()
            work()
            times.append(time.process_time() - begin)
        print(f"{name:22} {count / (statistics.median(times) / 2) / 1e9:5.2f} GB/s", flush=True)


main()
