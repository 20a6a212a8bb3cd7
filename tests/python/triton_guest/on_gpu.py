"""usage: on_gpu.py record FOLDER       on a machine with a GPU, torch and Triton
          on_gpu.py compare FOLDER      anywhere with Triton; tilevm's library as for the other tests

`record` compiles every case with the machine's own Triton without fusion, launches it with arguments of three seeds, and keeps
TTGIR, arguments' seeds and outputs. `compare` imports each TTGIR, runs it in the simulator with all checks, and prints how many
numbers differ in bits, beside what the import calls not exact. Ends with 1 if an exact kernel differs.
"""

from __future__ import annotations

import json
import os
import pathlib
import sys
import warnings
import zlib
from typing import Any

import numpy

warnings.simplefilter("ignore")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases  # noqa: E402

SEEDS = 3
# torch's types of codes that NumPy does not have.
CODED = {"bf16": "bfloat16", "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2"}


def arguments_of(case: cases.Case, seed: int) -> dict[str, Any]:
    return case.arguments(numpy.random.default_rng([zlib.crc32(case.name.encode()), seed]))


def codes_of(array: Any) -> Any:
    """An array as integers where its type may be one of ml_dtypes."""
    array = numpy.asarray(array)
    return array if array.dtype.kind in "iufb" else array.view(f"u{array.dtype.itemsize}")


def to_gpu(value: Any, type_: str) -> Any:
    import torch

    if type_.startswith("tensordesc"):
        return to_descriptor(torch.from_numpy(value).cuda(), type_)
    if not type_.startswith("*"):
        return value
    codes = codes_of(value)
    if codes.dtype.kind == "u" and codes.dtype.itemsize > 1:
        codes = codes.view(f"i{codes.dtype.itemsize}")
    tensor = torch.from_numpy(numpy.array(codes)).cuda()
    coded = CODED.get(type_[1:])
    return tensor.view(getattr(torch, coded)) if coded else tensor.bool() if type_ == "*i1" else tensor


def to_descriptor(tensor: Any, type_: str) -> Any:
    """The descriptor of a tensor, with the box and the layout that the type names."""
    import re

    box = [int(n) for n in re.findall(r"\d+", re.search(r"\[([\d,]+)\]", type_)[1])]  # type: ignore[index]
    if "NVMMASharedLayout" not in type_:
        from triton.tools.tensor_descriptor import TensorDescriptor

        return TensorDescriptor.from_tensor(tensor, box)
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor as Described

    names = dict(re.findall(r"(\w+)=(\d+)", type_))
    return Described.from_tensor(tensor, box, gl.NVMMASharedLayout(**{name: int(n) for name, n in names.items()}))


def to_host(tensor: Any, like: Any) -> Any:
    import torch

    if tensor.dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
        tensor = tensor.view({2: torch.int16, 1: torch.int8}[tensor.element_size()])
    return tensor.cpu().numpy().view(codes_of(like).dtype)


def record(folder: pathlib.Path) -> int:
    import torch
    import triton

    folder.mkdir(parents=True, exist_ok=True)
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    made: dict[str, Any] = {"gpu": torch.cuda.get_device_name(), "triton": triton.__version__, "cases": {}}
    for name, case in sorted(cases.load_all().items()):
        outputs: dict[str, Any] = {}
        try:
            for seed in range(SEEDS):
                given = arguments_of(case, seed)
                tensors = {key: to_gpu(value, case.types[key]) for key, value in given.items()}
                compiled = case.kernel[case.grid](**tensors, **case.constants, **{"enable_fp_fusion": False, **case.options})
                torch.cuda.synchronize()
                for key, value in tensors.items():
                    value = getattr(value, "base", value)  # of a descriptor
                    if hasattr(value, "cpu"):
                        outputs[f"{seed}_{key}"] = to_host(value, given[key])
        except Exception as error:  # a kernel that this Triton does not compile is named, and the others go on
            print(f"{name}: {type(error).__name__}: {str(error)[:200]}", flush=True)
            made["cases"][name] = {"refused": str(error)[:200]}
            continue
        (folder / f"{name}.ttgir").write_text(compiled.asm["ttgir"], encoding="utf-8")
        numpy.savez_compressed(folder / f"{name}.npz", **outputs)
        kept = [key for key, type_ in compiled.src.signature.items() if type_ != "constexpr"]
        made["cases"][name] = {"parameters": [key if isinstance(key, str) else case.kernel.arg_names[key] for key in kept]}
    (folder / "recorded.json").write_text(json.dumps(made, indent=1), encoding="utf-8")
    print(f"{len(made['cases'])} cases on {made['gpu']} by Triton {made['triton']}")
    return 0


def compare(folder: pathlib.Path) -> int:
    import re

    import tilevm
    from tilevm import triton as guest
    from tilevm.triton._compile import expand

    made = json.loads((folder / "recorded.json").read_text(encoding="utf-8"))
    failed, equal, noted = 0, 0, 0
    print(f"{made['gpu']}, Triton {made['triton']}, {SEEDS} seeds\n\n| kernel | numbers | differ | not exact |\n|---|---|---|---|")
    for name, case in sorted(cases.load_all().items()):
        recorded = made["cases"].get(name, {})
        if "parameters" not in recorded:
            print(f"| {name} | | | {recorded.get('refused', 'not recorded').splitlines()[0][:80]} |")
            continue
        try:
            text = expand((folder / f"{name}.ttgir").read_text(encoding="utf-8"), 90, False, recorded["parameters"])
            kernel = guest.import_module(re.sub(r'"triton": "[^"]*"', f'"triton": "{made["triton"]}"', text, count=1))
            outputs = numpy.load(folder / f"{name}.npz")
            numbers = differ = 0
            for seed in range(SEEDS):
                given = arguments_of(case, seed)
                kernel[case.grid](**{key: value for key, value in given.items() if key in recorded["parameters"]})
                for key in given:
                    if f"{seed}_{key}" in outputs:
                        ours, theirs = (numpy.ascontiguousarray(x).reshape(-1).view(f"u{x.dtype.itemsize}")
                                        for x in (codes_of(given[key]), outputs[f"{seed}_{key}"]))
                        numbers += ours.size
                        differ += int((ours != theirs).sum())
        except tilevm.Error as error:
            print(f"| {name} | | | {str(error).splitlines()[0][:120]} |")
            continue
        print(f"| {name} | {numbers:,} | {differ:,} | {'; '.join(kernel.notes)[:200]} |", flush=True)
        failed += bool(differ and not kernel.notes)
        equal += differ == 0
        noted += bool(differ and kernel.notes)
    print(f"\n{equal} kernels have equal bits, {noted} differ where their import says so, {failed} differ and should not")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("record", "compare"):
        sys.exit(__doc__)
    sys.exit({"record": record, "compare": compare}[sys.argv[1]](pathlib.Path(sys.argv[2])))
