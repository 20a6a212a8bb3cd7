"""Files in safetensors' format: read tensor by tensor with pread, so that memory holds one at a time, and written so that a
file appears whole or not at all.

Format: 8 bytes with the length n of the header, n bytes of JSON, the data; each byte of the data is one tensor's. Bounds
are those of `tilevm run --in` (docs/reference/data.md): a header of at most 64 MiB, no key twice, at most 32 dimensions.
"""

from __future__ import annotations

import json
import math
import os
import pathlib
from typing import Any, Iterator, NamedTuple, Optional

from ._errors import CheckpointError, shown

MOST_HEADER = 1 << 26
MOST_RANK = 32
PIECE = 1 << 24  # bytes that are copied at once

# NumPy's type of the elements of each, or of their codes.
TYPES = {"BOOL": "uint8", "U8": "uint8", "I8": "int8", "F8_E5M2": "uint8", "F8_E4M3": "uint8", "F8_E8M0": "uint8",
         "I16": "int16", "U16": "uint16", "F16": "float16", "BF16": "uint16", "I32": "int32", "U32": "uint32",
         "F32": "float32", "F64": "float64", "I64": "int64", "U64": "uint64"}


class Entry(NamedTuple):
    """A tensor of a file: its type in the words of the format, its shape, and where its bytes are."""

    name: str
    type: str
    shape: tuple[int, ...]
    offset: int
    bytes: int


class TensorFile:
    """A file of tensors with names: `entries` by name, and what they hold. A file format other than this one has a class
    with the same members."""

    def __init__(self, path: Any) -> None:
        self.path = pathlib.Path(path)
        try:
            self._file = open(self.path, "rb")  # noqa: SIM115  as long as this object
        except OSError as error:
            raise CheckpointError(f"cannot be opened ({error.strerror})", path) from None
        self.size = os.fstat(self._file.fileno()).st_size
        self.metadata: dict[str, Any] = {}
        try:
            self.entries = self._read_entries()
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> TensorFile:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _read_entries(self) -> dict[str, Entry]:
        head = self.read(0, 8)
        length = int.from_bytes(head, "little")
        if length > MOST_HEADER:
            raise CheckpointError(f"its header of {length} bytes is longer than {MOST_HEADER}", self.path, byte=0)
        if 8 + length > self.size:
            raise CheckpointError(f"it ends inside its header of {length} bytes", self.path, byte=self.size)
        header = _parsed(self.read(8, length), self.path)
        meta = header.pop("__metadata__", {})
        self.metadata = meta if isinstance(meta, dict) else {}
        entries = [_entry(name, value, self.path) for name, value in header.items()]
        entries.sort(key=lambda e: (e.offset, e.bytes))
        end = 0
        for entry in entries:
            if entry.offset != end:
                what = "it lies in the data of another tensor" if entry.offset < end else "its data is not where that of others ends"
                raise CheckpointError(what, self.path, entry.name, 8 + length + entry.offset)
            end += entry.bytes
            if 8 + length + end > self.size:
                raise CheckpointError(f"the file ends at byte {self.size}, inside of the tensor's {entry.bytes} bytes", self.path,
                                      entry.name, 8 + length + entry.offset)
        if 8 + length + end != self.size:
            raise CheckpointError(f"{self.size - 8 - length - end} bytes follow the data of its tensors", self.path,
                                  byte=8 + length + end)
        return {e.name: e._replace(offset=8 + length + e.offset) for e in entries}

    def read(self, offset: int, count: int, tensor: str = "") -> bytes:
        """Bytes of the file. CheckpointError: it is shorter, as where another process cut it."""
        pieces = []
        while count > 0:
            piece = os.pread(self._file.fileno(), min(count, PIECE), offset)
            if not piece:
                raise CheckpointError("the file ends here", self.path, tensor, offset)
            pieces.append(piece)
            offset, count = offset + len(piece), count - len(piece)
        return b"".join(pieces) if len(pieces) != 1 else pieces[0]

    def pieces(self, name: str) -> Iterator[bytes]:
        """The bytes of a tensor, some at a time."""
        entry = self.entries[name]
        for begin in range(0, entry.bytes, PIECE):
            yield self.read(entry.offset + begin, min(PIECE, entry.bytes - begin), name)

    def raw(self, name: str) -> Any:
        """The bytes of a tensor as a flat array of NumPy, in memory of its own."""
        import numpy

        entry = self.entries[name]
        flat = numpy.empty(entry.bytes, numpy.uint8)
        view, done = memoryview(flat), 0  # type: ignore[arg-type]
        while done < entry.bytes:
            got = os.preadv(self._file.fileno(), [view[done:]], entry.offset + done)
            if got == 0:
                raise CheckpointError("the file ends here", self.path, name, entry.offset + done)
            done += got
        return flat

    def array(self, name: str) -> Any:
        """A tensor as an array of NumPy, in memory of its own; of bf16 and 8-bit floats the codes."""
        import numpy

        entry = self.entries[name]
        kind = TYPES.get(entry.type)
        if kind is None:
            raise CheckpointError(f"its type `{shown(entry.type)}` is none that is read here", self.path, name, entry.offset)
        return self.raw(name).view(numpy.dtype(kind).newbyteorder("<")).reshape(entry.shape)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key `{shown(twice)}` occurs twice")
    return found


def _parsed(text: bytes, path: Any) -> dict[str, Any]:
    """The header's object. Its texts are strict UTF-8; a key that occurs twice is refused, since readers differ in which
    of the two they take."""
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=_pairs)
    except UnicodeDecodeError as error:
        raise CheckpointError("bytes that are no UTF-8 in the header", path, byte=8 + error.start) from None
    except json.JSONDecodeError as error:
        raise CheckpointError(f"bad header ({error.msg})", path, byte=8 + error.pos) from None
    except (ValueError, RecursionError) as error:
        words = "it nests too deeply" if isinstance(error, RecursionError) else str(error)
        raise CheckpointError(f"bad header ({words})", path, byte=8) from None
    if not isinstance(header, dict):
        raise CheckpointError("the header is no object", path, byte=8)
    return header


def _is_natural(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _entry(name: str, value: Any, path: Any) -> Entry:
    """An entry of the header, with places of the data."""
    if not isinstance(value, dict):
        raise CheckpointError("its entry is no object", path, name, 8)
    type_, shape, places = value.get("dtype"), value.get("shape"), value.get("data_offsets")
    if not isinstance(type_, str) or not isinstance(shape, list) or not isinstance(places, list) or len(places) != 2 or \
            not all(map(_is_natural, shape)) or not all(map(_is_natural, places)):
        raise CheckpointError("it needs `dtype`, `shape` and two `data_offsets`, natural numbers", path, name, 8)
    if len(shape) > MOST_RANK:
        raise CheckpointError(f"it has {len(shape)} dimensions, more than {MOST_RANK}", path, name, 8)
    begin, end = places
    if end < begin:
        raise CheckpointError("its `data_offsets` end before they begin", path, name, 8)
    kind = TYPES.get(type_)
    if kind is not None:
        import numpy

        wanted = math.prod(shape) * numpy.dtype(kind).itemsize
        if wanted != end - begin:
            raise CheckpointError(f"{type_}{shape} takes {wanted} bytes, and it has {end - begin}", path, name, 8)
    return Entry(name, type_, tuple(shape), begin, end - begin)


class Writer:
    """Writes a file beside its place, `.NAME.partial`, and gives it its name when it is whole. A file of that name is never
    written over."""

    def __init__(self, path: Any, tensors: int, metadata: int) -> None:
        """Room for the header is left: for so many tensors, and so many bytes of metadata."""
        self.path = pathlib.Path(path)
        self.partial = self.path.with_name(f".{self.path.name}.partial")
        self._room = -(-(512 * tensors + metadata + 64) // 8) * 8
        self._entries: dict[str, Any] = {}
        self._end = 0
        self._file = open(self.partial, "wb")  # noqa: SIM115  closed by finish or abandon
        self._file.seek(8 + self._room)

    def add(self, name: str, type_: str, shape: tuple[int, ...], pieces: Iterator[Any]) -> None:
        """A tensor, by bytes or arrays of them."""
        begin = self._end
        for piece in pieces:
            view = memoryview(piece).cast("B") if len(piece) else memoryview(b"")
            self._end += view.nbytes
            self._file.write(view)
        self._entries[name] = {"dtype": type_, "shape": list(shape), "data_offsets": [begin, self._end]}

    def finish(self, metadata: dict[str, str]) -> None:
        """CheckpointError: a file of this name is there already."""
        text = json.dumps({"__metadata__": metadata, **self._entries}, separators=(",", ":")).encode()
        if len(text) > self._room:
            self.abandon()
            raise CheckpointError(f"its header of {len(text)} bytes has no room in {self._room}", self.path)
        self._file.seek(0)
        self._file.write(self._room.to_bytes(8, "little") + text.ljust(self._room))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        place(self.partial, self.path)

    def abandon(self) -> None:
        self._file.close()
        self.partial.unlink(missing_ok=True)


def place(partial: pathlib.Path, path: pathlib.Path) -> None:
    """Gives a whole file its name. CheckpointError: there is one of this name."""
    try:
        try:
            os.link(partial, path)  # fails where there is one, in one step
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            if path.exists():
                raise FileExistsError from None
            partial.rename(path)
            return
    except FileExistsError:
        partial.unlink(missing_ok=True)
        raise CheckpointError("a file of this name is there already, and nothing is written over", path) from None
    partial.unlink()


def write_text(path: pathlib.Path, text: str) -> None:
    """A file of text, whole or not at all; one that has this text already stays."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    place(partial, path)


def fingerprint(file: TensorFile, of: Optional[Any] = None) -> str:
    """What tells a file from another one of its name: size, time of change and header, as hexadecimal digits."""
    import hashlib

    stat = os.stat(file.path)
    digest = of if of is not None else hashlib.sha256()
    digest.update(f"{file.path.name} {stat.st_size} {stat.st_mtime_ns}".encode())
    for entry in file.entries.values():
        digest.update(repr(entry).encode())
    return str(digest.hexdigest())
