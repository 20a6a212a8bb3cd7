#!/bin/sh
# NVRTC 13.0.88 and its ptxas: `ex2.approx` of a constant is folded to the correctly rounded value,
# although the instruction of the GPU gives another one, and although the asm is volatile.
#
# 2^0.3 is 0x3f9d9624 rounded to nearest. The cubin has that number and no MUFU instruction. A
# kernel that is specialised on a constant then differs in bits from the same kernel with a variable.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install -q --no-compile --target "$folder" nvidia-cuda-nvrtc==13.0.88
PYTHONPATH=$folder python3 - <<'PYTHON'
import ctypes
import glob
import os
import struct
import sys

library = glob.glob(os.environ["PYTHONPATH"] + "/nvidia/**/libnvrtc.so*", recursive=True)
nvrtc = ctypes.CDLL(library[0])
major, minor = ctypes.c_int(), ctypes.c_int()
nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
print(f"NVRTC {major.value}.{minor.value}")

def cubin(argument):
    source = f"""extern "C" __global__ void k(float* p, float x) {{
        float y; asm volatile("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"({argument})); *p = y; }}"""
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"k.cu", 0, None, None)
    options = (ctypes.c_char_p * 1)(b"--gpu-architecture=sm_90a")
    assert nvrtc.nvrtcCompileProgram(program, 1, options) == 0
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    image = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, image)
    return image.raw

def code_of(image):
    """The section .text.k of an ELF file."""
    table, = struct.unpack_from("<Q", image, 0x28)
    size, count, names = struct.unpack_from("<HHH", image, 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", image, table + i * size) for i in range(count)]
    strings = sections[names][4]
    for name, _, _, _, offset, length in sections:
        begin = strings + name
        if image[begin : image.index(b"\0", begin)] == b".text.k":
            return image[offset : offset + length]
    raise SystemExit("no section .text.k")

def describe(argument):
    code = code_of(cubin(argument))
    mufu = sum(struct.unpack_from("<H", code, i)[0] & 0xFFF == 0x308 for i in range(0, len(code), 16))
    folded = struct.pack("<I", 0x3F9D9624) in code
    print(f"ex2.approx.f32 of {argument}: {mufu} MUFU, constant 0x3f9d9624 {'in' if folded else 'not in'} the code")
    return mufu, folded

sys.exit((describe("0.3f"), describe("x")) != ((0, True), (1, False)))
PYTHON
