"""Weights of 4 bits for MARLIN, Sparse-MARLIN and tilevm: the same codes in the order of each."""

import importlib.util
import sys
import types

import torch

from protocol import PROGRAMS, empty, kernel


def module(folder, name):
    """The Python of a rival, which tells its order of weights; its extension stays unbuilt."""
    sys.modules.setdefault("marlin_cuda", types.ModuleType("marlin_cuda"))
    spec = importlib.util.spec_from_file_location("marlin", folder / name / "__init__.py",
                                                  submodule_search_locations=[str(folder / name)])
    found = importlib.util.module_from_spec(spec)
    sys.modules["marlin"] = found
    spec.loader.exec_module(found)
    return found


def packed(codes, bits):
    """Codes of 1 to 4 bits as bytes, low bits first: what tilevm's tensors of such types are."""
    together = 8 if bits == 3 else 8 // bits
    columns = codes.reshape(-1, together)
    words = torch.zeros(columns.shape[0], dtype=torch.int32, device=codes.device)
    for i in range(together):
        words |= columns[:, i].int() << (bits * i)
    data = words.view(torch.uint8).view(-1, 4)
    return data[:, :together * bits // 8].contiguous().view(-1)


def in_marlin_order(codes, order):
    """Codes 0..15, [rows, columns] of uint8, as words of 8: tiles of 16 x 16, then `order` in runs of as many codes."""
    rows, columns = codes.shape
    tiles = codes.reshape(rows // 16, 16, columns // 16, 16).permute(0, 2, 1, 3).reshape(-1, order.numel())
    ordered = tiles[:, order.to(codes.device)].reshape(rows // 16, columns * 2, 8)
    words = torch.zeros(ordered.shape[:2], dtype=torch.int32, device=codes.device)
    for i in range(8):
        words |= ordered[:, :, i].int() << (4 * i)
    return words


def scales_in_order(scale, order):
    """Scales [groups, columns] in the order of a rival."""
    return scale.reshape(-1, len(order))[:, order].reshape(scale.shape).contiguous()


def exact_product(a, codes, scale, group):
    """a x ((codes - 8) scale) in f64, some columns at a time."""
    m, n = a.shape[0], codes.shape[1]
    c = torch.empty((m, n), dtype=torch.float64, device=a.device)
    wide = a.double()
    for j in range(0, n, 2048):
        part = slice(j, min(n, j + 2048))
        w = (codes[:, part].double() - 8) * scale[:, part].double().repeat_interleave(group, 0)[:codes.shape[0]]
        c[:, part] = wide @ w
    return c


TYPES = {"u8": torch.uint8, "u32": torch.uint32, "i32": torch.int32, "f16": torch.float16, "f32": torch.float32}


def fit(tensor, parameter):
    """The memory as a parameter has it, of its shape and type; packed bytes stay a flat array."""
    if parameter.type not in TYPES or parameter.shape is None:
        return tensor
    return tensor.view(TYPES[parameter.type]).view(parameter.shape)


def ordered(program, constants, entries, q, scale, made):
    """Weights and scales in the order of a program: what its kernels `entries` make of them. `made` keeps them, since they
    are the same for all numbers of rows."""
    constants = {**constants, "M": 16}
    key = (program, *sorted(constants.items()))
    if key not in made:
        weights, scales = [], scale
        for entry in entries:
            launch, parameters = kernel(PROGRAMS / program, entry, constants)
            if entry == "transform_scale":
                scales = empty(parameters[1])
                launch(fit(scale, parameters[0]), scales)
            else:
                weights = [empty(parameter) for parameter in parameters if parameter.output]
                launch(*map(fit, q, parameters), *weights)
        made[key] = weights, scales
    return made[key]


def tilevm_product(program, constants, a, q, scale, entries, made, between=()):
    """A launch of tilevm's product with weights `q`, tensors of packed bytes, and their scales in its order, and its result.

    `entries` are the kernels before `matmul`: "transform_q" and "transform_scale", or "pack"; `between` are tensors that it
    takes between weights and scales.
    """
    weights, scales = ordered(program, constants, entries, q, scale, made)
    launch, parameters = kernel(PROGRAMS / program, "matmul", constants)
    c = empty(parameters[-1])
    arguments = [fit(x, parameter) for x, parameter in zip([a, *weights, *between, scales, c], parameters)]
    return (lambda: launch(*arguments)), c.view(a.shape[0], -1)


def compile_points(points, entries):
    """What compile_all() takes for points (program, constants): `entries` for 16 rows, and `matmul`."""
    every = [(PROGRAMS / program, entry, {**constants, "M": 16}) for program, constants in points for entry in entries]
    every += [(PROGRAMS / program, "matmul", constants) for program, constants in points]
    unique = {(str(path), entry, *sorted(constants.items())): (path, entry, constants) for path, entry, constants in every}
    return list(unique.values())
