"""Matmul by weights that index a table, against f64 (docs/kernels/flute.md has the bound)."""

import numpy as np

from program_support import RANDOM, check, normal


def groups_of(a, b):
    return -(-a // b)


def case(tilevm, m, n, k, w, group, blocks, reference=False, prepare=None, **constants):
    a, table = normal(m, k, dtype=np.float16), normal(2**w, dtype=np.float16)
    q = RANDOM.integers(0, 2**w, (k, n), dtype=np.uint8)
    scale = np.abs(normal(groups_of(k, group), n, dtype=np.float16))
    if prepare:
        prepare(a, q, table, scale)
    inputs = {"a": a, "q": q, "table": table, "scale": scale}
    sizes = {"M": m, "N": n, "K": k, "W": w, "GROUP": group}
    with np.errstate(invalid="ignore", over="ignore"):
        entries = table.astype(np.float64) if constants.get("FOLD") else table  # FOLD: no product is rounded to f16
        weights = entries[q] * np.repeat(scale, group, axis=0)[:k]
        expected = a.astype(np.float64) @ weights.astype(np.float64)
        # Partial sums are no larger than this; each of those that a tile may have is rounded to f16.
        most = (np.abs(a).astype(np.float64) @ np.abs(weights).astype(np.float64)).max(where=np.isfinite(expected), initial=0)
    parts = min(blocks, k // 32 + 1) + 1
    found = tilevm.run("flute/matmul", inputs, "c", BLOCKS=blocks, **sizes, **constants)
    check(f"flute {w} bits {m} x {n} x {k} / {group} {constants}", found, expected, absolute=2.0**-12 * parts * most)
    if reference:
        found = tilevm.run("flute/matmul", inputs, "c", entry="reference", **sizes)
        check(f"flute {w} bits, reference", found, expected, absolute=2.0**-22 * k * most)


def unused(a, q, table, scale):
    """Entries that no code names may hold anything, code 0 among them."""
    table[0], table[3] = np.nan, np.inf
    q[(q == 0) | (q == 3)] = 1


def zeros(a, q, table, scale):
    scale[0] = 0


def not_finite(a, q, table, scale):
    a[1, 2], a[2, 3] = np.nan, np.inf


def flute(tilevm):
    for w in (2, 3, 4):
        case(tilevm, 5, 300, 200, w, 64, 5, reference=w == 3)
        case(tilevm, 1, 1, 1, w, 32, 1, BN=128)
    case(tilevm, 17, 40, 200, 3, 128, 7, BN=128, SLICES=1)
    case(tilevm, 5, 288, 200, 3, 64, 3)  # rows of whole words
    for w, copies in ((4, 32), (3, 8), (2, 1)):
        case(tilevm, 5, 300, 200, w, 64, 3, COPIES=copies)
    for w, copies, group in ((4, 32, 64), (3, 0, 128), (2, 1, 32)):
        case(tilevm, 5, 300, 200, w, group, 3, COPIES=copies, FOLD=1)
    case(tilevm, 5, 600, 200, 4, 64, 3, BN=512, WARPS=8, COPIES=32)
    case(tilevm, 5, 288, 200, 3, 64, 3, WARPS=8)
    for m, bm in ((70, 64), (33, 32), (40, 48)):
        case(tilevm, m, 300, 200, 4, 64, 3, BM=bm, COPIES=32, FOLD=bm // 64)
    case(tilevm, 3, 40, 100, 4, 32, 2, BN=128, FOLD=1, prepare=unused)
    case(tilevm, 4, 20, 100, 4, 64, 1, BN=128, FOLD=1, prepare=not_finite)
    case(tilevm, 3, 20, 33, 4, 96, 2, BN=128, COPIES=16, prepare=unused)
    case(tilevm, 3, 40, 100, 4, 32, 2, BN=128, prepare=unused)
    case(tilevm, 3, 20, 33, 3, 96, 2, BN=128, SLICES=1, prepare=unused)
    case(tilevm, 3, 20, 128, 2, 64, 1, BN=128, prepare=zeros)
    case(tilevm, 4, 20, 100, 4, 64, 1, BN=128, prepare=not_finite)
