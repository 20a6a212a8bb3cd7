"""What is computed, and how large: one table for all engines.

A case has a tile (BM, BN, BK) or a block size, and a size for each engine that takes it well under
ten seconds. Rates are compared, not times, since no two engines can take the same size.
"""

import json
import statistics
import sys
import time

import numpy as np

PATIENCE = 5  # seconds of one engine for one round of one case

# What one unit of `work` is.
UNITS = {"matmul": "multiply-adds", "a16w6": "multiply-adds", "vadd": "elements"}

CASES = {
    "matmul 16x8x16": {"kind": "matmul", "tile": (16, 8, 16), "sizes": {
        "tilevm": (512, 256, 1024), "triton": (32, 32, 512), "numba": (16, 16, 64),
        "oclgrind": (32, 32, 64)}},
    "matmul 64x64x32": {"kind": "matmul", "tile": (64, 64, 32), "sizes": {
        "tilevm": (512, 512, 1024), "triton": (256, 256, 512), "numba": (64, 64, 32),
        "oclgrind": (64, 64, 64)}},
    "matmul 128x128x64": {"kind": "matmul", "tile": (128, 128, 64), "sizes": {
        "tilevm": (512, 512, 1024), "triton": (512, 512, 1024), "oclgrind": (128, 128, 64)}},
    "a16w6 16x8x16": {"kind": "a16w6", "tile": (16, 8, 16), "sizes": {
        "tilevm": (512, 256, 1024), "triton": (32, 32, 512), "numba": (16, 16, 64),
        "oclgrind": (32, 32, 64)}},
    "vadd 1024": {"kind": "vadd", "tile": (1024,), "sizes": {
        "tilevm": (4194304,), "triton": (1048576,), "numba": (8192,), "oclgrind": (65536,)}},
}


def work(size):
    """Multiply-adds of (M, N, K), or elements of (N,)."""
    return int(np.prod(size))


def make_inputs(kind, size, seed=7):
    """Inputs as numpy arrays: f16 and f32 in [-1, 1), 6-bit codes as a dense stream of bits."""
    random = np.random.default_rng(seed)
    uniform = lambda shape, dtype: random.uniform(-1, 1, shape).astype(dtype)
    if kind == "vadd":
        return {"a": uniform(size, np.float32), "b": uniform(size, np.float32)}
    m, n, k = size
    a = uniform((m, k), np.float16)
    if kind == "matmul":
        return {"a": a, "b": uniform((k, n), np.float16)}
    codes = random.integers(0, 64, k * n, dtype=np.uint8)
    bits = np.unpackbits(codes[:, None], axis=1, count=6, bitorder="little")
    return {"a": a, "b": np.packbits(bits.reshape(-1), bitorder="little")}


def output_like(kind, size):
    """An output of zeros: f32 sums of matmul and vadd, f16 results of a16w6."""
    if kind == "vadd":
        return np.zeros(size, np.float32)
    return np.zeros(size[:2], np.float32 if kind == "matmul" else np.float16)


def time_kernel(launch, repeats):
    """Seconds of `repeats` launches, fewer if they take long, after one that is not counted."""
    launch()
    seconds = []
    while len(seconds) < repeats and sum(seconds) < PATIENCE:
        start = time.perf_counter()
        launch()
        seconds.append(time.perf_counter() - start)
    return seconds


def report(seconds):
    """The last line of an engine's standard output."""
    print(json.dumps({"seconds": seconds, "median": statistics.median(seconds)}))


def arguments():
    """CASE FOLDER REPEATS of the command line: FOLDER has the size and the inputs."""
    name, folder, repeats = sys.argv[1:4]
    with open(f"{folder}/size.json", encoding="utf-8") as file:
        size = tuple(json.load(file))
    case = CASES[name]
    inputs = {key: np.load(f"{folder}/{key}.npy") for key in ("a", "b")}
    return case["kind"], case["tile"], size, inputs, folder, int(repeats)
