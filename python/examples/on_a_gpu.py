"""Tensors of torch on a GPU, without copies and on torch's stream; without a GPU, what is missing."""

import tilevm

TEXT = """
def add<(n + 127) / 128>(f32* a_ptr, f32* b_ptr, f32* c_ptr, i32 n):
    i = BlockIndices()
    a = LoadGlobal(ViewGlobal(a_ptr, shape=[n]), layout=spatial(128), offset=[i * 128:])
    b = LoadGlobal(ViewGlobal(b_ptr, shape=[n]), layout=spatial(128), offset=[i * 128:])
    StoreGlobal(a + b, ViewGlobal(c_ptr, shape=[n]), offset=[i * 128:])
"""

k = tilevm.loads(TEXT)
try:
    launch = k.prepare()
except tilevm.UnavailableError as error:
    print("no launch here:", error)
else:
    try:
        import torch
    except ImportError:
        print(launch, "is ready; its arguments are tensors of torch, which is not installed")
    else:
        a, b = torch.rand(2, 1000, device="cuda").unbind()
        c = torch.empty_like(a)
        launch(a.clone(), b.clone(), c, 1000)
        assert torch.equal(c, a + b)
        print("equal to torch's sum, bit for bit")
