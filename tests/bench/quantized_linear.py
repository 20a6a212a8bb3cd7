#!/usr/bin/env python3
"""From how many rows on tilevm.nn.QuantizedLinear is faster with dequantized weights: times both ways on this machine's
GPU for numbers of rows, and prints a line for tilevm/tuned.jsonl to standard output, the times to standard error.

    PYTHON tests/bench/quantized_linear.py [--inputs 8192] [--outputs 57344] [--type u4] [--group 128] [--rows 16 32 ..]

PYTHON has torch and tilevm (docs/guides/python.md). Times are medians of 30 calls after 3 that are not counted, both ways in
turns; a call includes the launches from Python. Without a GPU the simulator is timed, which tries the script alone.
"""

import argparse
import json
import statistics
import sys
import time

import torch

import tilevm.nn


def time_of(call, device):
    """Microseconds of a call, to the end of what it launches."""
    if device == "cuda":
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3
    begin = time.perf_counter()
    call()
    return (time.perf_counter() - begin) * 1e6


def medians(layer, ways, call, device, rounds):
    """The time of a call for each of the numbers of rows from which the layer dequantizes."""
    times = [[] for _ in ways]
    for i in range(rounds + 3):
        for many, own in zip(ways, times):
            layer.many_rows = many
            took = time_of(call, device)
            if i >= 3:
                own.append(took)
    return [statistics.median(own) for own in times]


def crossing(rows, kernel, torch_matmul):
    """The least number of rows from which the second way is faster for all that were timed."""
    least = None
    for count, a, b in zip(reversed(rows), reversed(kernel), reversed(torch_matmul)):
        if b >= a:
            break
        least = count
    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=8192)
    parser.add_argument("--outputs", type=int, default=57344)
    parser.add_argument("--type", default="u4")
    parser.add_argument("--group", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--rows", type=int, nargs="+", default=[16, 32, 48, 64, 80, 96, 112, 128, 192, 256, 384, 512, 1024])
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    layer = tilevm.nn.QuantizedLinear(options.inputs, options.outputs, options.type, options.group, bias=False).to(device)
    codes = torch.randint(0, 256, layer.weight_q.shape, dtype=torch.uint8)
    layer.weight_q.copy_(codes)
    layer.scale.copy_(torch.rand(layer.scale.shape) / 64)
    layer.order_weights()
    name = torch.cuda.get_device_name() if device == "cuda" else "the simulator"
    print(f"{name}, {layer}", file=sys.stderr)
    kernel, dequantized = [], []
    with torch.no_grad():
        for rows in options.rows:
            x = torch.rand((rows, options.inputs), device=device).half()
            a, b = medians(layer, [None, 1], lambda x=x: layer(x), device, options.rounds)
            kernel.append(a)
            dequantized.append(b)
            print(f"{rows:6} rows  {a:10.1f} us the kernel  {b:10.1f} us dequantized for torch.matmul", file=sys.stderr)
    found = crossing(options.rows, kernel, dequantized)
    if found is None:
        print("the kernel is faster for the most rows that were timed; pass more with --rows", file=sys.stderr)
    elif device == "cuda":
        source = f"tests/bench/quantized_linear.py, {options.type} {options.inputs} x {options.outputs}"
        print(json.dumps({"schema": 1, "command": "crossover", "environment": {"device": name}, "rows": found, "source": source}))
    else:
        print(f"from {found} rows on", file=sys.stderr)


if __name__ == "__main__":
    main()
