"""Products that GPUs gave and others published, beside the model of tilevm.

    git clone https://github.com/north-numerical-computing/MATLAB-tensor-core DATA
    git -C DATA checkout b12b5a700957655375a1b0c1d0c26e76065da015
    ninja -C build mma_vectors
    python tests/oracles/published_vectors.py --data DATA --vectors build/tests/oracles/mma_vectors

Khattak and Mikaitis (arXiv 2512.07004) published 5,000 vectors for each set in `model_validation` (BSD-2-Clause),
of eight GPUs: rows of a and b of one instruction's k or of one block's, c, and the result of the GPU. The model of
tilevm is `mma_reference` (sim/mma/mma_model.h) by the rule of the GPU's architecture.

`different` counts results with another bit. The columns after it count those of rules with one number changed, which
says how sharply the vectors decide that number: 0 means that they cannot tell. docs/results/independent_models.md has
the table. Exit status 1: a set differs. Needs NumPy and ml_dtypes.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np

ARCHITECTURES = {"V100": "sm_70", "A100": "sm_80", "A2": "sm_86", "Ada": "sm_89", "L40S": "sm_89", "H100": "sm_90a",
                 "H200": "sm_90a", "B200": "sm_100a"}
FORMATS = {"fp16": ("f16", np.float16), "bf16": ("bf16", ml_dtypes.bfloat16), "tf32": ("tf32", np.float32),
           "E4M3": ("f8e4m3", ml_dtypes.float8_e4m3fn), "E5M2": ("f8e5m2", ml_dtypes.float8_e5m2)}
# Rules with one number changed: what the column is called, and the number from those of the rule.
CHANGES = {
    "F - 1": lambda rule: {"fraction_bits": rule["fraction_bits"] - 1},
    "F + 1": lambda rule: {"fraction_bits": rule["fraction_bits"] + 1},
    "half block": lambda rule: {"block": rule["block"] // 2},
    "no floor": lambda rule: {"min_exponent": -1000},
}


def codes(values, element):
    """Codes of f32 values that the type holds exactly."""
    narrow = values.astype(element)
    assert (narrow.astype(np.float32).view(np.uint32) == values.view(np.uint32)).all()
    return narrow.view({1: np.uint8, 2: np.uint16, 4: np.uint32}[narrow.itemsize]).astype(np.uint32)


def hexadecimal(path):
    rows = [[int(word, 16) for word in line.split()] for line in path.read_text().splitlines() if line.strip()]
    return np.array(rows, np.uint32).view(np.float32)


def binary(path):
    return np.array([int(word, 2) for word in path.read_text().split()], np.uint32)


class Set:
    """The vectors of one GPU, one type of operands and one type of results."""

    def __init__(self, data, gpu, name, result):
        folder = data / "model_validation" / gpu / name
        self.gpu, self.name, self.result = gpu, name, result
        self.type, element = FORMATS[name]
        self.a = codes(hexadecimal(folder / f"a_{gpu}_{name}.txt"), element)
        self.b = codes(hexadecimal(folder / f"b_{gpu}_{name}.txt"), element)
        self.c = binary(folder / f"c_{gpu}_fp32.txt")
        self.d = binary(folder / f"d_{gpu}_{result}.txt")
        # Their f32 results of 8-bit floats on Hopper are of wgmma with c = 0 (their Validate_TC_models.m).
        self.instruction = "mma"
        if gpu in ("H100", "H200") and name.startswith("E") and result == "fp32":
            self.instruction, self.c = "wgmma", np.zeros_like(self.c)
        if result == "fp16":  # they round c before the instruction
            with np.errstate(over="ignore"):
                self.c = self.c.view(np.float32).astype(np.float16).view(np.uint16).astype(np.uint32)

    def different(self, program, changes=()):
        """How many results are not those of the rule, and the rule's numbers."""
        with tempfile.TemporaryDirectory() as folder:
            for name in "abc":
                getattr(self, name).tofile(f"{folder}/{name}.u32")
            words = [ARCHITECTURES[self.gpu], self.instruction, self.type, self.type, self.accumulator,
                     str(self.a.shape[1]), folder, *(f"{name}={value}" for name, value in changes)]
            text = subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout
            found = np.fromfile(f"{folder}/d.u32", np.uint32)
        if self.result == "fp16":  # they store f16 results as f32
            found = found.astype(np.uint16).view(np.float16).astype(np.float32).view(np.uint32)
        rule = {name: int(value) for name, value in (word.split("=") for word in text.split())}
        return int((found != self.d).sum()), rule

    def changed(self, program, name, rule):
        """How many results are not those of the rule with one number changed."""
        if name == "half block" and self.a.shape[1] > rule["block"] and self.gpu in ("H100", "H200", "B200"):
            return "-"  # mma of 8-bit floats is two f16 instructions there, whose block is fixed
        return self.different(program, CHANGES[name](rule).items())[0]

    @property
    def accumulator(self):
        return "f16" if self.result == "fp16" else "f32"


def sets(data):
    for gpu in ARCHITECTURES:
        for name in FORMATS:
            for result in ("fp32", "fp16"):
                if (data / "model_validation" / gpu / name / f"d_{gpu}_{result}.txt").exists():
                    yield Set(data, gpu, name, result)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--vectors", required=True, help="the program mma_vectors")
    options = parser.parse_args()
    print(f"| GPU | rule | a, b + c | k | vectors | different | {' | '.join(CHANGES)} |")
    print("|---" * (6 + len(CHANGES)) + "|")
    total = wrong = count = 0
    for each in sets(options.data):
        different, rule = each.different(options.vectors)
        others = [each.changed(options.vectors, name, rule) for name in CHANGES]
        print(f"| {each.gpu} | {ARCHITECTURES[each.gpu]} `{each.instruction}` | `{each.type}` + `{each.accumulator}` | "
              f"{each.a.shape[1]} | {each.d.size} | {different} | {' | '.join(map(str, others))} |", flush=True)
        count, total, wrong = count + 1, total + each.d.size, wrong + different
    print(f"\n{count} sets, {total} vectors, {wrong} different.")
    return count == 0 or wrong != 0


if __name__ == "__main__":
    sys.exit(main())
