"""Products of 8-bit floats beside mmaemu, an independent model of tensor cores fitted to other GPUs.

    python -m venv env && env/bin/pip install mmaemu==0.1.0 torch==2.15.0
    env/bin/python tests/oracles/mmaemu_fp8.py --tilevm build/tilevm

mmaemu's preset `ada` was validated by its author on an RTX 4060 (sm_89), `b200_mma_sync` fits published
vectors of mma.sync where it becomes two f16 products and an addition. Each case multiplies random codes of
[M, K] and [K, N] with c = 0, a chain of m16n8k32 instructions, and counts outputs that differ in a bit.
docs/results/independent_models.md has the outcome, and exit status 1 means another one: only `b200_mma_sync`
differs, and only where products have exponents far from one another. `two halves` is mmaemu's arithmetic in the order
of two f16 instructions, which explains that difference.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
from mmaemu.formats import decode
from mmaemu.model.chain import bfma, chain_gemm
from mmaemu.model.presets import Preset

warnings.simplefilter("ignore")

PROGRAM = """
const M, N, K = 64, 64, 64
def product<M / 16, N / 8>({a}* a_ptr, {b}* b_ptr, f32* c_ptr):
    i, j = BlockIndices()
    c = AllocateRegister(f32, layout=local(2, 1).spatial(8, 4).local(1, 2), init=0.0)
    for k in range(K / 32):
        a = LoadGlobal(ViewGlobal(a_ptr, shape=[M, K]), layout=column_local(2, 2).spatial(8, 4).local(1, 4),
            offset=[i * 16:, k * 32:])
        b = LoadGlobal(ViewGlobal(b_ptr, shape=[K, N]), layout=local(2, 1).column_spatial(4, 8).local(4, 1),
            offset=[k * 32:, j * 8:])
        Dot(a, b, c, out=c)
    StoreGlobal(c, ViewGlobal(c_ptr, shape=[M, N]), offset=[i * 16:, j * 8:])
pipeline main(a: {a}[M, K], b: {b}[K, N]) -> (c: f32[M, N]):
    product(a, b, c)
"""
NAMES = {"e4m3": "f8e4m3", "e5m2": "f8e5m2"}
PAIRS = [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2")]
MODELS = [("sm_89", "ada"), ("sm_90", "b200_mma_sync"), ("sm_90", "two halves")]
# A step of m16n8k16 on f16, of which m16n8k32 on 8-bit floats has two: products whose k % 4 is below 2, then the
# others onto their sum, and c added last. Elements become f16 first, whose least exponent is that of e5m2.
HALF = Preset("half", nfma=16, frac=25, frac_out=23, min_exp=-133, late_c=False, slow_chunk=None)


def codes(random, shape, format, spread):
    """Finite codes: of all exponents, or of few, whose sums cancel."""
    drawn = random.integers(0, 256, shape, dtype=np.uint8)
    if spread == "near":
        mantissa = 3 if format == "e4m3" else 2
        exponent = random.integers(5, 8, shape) if format == "e4m3" else random.integers(13, 16, shape)
        drawn = (drawn & (0x80 | ((1 << mantissa) - 1))) | (exponent << mantissa).astype(np.uint8)
    not_finite = (drawn & 0x7F) == 0x7F if format == "e4m3" else (drawn & 0x7F) >= 0x7C
    drawn[not_finite] = 0
    return drawn


def ours(tilevm, folder, target, pair, a, b, shape):
    program = pathlib.Path(folder, "product.tile")
    program.write_text(PROGRAM.format(a=NAMES[pair[0]], b=NAMES[pair[1]]))
    np.save(folder + "/a.npy", a)
    np.save(folder + "/b.npy", b)
    defines = [word for name, extent in zip("MNK", shape) for word in ("-D", f"{name}={extent}")]
    subprocess.run([tilevm, "run", str(program), "--target", target, *defines, "--check", "none",
                    "--in", f"a=codes:{folder}/a.npy", "--in", f"b=codes:{folder}/b.npy",
                    "--out", f"c={folder}/c.npy"], check=True, stdout=subprocess.DEVNULL)
    return np.load(folder + "/c.npy").view(np.uint32)


def two_halves(a, b, pair):
    """The product by HALF, in mmaemu's arithmetic."""
    left = decode(torch.from_numpy(a), pair[0]).double()
    right = decode(torch.from_numpy(np.ascontiguousarray(b.T)), pair[1]).double()
    shape = (left.shape[0], right.shape[0])
    total = torch.zeros(shape)
    for begin in range(0, left.shape[1], 32):
        k = torch.arange(begin, begin + 32)
        both = torch.zeros(shape)
        for half in (k[k % 4 < 2], k[k % 4 >= 2]):
            x = left[:, None, half].expand(*shape, 16)
            y = right[None, :, half].expand(*shape, 16)
            both = bfma(x, y, both, HALF, ("e5m2", "e5m2")).float()
        total = total + both
    return total.numpy().view(np.uint32)


def independent(preset, a, b, pair):
    if preset == "two halves":
        return two_halves(a, b, pair)
    columns = torch.from_numpy(np.ascontiguousarray(b.T))
    product = chain_gemm(torch.from_numpy(a), columns, fmt_a=pair[0], fmt_b=pair[1], preset=preset)
    return product.numpy().view(np.uint32)


def compare(tilevm, target, preset, pair, spread, seed, shape):
    random = np.random.default_rng(seed)
    m, n, k = shape
    a, b = codes(random, (m, k), pair[0], spread), codes(random, (k, n), pair[1], spread)
    theirs = independent(preset, a, b, pair)
    with tempfile.TemporaryDirectory() as folder:
        mine = ours(tilevm, folder, target, pair, a, b, shape)
    return int((mine != theirs).sum()), mine.size


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tilevm", required=True)
    options = parser.parse_args()
    print("| target | preset | exponents | K | outputs | different |")
    print("|---|---|---|---|---|---|")
    agrees = True
    for target, preset in MODELS:
        for spread in ("near", "all"):
            for k in (32, 256):
                found = [compare(options.tilevm, target, preset, pair, spread, 46, (128, 128, k)) for pair in PAIRS]
                different, outputs = (sum(numbers) for numbers in zip(*found))
                agrees &= (different == 0) == (preset != "b200_mma_sync" or spread == "near")
                print(f"| {target} | {preset} | {spread} | {k} | {outputs} | {different} |", flush=True)
    return not agrees


if __name__ == "__main__":
    sys.exit(main())
