"""How kernels of others and of tilevm are timed in turns, on torch tensors in one process.

L2 is evicted before each launch by reading 512 MiB, each launch is between two CUDA events, times are medians of ROUNDS
launches of each, which take turns (A B A B). A result is compared with a reference before its kernel is timed.
"""

import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import statistics
import sys
import time

import torch

import tilevm

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAMS = ROOT / "programs"
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS = 30
MOST_ERROR = 2e-3  # relative, in the Frobenius norm: f16 sums of a few parts are within it

READ = """
# The yardstick: BYTES bytes are read, and a sum of each block is stored.
const BYTES, BLOCKS = 1 << 26, 528
const ROWS = BYTES / 4096                                  # 256 threads take 16 bytes of a row each, of 8 rows at a time
def read<BLOCKS>(i32* x_ptr, i32* y_ptr):
    b = BlockIndices()
    gx = ViewGlobal(x_ptr, shape=[ROWS, 256, 4])
    acc = AllocateRegister(i32, layout=spatial(1, 256, 1).local(1, 1, 4), init=0)
    for i in range(cdiv(ROWS, 8 * BLOCKS)):
        x = LoadGlobal(gx, layout=local(8, 1, 1).spatial(1, 256, 1).local(1, 1, 4), offset=[(i * BLOCKS + b) * 8:, 0:, 0:])
        acc = acc + Reduce(x, add, dims=0, keep_dims=true)
    StoreGlobal(Reduce(acc, add, dims=[1, 2], keep_dims=true), ViewGlobal(y_ptr, shape=[BLOCKS, 1, 1]), offset=[b:, 0:, 0:])
"""


class Unfit(Exception):
    """A result that is not near its reference, or a call that was refused."""


_evicted = None


def evict():
    """Reads 512 MiB, so that L2 holds nothing of what comes, then gives the host time to enqueue the launch."""
    global _evicted
    if _evicted is None:
        _evicted = torch.ones(1 << 27, dtype=torch.float32, device=DEVICE)
    _evicted.sum()
    torch.cuda._sleep(200_000)


def time_once(call):
    """Microseconds of one launch on an evicted L2."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    evict()
    begin.record()
    call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3


def turns(calls, rounds=ROUNDS):
    """Medians, in microseconds, of calls by name, which take turns; one launch of each is not counted."""
    times = {name: [] for name in calls}
    for i in range(rounds + 1):
        for name, call in calls.items():
            took = time_once(call)
            if i > 0:
                times[name].append(took)
    return {name: statistics.median(every) for name, every in times.items()}


def error_of(result, reference):
    """|result - reference| / |reference| in f64."""
    difference = torch.linalg.vector_norm(result.double() - reference.double())
    return float(difference / torch.linalg.vector_norm(reference.double()))


def checked(name, call, result, reference, most=MOST_ERROR):
    """Runs a call once, and returns the error of its result, a tensor or a function that gives it. Unfit: the error is
    larger than `most`, or not a number."""
    if not callable(result):
        result.zero_()
    call()
    torch.cuda.synchronize()
    error = error_of(result() if callable(result) else result, reference)
    if not error <= most:
        raise Unfit(f"the relative error is {error:.2e}, more than {most:.0e}")
    return error


def try_each(makers, reference=None, most=MOST_ERROR):
    """Calls that fit, and errors by name. `makers` give (call, result) by name; one that fails is named and left out."""
    calls, errors = {}, {}
    for name, make in makers.items():
        try:
            call, result = make()
            errors[name] = checked(name, call, result, reference, most)
            calls[name] = call
        except Exception as failure:  # a rival's failure must not end the others
            print(f"  {name} is left out: {type(failure).__name__}: {str(failure).splitlines()[0] if str(failure) else ''}",
                  flush=True)
    return calls, errors


def _prepare(point):
    path, entry, constants = point
    try:
        tilevm.load(str(path), entry=entry, **constants).prepare()
        return ""
    except Exception as failure:
        return f"{type(failure).__name__}: {failure}"


_pool = None


def begin_compiling(points):
    """Starts to compile points (path, entry, constants), many at a time, into the kernel cache. finish_compiling() waits,
    which it must before anything is timed."""
    global _pool
    if _pool is None:
        _pool = concurrent.futures.ProcessPoolExecutor(max(1, min(16, len(os.sched_getaffinity(0)))),
                                                       mp_context=multiprocessing.get_context("spawn"))
    return time.monotonic(), [_pool.submit(_prepare, point) for point in points]


def finish_compiling(begun):
    """Waits for begin_compiling(). Points that fail are counted here, and named where they are used."""
    begin, points = begun
    failed = [message for message in (point.result() for point in points) if message]
    print(f"{len(points) - len(failed)} kernels compiled in {time.monotonic() - begin:.0f} s, {len(failed)} not", flush=True)
    for message in sorted(set(failed))[:3]:
        print(f"  {message[:300]}", flush=True)


def compile_all(points):
    finish_compiling(begin_compiling(points))


def kernel(path, entry, constants):
    """A launch of an entry, prepared for this GPU, and its parameters."""
    found = tilevm.load(str(path), entry=entry, **constants)
    return found.prepare(), found.parameters


def empty(parameter):
    """Zeros for a parameter of a kernel."""
    types = {"f16": torch.float16, "f32": torch.float32, "i32": torch.int32}
    if parameter.shape is None:
        raise Unfit(f"`{parameter.name}` has no shape of its own")
    return torch.zeros(parameter.shape, dtype=types.get(parameter.type, torch.uint8), device=DEVICE)


_readers = {}


def reader(count):
    """A call that reads `count` bytes, rounded down to 4096."""
    count = count // 4096 * 4096
    if count not in _readers:
        launch = tilevm.loads(READ, BYTES=count).prepare()
        x = torch.randint(-2**31, 2**31 - 1, (count // 4096, 256, 4), dtype=torch.int32, device=DEVICE)
        y = torch.empty((528, 1, 1), dtype=torch.int32, device=DEVICE)
        _readers.clear()  # one buffer at a time
        _readers[count] = lambda: launch(x, y)
    return _readers[count]


class Table:
    """Rows of a table on standard output and, as lines of JSON, in a file."""

    def __init__(self, title, file):
        self.title, self.file = title, file
        properties = torch.cuda.get_device_properties(0)
        self.environment = {"device": properties.name, "multiprocessors": properties.multi_processor_count,
                            "torch": torch.__version__, "cuda": torch.version.cuda}
        print(f"== {title} ({properties.name}, torch {torch.__version__})", flush=True)

    def row(self, problem, times, errors, **more):
        """Adds the times of a problem, in microseconds by name."""
        texts = [f"{name} {us:.1f}" for name, us in times.items()]
        about = " ".join(f"{k}={v}" for k, v in problem.items())
        notes = " ".join(f"{k}={v}" for k, v in more.items())
        print(f"{about:36} {' | '.join(texts)}   {notes}", flush=True)
        line = {"schema": 1, "command": "rivals", "table": self.title, "problem": problem,
                "us": {k: round(v, 2) for k, v in times.items()}, "errors": {k: float(f"{v:.3g}") for k, v in errors.items()},
                **more, "environment": self.environment}
        with open(self.file, "a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")


def add_site(folder):
    """Makes the Python packages that were brought known, behind those of the machine."""
    sys.path.append(os.environ.get("RIVALS_SITE", str(pathlib.Path(folder) / "site")))


def need_gpu():
    if not torch.cuda.is_available():
        sys.exit("rivals are timed on a GPU, and torch finds none")
    torch.manual_seed(1)
