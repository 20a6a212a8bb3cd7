"""Questions about libraries and compilers whose answers decide bits: guessed first, then run.

    python -m venv env && env/bin/pip install numpy==2.4.6 ml_dtypes==0.6.0 torch==2.15.0
    env/bin/python tests/oracles/asked_from_memory.py [--nvcc NVCC] > docs/results/asked_from_memory.md

The guesses were written down before anything was run and are not changed afterwards. The page says
which were wrong. Questions about a compiler need nvcc and are left out without it.
"""

import argparse
import math
import pathlib
import subprocess
import tempfile
import warnings

warnings.simplefilter("ignore")


def numpy_questions():
    import numpy as np

    f16, f32, i8 = np.float16, np.float32, np.int8
    tie = 1 + 2.0**-11 + 2.0**-40
    yield "`np.float16(65520.0)`: halfway to what would be 65536", "inf", float(f16(65520.0))
    yield "`np.array([3e9]).astype(np.int32)`", "-2147483648", int(np.array([3e9]).astype(np.int32)[0])
    yield "`np.array([-1.0]).astype(np.uint8)`", "255", int(np.array([-1.0]).astype(np.uint8)[0])
    yield "`np.array([300.0]).astype(np.uint8)`", "44", int(np.array([300.0]).astype(np.uint8)[0])
    yield "`np.array([np.nan]).astype(np.int64)`", "-9223372036854775808", int(np.array([np.nan]).astype(np.int64)[0])
    yield "f64 to f16 of `1 + 2**-11 + 2**-40`: rounded once?", "1.0009765625", float(np.array([tie]).astype(f16)[0])
    yield "`np.ones(2**25, 'f4').sum()`", "33554432.0", float(np.ones(2**25, f32).sum())
    yield "`np.ones((2**25, 2), 'f4').sum(axis=0)[0]`", "33554432.0", float(np.ones((2**25, 2), f32).sum(axis=0)[0])
    yield "`np.cumsum(np.ones(2**24 + 10, 'f4'))[-1]`", "16777216.0", float(np.cumsum(np.ones(2**24 + 10, f32))[-1])
    yield "`np.full(100000, 1, 'f2').sum()`", "inf", float(np.full(100000, 1, f16).sum())
    yield "`np.full(100000, 1, 'f2').mean()`", "1.0", float(np.full(100000, 1, f16).mean())
    yield "`np.round(0.285, 2)`", "0.28", float(np.round(0.285, 2))
    ones = np.ones(4096, f16)
    yield "`np.dot` of 4096 ones in f16", "4096.0", float(np.dot(ones, ones))
    yield "`matmul` of [1, 4096] and [4096, 1] ones in f16", "4096.0", float((ones[None] @ ones[:, None])[0, 0])
    yield "`matmul` of [1, 200] and [200, 1] ones in i8", "-56", int((np.ones((1, 200), i8) @ np.ones((200, 1), i8))[0, 0])
    yield "`np.remainder(-1.0, np.inf)`", "inf", float(np.remainder(-1.0, np.inf))
    yield "`np.left_shift(np.int32(1), np.int32(32))`", "0", int(np.left_shift(np.int32(1), np.int32(32)))


def ml_dtypes_questions():
    import ml_dtypes as m
    import numpy as np

    f32 = np.float32

    def cast(value, type):
        return float(np.array([value], f32).astype(type).astype(f32)[0])

    def code(value, type):
        return hex(int(np.array([value], f32).astype(type).view(np.uint8)[0]))

    yield "1e9 as `float8_e4m3fn`", "nan", cast(1e9, m.float8_e4m3fn)
    yield "1e9 as `float8_e5m2`", "inf", cast(1e9, m.float8_e5m2)
    yield "100 as `float8_e3m4`, whose largest is 15.5", "inf", cast(100, m.float8_e3m4)
    yield "code of -0.0 as `float8_e4m3fnuz`", "0x0", code(-0.0, m.float8_e4m3fnuz)
    yield "3.0 as `float8_e8m0fnu`: between 2 and 4", "4.0", cast(3, m.float8_e8m0fnu)
    yield "code of 0.0 as `float8_e8m0fnu`", "0x0", code(0, m.float8_e8m0fnu)
    yield "0.25 as `float4_e2m1fn`: between 0 and 0.5", "0.0", cast(0.25, m.float4_e2m1fn)
    yield "5.0 as `float4_e2m1fn`: between 4 and 6", "4.0", cast(5, m.float4_e2m1fn)
    yield "7 + 1 in `int4`", "-8", int((np.array([7], m.int4) + np.array([1], m.int4))[0])
    yield "9 in i8 as `int4`", "-7", int(np.array([9], np.int8).astype(m.int4)[0])
    yield "2.5 as `int4`", "2", int(np.array([2.5], f32).astype(m.int4)[0])
    yield "300.0 as `int4`", "-4", int(np.array([300], f32).astype(m.int4)[0])

    def promoted():
        try:
            return str((np.ones(1, m.bfloat16) + np.ones(1, np.float16)).dtype)
        except Exception as error:
            return type(error).__name__

    yield "type of bfloat16 + float16", "DTypePromotionError", promoted()
    yield "bytes of 3 elements of `int4`", "3", np.zeros(3, m.int4).nbytes


def torch_questions():
    import torch

    def cast(value, type):
        return torch.tensor([value]).to(type)

    yield "`torch.tensor([300.]).to(torch.uint8)`", "44", int(cast(300.0, torch.uint8)[0])
    yield "`torch.tensor([-1.]).to(torch.uint8)`", "255", int(cast(-1.0, torch.uint8)[0])
    yield "`torch.tensor([nan]).to(torch.int32)`", "-2147483648", int(cast(math.nan, torch.int32)[0])
    yield "`torch.ones(2**25).sum()`", "33554432.0", float(torch.ones(2**25).sum())
    yield "`torch.ones(2**24 + 2).cumsum(0)[-1]`", "16777216.0", float(torch.ones(2**24 + 2).cumsum(0)[-1])
    half = torch.ones(4096, dtype=torch.float16)
    yield "dot of 4096 ones in f16 on a CPU", "4096.0", float(half @ half)
    yield "`torch.tensor(5) // torch.tensor(-2)`", "-3", int(torch.tensor(5) // torch.tensor(-2))
    yield "`torch.remainder(torch.tensor(-1.), inf)`", "inf", float(torch.remainder(torch.tensor(-1.0), math.inf))
    one = torch.tensor([1], dtype=torch.int32)
    yield "`torch.tensor([1], dtype=int32) << 32`", "0", int((one << 32)[0])
    yield "`torch.tensor([nan, inf]).argmax()`", "0", int(torch.tensor([math.nan, math.inf]).argmax())
    yield "softmax of a row of -inf", "nan", float(torch.full((1, 4), -math.inf).softmax(1)[0, 0])
    yield "3.0 as `float8_e8m0fnu`", "4.0", float(cast(3.0, torch.float8_e8m0fnu).float()[0])
    yield "`torch.tensor([2.5]).round()` and of 3.5", "2.0 4.0", " ".join(str(float(x)) for x in torch.tensor([2.5, 3.5]).round())
    yield "`torch.exp2(torch.tensor(-149.))` in f32 is subnormal, not 0", "True", float(torch.exp2(torch.tensor(-149.0))) != 0


def accepts(nvcc, target, statement, declarations):
    """Whether ptxas assembles a statement for a target; the PTX is of the toolkit's own version."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "a.cu")
        source.write_text("extern \"C\" __global__ void k(unsigned* p) { asm volatile(\"{\\n" + declarations + statement + "\\n}\" ::: \"memory\"); }\n")
        command = [nvcc, "-arch=" + target, "-cubin", "-o", folder + "/a.cubin", str(source)]
        return "yes" if subprocess.run(command, capture_output=True).returncode == 0 else "no"


def ptx_of(nvcc, body, words, includes=""):
    """Which of the words the PTX of a device function has."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "a.cu")
        source.write_text(includes + "extern \"C\" __global__ void k(float* p, float x, float y) {" + body + "}\n")
        command = [nvcc, "-arch=sm_90a", "-ptx", "-o", folder + "/a.ptx", str(source)]
        subprocess.run(command, check=True, capture_output=True)
        text = pathlib.Path(folder, "a.ptx").read_text()
    return " ".join(word for word in words if word in text) or "none"


def compiler_questions(nvcc):
    yield "`exp2f(x)` and `__expf(x)` without fast math", "ex2.approx.ftz.f32", ptx_of(nvcc, "*p = exp2f(x); *p = __expf(x);", ["ex2.approx.ftz.f32", "ex2.approx.f32"])
    yield "`1.0f / x`", "rcp.rn.f32", ptx_of(nvcc, "*p = 1.0f / x;", ["rcp.rn.f32", "div.rn.f32"])
    yield "`x / 3.0f`", "div.rn.f32", ptx_of(nvcc, "*p = x / 3.0f;", ["div.rn.f32", "mul.f32", "mul.rn.f32"])
    yield "`x / 4.0f`", "mul.f32", ptx_of(nvcc, "*p = x / 4.0f;", ["div.rn.f32", "mul.f32", "mul.rn.f32"])
    yield "`__fdividef(x, y)`", "div.approx.f32", ptx_of(nvcc, "*p = __fdividef(x, y);", ["div.approx.f32", "div.approx.ftz.f32", "div.full.f32"])
    yield "`x * y + x`", "fma.rn.f32", ptx_of(nvcc, "*p = x * y + x;", ["fma.rn.f32", "mul.f32"])
    yield "`__double2half`", "cvt.rn.f16.f64", ptx_of(nvcc, "*(__half*)p = __double2half((double)x * (double)y);", ["cvt.rn.f16.f64", "cvt.rn.f16.f32"], "#include <cuda_fp16.h>\n")
    yield "`hexp2` of a half", "ex2.approx.ftz.f32", ptx_of(nvcc, "*(__half*)p = hexp2(*(__half*)p);", ["ex2.approx.f16", "ex2.approx.ftz.f32", "ex2.approx.f32"], "#include <cuda_fp16.h>\n")
    yield "`tanhf(x)` has `tanh.approx`", "none", ptx_of(nvcc, "*p = tanhf(x);", ["tanh.approx.f32"])
    registers = ".reg .b32 r<8>; .reg .b64 d<8>; .reg .f32 f<8>; .reg .b8 c<4>; .reg .b16 h<8>;"
    wide = "fma.rn.f32x2 d0, d1, d2, d3;"
    yield "sm_120 has `fma.rn.f32x2`", "yes", accepts(nvcc, "sm_120", wide, registers)
    yield "sm_103 has `fma.rn.f32x2`", "yes", accepts(nvcc, "sm_103", wide, registers)
    yield "sm_120 has a minimum of three operands", "yes", accepts(nvcc, "sm_120", "min.f32 f0, f1, f2, f3;", registers)
    greatest = "redux.sync.max.f32 f0, f1, -1;"
    yield "sm_120a has `redux.sync.max.f32`", "no", accepts(nvcc, "sm_120a", greatest, registers)
    yield "sm_100f has `redux.sync.max.f32`", "yes", accepts(nvcc, "sm_100f", greatest, registers)
    narrow = "cvt.rn.satfinite.e2m1x2.f32 c0, f0, f1;"
    yield "sm_120 has `cvt.rn.satfinite.e2m1x2.f32`", "no", accepts(nvcc, "sm_120", narrow, registers)
    yield "sm_120f has it", "yes", accepts(nvcc, "sm_120f", narrow, registers)
    yield "sm_110a has it", "yes", accepts(nvcc, "sm_110a", narrow, registers)
    product = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {f0,f1,f2,f3},{r0,r1,r2,r3},{r4,r5},{f0,f1,f2,f3};"
    yield "sm_100 has `mma.sync` of e4m3", "yes", accepts(nvcc, "sm_100", product, registers)
    yield "sm_86 has it", "no", accepts(nvcc, "sm_86", product, registers)
    yield "sm_88 has it", "no", accepts(nvcc, "sm_88", product, registers)


def text(answer):
    return answer if isinstance(answer, str) else repr(answer)


def section(title, questions):
    rows = [(question, guess, text(answer)) for question, guess, answer in questions]
    wrong = sum(guess != answer for _, guess, answer in rows)
    print(f"\n## {title}\n\n{len(rows)} questions, {wrong} guessed wrong.\n")
    print("| question | guess | answer | |\n|---|---|---|---|")
    for question, guess, answer in rows:
        print(f"| {question} | {guess} | {answer} | {'' if guess == answer else 'wrong'} |")
    return len(rows), wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nvcc", default="")
    options = parser.parse_args()
    print("# Asked from memory\n")
    print("Questions about libraries and compilers whose answers decide bits. The guesses were written down\n"
          "before anything was run. What was guessed wrong is what a tool must be right about. The page is\n"
          "written by `tests/oracles/asked_from_memory.py`, which says how to run it.")
    import ml_dtypes
    import numpy
    import torch

    totals = [section(f"NumPy {numpy.__version__}, x86-64", numpy_questions()),
              section(f"ml_dtypes {ml_dtypes.__version__}", ml_dtypes_questions()),
              section(f"PyTorch {torch.__version__.split('+')[0]}, x86-64", torch_questions())]
    if options.nvcc:
        version = subprocess.run([options.nvcc, "--version"], capture_output=True, text=True, check=True).stdout
        name = version.split("release ")[1].split(",")[1].split()[0]
        totals.append(section(f"nvcc {name[1:]}", compiler_questions(options.nvcc)))
    print(f"\nAll: {sum(n for n, _ in totals)} questions, {sum(w for _, w in totals)} guessed wrong.")


if __name__ == "__main__":
    main()
