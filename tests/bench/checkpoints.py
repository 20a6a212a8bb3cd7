"""How fast checkpoints become packed ones, in GB of the checkpoint.

    checkpoints.py [--inputs K] [--outputs N]       codes of one matrix in memory
    checkpoints.py --folder FOLDER [--gib 8]        files on a disk: writes checkpoints of so many GiB of layers into FOLDER, converts them
                                                    with pack_checkpoint in a process of its own, and takes all of it away again

The speed is that of two cores: bytes for half of a second of processor time, which other work on the machine changes less than the
clock. With --folder the clock's speed and the most memory of the process are shown as well. Needs NumPy, and libtilevm as the
package does (TILEVM_LIBRARY).
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from tilevm.checkpoints import _compressed, _gguf, _gptq  # noqa: E402
from tilevm.checkpoints._safetensors import Writer  # noqa: E402


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


def write_gptq(folder, size, k, n):
    """Layers of random codes of 4 bits in groups of 128 as GPTQ has them, in one file."""
    rng = numpy.random.default_rng(0)
    tensors = {"qweight": (rng.integers(0, 1 << 32, (k // 8, n), dtype="u4"), "I32"), "scales": (numpy.ones((k // 128, n), "f2"), "F16"),
               "qzeros": (rng.integers(0, 1 << 32, (k // 128, n // 8), dtype="u4"), "I32")}
    layers = -(-size // sum(array.nbytes for array, _ in tensors.values()))
    writer = Writer(folder / "model.safetensors", 3 * layers, 1024)
    for layer in range(layers):
        for key, (array, type_) in tensors.items():
            writer.add(f"model.layers.{layer}.mlp.up_proj.{key}", type_, array.shape, iter([array.reshape(-1).view("u1")]))
    writer.finish({})
    (folder / "config.json").write_text(json.dumps({"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128}}))
    return folder


def write_gguf(folder, size, k, n, kind, code):
    """Tensors of a type of GGUF's: magic, version 3, no keys, then names, shapes, types and places, then data at multiples of 32."""
    data = numpy.random.default_rng(0).integers(0, 256, n * (k // _gguf.BLOCKS[kind].weights) * _gguf.BLOCKS[kind].bytes, dtype="u1")
    layers = -(-size // data.nbytes)
    head = b"GGUF" + (3).to_bytes(4, "little") + layers.to_bytes(8, "little") + bytes(8)
    for layer in range(layers):
        name = f"blk.{layer}.ffn_up.weight".encode()
        head += len(name).to_bytes(8, "little") + name + (2).to_bytes(4, "little") + k.to_bytes(8, "little") + n.to_bytes(8, "little")
        head += code.to_bytes(4, "little") + (layer * data.nbytes).to_bytes(8, "little")
    path = folder / f"{kind}.gguf"
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % 32))
        for _ in range(layers):
            file.write(data)
    return path


CONVERT = "import sys; from tilevm.checkpoints import pack_checkpoint; pack_checkpoint(sys.argv[1], sys.argv[2])"


def convert(source, target, name):
    """One conversion in a process of its own."""
    size = sum(path.stat().st_size for path in (source.iterdir() if source.is_dir() else [source]))
    begin = time.perf_counter()
    path = str(pathlib.Path(__file__).resolve().parents[2] / "python")
    process = subprocess.Popen([sys.executable, "-c", CONVERT, str(source), str(target)], env={**os.environ, "PYTHONPATH": path})
    _, status, usage = os.wait4(process.pid, 0)
    clock = time.perf_counter() - begin
    assert status == 0, name
    processor = usage.ru_utime + usage.ru_stime
    print(f"{name:22} {size / 2**30:5.2f} GiB  {size / (processor / 2) / 1e9:5.2f} GB/s  by the clock {size / clock / 1e9:5.2f} GB/s  "
          f"at most {usage.ru_maxrss / 2**20:5.2f} GiB", flush=True)


def folders(options):
    """Conversions from disk to disk."""
    size, k, n = int(options.gib * 2**30), options.inputs, options.outputs
    kinds = [("GPTQ 4 bits", lambda folder: write_gptq(folder, size, k, n))]
    kinds += [(kind, lambda folder, kind=kind, code=code: write_gguf(folder, size, k, n, kind, code))
              for kind, code in (("Q4_K", 12), ("Q3_K", 11), ("Q6_K", 14))]
    for name, write in kinds:
        folder = pathlib.Path(tempfile.mkdtemp(dir=options.folder))
        try:
            convert(write(folder), folder / "packed", name)
        finally:
            shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=8192)
    parser.add_argument("--outputs", type=int, default=8192)
    parser.add_argument("--folder")
    parser.add_argument("--gib", type=float, default=8)
    options = parser.parse_args()
    if options.folder:
        folders(options)
        return
    for name, count, work in cases(options.inputs, options.outputs):
        work()
        times = []
        for _ in range(5):
            begin = time.process_time()
            work()
            times.append(time.process_time() - begin)
        print(f"{name:22} {count / (statistics.median(times) / 2) / 1e9:5.2f} GB/s", flush=True)


main()
