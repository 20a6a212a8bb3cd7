"""MARLIN's matmul, its stripes and its order of weights, against f64 and the paper (docs/kernels/marlin.md)."""

import numpy as np

from program_support import RANDOM, check, lane_stream, normal


def case(tilevm, m, n, k, group, blocks, reference=False, order=False, prepare=None, **constants):
    a, q = normal(m, k, dtype=np.float16), RANDOM.integers(-8, 8, (k, n), dtype=np.int8)
    groups = -(-k // group)
    scale = np.abs(normal(groups, n, dtype=np.float16))
    if prepare:
        prepare(a, q, scale)
    inputs = {"a": a, "q": q, "scale": scale}
    sizes = {"M": m, "N": n, "K": k, "GROUP": group}
    with np.errstate(invalid="ignore"):
        weights = q * np.repeat(scale, group, axis=0)[:k].astype(np.float64)
        rounded = weights.astype(np.float16) if groups > 1 else weights
        if order:
            inputs["order"] = RANDOM.permutation(k).astype(np.int32)
        x = (a[:, inputs["order"]] if order else a).astype(np.float64)
        expected = x @ rounded.astype(np.float64)
        most = (np.abs(x) @ np.abs(weights)).max(where=np.isfinite(expected), initial=0)
    parts = min(blocks, -(-k // 64)) + 1
    entry = "act_order" if order else "main"
    found = tilevm.run("marlin/matmul", inputs, "c", entry=entry, BLOCKS=blocks, **sizes, **constants)
    check(f"marlin {m} x {n} x {k} / {group} {entry} BLOCKS={blocks}", found, expected, absolute=2.0**-12 * parts * most)
    if reference:
        found = tilevm.run("marlin/matmul", inputs, "c", entry="reference", **sizes)
        check("marlin, reference", found, x @ weights, absolute=2.0**-22 * k * most)


def sparse(tilevm, m, n, k, group, blocks, reference=False, prepare=None, **constants):
    """Two of four weights are stored, with their places."""
    a, value = normal(m, k, dtype=np.float16), RANDOM.integers(-8, 8, (k // 4, 2, n), dtype=np.int8)
    place = np.sort(RANDOM.random((k // 4, 4, n)).argsort(axis=1)[:, :2], axis=1).astype(np.uint8)
    scale = np.abs(normal(-(-k // group), n, dtype=np.float16))
    if prepare:
        prepare(a, value.reshape(k // 2, n), scale)
    exact = value.reshape(k // 2, n) * np.repeat(scale, group // 2, axis=0)[: k // 2].astype(np.float64)
    # The activations that stored weights meet: others take no part, whatever they are.
    met = a.astype(np.float64).reshape(m, k // 4, 4)[:, np.arange(k // 4)[:, None, None], place].reshape(m, k // 2, n)
    with np.errstate(invalid="ignore"):
        expected = (met * exact.astype(np.float16).astype(np.float64)).sum(axis=1)
        most = np.abs(met * exact).sum(axis=1).max(where=np.isfinite(expected), initial=0)
    inputs = {"a": a, "value": value.reshape(k // 2, n), "place": place.reshape(k // 2, n), "scale": scale}
    sizes = {"M": m, "N": n, "K": k, "GROUP": group}
    parts = min(blocks, -(-k // 64)) + 1
    found = tilevm.run("marlin/sparse_matmul", inputs, "c", entry="main", BLOCKS=blocks, **sizes, **constants)
    check(f"sparse {m} x {n} x {k} / {group} BLOCKS={blocks} {constants}", found, expected, absolute=2.0**-12 * parts * most)
    if reference:
        found = tilevm.run("marlin/sparse_matmul", inputs, "c", entry="reference", **sizes)
        check("sparse, reference", found, (met * exact).sum(axis=1), absolute=2.0**-22 * k * most)


def interleaved(tilevm):
    """Eight weights in a word stand in the order of the paper's section 3.4: 6, 4, 2, 0, 7, 5, 3, 1 from the
    highest bits down, where each pair is a register of a fragment."""
    assert lane_stream(np.arange(8, dtype=np.uint8), 4).view("<u4")[0] == 0x75316420


def stripes(tilevm, steps, columns, blocks):
    """Each block has up to T tiles (3.4); a column of tiles is shared by few blocks."""
    units = steps * columns
    t = -(-units // blocks)
    owner = np.repeat(np.arange(blocks), t)[:units].reshape(columns, steps)
    assert np.bincount(owner.ravel()).max() == t
    shares = [len(set(column)) for column in owner]
    assert max(shares) <= -(-steps // t) + 1
    return sum(shares) - columns


def zeros(a, q, scale):
    scale[0], q[64:] = 0, 0


def not_finite(a, q, scale):
    a[1, 2], a[2, 3] = np.nan, np.inf
    q[3] = 1


def sparse_zeros(a, value, scale):
    scale[0], value[32:] = 0, 0


def sparse_not_finite(a, value, scale):
    """They spoil the columns in which a weight that meets them is stored."""
    a[1, 2], a[2, 3] = np.nan, np.inf


def marlin(tilevm):
    interleaved(tilevm)
    # The paper's Figure 5: reductions that stripes need; one column of blocks each would leave most idle.
    print(f"stripes of 16 columns of 64 steps for 72 blocks: {stripes(tilevm, 64, 16, 72)} reductions")
    case(tilevm, 5, 300, 200, 64, 5, reference=True)
    case(tilevm, 1, 1, 1, 64, 1)
    case(tilevm, 33, 20, 70, 70, 3, BM=32)
    case(tilevm, 70, 140, 257, 128, 7, BM=64, BN=128, STAGES=2)
    case(tilevm, 3, 40, 130, 64, 2, order=True)
    case(tilevm, 3, 20, 128, 64, 1, prepare=zeros)
    case(tilevm, 4, 20, 100, 64, 2, prepare=not_finite)
    sparse(tilevm, 5, 200, 200, 64, 3, reference=True, BN=128)
    sparse(tilevm, 1, 1, 4, 64, 1)
    sparse(tilevm, 33, 20, 68, 128, 3, BM=32, BN=256)
    sparse(tilevm, 17, 40, 260, 64, 7, BM=32)
    sparse(tilevm, 3, 20, 128, 64, 1, prepare=sparse_zeros)
    sparse(tilevm, 4, 20, 100, 64, 2, prepare=sparse_not_finite)
