"""What the oracles of programs share: a program's run on arrays, and comparisons.

Sums happen in another order than NumPy's, and functions have errors of a few units in the last place;
so floats are compared in f64 within a bound that the program's page derives. Integers are equal.
"""

import pathlib
import subprocess

import numpy as np

PROGRAMS = pathlib.Path(__file__).resolve().parents[2] / "programs"
RANDOM = np.random.default_rng(1)


class Tilevm:
    """The command, and a folder for what it reads and writes."""

    def __init__(self, command, folder):
        self.command, self.folder = command, pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def run(self, program, inputs, output, entry=None, **constants):
        """The outputs of a program whose inputs are arrays: an array, or a list of arrays for a list of names.

        Arrays whose names are in constants["CODES"] hold the codes of elements of other types.
        """
        codes = constants.pop("CODES", ())
        # Two other orders of blocks are enough here: the tests of the file itself run all of them.
        command = [self.command, "run", str(PROGRAMS / f"{program}.tile"), "--orders", "2"]
        command += [f"-D{name}={value}" for name, value in constants.items()]
        command += ["--entry", entry] if entry else []
        for name, array in inputs.items():
            np.save(self.folder / f"{name}.npy", array)
            command += ["--in", f"{name}={'codes:' if name in codes else ''}{self.folder / name}.npy"]
        outputs = [output] if isinstance(output, str) else output
        for name in outputs:
            command += ["--out", f"{name}={'codes:' if name in codes else ''}{self.folder / name}.npy"]
        ran = subprocess.run(command, capture_output=True, text=True)
        assert ran.returncode == 0, f"{' '.join(command)}\n{ran.stderr}"
        found = [np.load(self.folder / f"{name}.npy") for name in outputs]
        return found[0] if isinstance(output, str) else found


def normal(*shape, dtype=np.float32):
    return RANDOM.standard_normal(shape).astype(dtype)


def check(name, found, expected, relative=0.0, absolute=0.0):
    """Elements agree within the bound; NaN and Inf stand in the same places."""
    found, expected = found.astype(np.float64), np.asarray(expected, dtype=np.float64)
    assert found.shape == expected.shape, f"{name}: {found.shape} {expected.shape}"
    finite = np.isfinite(expected)
    assert np.array_equal(found[~finite], expected[~finite], equal_nan=True), f"{name}: NaN or Inf elsewhere"
    error = np.abs(found[finite] - expected[finite])
    bound = absolute + relative * np.abs(expected[finite])
    assert (error <= bound).all(), f"{name}: error {error.max()}, {(error / np.maximum(bound, 1e-300)).max()} of the bound"
    print(f"{name}: largest error {error.max(initial=0):.3g}")


def lane_stream(codes, bits):
    """Codes of n bits, a word of 32 bits after the other, as bytes: even elements fill the low half of a
    word, odd ones the high half (docs/reference/language.md, The order of bits)."""
    word = 32 // bits
    shape = codes.shape[:-1]
    pairs = codes.reshape(*shape, -1, word // 2, 2).astype(np.uint32)
    shifts = np.arange(word // 2, dtype=np.uint32) * bits
    low, high = [(pairs[..., h] << shifts).sum(axis=-1, dtype=np.uint32) for h in (0, 1)]
    return (low | high << np.uint32(16)).view(np.uint8).reshape(*shape, -1)
