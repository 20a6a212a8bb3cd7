"""Run by itself, with the Python that has Triton: reads TTGIR, lets Triton allocate shared memory and place barriers, and
writes the module's own text (_module.py) to standard output.

A process of its own, since LLVM's option for the generic form holds for a whole process, and since a fault of MLIR ends one.
usage: _expand.py FILE.ttgir CAPABILITY FUSION [PARAMETER..]
"""

import ctypes
import json
import linecache
import os
import re
import sys
from typing import Any, Iterator

PTX = 87


def print_generic_form(library: str) -> None:
    """Turns on --mlir-print-op-generic, for which no function of Python is there."""
    shared = ctypes.CDLL(library)
    try:
        shared._ZN4mlir27registerAsmPrinterCLOptionsEv()
        parse = [name for name in PARSERS if hasattr(shared, name)][0]
    except (AttributeError, IndexError):
        sys.exit("this Triton does not export what prints the generic form; use Triton 3.7 or later")
    function = getattr(shared, parse)
    function.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p,
                         ctypes.c_char_p, ctypes.c_bool]
    words = (ctypes.c_char_p * 3)(b"expand", b"--mlir-print-op-generic", None)
    function(2, ctypes.cast(words, ctypes.c_void_p), b"", 0, None, None, None, False)


# llvm::cl::ParseCommandLineOptions, by the types of its parameters in several versions of LLVM.
PARSERS = ["_ZN4llvm2cl23ParseCommandLineOptionsEiPKPKcNS_9StringRefEPNS_11raw_ostreamEPNS_3vfs10FileSystemES2_b",
           "_ZN4llvm2cl23ParseCommandLineOptionsEiPKPKcNS_9StringRefEPNS_11raw_ostreamES2_b"]


def place_barriers(module: Any, context: Any, capability: int) -> bool:
    """Triton's own passes before its conversion to LLVM; whether one of them places barriers."""
    from triton._C.libtriton import ir, nvidia, passes

    manager = ir.pass_manager(context)
    passes.ttgpuir.add_combine_tensor_select_and_if(manager)
    passes.gluon.add_inliner(manager)
    try:
        passes.ttgpuir.add_allocate_warp_groups(manager, False)
    except TypeError:
        passes.ttgpuir.add_allocate_warp_groups(manager)
    nvidia.passes.ttgpuir.add_allocate_shared_memory_nv(manager, capability, PTX)
    nvidia.passes.ttnvgpuir.add_allocate_tensor_memory(manager)
    if capability >= 90:
        nvidia.passes.ttnvgpuir.add_proxy_fence_insertion(manager, capability)
    found = hasattr(nvidia.passes.ttgpuir, "add_membar")
    if found:
        nvidia.passes.ttgpuir.add_membar(manager, capability, PTX)
    passes.common.add_symbol_dce(manager)
    try:
        manager.run(module, "expand")
    except TypeError:
        manager.run(module)
    return found


def layouts_of(module: Any, context: Any) -> dict[str, Any]:
    """The bases of every register layout, by shape and encoding."""
    from triton._C.libtriton import gluon_ir

    builder = gluon_ir.GluonOpBuilder(context)
    found: dict[str, Any] = {}

    def see(value: Any) -> None:
        text = str(value.get_type()).replace(" ", "")
        match = re.match(r"tensor<((?:\d+x)+)(?:!tt\.ptr<[\w.]+(?:,\d+)?>|\w+),(#.*)>$", text)
        if match and match[1] + match[2] not in found:
            shape = [int(n) for n in match[1].split("x")[:-1]]
            linear = builder.to_linear_layout(builder.get_gluon_layout_from_tensor(value)._to_ir(builder), shape)
            found[match[1] + match[2]] = [linear.reg_bases, linear.lane_bases, linear.warp_bases]

    def visit(operation: Any) -> None:
        for k in range(operation.get_num_operands()):
            see(operation.get_operand(k))
        for k in range(operation.get_num_results()):
            see(operation.get_result(k))

    module.walk(visit)
    return found


def sources_of(text: str) -> Iterator[dict[str, Any]]:
    """The lines of the user's files that locations name."""
    for file, line in sorted(set(re.findall(r'loc\("([^"]+)":(\d+):\d+', text))):
        source = linecache.getline(file, int(line)).strip()
        if source and len(source) < 500:
            yield {"file": file, "line": int(line), "source": source}


def main() -> None:
    path, capability, fusion = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "1"
    import triton
    from triton._C import libtriton
    from triton._C.libtriton import ir, nvidia

    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    module = ir.parse_mlir_module(path, context)
    module.context = context
    barriers = place_barriers(module, context, capability)
    layouts = layouts_of(module, context)
    print_generic_form(libtriton.__file__)
    text = str(module)
    mark = "// tilevm: "
    lines: list[dict[str, Any]] = [{"triton": triton.__version__, "capability": capability, "fusion": fusion, "barriers": barriers,
              "parameters": sys.argv[4:]}]
    lines += [{"type": type_, "bases": bases} for type_, bases in layouts.items()]
    lines += list(sources_of(text))
    sys.stdout.write("".join(f"{mark}{json.dumps(line)}\n" for line in lines) + text)
    sys.stdout.flush()
    os._exit(0)  # without what bindings say of objects that are left


if __name__ == "__main__":
    main()
