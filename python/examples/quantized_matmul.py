"""The paper's Figure 2: activations of f16 times weights of 6 bits, which are packed as its kernel reads them."""

import numpy

import tilevm

M, N, K = 32, 16, 32
k = tilevm.load(tilevm.programs() / "figure2.tile", M=M, N=N, K=K)
print(k)

random = numpy.random.default_rng(0)
a = random.standard_normal((M, K)).astype("float16")
weights = random.integers(-32, 32, (K, N))

# A block of 16 rows and 8 columns is in memory as one thread after another holds it; tilevm.Layout tells who holds what.
layout = tilevm.Layout("local(2, 1).column_spatial(4, 8).local(2, 1)")
held = numpy.zeros((layout.threads, layout.locals), "int64")
blocks = numpy.zeros((K // 16, N // 8, 96), "uint8")
for i in range(K // 16):
    for j in range(N // 8):
        for row in range(16):
            for column in range(8):
                held[layout[row, column]] = weights[16 * i + row, 8 * j + column]
        # Byte t of the kernel's `local(3).spatial(32)` is a third of a thread's 24 bits.
        bytes_of_threads = tilevm.pack(held, "i6").reshape(layout.threads, 3)
        blocks[i, j] = bytes_of_threads.T.reshape(-1)

c = k(a, blocks)
exact = a.astype("float64") @ weights
print("largest error beside float64:", float(abs(c - exact).max()), "of values up to", float(abs(exact).max()))
assert numpy.allclose(c, exact, rtol=2e-3, atol=0.1)
