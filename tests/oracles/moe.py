"""A layer of experts against f64 (docs/kernels/moe.md)."""

import numpy as np

from program_support import RANDOM, check, normal


def layer(tilevm, tokens, experts, top, k, n, logits=None, entries=("main",), **constants):
    x, w = normal(tokens, k, dtype=np.float16), normal(experts, k, n, dtype=np.float16)
    logits = normal(tokens, experts) if logits is None else logits
    order = np.argsort(-logits, axis=1, kind="stable")[:, :top]
    chosen = np.take_along_axis(logits, order, axis=1).astype(np.float64)
    p = np.exp(chosen - chosen[:, :1])
    p /= p.sum(axis=1, keepdims=True)
    results = np.einsum("tk,tikn->tin", x.astype(np.float64), w[order].astype(np.float64))
    expected = (p[:, :, None] * results).sum(axis=1)
    sizes = {"TOKENS": tokens, "EXPERTS": experts, "TOP": top, "K": k, "N": n}
    for entry in entries:
        y, expert = tilevm.run("moe/moe", {"x": x, "logits": logits, "w": w}, ["y", "expert"], entry=entry, **sizes, **constants)
        name = f"moe {sizes} {entry}"
        check(f"{name}, experts", expert, order)
        # Results are rounded to f16, and so is their sum.
        check(name, y, expected, absolute=2.0**-10 * np.abs(results).max() if entry == "main" else 1e-4)


def not_finite(tilevm):
    """A NaN spoils its own token, wherever its entries stand."""
    x, w, logits = normal(9, 16, dtype=np.float16), normal(3, 16, 8, dtype=np.float16), normal(9, 3)
    x[4, 2], logits[5, 1] = np.nan, np.nan
    sizes = {"TOKENS": 9, "EXPERTS": 3, "TOP": 2, "K": 16, "N": 8}
    y, expert = tilevm.run("moe/moe", {"x": x, "logits": logits, "w": w}, ["y", "expert"], **sizes)
    assert np.array_equal(np.isnan(y).all(axis=1), np.arange(9) == 4) and np.isfinite(np.delete(y, 4, axis=0)).all()
    assert 1 not in expert[5]


def one_expert(tokens, experts):
    """All tokens go to one expert, so that the others have none."""
    logits = np.zeros((tokens, experts), np.float32)
    logits[:, experts - 1] = 1
    return logits


def moe(tilevm):
    layer(tilevm, 9, 5, 2, 40, 70, entries=("main", "reference"))
    layer(tilevm, 70, 3, 1, 33, 20, BM=16)
    layer(tilevm, 40, 130, 4, 16, 8, BM=64, BN=128)
    layer(tilevm, 1, 1, 1, 1, 1)
    not_finite(tilevm)
    layer(tilevm, 50, 4, 1, 16, 8, logits=one_expert(50, 4))
