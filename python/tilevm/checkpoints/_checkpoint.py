"""A folder or file of weights that others quantised, read module by module."""

from __future__ import annotations

import json
import math
import pathlib
from typing import Any, Iterator, NamedTuple, Optional

from ._errors import CheckpointError, shown
from ._gguf import read_block
from ._gguf_file import MAGIC, QUANTISED, GgufFile
from ._safetensors import Entry, TensorFile
from ._scheme import Reader, Scheme, packed_scheme, scheme_of
from ._weight import PackedWeight

MOST_CONFIG = 1 << 24


class _Module(NamedTuple):
    reader: Reader
    tensors: dict[str, str]  # by suffix the name


class Checkpoint:
    """What `load_checkpoint` gives. `modules` are the names of quantised weights, `tensors` those of all others; iterating
    gives the modules' PackedWeights, of which memory holds one at a time.

    `method` is the quantisation's name ("gptq", "awq", "compressed-tensors", "fp8", "bitsandbytes", "gguf", "" for none),
    `config` the folder's config.json, or the keys of a GGUF file.
    """

    def __init__(self, path: Any) -> None:
        self.path = pathlib.Path(path)
        self.files = _opened(self.path)
        self.config: dict[str, Any] = {}
        self._where: dict[str, TensorFile] = {}
        try:
            self._find()
        except BaseException:
            self.close()
            raise

    def _find(self) -> None:
        """Names of tensors and modules."""
        for file in self.files:
            for name in file.entries:
                if name in self._where:
                    raise CheckpointError(f"{self._where[name].path.name} has a tensor of this name, too", file.path, name,
                                          file.entries[name].offset)
                self._where[name] = file
        if isinstance(self.files[0], GgufFile):
            self.method, self.config = "gguf", self.files[0].metadata
            self._modules: dict[str, _Module] = {
                name: _Module(_read_gguf, {"": name}) for name, file in self._where.items()
                if file.entries[name].type in QUANTISED.values() and len(file.entries[name].shape) >= 2}
        else:
            self.config, quantisation = _configs(self.path if self.path.is_dir() else self.path.parent)
            scheme = packed_scheme(_facts(self.files)) if quantisation.get("quant_method") == "tilevm" else \
                scheme_of(quantisation, self._where)
            self.method, self.quantisation = scheme.method, quantisation
            self._modules = self._parts(scheme)
        used = {name for module in self._modules.values() for name in module.tensors.values()}
        self.modules = list(self._modules)
        self.tensors = [name for name in self._where if name not in used]

    def _parts(self, scheme: Scheme) -> dict[str, _Module]:
        found = {}
        for name, (reader, suffixes) in scheme.modules.items():
            own = {suffix: f"{name}.{suffix}" for suffix in suffixes if f"{name}.{suffix}" in self._where}
            found[name] = _Module(reader, own)
        return found

    def __iter__(self) -> Iterator[PackedWeight]:
        for name in self.modules:
            yield self.weight(name)

    def __len__(self) -> int:
        return len(self.modules)

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        for file in self.files:
            file.close()

    def entry(self, name: str) -> Entry:
        """Type, shape and place of a tensor. CheckpointError: there is none of this name."""
        return self._file_of(name).entries[name]

    def _file_of(self, name: str) -> TensorFile:
        file = self._where.get(name)
        if file is None:
            raise CheckpointError("there is no tensor of this name", self.path, name)
        return file

    def tensor(self, name: str) -> Any:
        """A tensor that is not quantised, as an array of NumPy; of bf16 and 8-bit floats the codes."""
        return self._file_of(name).array(name)

    def pieces(self, name: str) -> Iterator[bytes]:
        """The bytes of a tensor, some at a time."""
        return self._file_of(name).pieces(name)

    def parts(self, name: str) -> list[str]:
        """The tensors of which a quantised module is made."""
        return list(self._modules[name].tensors.values())

    def weight(self, name: str) -> PackedWeight:
        """A quantised weight. CheckpointError, with the tensor and its byte: what is wrong with it."""
        module = self._modules.get(name)
        if module is None:
            raise CheckpointError("there is no quantised module of this name", self.path, name)
        last: Optional[str] = None

        def read(key: str) -> tuple[Any, str]:
            nonlocal last
            full = module.tensors.get(key)
            if full is None:
                raise CheckpointError(f"there is no `{shown(name)}.{key}`", self.path, name)
            last = full
            file = self._where[full]
            if isinstance(file, GgufFile):
                return file.raw(full), file.entries[full].type
            return file.array(full), file.entries[full].type

        def shape_of(key: str) -> Any:
            return self.entry(module.tensors[key]).shape

        try:
            if module.reader is _read_gguf:
                shape = shape_of("")
                data, type_ = read("")
                weight = read_block(name, type_, data, shape[-1], math.prod(shape[:-1]))
                weight.notes["shape"] = list(shape)
            else:
                weight = module.reader(name, read, lambda key: key in module.tensors)
            weight.check()
            return weight
        except CheckpointError as error:
            if error.file or last is None:
                raise
            raise CheckpointError(error.what, self._where[last].path, last, self.entry(last).offset) from None


def _read_gguf(name: str, read: Any, has: Any) -> PackedWeight:
    raise AssertionError("of a GGUF file")


def load_checkpoint(path: Any) -> Checkpoint:
    """Opens a folder of safetensors files with its config.json, one such file, or a GGUF file. Nothing but headers is
    read until a weight is asked for.

    CheckpointError: a file is of another kind or is cut short, a name occurs twice, the quantisation is not known.
    """
    return Checkpoint(path)


def _opened(path: pathlib.Path) -> list[TensorFile]:
    if path.is_file():
        with open(path, "rb") as file:
            is_gguf = file.read(4) == MAGIC
        return [GgufFile(path) if is_gguf else TensorFile(path)]
    if not path.is_dir():
        raise CheckpointError("there is no such file or folder", path)
    index = path / "model.safetensors.index.json"
    names = _indexed(index) if index.is_file() else sorted(p.name for p in path.glob("*.safetensors"))
    if not names:
        raise CheckpointError("the folder has no .safetensors files", path)
    files: list[TensorFile] = []
    try:
        for name in names:
            files.append(TensorFile(path / name))
    except BaseException:
        for each in files:
            each.close()
        raise
    return files


def _indexed(index: pathlib.Path) -> list[str]:
    """The files of an index; they are names, not paths."""
    data = _json(index)
    table = data.get("weight_map")
    if not isinstance(table, dict) or not all(isinstance(v, str) for v in table.values()):
        raise CheckpointError("`weight_map` is no object of names of files", index)
    names = sorted(set(table.values()))
    for name in names:
        if name != pathlib.PurePath(name).name or name.startswith(".") or "\\" in name or "\0" in name:
            raise CheckpointError(f"`{shown(name)}` is no name of a file of this folder", index)
    return names


def _facts(files: list[TensorFile]) -> dict[str, Any]:
    """What the parts of a packed folder say of their modules."""
    found: dict[str, Any] = {}
    for file in files:
        try:
            facts = json.loads(file.metadata.get("tilevm", "{}"))
            found.update(facts)
        except (ValueError, TypeError, RecursionError):
            raise CheckpointError("its metadata `tilevm` is no object of JSON", file.path, byte=8) from None
    return found


def _json(path: pathlib.Path) -> dict[str, Any]:
    if path.stat().st_size > MOST_CONFIG:
        raise CheckpointError(f"it is longer than {MOST_CONFIG} bytes", path)
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"it is no JSON ({error})", path, byte=getattr(error, "pos", None)) from None
    if not isinstance(data, dict):
        raise CheckpointError("it is no object", path)
    return data


def _configs(folder: pathlib.Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """config.json, and that of the quantisation, which is a part of it or a file of its own."""
    config = _json(folder / "config.json") if (folder / "config.json").is_file() else {}
    for key in ("quantization_config", "compression_config"):
        if isinstance(config.get(key), dict):
            return config, config[key]
    for name in ("quantize_config.json", "quant_config.json"):
        if (folder / name).is_file():
            return config, _json(folder / name)
    return config, {}
