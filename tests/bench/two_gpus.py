"""An MLP's two products on two GPUs against one, and against cuBLAS in float16 on two: inputs -> hidden -> inputs, u4 weights of
random codes, column-parallel, then row-parallel. Run on a machine with two GPUs:

    torchrun --nproc-per-node 2 tests/bench/two_gpus.py [--inputs 8192] [--hidden 57344] [--chunks 1 2 4]

Rank 0 prints, for each number of rows, medians in microseconds of 50 CUDA graph launches, and the ratios. The layers' sums are
compared with those of one GPU before anything is timed.
"""

import argparse
import os
import statistics

import torch
import torch.distributed as dist

import tilevm.nn
from tilevm.checkpoints import PackedWeight


def random_weight(name, inputs, outputs, group, seed):
    import numpy

    rng = numpy.random.default_rng(seed)
    codes = rng.integers(0, 256, inputs * outputs // 2, dtype="uint8")
    scale = (rng.random((inputs // group, outputs), dtype="float32") / 1000).astype("float16")
    return PackedWeight(name, "gptq", "u4", inputs, outputs, group, "f16", codes, {"scale": scale}, types={"scale": "F16"},
                        notes={"version": 2, "zeros": True})


def timed(call, rounds):
    """Microseconds of a call as a CUDA graph: the median."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        call()
    times = []
    for _ in range(rounds):
        dist.barrier()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(1000 * begin.elapsed_time(end))
    found = torch.tensor([statistics.median(times)], device="cuda")
    dist.all_reduce(found, dist.ReduceOp.MAX)
    return found.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=8192)
    parser.add_argument("--hidden", type=int, default=57344)
    parser.add_argument("--group", type=int, default=128)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--chunks", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rounds", type=int, default=50)
    o = parser.parse_args()
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    world = dist.get_world_size()
    up, down = random_weight("up", o.inputs, o.hidden, o.group, 0), random_weight("down", o.hidden, o.inputs, o.group, 1)
    if rank == 0:
        print(f"{torch.cuda.get_device_name()}, {world} ranks, torch {torch.__version__}, {o.inputs} -> {o.hidden} -> {o.inputs}, u4, "
              f"group {o.group}")
    for rows in o.rows:
        torch.manual_seed(0)
        x = torch.randn(rows, o.inputs, device="cuda").half() / 16
        with torch.no_grad():
            one = [tilevm.nn.layer_of(w, device="cuda", rows=rows) for w in (up, down)]
            wanted = one[1](one[0](x))
            alone = timed(lambda: one[1](one[0](x)), o.rounds)
            del one
            column = tilevm.nn.parallel_layer(up, "columns", device="cuda", rows=rows)
            best = None
            for chunks in o.chunks:
                row = tilevm.nn.parallel_layer(down, "rows", chunks=chunks, device="cuda", rows=rows)
                got = row(column(x))
                error = ((got - wanted).float().norm() / wanted.float().norm()).item()
                assert error < 5e-3, error
                us = timed(lambda row=row: row(column(x)), o.rounds)
                best = us if best is None else min(best, us)
                if rank == 0:
                    print(f"m={rows}: one GPU {alone:.1f} us, two in {chunks} parts {us:.1f} us, {alone / us:.2f} times; relative difference {error:.1e}")
            a = torch.randn(o.inputs, o.hidden // world, device="cuda").half()
            b = torch.randn(o.hidden // world, o.inputs, device="cuda").half()

            def plain(a=a, b=b, x=x):
                y = torch.matmul(torch.matmul(x, a), b)
                dist.all_reduce(y)
                return y
            cublas = timed(plain, o.rounds)
            if rank == 0:
                print(f"m={rows}: best {alone / best:.2f} of one GPU; cuBLAS f16 on two {cublas:.1f} us, {cublas / best:.2f} times ours")
    dist.destroy_process_group()


main()
