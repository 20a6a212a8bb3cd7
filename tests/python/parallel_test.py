"""Layers of several ranks over torch.distributed, here gloo between processes on CPUs; and weights cut for them. Where torch is
not installed, a skip. package.py has the usage.
"""

import json
import os
import pathlib
import sys
import tempfile
import unittest

import package

try:
    import torch
except ImportError:
    print("SKIP: there is no torch")
    sys.exit(77)

import numpy

import tilevm
from tilevm.checkpoints import CheckpointError, load_checkpoint, shard, shard_checkpoint
from tilevm.checkpoints._shard import ends_of

KEPT = package.ROOT / "tests" / "data" / "checkpoints"
HASHES = json.loads((KEPT / "hashes.json").read_text())
WORLD = 2


def kept(name):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "model.safetensors").write_bytes((KEPT / f"{name}.safetensors").read_bytes())
        (folder / "config.json").write_text(json.dumps({"quantization_config": HASHES[name]["config"]}))
        with load_checkpoint(folder) as checkpoint:
            return checkpoint.weight("layer")


def blocks(name):
    with load_checkpoint(KEPT / "blocks.gguf") as checkpoint:
        return checkpoint.weight(name)


class Shards(unittest.TestCase):
    def test_ranges_end_at_steps(self):
        self.assertEqual(ends_of(8192, 2, 64), [4096, 8192])
        self.assertEqual(ends_of(100, 3, 32), [32, 64, 100])

    def test_the_parts_are_the_weight(self):
        for weight in (kept("awq_32"), kept("gptq_v1_3_act-order"), kept("nvfp4"), kept("fp8_block_bf16"), kept("pack_8_sym_f16"),
                       blocks("Q4_K"), blocks("Q3_K"), blocks("Q4_1"), blocks("MXFP4")):
            whole = weight.dequantized()
            for kind, axis in (("columns", 0), ("rows", 1)):
                if kind == "rows" and "perm" in weight.arrays:
                    with self.assertRaisesRegex(CheckpointError, "cut it by columns"):
                        shard(weight, 0, 2, kind)
                    continue
                parts = [shard(weight, rank, 2, kind).dequantized() for rank in range(2)]
                joined = numpy.concatenate(parts, axis=axis)
                self.assertTrue(((joined == whole) | numpy.isnan(whole)).all(), (weight.format, kind))
                self.assertGreater(min(map(numpy.size, parts)), 0)

    def test_what_cannot_be_cut(self):
        with self.assertRaisesRegex(CheckpointError, "whole weight"):
            shard(kept("nf4_bf16_nested_96"), 0, 2, "columns")
        with self.assertRaisesRegex(CheckpointError, "too few for 50 ranks"):
            shard(kept("awq_32"), 0, 50, "columns")

    def test_a_rank_has_a_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "model.safetensors").write_bytes((KEPT / "awq_32.safetensors").read_bytes())
            (folder / "config.json").write_text(json.dumps({"quantization_config": HASHES["awq_32"]["config"]}))
            whole = kept("awq_32").dequantized()
            parts = []
            for rank in range(2):
                for _ in range(2):  # the second run finds all done
                    out = shard_checkpoint(folder, folder / f"rank{rank}", rank, 2, lambda name: "rows")
                with load_checkpoint(out) as checkpoint:
                    parts.append(checkpoint.weight("layer").dequantized())
            self.assertTrue((numpy.concatenate(parts, axis=1) == whole).all())


def on_rank(rank, file, failures):
    """What a process does; its faults go to a file."""
    import traceback

    try:
        torch.distributed.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=WORLD)
        layers_of_a_rank(rank)
        torch.distributed.destroy_process_group()
    except BaseException:
        pathlib.Path(failures, str(rank)).write_text(traceback.format_exc())
        os._exit(1)


def layers_of_a_rank(rank):
    import tilevm.nn
    from tilevm.nn import ColumnParallel, parallel_layer

    torch.manual_seed(0)
    up, down = kept("pack_8_sym_f16"), kept("awq_32")
    x = torch.randn(3, up.inputs).half()
    bias = torch.randn(up.outputs).half()
    whole = tilevm.nn.layer_of(up, bias)
    with torch.no_grad():
        wanted = whole(x)
        column = parallel_layer(up, "columns", bias)
        width = column(x).shape[1]
        assert torch.equal(column(x), wanted[:, rank * width:(rank + 1) * width])  # a column's sum is the same on one rank
        gathered = ColumnParallel(column.layer, gather=True)
        assert torch.equal(gathered(x), wanted)
        for chunks in (1, 2):
            half = down.inputs // WORLD
            z, after = torch.randn(5, down.inputs).half(), torch.randn(down.outputs).half()
            row = parallel_layer(down, "rows", after, chunks=chunks)
            assert len(row.layers) == chunks
            own = [torch.matmul(z[:, r * half:(r + 1) * half], torch.from_numpy(numpy.array(down.dequantized()))[:, r * half:(r + 1) * half].half().T)
                   for r in range(WORLD)]
            assert torch.equal(row(z[:, rank * half:(rank + 1) * half]), own[0] + own[1] + after), chunks
            assert row(z[:0, :half]).shape == (0, down.outputs)
    # Gradients: those of the whole layers.
    leaf = x.clone().requires_grad_()
    toward = torch.randn(3, up.outputs).half()
    whole(leaf).backward(toward)
    own = x.clone().requires_grad_()
    parallel_layer(up, "columns", bias)(own).backward(toward[:, rank * width:(rank + 1) * width])
    assert torch.allclose(own.grad, leaf.grad, rtol=2e-2, atol=2e-2)
    z = torch.randn(2, down.inputs // WORLD).half().requires_grad_()
    row = parallel_layer(down, "rows")
    row(z).sum().backward()
    assert z.grad.shape == z.shape and torch.isfinite(z.grad).all()
    torch._dynamo.reset()
    with torch.no_grad():
        traced = torch.compile(row, fullgraph=True, backend="aot_eager")
        assert torch.equal(traced(z.detach()), row(z.detach()))


class Ranks(unittest.TestCase):
    def test_layers_of_two_ranks(self):
        import torch.multiprocessing as processes

        with tempfile.TemporaryDirectory() as folder:
            failures = pathlib.Path(folder) / "failures"
            failures.mkdir()
            started = [processes.get_context("fork").Process(target=on_rank, args=(rank, f"{folder}/meet", str(failures))) for rank in range(WORLD)]
            for each in started:
                each.start()
            for each in started:
                each.join(90)
            said = "\n".join(p.read_text() for p in failures.iterdir())
            self.assertEqual([each.exitcode for each in started], [0] * WORLD, said)

    def test_without_a_group(self):
        import tilevm.nn

        with self.assertRaisesRegex(tilevm.UsageError, "init_process_group"):
            tilevm.nn.parallel_layer(kept("awq_32"), "rows")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
