"""A kernel of Triton or Gluon compiled to TTGIR, and expanded; both by the user's own Triton, without a GPU."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from typing import Any, Mapping, Sequence, Union

from .._errors import Error, UnavailableError, UsageError

# What Triton calls types of arguments, by NumPy's names and by those of ml_dtypes.
POINTEES = {"float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float8_e4m3fn": "fp8e4nv",
            "float8_e5m2": "fp8e5", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8",
            "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "i1"}
SECONDS = 300


def capability_of(target: str) -> int:
    """80 of "sm_80"; 90 of "sm_90a"."""
    found = re.fullmatch(r"sm_(\d+)[af]?", target)
    if not found:
        raise UsageError(f"the target is `{target}`; it is one of sm_80, sm_86, sm_89, sm_90")
    return int(found[1])


def signature_of(names: Sequence[str], constants: Mapping[str, Any], given: Union[Mapping[str, Any], Sequence[Any]]) \
        -> dict[str, str]:
    """Texts of types by names of parameters, of texts or of example arguments. An integer argument that 16 divides gets
    `:16`, as Triton specialises."""
    runtime = [name for name in names if name not in constants]
    if not isinstance(given, Mapping):
        if len(given) != len(runtime):
            raise UsageError(f"{len(given)} arguments are given for {', '.join(runtime)}; constants go into `constants`")
        given = dict(zip(runtime, given))
    if unknown := [name for name in given if name not in names]:
        raise UsageError(f"the kernel has no parameter `{unknown[0]}`; it has {', '.join(names)}")
    if missing := [name for name in runtime if name not in given]:
        raise UsageError(f"the type of `{missing[0]}` is not given; give it as \"*fp32\" or \"i32\", or an example argument")
    return {name: each if isinstance(each := given[name], str) else type_text(name, each) for name in runtime}


def type_text(name: str, value: Any) -> str:
    """Triton's type of an example argument."""
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, int):
        wide = "i32" if -2**31 <= value < 2**31 else "i64"
        return f"{wide}:16" if value % 16 == 0 else wide
    if isinstance(value, float):
        return "fp32"
    kind = str(getattr(value, "dtype", ""))
    if kind.replace("torch.", "") in POINTEES:
        return f"*{POINTEES[kind.replace('torch.', '')]}"
    raise UsageError(f"`{name}` is {type(value).__name__}; pass an array, a number, or a type such as \"*fp32\"")


def ttgir_of(kernel: Any, signature: Mapping[str, str], constants: Mapping[str, Any], capability: int,
             options: Mapping[str, Any]) -> tuple[str, bool]:
    """The kernel's TTGIR, and whether fusion of products and sums is on. Errors of Triton's compiler pass through."""
    try:
        from triton._C.libtriton import ir
        from triton.backends.compiler import GPUTarget
        from triton.compiler.compiler import ASTSource, make_backend
    except ImportError as error:
        raise UnavailableError(f"Triton is not installed ({error}); `pip install triton`") from None
    source_class: Any = ASTSource
    if getattr(kernel, "is_gluon", lambda: False)():
        from triton.experimental.gluon._runtime import GluonASTSource as source_class  # type: ignore[no-redef]
    names = [parameter.name for parameter in kernel.params]
    types, attributes = {}, {}
    for place, name in enumerate(names):
        text, _, divisor = signature.get(name, "constexpr").partition(":")
        types[name] = text
        if divisor == "16" or text.startswith("*"):  # tilevm's pointers are aligned to 16 bytes
            attributes[(place,)] = [["tt.divisibility", 16]]
    values = {(names.index(name),): value for name, value in constants.items()}
    source = source_class(kernel, types, constexprs=values, attrs=attributes)
    target = GPUTarget("cuda", capability, 32)
    backend = make_backend(target)
    parsed = backend.parse_options(dict(options, **source.parse_options()))
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = source.make_ir(target, parsed, backend.get_codegen_implementation(parsed), backend.get_module_map(), context)
    stages: dict[str, Any] = {}
    backend.add_stages(stages, parsed, source.language)
    metadata = {"target": target, **parsed.__dict__}
    for name, stage in stages.items():
        module = stage(module, metadata)
        if name == "ttgir":
            return str(module), bool(getattr(parsed, "enable_fp_fusion", True))
    raise Error("Triton's compiler has no stage `ttgir`")


def expand(ttgir: str, capability: int, fusion: bool, parameters: Sequence[str] = ()) -> str:
    """The module's own text of TTGIR; `parameters` are the names that the kernel's arguments have in its source."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "kernel.ttgir"), "w", encoding="utf-8") as out:
            out.write(ttgir)
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_expand.py")
        try:
            done = subprocess.run([sys.executable, "-W", "ignore", program, "kernel.ttgir", str(capability), "1" if fusion else "0",
                                   *parameters],
                                  capture_output=True, text=True, timeout=SECONDS, check=False, cwd=folder)
        except subprocess.TimeoutExpired:
            raise Error(f"Triton did not expand the module in {SECONDS} seconds") from None
    if done.returncode or not done.stdout:
        raise Error(f"Triton could not expand the module: {done.stderr.strip()[-800:] or f'status {done.returncode}'}")
    return done.stdout
