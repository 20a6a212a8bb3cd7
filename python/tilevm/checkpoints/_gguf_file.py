"""The container of GGUF, versions 2 and 3, little endian: keys and values, the tensors' names, shapes and types, the data.

Bounds: at most 2^20 tensors and as many keys, names of at most 64 KiB, texts of at most 16 MiB, arrays within the file, no
name twice, no two tensors in one place.
"""

from __future__ import annotations

import math
import struct
from typing import Any

from ._errors import CheckpointError, shown
from ._gguf import BLOCKS
from ._safetensors import Entry, TensorFile

MAGIC = b"GGUF"
MOST = 1 << 20
MOST_NAME = 1 << 16
MOST_TEXT = 1 << 24
SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
TEXT, ARRAY = 8, 9
# The numbers of ggml's types.
PLAIN = {0: "F32", 1: "F16", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 30: "BF16"}
QUANTISED = {2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K",
             39: "MXFP4"}
SIZES = {"F32": 4, "F16": 2, "I8": 1, "I16": 2, "I32": 4, "I64": 8, "F64": 8, "BF16": 2}


class _Reader:
    """Reads on from a place of a file."""

    def __init__(self, file: TensorFile) -> None:
        self.file, self.at = file, 0

    def take(self, count: int) -> bytes:
        if count > self.file.size - self.at:
            raise CheckpointError(f"{count} bytes are expected here, and the file ends at byte {self.file.size}", self.file.path,
                                  byte=self.at)
        data = self.file.read(self.at, count)
        self.at += count
        return data

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def text(self, most: int) -> str:
        begin, count = self.at, self.number("<Q")
        if count > most:
            raise CheckpointError(f"a text of {count} bytes is longer than {most}", self.file.path, byte=begin)
        try:
            return self.take(count).decode("utf-8")
        except UnicodeDecodeError as error:
            raise CheckpointError("bytes that are no UTF-8 in a text", self.file.path, byte=begin + 8 + error.start) from None

    def fail(self, what: str, begin: int) -> CheckpointError:
        return CheckpointError(what, self.file.path, byte=begin)

    def value(self, kind: int, keep: bool = True) -> Any:
        """A value; of arrays the first 64 elements, since nothing here needs vocabularies."""
        begin = self.at
        if kind in SCALARS:
            return self.number(SCALARS[kind])
        if kind == TEXT:
            return self.text(MOST_TEXT)
        if kind != ARRAY:
            raise self.fail(f"a value of the type {kind}, which GGUF does not have", begin)
        inner, count = self.number("<I"), self.number("<Q")
        if inner in SCALARS:
            size = struct.calcsize(SCALARS[inner])
            if count > (self.file.size - self.at) // size:
                raise self.fail(f"an array of {count} elements is longer than the file", begin)
            first = [self.number(SCALARS[inner]) for _ in range(min(count, 64))]
            self.at += size * (count - len(first))
            return first
        if inner != TEXT:
            raise self.fail("an array of arrays or of a type that GGUF does not have", begin)
        if count > (self.file.size - self.at) // 8:
            raise self.fail(f"an array of {count} texts is longer than the file", begin)
        found = []
        for i in range(count):
            if i < 64:
                found.append(self.text(MOST_TEXT))
                continue
            length = int.from_bytes(self.file.read(self.at, 8), "little") if self.file.size - self.at >= 8 else MOST_TEXT + 1
            if length > min(MOST_TEXT, self.file.size - self.at - 8):
                raise self.fail("a text of an array is longer than the file", self.at)
            self.at += 8 + length
        return found


class GgufFile(TensorFile):
    """A GGUF file; `metadata` has its keys. The last dimension of `shape` is the one whose elements are neighbours."""

    def _read_entries(self) -> dict[str, Entry]:
        r = _Reader(self)
        if r.take(4) != MAGIC:
            raise CheckpointError("it does not begin with GGUF", self.path, byte=0)
        version = r.number("<I")
        if version not in (2, 3):
            raise CheckpointError(f"version {version}; 2 and 3, little endian, are read", self.path, byte=4)
        count, keys = r.number("<Q"), r.number("<Q")
        if count > MOST or keys > MOST:
            raise CheckpointError(f"{count} tensors and {keys} keys are more than {MOST}", self.path, byte=8)
        for _ in range(keys):
            begin = r.at
            key = r.text(MOST_NAME)
            if key in self.metadata:
                raise CheckpointError(f"the key `{shown(key)}` occurs twice", self.path, byte=begin)
            self.metadata[key] = r.value(r.number("<I"))
        entries = [self._entry(r) for _ in range(count)]
        align = self.metadata.get("general.alignment", 32)
        if type(align) is not int or align < 1 or align & align - 1 or align > MOST:
            raise CheckpointError(f"`general.alignment` is {shown(str(align))}; it is a power of two", self.path)
        begin = -(-r.at // align) * align
        return self._placed(entries, begin, align)

    def _entry(self, r: _Reader) -> Entry:
        at = r.at
        name = r.text(MOST_NAME)
        rank = r.number("<I")
        if rank > 4:
            raise CheckpointError(f"it has {rank} dimensions, more than 4", self.path, name, at)
        shape = tuple(r.number("<Q") for _ in range(rank))[::-1]
        kind, offset = r.number("<I"), r.number("<Q")
        if math.prod(shape) >= 1 << 62 or any(n >= 1 << 62 for n in shape):
            raise CheckpointError(f"the shape {list(shape)} is too large", self.path, name, at)
        if kind in PLAIN:
            size = math.prod(shape) * SIZES[PLAIN[kind]]
        elif kind in QUANTISED:
            block = BLOCKS[QUANTISED[kind]]
            if not shape or shape[-1] % block.weights:
                raise CheckpointError(f"rows of {shape[-1] if shape else 0} weights are no whole blocks of {QUANTISED[kind]}", self.path,
                                      name, at)
            size = math.prod(shape) // block.weights * block.bytes
        else:
            raise CheckpointError(f"ggml's type {kind} is none that is read here", self.path, name, at)
        return Entry(name, PLAIN.get(kind) or QUANTISED[kind], shape, offset, size)

    def _placed(self, entries: list[Entry], begin: int, align: int) -> dict[str, Entry]:
        """Entries with places of the file."""
        found: dict[str, Entry] = {}
        end = 0
        for entry in sorted(entries, key=lambda e: (e.offset, e.bytes)):
            place = begin + entry.offset
            if entry.name in found:
                raise CheckpointError("its name occurs twice", self.path, entry.name, place)
            if entry.offset % align:
                raise CheckpointError(f"its place is no multiple of {align}", self.path, entry.name, place)
            if entry.offset < end:
                raise CheckpointError("it lies in the data of another tensor", self.path, entry.name, place)
            if place + entry.bytes > self.size:
                raise CheckpointError(f"the file ends at byte {self.size}, inside of the tensor's {entry.bytes} bytes", self.path,
                                      entry.name, place)
            end = entry.offset + entry.bytes
            found[entry.name] = entry._replace(offset=place)
        return found
