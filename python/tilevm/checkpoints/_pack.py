"""Conversion of a checkpoint to a folder of packed weights, part by part: memory holds one tensor at a time, an interrupted
run goes on where it was, and nothing is written over.

A part is a file of the modules and tensors of one block of the model, as model.layers.0.safetensors. A quantised
module has `NAME.weight_q`, the packed codes of [inputs, outputs], and an array of each name of ARRAYS that the format
needs. The
file's metadata `tilevm` is JSON with what else a PackedWeight has. The parts are those of model.safetensors.index.json.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
import re
import sys
from typing import Any, Callable, Iterator, Optional

from ._checkpoint import Checkpoint, load_checkpoint
from ._errors import CheckpointError
from ._safetensors import TYPES, TensorFile, Writer, fingerprint, place, write_text
from ._weight import ARRAYS, PackedWeight

Progress = Callable[[int, int, str], None]
COPIED = ("generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.json",
          "merges.txt", "tokenizer.model", "chat_template.jinja", "preprocessor_config.json")
MOST_COPIED = 1 << 28
ROOM = 1024  # bytes of metadata for a module
NAMES = {"uint8": "U8", "int8": "I8", "float16": "F16", "float32": "F32", "int32": "I32", "uint16": "U16", "int64": "I64"}


def part_of(name: str) -> str:
    """The part of a tensor: its name up to the first number, or up to the last dot."""
    block = re.match(r"(.*?\.\d+)\.", name)
    return block[1] if block else name.rpartition(".")[0] or name


def file_name(part: str) -> str:
    """A part's file; characters that a name may not have become `_`, and names that would meet get digits."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", part).lstrip(".")[:120]
    if plain != part:
        plain += "-" + hashlib.sha256(part.encode()).hexdigest()[:8]
    return plain + ".safetensors"


def packed_tensors(weight: PackedWeight) -> Iterator[tuple[str, str, Any]]:
    """The names, types and arrays of a module in a part."""
    yield "weight_q", "U8", weight.codes
    for name, array in weight.arrays.items():
        type_ = weight.types.get(name) or NAMES[array.dtype.name]
        yield name, type_, array


def facts_of(weight: PackedWeight) -> dict[str, Any]:
    """What a part's metadata has of a module."""
    return {"format": weight.format, "type": weight.type, "inputs": weight.inputs, "outputs": weight.outputs, "group": weight.group,
            "dtype": weight.dtype, "form": weight.form, "flat": weight.flat, "notes": weight.notes}


def _parts(checkpoint: Checkpoint) -> dict[str, tuple[list[str], list[str]]]:
    found: dict[str, tuple[list[str], list[str]]] = {}
    for name in checkpoint.modules:
        found.setdefault(part_of(name), ([], []))[0].append(name)
    for name in checkpoint.tensors:
        found.setdefault(part_of(name), ([], []))[1].append(name)
    return found


def _source_of(checkpoint: Checkpoint) -> str:
    digest = hashlib.sha256()
    text = ""
    for file in checkpoint.files:
        text = fingerprint(file, digest)
    digest.update(json.dumps(checkpoint.config, sort_keys=True, default=str).encode())
    return digest.hexdigest() if text else ""


def _done(path: pathlib.Path, source: str) -> Optional[list[str]]:
    """The tensors of a part that a former run wrote; None: there is no such file. CheckpointError: it is of another source."""
    if not path.exists():
        return None
    with TensorFile(path) as file:
        if file.metadata.get("tilevm_source") != source:
            raise CheckpointError("a file of this name is there already, of another source; nothing is written over", path)
        return list(file.entries)


def _write_part(checkpoint: Checkpoint, path: pathlib.Path, source: str, modules: list[str], tensors: list[str],
                step: Callable[[int, str], None]) -> list[str]:
    writer = Writer(path, 9 * len(modules) + len(tensors), ROOM * (len(modules) + 1))
    facts, names = {}, []
    try:
        for name in modules:
            weight = checkpoint.weight(name)
            for key, type_, array in packed_tensors(weight):
                import numpy

                writer.add(f"{name}.{key}", type_, array.shape, iter([numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8)]))
                names.append(f"{name}.{key}")
            facts[name] = facts_of(weight)
            step(sum(checkpoint.entry(each).bytes for each in checkpoint.parts(name)), name)
        for name in tensors:
            entry = checkpoint.entry(name)
            if entry.type not in TYPES:
                raise CheckpointError(f"its type `{entry.type}` is none that is read here", path, name, entry.offset)
            writer.add(name, entry.type, entry.shape, checkpoint.pieces(name))
            names.append(name)
            step(entry.bytes, name)
        writer.finish({"format": "pt", "tilevm": json.dumps(facts), "tilevm_source": source})
    except BaseException:
        writer.abandon()
        raise
    return names


def pack_checkpoint(source: Any, destination: Any, progress: Optional[Progress] = None) -> pathlib.Path:
    """Writes a folder of packed weights, which load_checkpoint and from_pretrained read (docs/guides/checkpoints.md).

    `progress(done, total, name)` gets bytes of the source and the tensor. A run that was interrupted goes on after the
    parts that are whole. CheckpointError: the source is bad, or a file of the destination is of another source.
    """
    folder = pathlib.Path(destination)
    with load_checkpoint(source) as checkpoint:
        if checkpoint.method in ("", "tilevm"):
            raise CheckpointError("nothing of it is quantised" if not checkpoint.method else "it is packed already", source)
        folder.mkdir(parents=True, exist_ok=True)
        mark = _source_of(checkpoint)
        every = [file.entries[name].bytes for file in checkpoint.files for name in file.entries]
        done, total, table = 0, sum(every), {}

        def step(count: int, name: str) -> None:
            nonlocal done
            done += count
            if progress is not None:
                progress(done, total, name)

        for part, (modules, tensors) in _parts(checkpoint).items():
            path = folder / file_name(part)
            names = _done(path, mark)
            if names is None:
                names = _write_part(checkpoint, path, mark, modules, tensors, step)
            else:
                step(sum(checkpoint.entry(n).bytes for m in modules for n in checkpoint.parts(m))
                     + sum(checkpoint.entry(n).bytes for n in tensors), part)
            table.update(dict.fromkeys(names, path.name))
        _write_configs(checkpoint, folder, table)
    return folder


def _write_configs(checkpoint: Checkpoint, folder: pathlib.Path, table: dict[str, str]) -> None:
    index = {"metadata": {"total_size": 0}, "weight_map": dict(sorted(table.items()))}
    config = {k: v for k, v in checkpoint.config.items() if k not in ("quantization_config", "compression_config")}
    config["quantization_config"] = {"quant_method": "tilevm", "version": 1, "source": checkpoint.method, "modules": _modules_of(folder, table)}
    write_text(folder / "config.json", json.dumps(config, indent=2, default=str) + "\n")
    home = checkpoint.path if checkpoint.path.is_dir() else checkpoint.path.parent
    for name in COPIED:
        file = home / name
        if file.is_file() and file.stat().st_size <= MOST_COPIED and not (folder / name).exists():
            partial = folder / f".{name}.partial"
            partial.write_bytes(file.read_bytes())
            place(partial, folder / name)
    # The last file: a folder with it is whole.
    write_text(folder / "model.safetensors.index.json", json.dumps(index, indent=2) + "\n")


def _modules_of(folder: pathlib.Path, table: dict[str, str]) -> dict[str, Any]:
    """What is needed to make layers before their weights are read: facts, and types and shapes of tensors."""
    found: dict[str, Any] = {}
    for name in sorted(set(table.values())):
        with TensorFile(folder / name) as file:
            for module, facts in json.loads(file.metadata["tilevm"]).items():
                entries = {key.rpartition(".")[2]: e for key, e in file.entries.items() if key.rpartition(".")[0] == module}
                found[module] = {**facts, "tensors": {k: [e.type, list(e.shape)] for k, e in entries.items() if k in (*ARRAYS, "weight_q")}}
    return found


def unpacked(weight: PackedWeight) -> dict[str, tuple[Any, str]]:
    """The tensors that the weight had in its format, by their suffix, as (array, type). CheckpointError: the format is not
    written."""
    from ._bitsandbytes import write_bitsandbytes
    from ._compressed import write_compressed
    from ._gguf import write_block
    from ._gptq import write_awq, write_gptq

    if weight.format.startswith("gguf "):
        return {"": (write_block(weight), weight.format[5:])}
    if weight.format.startswith("bitsandbytes "):
        return write_bitsandbytes(weight)
    return {"gptq": write_gptq, "awq": write_awq}.get(weight.format, write_compressed)(weight)


def show_progress(done: int, total: int, name: str) -> None:
    """A line of a terminal, which the next one covers."""
    share = done / max(total, 1)
    line = f"{share:4.0%}  {done / 1e9:.2f} of {total / 1e9:.2f} GB  {name}"
    sys.stderr.write("\r" + line[:100].ljust(100) if sys.stderr.isatty() else line + "\n")

