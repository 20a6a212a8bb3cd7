#!/usr/bin/env python3
"""What a call of tilevm.nn.QuantizedLinear takes of the host, and each step within it, in microseconds: without a GPU over
the stand-in for the driver (tests/fake_driver), with torch's tensors in memory of the host.

    PYTHON tests/bench/layer_overhead.py LIBRARY COMMAND FAKE_DRIVER [--rows 16] [--profile]

PYTHON has torch. The stand-in's tensors say that they are on a GPU; torch makes and views them as those of the host, so
that the times have all of the host's work but torch's allocator for a GPU and the driver. With a GPU both are in them, and
nothing waits for kernels within a round. Times are the best and the median of 20 rounds of 100 calls; cold is the median of 50
single calls, each after 64 MiB of memory were written, as a call is between other work. --profile prints functions too.
"""

import argparse
import cProfile
import ctypes
import os
import pathlib
import pstats
import statistics
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
import package  # noqa: E402,F401  the package that is measured

GPU = torch.cuda.is_available()
if not GPU:
    import torch_on_host

    torch_on_host.use()
import tilevm.nn  # noqa: E402

DEVICE = "cuda" if GPU else "cpu"
NAME = "NVIDIA H100 80GB HBM3"
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3


def keep_memory():
    """Large outputs are taken from the heap and go back to it, as from torch's allocator for a GPU; not from the kernel."""
    libc = ctypes.CDLL(None)
    for option, most in ((M_MMAP_THRESHOLD, 32 << 20), (M_TRIM_THRESHOLD, 1 << 30)):
        assert libc.mallopt(option, most) == 1


def measure(call, rounds=20, count=100):
    """Microseconds of a call: the best and the median of rounds, and the median of single calls in cold caches."""
    times, cold = [], []
    for _ in range(rounds + 1):
        begin = time.perf_counter()
        for _ in range(count):
            call()
        times.append((time.perf_counter() - begin) / count * 1e6)
        if GPU:
            torch.cuda.synchronize()
    for _ in range(50):
        evict()
        begin = time.perf_counter()
        call()
        cold.append((time.perf_counter() - begin) * 1e6)
        if GPU:
            torch.cuda.synchronize()
    return min(times[1:]), statistics.median(times[1:]), statistics.median(cold)


EVICTED = bytearray(64 << 20)


def evict():
    """Writes 64 MiB, so that the processor's caches have none of what a call needs, as after other work."""
    EVICTED[:] = bytes(len(EVICTED))


def steps(layer, x):
    """Calls by name, each within the one before."""
    from tilevm._operator import _run, kernel_of, rows_of

    def operator():
        return torch.ops.tilevm.quantized_linear(*arguments)
    arguments = (x, layer.tiles, layer.scales, layer.weight_q, layer.scale, layer.weight_type, layer.group,
                 layer.out_features, layer._plan, layer.many_rows or -1, layer.in_features)
    k = kernel_of("matmul", rows_of(len(x)), layer.out_features, layer.in_features, layer.weight_type, layer.group, layer._plan)
    tensors = [x, *(t.view(p.shape) for t, p in zip((layer.tiles, layer.scales), k.parameters[1:3])),
               torch.empty(k.parameters[3].shape, dtype=torch.float16, device=x.device)]
    launch = k.prepare()
    launch(*tensors)
    function = ctypes.cast(tilevm._library.LIBRARY.tilevm_launch, ctypes.c_void_p).value
    put = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 2, ctypes.c_size_t, ctypes.c_void_p)(function)
    return {"layer(x)": lambda: layer(x), "the operator": operator, "its implementation": lambda: _run(*arguments),
            "k(..)": lambda: k(*tensors), "a prepared launch": lambda: launch(*tensors),
            "the C function, by ctypes": lambda: put(launch._handle, launch._words, len(tensors), None)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", nargs="+", help="LIBRARY COMMAND FAKE_DRIVER, or installed FAKE_DRIVER")
    parser.add_argument("--inputs", type=int, default=8192)
    parser.add_argument("--outputs", type=int, default=57344)
    parser.add_argument("--type", default="u4")
    parser.add_argument("--group", type=int, default=128)
    parser.add_argument("--rows", type=int, default=16)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    plan = None
    if not GPU:
        keep_memory()
        plan = tilevm.nn.choose(NAME, options.type, options.inputs, options.outputs, options.group, options.rows, "sm_90")
    layer = tilevm.nn.QuantizedLinear(options.inputs, options.outputs, options.type, options.group, bias=False, plan=plan).to(DEVICE)
    x = torch.zeros((options.rows, options.inputs), dtype=torch.float16, device=DEVICE)
    name = torch.cuda.get_device_name() if GPU else "the stand-in for the driver"
    print(f"{name}, torch {torch.__version__}, Python {sys.version.split()[0]}, {layer}, {options.rows} rows")
    with torch.no_grad():
        for fast in ("0", "1"):
            os.environ["TILEVM_FAST"] = fast
            forget()
            if fast == "1" and _no_extension():
                continue
            calls = steps(layer, x)
            print("with tilevm_fast" if fast == "1" else "without tilevm_fast")
            for step, call in calls.items():
                best, median, cold = measure(call)
                print(f"  {step:28} {best:8.2f} us, median {median:8.2f}, cold {cold:8.2f}")
            if options.profile:
                profile = cProfile.Profile()
                profile.runcall(lambda: [layer(x) for _ in range(1000)])
                pstats.Stats(profile).sort_stats("tottime").print_stats(25)


def forget():
    """What calls have loaded: a launch decides when it is made whether it uses the extension."""
    for name in ("kernel_of", "product_of", "_own"):
        kept = getattr(tilevm._operator, name, None)  # not all in earlier revisions
        if kept is not None:
            kept.__dict__.clear() if name == "_own" else kept.cache_clear()


def _no_extension():
    try:
        import tilevm_fast  # noqa: F401
    except ImportError:
        print("tilevm_fast is not installed")
        return True
    return False


if __name__ == "__main__":
    main()
