"""The rows of docs/results/program_counts.md: a kernel, its constants, and what a step of it should cost.

`elements` are those that a thread handles in a step (of a loop, or of the kernel where it has none), and what they are.
`products` are the tensor-core instructions of a warp and step that the paper's scheme needs, or a block's work divided
by the largest instruction of the type; `extra` are others that the program adds, which its page explains.
"""

from dataclasses import dataclass, field


@dataclass
class Row:
    name: str
    file: str
    kernel: str
    elements: int
    what: str
    products: int = 0
    extra: int = 0
    defines: list = field(default_factory=list)
    inputs: list = field(default_factory=list)
    entry: str = "main"
    stages: int = 0  # copies ahead: stages of the ring less one


CACHE = ["table=iota", "length=full:256"]
MX = ["Q=f4e2m1", "MX=1", "T=bf16", "GROUP=32", "ZEROS=0"]
SMALL = ["N=512", "K=512"]


def flute(name, **constants):
    stages = 7 - constants.get("W", 4)
    return Row(name, "flute/matmul", "matmul", 128, "weight", 32, defines=SMALL + ["BLOCKS=5"] + [f"{k}={v}" for k, v in constants.items()],
               stages=stages)


def decode(name, q, r, n=1):
    # 64 tokens of a page for four warps: 8 instructions for the scores of 16 tokens, 8 for their values, for 8 queries
    return Row(name, "attention/decode", "decode", 128, "element of K and V", 16 * n, stages=2,
               defines=["S=2", "G=2", "SPLIT=2", f"Q={q}", f"R={r}"], inputs=CACHE)


def gemm(name, *defines):
    return Row(name, "turbomind/gemm", "gemm", 64, "weight", 16, defines=SMALL + list(defines), stages=3)


def apt(w, a):
    return Row(f"APT-LLM W{w}A{a}", "apt_llm/matmul", "matmul", 256, "weight", 4 * w * a, defines=["M=16", "N=64", "K=4096", f"W={w}", f"A={a}"], stages=2)


ROWS = [
    flute("FLUTE 4 bits, registers"),
    flute("FLUTE 4 bits, one pair table", COPIES=1),
    flute("FLUTE 4 bits, 16 pair tables", COPIES=16),
    flute("FLUTE 4 bits, 32 pair tables", COPIES=32),
    flute("FLUTE 3 bits, registers", W=3),
    flute("FLUTE 3 bits in slices", W=3, SLICES=1),
    flute("FLUTE 3 bits, 32 pair tables", W=3, COPIES=32),
    flute("FLUTE 2 bits, registers", W=2),
    flute("FLUTE 2 bits, one pair table", W=2, COPIES=1),
    Row("MARLIN", "marlin/matmul", "matmul", 64, "weight", 16, defines=SMALL + ["BLOCKS=5"], stages=3),
    Row("MARLIN, 64 rows", "marlin/matmul", "matmul", 64, "weight", 64, defines=SMALL + ["M=64", "BM=64", "BLOCKS=5"], stages=3),
    Row("Sparse-MARLIN", "marlin/sparse_matmul", "matmul", 64, "stored weight", 16, defines=SMALL + ["BLOCKS=5"], stages=4),
    apt(1, 1), apt(2, 2), apt(3, 4), apt(4, 8),
    gemm("TurboMind u4"), gemm("TurboMind u8", "Q=u8"), gemm("TurboMind f8e4m3", "Q=f8e4m3", "ZEROS=0"),
    gemm("TurboMind mxfp4", *MX), gemm("TurboMind nvfp4", "Q=f4e2m1", "S=f8e4m3", "GROUP=16", "ZEROS=0"),
    Row("TurboMind i8 x i8", "turbomind/gemm_quantized", "gemm", 128, "weight", 16, defines=SMALL, stages=2),
    Row("TurboMind i8 x i4", "turbomind/gemm_quantized", "gemm", 128, "weight", 16, defines=SMALL + ["Q=i4"], stages=2),
    Row("TurboMind f8 x f8", "turbomind/gemm_quantized", "gemm", 128, "weight", 16, defines=SMALL + ["T=f8e4m3", "Q=f8e4m3"], stages=2),
    decode("decode, 4 bits, 8 queries", "u4", 8), decode("decode, 8 bits, 8 queries", "u8", 8),
    decode("decode, 16 bits, 8 queries", "f16", 8), decode("decode, 4 bits, 16 queries", "u4", 16, 2),
    Row("prefill", "attention/prefill", "prefill", 128, "element of K and V", 128, entry="equal_lengths",
        defines=["S=1", "TOKENS=128", "LONGEST=128", "H=2"], stages=1),
    Row("append, 4 bits", "attention/append", "append", 16, "element of K and V", inputs=["table=iota", "length=full:15", "count=full:1"]),
    Row("FLUTE, packing of 4 bits", "flute/matmul", "pack", 128, "code", defines=SMALL + ["BLOCKS=5"]),
    Row("FLUTE, packing of 3 bits", "flute/matmul", "pack", 128, "code", defines=SMALL + ["BLOCKS=5", "W=3"]),
    Row("MARLIN, packing", "marlin/matmul", "pack", 64, "code", defines=SMALL + ["BLOCKS=5"]),
    Row("Sparse-MARLIN, packing", "marlin/sparse_matmul", "pack", 64, "stored weight", defines=SMALL + ["BLOCKS=5"]),
    Row("APT-LLM, packing of 2 bits", "apt_llm/matmul", "pack_w", 32, "code", defines=["M=16", "N=64", "K=1024"]),
    Row("APT-LLM, packing of 3 bits", "apt_llm/matmul", "pack_w", 32, "code", defines=["M=16", "N=64", "K=1024", "W=3"]),
    Row("TurboMind, packing of u4", "turbomind/gemm", "pack", 64, "code", defines=SMALL),
    Row("TurboMind, packing of i8", "turbomind/gemm_quantized", "pack", 128, "code", defines=SMALL),
    Row("TurboMind, quantisation of rows", "turbomind/gemm_quantized", "quantize", 2, "element", defines=SMALL),
    Row("softmax", "softmax", "softmax", 8, "element", defines=["M=64"]),
    Row("layernorm", "layernorm", "layernorm", 8, "element", defines=["M=64"]),
    Row("RMSnorm with residual", "rmsnorm_residual", "rmsnorm", 8, "element", defines=["M=64", "N=1024"]),
    Row("RoPE", "rope", "rope", 16, "element"),
    Row("matmul with GELU", "matmul_gelu", "matmul", 32, "element of a and b", 8),
    Row("matmul with SwiGLU", "matmul_swiglu", "matmul", 48, "element of a, g and u", 32, stages=2),
    Row("experts", "moe/moe", "grouped", 24, "element of x and w", 8, stages=2),
    Row("scan", "scan", "scan", 2, "element"),
    Row("histogram", "histogram", "count", 16, "byte", defines=["BLOCKS=4"]),
    Row("top-k", "top_k", "top_k", 64, "logit"),
    Row("convolution", "convolution", "convolve", 24, "element of x and k", 8, stages=2),
]
