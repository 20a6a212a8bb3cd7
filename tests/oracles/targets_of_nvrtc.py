"""Which instructions NVRTC's ptxas accepts for each target: the table of docs/reference/targets.md.

    targets_of_nvrtc.py [--write]

The library is that of TILEVM_NVRTC, or one that the system finds. Each cell of the page is asked of it: a kernel of one
instruction compiled to machine code for the target. Architectures that this NVRTC does not know are left out. With
--write the table is written. Exit status 77: there is no NVRTC. No GPU is needed.
"""

import argparse
import ctypes
import ctypes.util
import os
import pathlib
import re
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/reference/targets.md"
REGISTERS = ".reg .b32 r<8>; .reg .b64 d<8>; .reg .f32 f<8>; .reg .b8 c<4>; .reg .b16 h<8>; .reg .pred p;"
PRODUCT = "{f0,f1,f2,f3},{r0,r1,r2,r3},{r4,r5},{f0,f1,f2,f3}"
SCALES = "r6,{h0,h1},r7,{h2,h3}"
TENSOR_MEMORY = "[r0], d0, d1, r1"

# Each row: what it is called, and an instruction that stands for it.
INSTRUCTIONS = {
    "`cvt` to and from `f8e4m3`": "cvt.rn.satfinite.e4m3x2.f32 h0, f0, f1;",
    "`mma` of `f8e4m3`": f"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {PRODUCT};",
    "`ex2.approx` of `bf16`, `add` of `bf16x2`": "ex2.approx.ftz.bf16 h0, h1; add.rn.bf16x2 r0, r1, r2;",
    "`cp.async.bulk`, clusters, `mbarrier` of bytes":
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [r0], [d0], r1, [r2]; "
        "barrier.cluster.arrive.aligned;",
    "`wgmma`": "wgmma.fence.sync.aligned;",
    "`setmaxnreg`": "setmaxnreg.inc.sync.aligned.u32 64;",
    "`fma.f32x2`": "fma.rn.f32x2 d0, d1, d2, d3;",
    "`min`, `max` of three `f32` (FMNMX3)": "min.f32 f0, f1, f2, f3;",
    "`ld.global` of 32 bytes": "ld.global.v8.b32 {r0,r1,r2,r3,r4,r5,r6,r7}, [d0];",
    "`cvt` to `f4e2m1`": "cvt.rn.satfinite.e2m1x2.f32 c0, f0, f1;",
    "`cvt` of `f4e2m1` to `f16`": "cvt.rn.f16x2.e2m1x2 r0, c0;",
    "`cvt` to `f6e2m3`, `f6e3m2`": "cvt.rn.satfinite.e2m3x2.f32 h0, f0, f1; cvt.rn.satfinite.e3m2x2.f32 h0, f0, f1;",
    "`cvt` to `f8e8m0`": "cvt.rz.satfinite.ue8m0x2.f32 h0, f0, f1;",
    "`cvt` of `f8e8m0` to `bf16`": "cvt.rn.bf16x2.ue8m0x2 r0, h0;",
    "`cvt.rs` (random bits)": "cvt.rs.f16x2.f32 r0, f0, f1, r1;",
    "`redux` of `f32`": "redux.sync.max.f32 f0, f1, -1;",
    "`mma` of `f4e2m1`, `f6e2m3`, `f6e3m2`": f"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32 {PRODUCT};",
    "`mma kind::mxf8f6f4`":
        f"mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0 {PRODUCT},{SCALES};",
    "`mma kind::mxf4nvf4`":
        f"mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 {PRODUCT},{SCALES};",
    "`mma.sp` of `f8e4m3` to `f16`":
        "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f16.e4m3.e4m3.f16 {r0,r1},{r0,r1,r2,r3},{r4,r5,r6,r7},{r0,r1},r2,0;",
    "`tcgen05.mma` of `f16`, `f8e4m3`": f"tcgen05.mma.cta_group::1.kind::f16 {TENSOR_MEMORY}, p; "
                                        f"tcgen05.mma.cta_group::1.kind::f8f6f4 {TENSOR_MEMORY}, p;",
    "`tcgen05.mma kind::mxf8f6f4`, `kind::mxf4nvf4`":
        f"tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale {TENSOR_MEMORY}, [r2], [r3], p; "
        f"tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 {TENSOR_MEMORY}, [r2], [r3], p;",
    "`tcgen05.mma` of `i8`": f"tcgen05.mma.cta_group::1.kind::i8 {TENSOR_MEMORY}, p;",
}


class Nvrtc:
    def __init__(self):
        path = os.environ.get("TILEVM_NVRTC") or ctypes.util.find_library("nvrtc") or "libnvrtc.so.13"
        self.library = ctypes.CDLL(path)
        major, minor, count = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        self.library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = f"{major.value}.{minor.value}"
        self.library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
        numbers = (ctypes.c_int * count.value)()
        self.library.nvrtcGetSupportedArchs(numbers)
        self.architectures = list(numbers)

    def accepts(self, target, statement):
        """Whether a kernel of the statement becomes machine code."""
        source = 'extern "C" __global__ void k() { asm volatile("{' + REGISTERS + statement + '}" ::: "memory"); }'
        program = ctypes.c_void_p()
        self.library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"k.cu", 0, None, None)
        option = (ctypes.c_char_p * 1)(f"--gpu-architecture={target}".encode())
        result = self.library.nvrtcCompileProgram(program, 1, option)
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        return result == 0

    def knows(self, target):
        return int(re.search(r"\d+", target)[0]) in self.architectures and self.accepts(target, "")


def table_of(text):
    """The columns' targets, and the cells by row."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    head = next(i for i, row in enumerate(rows) if row[0] == "instruction")
    targets = ["sm_" + column for column in rows[head][1:]]
    cells = {row[0]: [cell == "yes" for cell in row[1:]] for row in rows[head + 2:] if len(row) == len(targets) + 1}
    return targets, cells


def write(nvrtc, targets):
    text = PAGE.read_text()
    lines = [f"| {name} | " + " | ".join("yes" if nvrtc.accepts(target, statement) else "" for target in targets) + " |"
             for name, statement in INSTRUCTIONS.items()]
    head = text.index("| instruction |")
    body = text.index("\n", text.index("|---", head)) + 1
    end = text.index("\n\n", body)
    PAGE.write_text(text[:body] + "\n".join(lines) + text[end:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    try:
        nvrtc = Nvrtc()
    except OSError as error:
        print(f"SKIP: no NVRTC: {error}; set TILEVM_NVRTC to a libnvrtc.so")
        return 77
    targets, cells = table_of(PAGE.read_text())
    if options.write:
        write(nvrtc, targets)
        return 0
    faults = [f"the page lacks {name}" for name in INSTRUCTIONS if name not in cells]
    known = [target for target in targets if nvrtc.knows(target)]
    for name, statement in INSTRUCTIONS.items():
        for target, claimed in zip(targets, cells.get(name, [])):
            if target in known and nvrtc.accepts(target, statement) != claimed:
                faults.append(f"{name} of {target}: the page says {'yes' if claimed else 'no'}, NVRTC {nvrtc.version} the other")
    print("\n".join(faults) or f"NVRTC {nvrtc.version}: {len(INSTRUCTIONS)} instructions of {len(known)} targets are as the page says")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
