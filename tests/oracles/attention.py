"""Attention against f64 (docs/kernels/attention.md has the bounds)."""

import numpy as np

from program_support import RANDOM, check, lane_stream, normal


SCORE_ERROR = 2.0**-23  # what a score of 1 adds to the bound, for the sum of the magnitudes of its products


def softmax(scores):
    scores = scores - scores.max(axis=-1, keepdims=True)
    e = np.exp(scores)
    return e / e.sum(axis=-1, keepdims=True)


def quantised(x, bits):
    """Codes, scale and zero of each token, as f16 has the latter two."""
    x = x.astype(np.float64)
    zero = x.min(axis=-1, keepdims=True).astype(np.float16)
    scale = ((x.max(axis=-1, keepdims=True) - x.min(axis=-1, keepdims=True)) / (2**bits - 1)).astype(np.float16)
    with np.errstate(invalid="ignore", divide="ignore"):
        codes = np.nan_to_num(np.floor((x - zero) / scale.astype(np.float64) + 0.5))
    return np.clip(codes, 0, 2**bits - 1).astype(np.uint8), scale, zero


def cache(pages, heads, page, d, type):
    """Pages of random tokens as a program takes them, and their values."""
    x = normal(2, pages, heads, page, d, dtype=np.float16)
    if type == "f16":
        return x[0].view(np.uint8), x[1].view(np.uint8), np.zeros((pages, heads, 4, page), np.float16), x.astype(np.float64)
    bits = int(type[1:])
    codes, scale, zero = quantised(x, bits)
    values = codes * scale.astype(np.float64) + zero
    numbers = np.concatenate([scale[0], zero[0], scale[1], zero[1]], axis=-1).transpose(0, 1, 3, 2)
    k, v = lane_stream(codes, bits)
    return k, v, np.ascontiguousarray(numbers), values


def expected(q, values, table, length, window=1 << 30):
    s, g, r, d = q.shape
    page = values.shape[3]
    out = np.zeros(q.shape)
    for i in range(s):
        n = length[i]
        if n == 0:
            continue
        pages = table[i, : -(-n // page)]
        k, v = [values[x][pages].transpose(1, 0, 2, 3).reshape(g, -1, d)[:, max(0, n - window) : n] for x in (0, 1)]
        with np.errstate(invalid="ignore"):
            out[i] = softmax(q[i].astype(np.float64) @ k.transpose(0, 2, 1) / np.sqrt(d)) @ v
    return out


def decode(tilevm, type, length, r, d=128, g=2, p=64, warps=4, split=4, stages=3, window=1 << 30, prepare=None, spare=1, approx=0):
    s, entries = len(length), max(1, max(-(-n // p) for n in length) + spare)
    pages = s * entries
    q = normal(s, g, r, d, dtype=np.float16)
    k, v, numbers, values = cache(pages, g, p, d, type)
    table = RANDOM.permutation(pages).astype(np.int32).reshape(s, entries)
    for i, n in enumerate(length):
        table[i, -(-n // p) :] = -1
        table[i, : max(0, n - window) // p] = -1
    inputs = {"q": q, "k": k, "v": v, "numbers": numbers, "table": table, "length": np.array(length, np.int32)}
    if prepare:
        prepare(inputs | {"window": window}, values)
    sizes = {"S": s, "G": g, "R": r, "D": d, "P": p, "PAGES": pages, "TABLE": entries, "Q": type, "WINDOW": window}
    found = tilevm.run("attention/decode", inputs, "o", WARPS=warps, SPLIT=split, STAGES=stages, APPROX=approx, **sizes)
    name = f"decode {type} {length} R={r} D={d} P={p} SPLIT={split} WINDOW={window} APPROX={approx}"
    # Weights and values are rounded to f16, results as well, and the exponential is within 1e-4, or exact to f32: the largest value times 3.5 / 2048, or 3.1.
    check(name, found, expected(q, values, table, length, window), absolute=(3.1 if approx else 3.5) / 2048 * np.abs(values[1]).max(where=np.isfinite(values[1]), initial=0))
    return inputs, sizes, found


def decode_large(tilevm):
    """Scores of any size that finite queries and keys have: tokens of equal scores have equal weights, in blocks with many and with
    few of them."""
    for largest in (1, 500, 4096, 65504):

        def equal_scores(inputs, values):
            inputs["q"][:] = largest
            inputs["k"].view(np.float16)[:] = largest
            values[0] = largest

        for d, length in ((64, 70), (128, 200)):
            decode(tilevm, "f16", [length], 4, d=d, p=16, warps=1, prepare=equal_scores)


def decode_reference(tilevm):
    """The plain pipeline of the same file agrees with f64 more closely, and so knows the same cache."""
    inputs, sizes, _ = decode(tilevm, "u4", [5, 40], 3, p=16, warps=1, split=2)
    found = tilevm.run("attention/decode", inputs, "o", entry="reference", WARPS=1, SPLIT=2, **sizes)
    k, v = [unpack(inputs[x], 4) for x in "kv"]
    scale, zero = inputs["numbers"][:, :, 0::2].astype(np.float64), inputs["numbers"][:, :, 1::2].astype(np.float64)
    values = np.stack([codes * scale[:, :, i, :, None] + zero[:, :, i, :, None] for i, codes in enumerate((k, v))])
    check("decode reference", found, expected(inputs["q"], values, inputs["table"], inputs["length"]), absolute=2e-5)


def decode_long(tilevm):
    """Sums of 16,384 tokens in one block are as exact as those of few: their errors do not add up in one direction.

    The result is the mean of so many values, a hundredth of one. Rounding it to f16 is 2.8e-4 of its norm.
    """
    for type in ("u4", "u8"):
        inputs, sizes, found = decode(tilevm, type, [16384], 4, g=1, p=128, split=1, stages=2, spare=0)
        bits = int(type[1:])
        scale, zero = inputs["numbers"][:, :, 0::2].astype(np.float64), inputs["numbers"][:, :, 1::2].astype(np.float64)
        values = np.stack([unpack(inputs[x], bits) * scale[:, :, i, :, None] + zero[:, :, i, :, None] for i, x in enumerate("kv")])
        exact = expected(inputs["q"], values, inputs["table"], inputs["length"])
        error = np.linalg.norm(found.astype(np.float64) - exact) / np.linalg.norm(exact)
        assert error <= 5e-4, f"decode of 16,384 tokens in {type}: {error}"
        print(f"decode of 16,384 tokens in {type}: {error:.2g} of the norm")


def unpack(bytes, bits):
    word = bytes.reshape(*bytes.shape[:-1], -1, 4).view(np.uint32)[..., 0]
    shifts = np.arange(16 // bits, dtype=np.uint32) * bits
    pairs = np.stack([word[..., None] >> (shifts + np.uint32(16 * h)) & np.uint32(2**bits - 1) for h in (0, 1)], axis=-1)
    return pairs.reshape(*bytes.shape[:-1], -1).astype(np.float64)


def behind_the_end(inputs, values):
    """NaN in all that lengths and window leave out: parts of the first and last page, and pages that no table names."""
    p = values.shape[3]
    used = np.zeros((values.shape[1], p), bool)
    for i, n in enumerate(inputs["length"]):
        for token in range(max(0, n - inputs["window"]), n):
            used[inputs["table"][i, token // p], token % p] = True
    for page, slot in zip(*np.nonzero(~used)):
        inputs["numbers"][page, :, :, slot] = np.nan
        inputs["k"][page, :, slot] = inputs["v"][page, :, slot] = 0xFF


def not_finite(inputs, values):
    inputs["q"][0, 0, 0, 3] = np.nan
    inputs["q"][0, 0, 1, 5] = np.inf
    page = inputs["table"][0, 0]
    inputs["numbers"][page, 1, 3, 1] = values[1, page, 1, 1] = np.nan


def all_equal(inputs, values):
    """Tokens whose elements are all equal have a scale of zero."""
    page = inputs["table"][0, 0]
    inputs["numbers"][page, :, 0::2, 0] = 0
    for i in (0, 1):
        values[i, page, :, 0] = inputs["numbers"][page, :, 2 * i + 1, 0, None]


def append(tilevm, type, length, count, d=128, g=2, p=16, spoil=None):
    s, new = len(length), max(count)
    entries = max(-(-(n + c) // p) for n, c in zip(length, count))
    k, v = normal(2, s, new, g, d, dtype=np.float16)
    if spoil:
        spoil(k)
    table = RANDOM.permutation(s * entries).astype(np.int32).reshape(s, entries)
    inputs = {"k": k, "v": v, "table": table, "length": np.array(length, np.int32), "count": np.array(count, np.int32)}
    sizes = {"S": s, "NEW": new, "G": g, "D": d, "P": p, "PAGES": s * entries, "TABLE": entries, "Q": type}
    *caches, numbers = tilevm.run("attention/append", inputs, ["k_cache", "v_cache", "numbers"], **sizes)
    for i, n, c in zip(range(s), length, count):
        for token in range(c):
            page, slot = table[i, (n + token) // p], (n + token) % p
            for which, x in enumerate((k, v)):
                row = caches[which][page, :, slot]
                name = f"append {type} {'kv'[which]} {i} {token}"
                if type == "f16":
                    check(name, row.view(np.float16), x[i, token])
                    continue
                bits = int(type[1:])
                scale, zero = numbers[page, :, 2 * which, slot, None], numbers[page, :, 2 * which + 1, slot, None]
                found = unpack(row, bits) * scale.astype(np.float64) + zero
                expected = x[i, token].astype(np.float64)
                bad = ~np.isfinite(expected).all(axis=-1)
                assert np.isnan(found[bad]).all(), name
                # Half a step, and what rounding the scale to f16 moves the largest code by
                step = (expected.max(axis=-1) - expected.min(axis=-1))[:, None] / (2**bits - 1)
                error = np.abs(found - expected)[~bad]
                assert (error <= (step * (0.5 + 2**bits * 2.0**-11) + 1e-6)[~bad]).all(), f"{name}: {error.max()}"
    print(f"append {type} {length} {count}: within half a step")


def spoil(k):
    k[0, 0, 0, 3], k[0, 0, 1, 5], k[0, 1, 0] = np.nan, -np.inf, 0.25
    k[0, 1, 1] = 0


def prefill(tilevm, lengths, h=2, r=1, d=64, window=1 << 30, **constants):
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    tokens = int(start[-1])
    q = 2 * normal(tokens, h, d, dtype=np.float16)
    k, v = normal(2, tokens, h // r, d, dtype=np.float16)
    inputs = {"q": q, "k": k, "v": v, "start": start}
    sizes = {"S": len(lengths), "TOKENS": tokens, "LONGEST": max(lengths), "H": h, "R": r, "D": d, "WINDOW": window}
    expected = np.zeros(q.shape)
    for begin, end in zip(start, start[1:]):
        for head in range(h):
            x, y, z = [a[begin:end, i].astype(np.float64) for a, i in ((q, head), (k, head // r), (v, head // r))]
            behind = np.arange(end - begin)[:, None] - np.arange(end - begin)
            scores = np.where((behind >= 0) & (behind < window), x @ y.T / np.sqrt(d), -np.inf)
            expected[begin:end, head] = softmax(scores) @ z if end > begin else z
    name = f"prefill {lengths} H={h} R={r} D={d} WINDOW={window} {constants}"
    eps = 2.1 if constants.get("APPROX") else 2.5
    check(name, tilevm.run("attention/prefill", inputs, "o", **sizes, **constants), expected, absolute=eps / 2048 * np.abs(v).max())
    if tokens < 100:
        found = tilevm.run("attention/prefill", inputs, "o", entry="reference", **sizes)
        check(f"{name}, reference", found, expected, absolute=1e-5)


def hopper(tilevm, lengths, h=2, r=1, d=128, causal=1, window=1 << 30, type="f16", spoil=None, **constants):
    """The program of FlashAttention-3's schedule, whose elements may be bf16 and whose queries may see later keys."""
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    tokens = int(start[-1])
    q, k, v = [normal(tokens, *shape) for shape in ((h, d), (h // r, d), (h // r, 128 if d == 192 else d))]
    codes = [(x.view(np.uint32) >> 16).astype(np.uint16) if type == "bf16" else x.astype(np.float16) for x in (2 * q, k, v)]
    if spoil:
        spoil(*codes)
    values = [(x.astype(np.uint32) << 16).view(np.float32) if type == "bf16" else x for x in codes]
    inputs = {"q": codes[0], "k": codes[1], "v": codes[2], "start": start}
    sizes = {"S": len(lengths), "TOKENS": tokens, "LONGEST": max(lengths), "H": h, "R": r, "D": d, "WINDOW": window, "CAUSAL": causal, "T": type}
    expected = np.zeros((tokens, *v.shape[1:])).repeat(r, axis=1)
    for begin, end in zip(start, start[1:]):
        for head in range(h if end > begin else 0):
            x, y, z = [a[begin:end, i].astype(np.float64) for a, i in ((values[0], head), (values[1], head // r), (values[2], head // r))]
            behind = np.arange(end - begin)[:, None] - np.arange(end - begin)
            seen = (behind < window) & ((behind >= 0) if causal else True)
            expected[begin:end, head] = softmax(np.where(seen, x @ y.T / np.sqrt(d), -np.inf)) @ z
    found = tilevm.run("attention/prefill_hopper", inputs, "o", CODES=("q", "k", "v", "o") if type == "bf16" else (), **sizes, **constants)
    if type == "bf16":
        found = (found.astype(np.uint32) << 16).view(np.float32)
    name = f"prefill_hopper {lengths} H={h} R={r} D={d} CAUSAL={causal} WINDOW={window} T={type} {constants}"
    if spoil:
        return name, found
    unit = 1 / 256 if type == "bf16" else 1 / 2048
    check(name, found, expected, absolute=(2.1 if constants.get("APPROX") else 2.5) * unit * np.abs(values[2]).max())
    return name, found


def hopper_not_finite(tilevm):
    """NaN in a query spoils its row; in a value, rows of its sequence; in a key, the rows that see it. Other sequences are as they were,
    although a step of 112 keys reaches into the next one."""
    for block in (1, 6):

        def spoil(q, k, v):
            q[3, 0, 0] = v[10, 0, 5] = k[25, 0, 1] = np.nan

        name, found = hopper(tilevm, [20, 20, 90], h=1, d=64, spoil=spoil, BLOCKS=block)
        spoiled = np.zeros((130, 64), bool)
        spoiled[3], spoiled[:20, 5], spoiled[25:40] = True, True, True
        assert np.array_equal(np.isnan(found[:, 0]), spoiled), name
    print("prefill_hopper with NaN: where it must be")


def hopper_all(tilevm):
    hopper_not_finite(tilevm)
    hopper(tilevm, [0, 1, 64, 5], r=2)
    hopper(tilevm, [0, 1, 300, 129], r=2, BLOCKS=3, APPROX=1)
    hopper(tilevm, [200, 65], d=64, BN=64, STAGES=3, type="bf16")
    hopper(tilevm, [260, 1, 190], d=64, causal=0, BLOCKS=2)
    hopper(tilevm, [130], h=4, r=4, window=40, GROUPS=3, d=64)
    hopper(tilevm, [300], h=1, causal=0, window=70, BN=64)
    hopper(tilevm, [80], h=1, window=1)
    for d in (80, 96, 192, 256):
        hopper(tilevm, [0, 1, 140, 70], r=2, d=d, type="bf16")
        hopper(tilevm, [90, 30], h=1, d=d, causal=0, window=20, APPROX=1, BLOCKS=1)


def prefill_large(tilevm, program="attention/prefill", entries=("main", "reference")):
    """Scores of any size that finite queries and keys have: of keys that are nearly alike the error is that of sums in f32, and a
    key whose score is clearly the largest has all of the weight."""
    for d, size, spread in ((64, 5, 0.02), (128, 20, 0.005), (64, 100, 0.001), (128, 100, 0.001), (128, 200, 0.0008)):
        tokens = 150
        q, k = (size * (1 + spread * normal(2, tokens, 1, d))).astype(np.float16)
        v = normal(tokens, 1, d, dtype=np.float16)
        x, y, z = [a[:, 0].astype(np.float64) for a in (q, k, v)]
        seen = np.tri(tokens, dtype=bool)
        expected = softmax(np.where(seen, x @ y.T / np.sqrt(d), -np.inf)) @ z
        scores = np.where(seen, np.abs(x) @ np.abs(y).T / np.sqrt(d) * np.log2(np.e), 0).max(axis=1)
        bound = (2.5 / 2048 + scores[:, None] * SCORE_ERROR) * np.abs(z).max()
        inputs = {"q": q, "k": k, "v": v, "start": np.array([0, tokens], np.int32)}
        found = tilevm.run(program, inputs, "o", S=1, TOKENS=tokens, LONGEST=tokens, H=1, R=1, D=d)[:, 0]
        error = np.abs(found - expected)
        assert (error <= bound).all(), f"{program} of scores of {scores.max():.3g}: {(error / bound).max()} of the bound"
        print(f"{program} of scores up to {scores.max():.3g}: {(error / bound).max():.2g} of the bound")
    for d, largest in ((64, 65504), (128, 65504), (128, 20000), (64, 1500)):
        tokens = 140
        steps = np.floor(largest / 32 * (1 + np.arange(tokens) % 32)).astype(np.float16)  # the product with `largest` is exact
        q, k = np.full((tokens, 1, d), largest, np.float16), np.broadcast_to(steps[:, None, None], (tokens, 1, d)).copy()
        q[1::2] *= -1
        v = normal(tokens, 1, d, dtype=np.float16)
        inputs = {"q": q, "k": k, "v": v, "start": np.array([0, tokens], np.int32)}
        scores = np.where(np.tri(tokens, dtype=bool), q[:, :1, 0].astype(np.float64) * steps.astype(np.float64), -np.inf)
        expected = softmax(scores * np.sqrt(d)) @ v[:, 0].astype(np.float64)
        for entry in entries:
            found = tilevm.run(program, inputs, "o", entry=entry, S=1, TOKENS=tokens, LONGEST=tokens, H=1, R=1, D=d)
            check(f"{program} of scores of {float(np.abs(scores[np.isfinite(scores)]).max() * np.sqrt(d)):.3g}, {entry}", found[:, 0], expected,
                  absolute=2.5 / 2048 * np.abs(v).max())


def prefill_not_finite(tilevm):
    """NaN in a query spoils its row; in a value, rows of its sequence from its block on, and no other sequence."""
    q, k, v = normal(3, 40, 1, 64, dtype=np.float16)
    q[3, 0, 0], v[10, 0, 5] = np.nan, np.nan
    inputs = {"q": q, "k": k, "v": v, "start": np.array([0, 20, 40], np.int32)}
    o = tilevm.run("attention/prefill", inputs, "o", S=2, TOKENS=40, LONGEST=20, H=1, R=1, D=64)[:, 0]
    spoiled = np.zeros((40, 64), bool)
    spoiled[3], spoiled[:20, 5] = True, True
    assert np.array_equal(np.isnan(o), spoiled)
    print("prefill with NaN: where it must be")


def heads(tilevm):
    """Heads that do not fill the pieces of threads, and the longest."""
    for d in (80, 96, 256):
        for type in ("u4", "u8", "f16"):
            decode(tilevm, type, [0, 1, 33, 70], 4, d=d, p=32, warps=2, stages=2, prepare=behind_the_end)
            append(tilevm, type, [0, 15, 3], [3, 2, 0], d=d)
        prefill(tilevm, [0, 1, 64, 70], h=2, r=2, d=d)
        prefill(tilevm, [90], h=2, r=1, d=d, window=20, BN=32, STAGES=3)


def attention(tilevm):
    prefill_not_finite(tilevm)
    prefill_large(tilevm)
    prefill_large(tilevm, "attention/prefill_hopper", ("main",))
    hopper_all(tilevm)
    prefill(tilevm, [0, 1, 64, 5], h=2, r=2, d=128)
    prefill(tilevm, [200, 65], h=2, r=1, d=64, BN=32, STAGES=3)
    prefill(tilevm, [200, 65], h=2, r=1, d=64, APPROX=1)
    prefill(tilevm, [130], h=4, r=4, d=64, window=40, BM=128)
    prefill(tilevm, [80], h=1, r=1, d=64, window=1)
    for type in ("u4", "u8", "f16"):
        append(tilevm, type, [0, 15, 16, 3], [3, 2, 1, 0])
    append(tilevm, "u4", [0], [2], d=64, spoil=spoil)
    decode_long(tilevm)
    decode_large(tilevm)
    decode_reference(tilevm)
    for type in ("u4", "u8", "f16"):
        decode(tilevm, type, [0, 1, 64, 65, 200], 4, prepare=behind_the_end)
        decode(tilevm, type, [70, 200], 4, approx=1)
        decode(tilevm, type, [70, 3], 8, d=64, g=1, p=32, warps=2, split=1, stages=2)
    decode(tilevm, "u4", [300], 1, g=1, p=16, warps=1, split=8)
    decode(tilevm, "u8", [130], 16, g=1, p=128, warps=4, split=2)
    decode(tilevm, "u4", [64], 1, g=1, split=1, spare=0)  # one page, and no other
    decode(tilevm, "u4", [100], 4, split=2, prepare=not_finite)
    decode(tilevm, "u8", [100], 12, split=2, prepare=not_finite)
    decode(tilevm, "u4", [20], 2, split=1, prepare=all_equal)
    decode(tilevm, "u4", [0, 5, 100, 300], 2, window=70, prepare=behind_the_end)
    decode(tilevm, "f16", [130], 2, d=64, p=32, warps=2, window=1)
    heads(tilevm)
