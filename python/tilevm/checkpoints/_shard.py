"""Weights for several GPUs: each rank's part of a packed weight, cut where groups and tiles of the kernels end.

*Columns*: a rank has some outputs, all inputs. *Rows*: some inputs, all outputs; the ranks' products are added. A cut of
columns is at a multiple of 64 outputs where there are that many for each rank, the tiles of the programs, else of 8; one of rows
at the end of a group.
"""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any, Optional

from ._bits import packed_codes
from ._checkpoint import load_checkpoint
from ._errors import CheckpointError
from ._pack import ROOM, _done, _parts, _source_of, facts_of, file_name, packed_tensors
from ._safetensors import Writer, write_text
from ._weight import PackedWeight

# Names of modules of each kind in Llama, Qwen, Mistral and Mixtral.
COLUMNS = re.compile(r"\.(q_proj|k_proj|v_proj|qkv_proj|gate_proj|up_proj|gate_up_proj|w1|w3)$")
ROWS = re.compile(r"\.(o_proj|down_proj|w2)$")


def ends_of(count: int, world: int, step: int) -> list[int]:
    """Where each of `world` ranges of 0..count ends, at multiples of `step` and as even as they can be; the last at `count`."""
    steps = -(-count // step)
    return [min(count, (rank + 1) * steps // world * step) for rank in range(world - 1)] + [count]


def range_of(count: int, rank: int, world: int, step: int, name: str = "") -> tuple[int, int]:
    """A rank's range. CheckpointError: it is empty."""
    ends = [0, *ends_of(count, world, step)]
    if ends[rank] >= ends[rank + 1]:
        raise CheckpointError(f"{count} in steps of {step} are too few for {world} ranks", tensor=name)
    return ends[rank], ends[rank + 1]


def kind_of(name: str) -> str:
    """"columns", "rows", or "" for a module that every rank has whole."""
    return "columns" if COLUMNS.search(name) else "rows" if ROWS.search(name) else ""


def column_step(outputs: int, world: int) -> int:
    """The multiple at which columns are cut."""
    return 64 if outputs % (64 * world) == 0 else 8


def _row_step(weight: PackedWeight) -> int:
    """The multiple at which rows are cut: a group, or all groups of a super-block; inputs of one group at 32."""
    if weight.form == "super":
        return weight.inputs // int(weight.arrays["scale"].shape[0])
    return weight.group if weight.group < weight.inputs else 32


def shard(weight: PackedWeight, rank: int, world: int, kind: str) -> PackedWeight:
    """A rank's part of a weight, by "columns" or "rows". CheckpointError: the format cannot be cut so, as groups of a flat
    order, or rows in the order of act-order, whose inputs other ranks have."""
    if not 0 <= rank < world or kind not in ("columns", "rows"):
        raise CheckpointError(f"rank {rank} of {world}, {kind}", tensor=weight.name)
    if weight.flat or weight.form == "nested":
        raise CheckpointError(f"groups of {weight.format} count elements of the whole weight, so it cannot be cut", tensor=weight.name)
    rows = weight.rows()
    arrays = dict(weight.arrays)
    matrices = ("scale", "subscale", "zero", "min", "submin")
    if kind == "columns":
        begin, end = range_of(weight.outputs, rank, world, column_step(weight.outputs, world), weight.name)
        rows = rows[:, begin:end]
        for key in matrices:
            if key in arrays and arrays[key].ndim == 2:
                arrays[key] = arrays[key][:, begin:end]
        inputs, outputs = weight.inputs, end - begin
    else:
        if "perm" in arrays or "g_idx" in arrays:
            raise CheckpointError("its rows are in the order of their groups, so that a rank's inputs are other ranks'; cut it by columns",
                                  tensor=weight.name)
        begin, end = range_of(weight.inputs, rank, world, _row_step(weight), weight.name)
        rows = rows[begin:end]
        for key in matrices:
            if key in arrays and arrays[key].ndim == 2 and len(arrays[key]) > 1:
                per = -(-weight.inputs // len(arrays[key]))
                arrays[key] = arrays[key][begin // per:-(-end // per)]
        inputs, outputs = end - begin, weight.outputs
    group = weight.group if weight.group < weight.inputs else inputs
    import numpy

    arrays = {key: numpy.ascontiguousarray(array) for key, array in arrays.items()}
    part = PackedWeight(weight.name, weight.format, weight.type, inputs, outputs, group, weight.dtype, packed_codes(rows, weight.bits), arrays,
                        weight.form, False, dict(weight.types),
                        {**weight.notes, "shard": [kind, rank, world, weight.inputs, weight.outputs, begin]})
    part.check()
    return part


def shard_checkpoint(source: Any, destination: Any, rank: int, world: int, kinds: Optional[Any] = None) -> pathlib.Path:
    """Writes a rank's folder of packed weights, from any checkpoint that load_checkpoint reads; it goes on after an
    interruption as pack_checkpoint. `kinds(name)` is "columns", "rows" or ""; by default by the names of Llama, Qwen and
    Mixtral. Other tensors, and biases of rows, are whole in each rank; biases of columns are cut."""
    folder = pathlib.Path(destination)
    chosen = kinds or kind_of
    with load_checkpoint(source) as checkpoint:
        folder.mkdir(parents=True, exist_ok=True)
        mark = f"{_source_of(checkpoint)} {rank}/{world}"
        table: dict[str, str] = {}
        for part, (modules, tensors) in _parts(checkpoint).items():
            path = folder / file_name(part)
            names = _done(path, mark)
            if names is None:
                names = _write(checkpoint, path, mark, modules, tensors, rank, world, chosen)
            table.update(dict.fromkeys(names, path.name))
        config = {k: v for k, v in checkpoint.config.items() if k not in ("quantization_config", "compression_config")}
        config["quantization_config"] = {"quant_method": "tilevm", "version": 1, "source": checkpoint.method, "rank": rank, "world": world}
        write_text(folder / "config.json", json.dumps(config, indent=2, default=str) + "\n")
        write_text(folder / "model.safetensors.index.json",
                   json.dumps({"metadata": {}, "weight_map": dict(sorted(table.items()))}, indent=2) + "\n")
    return folder


def _write(checkpoint: Any, path: pathlib.Path, mark: str, modules: list[str], tensors: list[str], rank: int, world: int,
           kinds: Any) -> list[str]:
    import numpy

    writer = Writer(path, 9 * len(modules) + len(tensors), ROOM * (len(modules) + 1))
    facts, names = {}, []
    try:
        for name in modules:
            weight = checkpoint.weight(name)
            if kinds(name):
                weight = shard(weight, rank, world, kinds(name))
            for key, type_, array in packed_tensors(weight):
                writer.add(f"{name}.{key}", type_, array.shape, iter([numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8)]))
                names.append(f"{name}.{key}")
            facts[name] = facts_of(weight)
        for name in tensors:
            entry, module = checkpoint.entry(name), name.rpartition(".")[0]
            if name.endswith(".bias") and module in checkpoint.modules and kinds(module) == "columns":
                array = checkpoint.tensor(name)
                begin, end = range_of(len(array), rank, world, column_step(len(array), world), name)
                part = numpy.ascontiguousarray(array[begin:end])
                writer.add(name, entry.type, part.shape, iter([part.view(numpy.uint8)]))
            else:
                writer.add(name, entry.type, entry.shape, checkpoint.pieces(name))
            names.append(name)
        writer.finish({"format": "pt", "tilevm": json.dumps(facts), "tilevm_source": mark})
    except BaseException:
        writer.abandon()
        raise
    return names
