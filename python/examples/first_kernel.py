"""A kernel as text, run in the simulator: its result, its cost, and what is said of a mistake."""

import numpy

import tilevm

TEXT = """
const N = 1000

def scale<(N + 31) / 32>(f32* x_ptr, f32* y_ptr, f32 factor):
    b = BlockIndices()
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[N]), layout=spatial(32), offset=[b * 32:])
    StoreGlobal(x * factor, ViewGlobal(y_ptr, shape=[N]), offset=[b * 32:])
"""

k = tilevm.loads(TEXT)
x = numpy.arange(1000, dtype="float32")
y = k(x, factor=0.5)
print(k, "gives", y[:4])
assert (y == x * 0.5).all()

loads = k.stats(x, factor=0.5)["kernels"][0]["totals"]["global_load"]
print(f"{loads['bytes']} bytes loaded in {loads['sectors']} sectors of 32 bytes")

try:
    tilevm.loads(TEXT.replace("spatial(32)", "spacial(32)"))
except tilevm.ProgramError as error:
    print(error)
