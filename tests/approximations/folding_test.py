#!/usr/bin/env python3
"""Compiles approximate instructions of constants for GPUs, and looks for them in the machine code.

    folding_test.py TILEVM

NVRTC and ptxas replace an approximate instruction whose operand they know by the correctly rounded
value, which is not what the instruction gives. Each of the eight in folding.tile must be in the
machine code, by each compiler that is found: those of the search of `tilevm doctor`, and those that
TILEVM_CUDA_COMPILERS names (libraries of NVRTC and nvcc programs, separated by colons). Without any,
the test is skipped (77).
"""

import os
import pathlib
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
MUFU = 0x108  # the low nine bits of an instruction's opcode, from sm_70 on


def functions(cubin: bytes) -> dict:
    """The machine code of each kernel of an ELF file."""
    (offset,) = struct.unpack_from("<Q", cubin, 40)
    size, count, names_at = struct.unpack_from("<HHH", cubin, 58)
    sections = [struct.unpack_from("<IIQQQQ", cubin, offset + i * size) for i in range(count)]
    names = sections[names_at][4]
    code = {}
    for name, _, _, _, begin, length in sections:
        text = cubin[names + name : cubin.index(b"\0", names + name)].decode()
        if text.startswith(".text."):
            code[text[6:]] = cubin[begin : begin + length]
    return code


def count_unit(code: bytes) -> int:
    """How many instructions ask the special function unit."""
    return sum(word & 0x1FF == MUFU for (word,) in struct.iter_unpack("<Q8x", code))


def compile_with(tilevm: str, environment: dict) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "code.cubin")
        command = [tilevm, "compile", str(HERE / "folding.tile"), "--target", "sm_90a"]
        done = subprocess.run(
            [*command, "--emit", "cubin", "-o", out],
            env={**os.environ, "TILEVM_CACHE": "off", **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 3:
            return {}
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        return functions(pathlib.Path(out).read_bytes())


def main() -> int:
    tilevm = sys.argv[1]
    compilers = [{}]
    for path in filter(None, os.environ.get("TILEVM_CUDA_COMPILERS", "").split(":")):
        name = "TILEVM_NVCC" if path.endswith("nvcc") else "TILEVM_NVRTC"
        compilers.append({name: path})
    compared = 0
    for environment in compilers:
        code = compile_with(tilevm, environment)
        if not code:
            continue
        compared += 1
        counts = {kernel: count_unit(text) for kernel, text in code.items()}
        print(environment or "the compiler that is found", counts)
        if counts != {"constants_kernel": 8, "data_kernel": 1}:
            raise SystemExit(f"expected 8 and 1 instructions of the unit, found {counts}")
    return 0 if compared else 77


if __name__ == "__main__":
    sys.exit(main())
