"""programs/attention on paged caches as engines lay them out: the same keys and values in each layout give the bits of `main`.
package.py has the usage.
"""

import itertools
import sys
import unittest

import package  # noqa: F401  the package that is tested
import numpy

import tilevm

S, G, R, D, P, TABLE = 2, 2, 4, 64, 32, 3
PAGES = S * TABLE
FOLDER = tilevm.programs() / "attention"


def cache_of(k, v, nhd):
    """FlashInfer's cache, [pages, 2, heads, tokens, bytes], or with `nhd` [pages, 2, tokens, heads, bytes], of k and v [pages,
    heads, tokens, bytes]."""
    both = numpy.stack([k, v], axis=1)
    return numpy.ascontiguousarray(both.swapaxes(2, 3) if nhd else both)


class Decode(unittest.TestCase):
    def setUp(self):
        rng = numpy.random.default_rng(0)
        self.q = rng.standard_normal((S, G, R, D)).astype("float16")
        self.k, self.v = (rng.standard_normal((PAGES, G, P, D)).astype("float16").view("uint8") for _ in range(2))
        self.table = rng.permutation(PAGES).astype("int32").reshape(S, TABLE)
        self.length = numpy.array([70, 33], "int32")
        self.sizes = dict(S=S, G=G, R=R, D=D, P=P, PAGES=PAGES, TABLE=TABLE, Q="f16", WARPS=2, SPLIT=2, STAGES=2)
        self.numbers = numpy.zeros((PAGES, G, 4, P), "float16")
        main = tilevm.load(FOLDER / "decode.tile", entry="main", **self.sizes)
        self.wanted = main(self.q, self.k, self.v, self.numbers, self.table, self.length)

    def test_the_definition(self):
        """Against a softmax in f64, with pages in their order."""
        for s, g in itertools.product(range(S), range(G)):
            k, v = (x.view("float16")[self.table[s], g].reshape(-1, D)[:self.length[s]].astype("float64") for x in (self.k, self.v))
            scores = self.q[s, g].astype("float64") @ k.T / D ** 0.5
            p = numpy.exp(scores - scores.max(axis=1, keepdims=True))
            self.assertLess(abs(p @ v / p.sum(axis=1, keepdims=True) - self.wanted[s, g]).max(), 4e-3)

    def test_pages_of_keys_and_values(self):
        """FlashInfer's HND and NHD."""
        for nhd in (0, 1):
            k = tilevm.load(FOLDER / "decode.tile", entry="engine", PAIR=2, NHD=nhd, **self.sizes)
            got = k(self.q, cache_of(self.k, self.v, nhd), self.numbers, self.table, self.length)
            self.assertEqual(got.tobytes(), self.wanted.tobytes(), nhd)

    def test_heads(self):
        """Heads that do not fill the pieces of threads, and the longest, in FlashInfer's NHD and in pages of `main`."""
        rng = numpy.random.default_rng(2)
        for d, type_, bits in ((80, "f16", 16), (80, "u4", 4), (96, "u8", 8), (256, "f16", 16)):
            q = rng.standard_normal((S, G, R, d)).astype("float16")
            k, v = (rng.standard_normal((PAGES, G, P, d)).astype("float16") for _ in range(2))
            numbers = numpy.full((PAGES, G, 4, P), 0.125, "float16")
            if bits < 16:
                k, v = (rng.integers(0, 256, (PAGES, G, P, d * bits // 8), dtype="uint8") for _ in range(2))
            k, v = k.view("uint8"), v.view("uint8")
            sizes = {**self.sizes, "D": d, "Q": type_}
            given = numbers, self.table, self.length
            wanted = tilevm.load(FOLDER / "decode.tile", entry="main", **sizes)(q, k, v, *given)
            got = tilevm.load(FOLDER / "decode.tile", entry="engine", PAIR=2, NHD=1, **sizes)(q, cache_of(k, v, 1), *given)
            self.assertEqual(got.tobytes(), wanted.tobytes(), (d, type_))
            exact = tilevm.load(FOLDER / "decode.tile", entry="reference", **sizes)(q, k, v, *given)
            self.assertLess(abs(wanted.astype("float64") - exact).max(), 4e-3 * max(1, abs(exact).max()), (d, type_))

    def test_halves_of_one_array(self):
        """vLLM's [2, pages, tokens, heads, elements], whose halves the kernel takes as k and v."""
        halves = numpy.stack([self.k.swapaxes(1, 2), self.v.swapaxes(1, 2)])
        k = tilevm.load(FOLDER / "decode.tile", entry="decode", NHD=1, **{**self.sizes, "SPLIT": 1})
        own = tilevm.load(FOLDER / "decode.tile", entry="decode", **{**self.sizes, "SPLIT": 1})
        results = []
        for kernel, keys, values in ((k, halves[0], halves[1]), (own, self.k, self.v)):
            given = [numpy.ascontiguousarray(x) for x in (self.q, keys, values, self.numbers, self.table, self.length)]
            out = numpy.zeros((S, G, R, D), "float16")
            arrays = [x.reshape(-1).view({"u32": "uint32"}.get(p.type, x.dtype)).reshape(p.shape or x.shape)
                      for p, x in zip(kernel.parameters, (*given, out))]
            kernel(*arrays)
            results.append(arrays[-1].tobytes())
        self.assertEqual(*results)

    def test_append_puts_tokens_where_decode_reads_them(self):
        """Caches of f16, u8 and u4, in all layouts, token by token behind 30 and 31."""
        rng = numpy.random.default_rng(1)
        new = [rng.standard_normal((S, 3, G, D)).astype("float16") for _ in range(2)]
        length, count = numpy.array([30, 31], "int32"), numpy.array([3, 2], "int32")
        for type_, bits in (("f16", 16), ("u8", 8), ("u4", 4)):
            sizes = dict(S=S, NEW=3, G=G, D=D, P=P, PAGES=PAGES, TABLE=TABLE, Q=type_)
            row = D * bits // 8
            wanted = tilevm.load(FOLDER / "append.tile", entry="main", **sizes)(*new, self.table, length, count)
            for pair, nhd in itertools.product((1, 2), (0, 1)):
                k = tilevm.load(FOLDER / "append.tile", entry="append", PAIR=pair, NHD=nhd, **sizes)
                shape = (PAGES, pair, P, G, row) if nhd else (PAGES, pair, G, P, row)
                caches = [numpy.zeros(shape, "uint8")] * 2 if pair == 2 else [numpy.zeros(shape, "uint8") for _ in range(2)]
                numbers = numpy.zeros((PAGES, G, 4, P), "float16")
                flat = [each.reshape(p.shape) if p.shape else each for p, each in zip(k.parameters[5:7], caches)]
                k(*new, self.table, length, count, *flat, numbers)
                for i in range(2):
                    own = caches[i][:, i if pair == 2 else 0]
                    own = own.swapaxes(1, 2) if nhd else own
                    where = numpy.zeros((PAGES, G, P), bool)
                    for s in range(S):
                        for token in range(length[s], length[s] + count[s]):
                            where[self.table[s, token // P], :, token % P] = True
                    self.assertEqual(own[where].tobytes(), wanted[i][where].tobytes(), (type_, pair, nhd, i))
                    self.assertFalse(own[~where].any())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
