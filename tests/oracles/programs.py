"""Programs of programs/ against NumPy.

    programs.py TILEVM FOLDER

Sums happen in another order than NumPy's, and functions have errors of a few units in the last place;
so floats are compared in f64 within a bound that says how far the orders may differ. Integers are
equal. Exits with 77 where NumPy is not installed.
"""

import pathlib
import subprocess
import sys

try:
    import numpy as np
except ImportError as error:
    print(f"SKIP: {error} (tests/oracles/requirements.txt; ./dev test installs it)")
    sys.exit(77)

TILEVM, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
PROGRAMS = pathlib.Path(__file__).resolve().parents[2] / "programs"
RANDOM = np.random.default_rng(1)


def run(program, inputs, output, **constants):
    """The output of a program whose inputs are arrays."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    command = [TILEVM, "run", str(PROGRAMS / f"{program}.tile")]
    command += [f"-D{name}={value}" for name, value in constants.items()]
    for name, array in inputs.items():
        np.save(FOLDER / f"{name}.npy", array)
        command += ["--in", f"{name}={FOLDER / name}.npy"]
    subprocess.run(command + ["--out", f"{output}={FOLDER / output}.npy"], check=True, capture_output=True)
    return np.load(FOLDER / f"{output}.npy")


def normal(*shape, dtype=np.float32):
    return RANDOM.standard_normal(shape).astype(dtype)


def check(name, found, expected, relative=0.0, absolute=0.0):
    error = np.abs(found.astype(np.float64) - expected.astype(np.float64))
    bound = absolute + relative * np.abs(expected.astype(np.float64))
    assert found.shape == expected.shape and (error <= bound).all(), f"{name}: {error.max()}"
    print(f"{name}: largest error {error.max():.3g}")


def softmax():
    x = 3 * normal(5, 700)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    check("softmax", run("softmax", {"x": x}, "y", M=5, N=700), e / e.sum(axis=1, keepdims=True), relative=2e-6)


def layernorm():
    x, gamma, beta = normal(5, 700), normal(700), normal(700)
    d = x.astype(np.float64) - x.mean(axis=1, keepdims=True, dtype=np.float64)
    expected = d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * gamma + beta
    found = run("layernorm", {"x": x, "gamma": gamma, "beta": beta}, "y", M=5, N=700)
    check("layernorm", found, expected, relative=4e-6, absolute=4e-6)


def matmul_gelu():
    a, b, bias = normal(33, 50, dtype=np.float16), normal(50, 40, dtype=np.float16), normal(40)
    x = a.astype(np.float64) @ b.astype(np.float64) + bias
    expected = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    found = run("matmul_gelu", {"a": a, "b": b, "bias": bias}, "c", M=33, N=40, K=50)
    check("matmul_gelu", found, expected, relative=2**-10, absolute=1e-5)


def dequantize():
    q, scale = RANDOM.integers(0, 16, (64, 64), dtype=np.uint8), normal(2, 64, dtype=np.float16)
    expected = ((q.astype(np.float16) - np.float16(8)) * np.repeat(scale, 32, axis=0)).astype(np.float16)
    check("dequantize", run("dequantize", {"q_ptr": q, "s_ptr": scale}, "y_ptr", K=64, N=64), expected)


def scan():
    x = RANDOM.integers(-9, 10, (3, 300)).astype(np.float32)
    check("scan", run("scan", {"x": x}, "y", M=3, N=300), np.cumsum(x, axis=1))


def histogram():
    x = RANDOM.integers(0, 20, 1000, dtype=np.uint8)
    found = run("histogram", {"x_ptr": x[np.newaxis]}, "y_ptr", N=1000)
    check("histogram", found[:, 0], np.bincount(x, minlength=20)[:16])


for program in (softmax, layernorm, matmul_gelu, dequantize, scan, histogram):
    program()
