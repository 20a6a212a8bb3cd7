"""Products of Blackwell's tcgen05.mma by MMA-Sim, an independent model, beside the model of tilevm.

    git clone https://github.com/microsoft/MMA-Sim THEIRS
    git -C THEIRS checkout c78513835c8b2ae61b35062afce4c4255bc6901c
    ninja -C build mma_vectors
    PYTHONPATH=THEIRS python tests/oracles/mma_sim.py --vectors build/tests/oracles/mma_vectors

MMA-Sim (MIT, arXiv 2511.10909) says how tcgen05.mma adds; its authors compared it with a B200. Each case multiplies
[64 or 128, k] by [k, 8], with finite operands and c of neighbouring exponents (`near`) or of all exponents (`all`), and
counts outputs that differ in a bit. `no floor` counts those of tilevm's rule without its least alignment exponent,
which MMA-Sim does not have: where that is 0, the floor alone explains the differences. docs/results/independent_models.md has
the table. Exit status 1: something else than the floor differs. Needs PyTorch, NumPy and ml_dtypes.
"""

import argparse
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np
import torch
from mmasim.simulator.nv_ptx import tcgen05mma, tcgen05mma_block_scale

FLOATS = {"f16": (np.float16, torch.float16), "bf16": (ml_dtypes.bfloat16, torch.bfloat16),
          "tf32": (np.float32, torch.float32), "e4m3": (ml_dtypes.float8_e4m3fn, torch.float8_e4m3fn),
          "e5m2": (ml_dtypes.float8_e5m2, torch.float8_e5m2)}
OURS = {"e4m3": "f8e4m3", "e5m2": "f8e5m2", "e2m1": "f4e2m1"}
PLAIN = [("f16", "f16", "f32"), ("f16", "f16", "f16"), ("bf16", "bf16", "f32"), ("tf32", "tf32", "f32")] + [
    (a, b, c) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2") for c in ("f32", "f16")]
SCALED = [("e4m3", "e4m3", "mxf8f6f4", 32, "ue8m0"), ("e5m2", "e4m3", "mxf8f6f4", 32, "ue8m0"),
          ("e2m1", "e2m1", "mxf4", 32, "ue8m0"), ("e2m1", "e2m1", "mxf4nvf4, ue8m0", 16, "ue8m0"),
          ("e2m1", "e2m1", "mxf4nvf4, ue4m3", 16, "ue4m3")]


def unsigned(array):
    return array.view({1: np.uint8, 2: np.uint16, 4: np.uint32}[array.itemsize])


def tensor(array, name):
    """The elements of an array of codes as torch holds them."""
    element = FLOATS[name][1]
    integer = {1: np.uint8, 2: np.int16, 4: np.int32}[array.itemsize]
    return torch.from_numpy(np.ascontiguousarray(array).view(integer)).view(element)


def draw(random, shape, name, spread):
    """Codes of finite elements."""
    element = FLOATS[name][0]
    if spread == "near":
        scale = {"e4m3": 3, "e5m2": 3}.get(name, 6)
        values = random.standard_normal(shape) * np.exp2(random.integers(-scale, scale, shape))
        drawn = unsigned(values.astype(np.float32).astype(element)).copy()
    else:
        bits = 8 * np.dtype(element).itemsize
        drawn = random.integers(0, 1 << bits, shape, np.uint64).astype(f"u{bits // 8}")
    drawn[~np.isfinite(drawn.view(element).astype(np.float32))] = 0
    return drawn


class Case:
    """Operands [m, k] and [k, 8], c [m, 8], and scales where the instruction has them."""

    def __init__(self, random, a, b, c, spread, scaled=None):
        self.types, self.scaled = (a, b, c), scaled
        self.k = 64 if a == "e2m1" else {"f16": 16, "bf16": 16, "tf32": 8}.get(a, 32)
        self.m = 128 if scaled else 64
        if a == "e2m1":
            self.a = random.integers(0, 16, (self.m, self.k), np.uint8)
            self.b = random.integers(0, 16, (self.k, 8), np.uint8)
        else:
            self.a, self.b = draw(random, (self.m, self.k), a, spread), draw(random, (self.k, 8), b, spread)
        self.c = draw(random, (self.m, 8), {"f32": "tf32"}.get(c, c), spread)
        if scaled:
            _, group, scale = scaled
            low, high = ((110, 145) if spread == "near" else (0, 255)) if scale == "ue8m0" else (1, 127)
            self.a_scales = random.integers(low, high, (self.m, self.k // group), np.uint8)
            self.b_scales = random.integers(low, high, (self.k // group, 8), np.uint8)

    def theirs(self):
        a, b, c = self.types
        packed = a == "e2m1"
        if packed:
            left = torch.from_numpy(self.a[:, 0::2] | self.a[:, 1::2] << 4)
            right = torch.from_numpy(self.b[0::2] | self.b[1::2] << 4)
            left, right = left.view(torch.float4_e2m1fn_x2), right.view(torch.float4_e2m1fn_x2)
        else:
            left, right = tensor(self.a, a), tensor(self.b, b)
        sums = tensor(self.c, {"f32": "tf32"}.get(c, c))
        shape = f"m{self.m}n8k{self.k}"
        if not self.scaled:
            return unsigned(tcgen05mma("Blackwell", f"{shape}.{c}.{a}.{b}")(left, right, sums).numpy())
        _, group, scale = self.scaled
        model = tcgen05mma_block_scale("Blackwell", f"{shape}.block{group}.{c}.{a}.{b}.{scale}")
        element = torch.float8_e8m0fnu if scale == "ue8m0" else torch.float8_e4m3fn
        scales = [torch.from_numpy(each).view(element) for each in (self.a_scales, self.b_scales)]
        return unsigned(plain_codes(model, left, right, sums, scales).numpy())

    def ours(self, program, *changes):
        a, b, c = self.types
        with tempfile.TemporaryDirectory() as folder:
            np.repeat(self.a, 8, 0).astype(np.uint32).tofile(folder + "/a.u32")
            np.tile(self.b.T, (self.m, 1)).astype(np.uint32).tofile(folder + "/b.u32")
            self.c.astype(np.uint32).tofile(folder + "/c.u32")
            if self.scaled:
                np.repeat(self.a_scales, 8, 0).tofile(folder + "/a_scales.u8")
                np.tile(self.b_scales.T, (self.m, 1)).tofile(folder + "/b_scales.u8")
            subprocess.run([program, "sm_100a", self.instruction(), OURS.get(a, a), OURS.get(b, b), c, str(self.k),
                            folder, *changes], check=True, stdout=subprocess.DEVNULL)
            return np.fromfile(folder + "/d.u32", np.uint32).reshape(self.m, 8).astype(self.c.dtype)

    def instruction(self):
        return "tcgen05.mma" + (f" kind::{self.scaled[0]}" if self.scaled else "")


def plain_codes(model, left, right, sums, scales):
    """Calls the model with packed elements as bytes, which PyTorch can take apart."""
    if left.dtype == torch.float4_e2m1fn_x2:
        model.check_input = lambda *_: None
        left, right = left.view(torch.uint8), right.view(torch.uint8)
    return model(left, right, sums, *scales)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vectors", required=True, help="the program mma_vectors")
    options = parser.parse_args()
    cases = [(a, b, c, None) for a, b, c in PLAIN] + [(a, b, "f32", (kind, group, scale))
                                                      for a, b, kind, group, scale in SCALED]
    print("| instruction | a, b + c | exponents | outputs | different | no floor |\n|---|---|---|---|---|---|")
    unexplained = 0
    for number, (a, b, c, scaled) in enumerate(cases):
        for spread in ("near", "all"):
            case = Case(np.random.default_rng(46 + number), a, b, c, spread, scaled)
            theirs = case.theirs()
            different = int((case.ours(options.vectors) != theirs).sum())
            without_floor = int((case.ours(options.vectors, "min_exponent=-1000") != theirs).sum())
            print(f"| `{case.instruction()}` | `{OURS.get(a, a)}`, `{OURS.get(b, b)}` + `{c}` | {spread} | {theirs.size} | "
                  f"{different} | {without_floor} |", flush=True)
            unexplained += min(different, without_floor)
    return unexplained != 0


if __name__ == "__main__":
    sys.exit(main())
