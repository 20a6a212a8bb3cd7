"""Layouts as values: products, quotients, and which thread holds which element."""

import tilevm

a = tilevm.Layout("local(2, 1)") * tilevm.Layout("spatial(8, 4)") * tilevm.Layout("local(1, 2)")
print(a)
print("element [9, 3] is held by thread and local", a[9, 3])
assert a / tilevm.Layout("local(1, 2)") == tilevm.Layout("local(2, 1).spatial(8, 4)")

shared = tilevm.Layout("row_major(64, 64).swizzle(3, 3, 3)")
print("element [1, 0] of swizzled shared memory is at", shared[1, 0])
print(len(a.svg()), "bytes of SVG")
