"""The Triton kernels that docs/ shows beside ours, in Triton's interpreter, against NumPy.

Exits with 77 where Triton is not installed (3.5 or 3.6 with NumPy 2.2; PyTorch is not needed).
"""

import os
import pathlib
import re
import sys
import tempfile

os.environ["TRITON_INTERPRET"] = "1"
try:
    import numpy as np
    import triton
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
RANDOM = np.random.default_rng(1)
FOLDER = tempfile.TemporaryDirectory()


class HostTensor:
    """What the interpreter asks of a tensor, over a numpy array."""

    def __init__(self, array):
        self.array, self.dtype = array, array.dtype

    def data_ptr(self):
        return self.array.ctypes.data

    def untyped_storage(self):
        return self

    def cpu(self):
        return self

    def new_empty(self, *_, **__):
        return HostTensor(self.array)

    def set_(self, storage, *_):
        self.array = storage.array

    def storage_offset(self):
        return 0

    def size(self):
        return self.array.shape

    def stride(self):
        return tuple(s // self.array.itemsize for s in self.array.strides)

    def copy_(self, _):
        return self


def kernels_of(page):
    """The functions in the blocks of a page that are Triton's (Triton reads them from a file)."""
    text = (ROOT / "docs/kernels" / page).read_text()
    blocks = re.findall(r"^```(?:python)?\n(@triton\.jit\n.*?)^```", text, re.MULTILINE | re.DOTALL)
    file = pathlib.Path(FOLDER.name) / f"{page}.py"
    file.write_text("import triton\nimport triton.language as tl\n\n" + "\n\n".join(blocks))
    names = {"__name__": page, "__file__": str(file)}
    exec(compile(file.read_text(), str(file), "exec"), names)
    return names


def run(kernel, grid, *arguments):
    kernel[grid](*[HostTensor(a) if isinstance(a, np.ndarray) else a for a in arguments])


def near(name, found, expected, bound):
    error = np.abs(found.astype(np.float64) - expected).max()
    assert error <= bound, f"{name}: {error}"
    print(f"{name}: largest error {error:.3g}")


def softmax_and_layernorm():
    kernels = kernels_of("kernels.md")
    x, y = RANDOM.standard_normal((3, 100)).astype(np.float32), np.zeros((3, 100), np.float32)
    run(kernels["softmax"], (3,), x, y, 3, 100, 128)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    near("softmax", y, e / e.sum(axis=1, keepdims=True), 1e-6)
    gamma, beta = RANDOM.standard_normal((2, 100)).astype(np.float32)
    run(kernels["layernorm"], (3,), x, gamma, beta, y, 3, 100, 1e-5, 128)
    d = x - x.mean(axis=1, keepdims=True, dtype=np.float64)
    near("layernorm", y, d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * gamma + beta, 1e-5)


def decode():
    kernels = kernels_of("beside_triton.md")
    s, g, r, d, p, split, entries = 2, 2, 4, 64, 16, 2, 4
    q = RANDOM.standard_normal((s, g, r, d)).astype(np.float16)
    codes = RANDOM.integers(0, 16, (2, s * entries, g, p, d), dtype=np.uint8)
    k, v = codes[..., 0::2] | codes[..., 1::2] << 4
    numbers = RANDOM.random((s * entries, g, 4, p)).astype(np.float16)
    table = RANDOM.permutation(s * entries).astype(np.int32).reshape(s, entries)
    length = np.array([0, 50], np.int32)
    parts, logs = np.zeros((s, g, split, 16, d), np.float32), np.zeros((s, g, split, 16), np.float32)
    o = np.zeros((s, g, r, d), np.float16)
    scale = float(np.log2(np.e) / np.sqrt(d))
    run(kernels["decode"], (s, g, split), q, k, v, numbers, table, length, parts, logs, g, entries, scale, r, d, p, split)
    run(kernels["merge"], (s * g,), parts, logs, o, r, d, split)
    expected = np.zeros(o.shape)
    for i in (1,):
        values = [codes[w] * numbers[:, :, 2 * w, :, None].astype(np.float64) + numbers[:, :, 2 * w + 1, :, None] for w in (0, 1)]
        keys, vals = [x[table[i]].transpose(1, 0, 2, 3).reshape(g, -1, d)[:, : length[i]] for x in values]
        scores = q[i].astype(np.float64) @ keys.transpose(0, 2, 1) / np.sqrt(d)
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        expected[i] = e / e.sum(axis=-1, keepdims=True) @ vals
    near("decode", o, expected, 3e-2)


def lookup_matmul():
    kernel = kernels_of("beside_triton.md")["lookup_matmul"]
    m, n, k, w, group = 5, 40, 70, 3, 32
    a, table = RANDOM.standard_normal((m, k)).astype(np.float16), RANDOM.standard_normal(2**w).astype(np.float16)
    q = RANDOM.integers(0, 2**w, (k, n), dtype=np.uint8)
    scale = RANDOM.random((-(-k // group), n)).astype(np.float16)
    bits = (q.reshape(-1, 1) >> np.arange(w, dtype=np.uint8)) & 1
    packed = np.append(np.packbits(bits.reshape(-1), bitorder="little"), np.uint8(0))
    c = np.zeros((m, n), np.float16)
    run(kernel, (1, 2), a, packed, table, scale, c, m, n, k, w, group, 16, 32, 32)
    near("lookup_matmul", c, a.astype(np.float64) @ (table[q] * np.repeat(scale, group, axis=0)[:k]).astype(np.float64), 3e-2)


for check in (softmax_and_layernorm, decode, lookup_matmul):
    check()
