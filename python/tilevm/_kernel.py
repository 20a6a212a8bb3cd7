"""Programs as functions of arrays."""

from __future__ import annotations

import ctypes
import inspect
import os
import re
import tempfile
import textwrap
import threading
from typing import Any, Callable, NamedTuple

from . import _command
from ._errors import OF_STATUS, Diagnostic, Error, UsageError
from ._library import LIBRARY, CArgument

NUMPY_NAMES = {"f16": "float16", "f32": "float32", "f64": "float64", "i8": "int8", "i16": "int16", "i32": "int32",
               "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64"}
ML_NAMES = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}
SCALARS = {"bool": ctypes.c_uint8, "i32": ctypes.c_int32, "u32": ctypes.c_uint32, "i64": ctypes.c_int64,
           "u64": ctypes.c_uint64, "f32": ctypes.c_float}


class Parameter(NamedTuple):
    """A parameter of an entry. `shape` is None where it is not constant, and of a scalar."""

    name: str
    type: str
    scalar: bool
    input: bool
    output: bool
    shape: tuple[int, ...] | None
    bytes: int

    def __str__(self) -> str:
        return f"{self.type}{list(self.shape)}" if self.shape is not None else self.type


class Kernel:
    """A verified program and its entry; load() and loads() make it. Calls may come from any thread."""

    def __init__(self, text: str | None, path: str, constants: dict[str, Any], target: str | None,
                 entry: str | None) -> None:
        self._recipe = (text, path, constants, target, entry)
        self._pid = os.getpid()
        self._handle = ctypes.c_void_p()
        self._defines = [f"{name}={_constant(value)}" for name, value in constants.items()]
        defines = (ctypes.c_char_p * (len(self._defines) + 1))(*[each.encode() for each in self._defines], None)
        wanted = None if target is None else target.encode()
        if text is None:
            status = LIBRARY.tilevm_open_file(path.encode(), defines, wanted, self._handle)
        else:
            status = LIBRARY.tilevm_open(text.encode(), path.encode(), defines, wanted, self._handle)
        if status != 0:
            message = LIBRARY.tilevm_message().decode(errors="replace")
            raise OF_STATUS.get(status, Error)(message, self._diagnostics() if status == 1 else ())
        self.warnings: str = LIBRARY.tilevm_warnings(self._handle).decode(errors="replace")
        self.name, self.parameters = self._find(entry)

    def _find(self, wanted: str | None) -> tuple[str, tuple[Parameter, ...]]:
        count = ctypes.c_size_t()
        entries = LIBRARY.tilevm_entries(self._handle, count)
        every = {entries[i].name.decode(): entries[i] for i in range(count.value)}
        pipelines = [name for name, entry in every.items() if entry.is_pipeline]
        names = [wanted] if wanted else pipelines if len(pipelines) == 1 else ["main"] if "main" in every else \
            list(every) if len(every) == 1 else []
        if not names or names[0] not in every:
            raise UsageError(f"name the entry with entry=..; there are: {', '.join(every)}")
        found = []
        for p in every[names[0]].parameters[:every[names[0]].count]:
            shape = tuple(p.shape[:p.rank]) if p.rank >= 0 else None
            found.append(Parameter(p.name.decode(), p.type.decode(), p.role == 0, bool(p.role & 1), bool(p.role & 2),
                                   shape, p.bytes))
        return names[0], tuple(found)

    def __del__(self, close: Any = LIBRARY.tilevm_close) -> None:
        if getattr(self, "_handle", None):
            close(self._handle)

    def __reduce__(self) -> Any:
        return Kernel, self._recipe

    def __repr__(self) -> str:
        return f"<tilevm kernel {self.name}({', '.join(f'{p.name}: {p}' for p in self.parameters)})>"

    def __call__(self, *arguments: Any, backend: str = "sim", **named: Any) -> Any:
        """Runs on arrays of the host; `backend` is sim, emu or cuda.

        Takes all parameters in order, or all that are no pure outputs, which are then made, as zeros. Returns the
        output, or a tuple of them. UsageError: an argument does not fit. ProgramError: the program has a fault.
        """
        values = self._bind(arguments, named)
        kept, outputs, packed = [], [], (CArgument * len(values))()
        for place, (parameter, value) in enumerate(zip(self.parameters, values)):
            array = _scalar(parameter, value) if parameter.scalar else _array(parameter, value)
            kept.append(array)
            if parameter.scalar:
                packed[place] = CArgument(ctypes.addressof(array), ctypes.sizeof(array))
            else:
                packed[place] = CArgument(array.ctypes.data, array.nbytes)
            if parameter.output:
                outputs.append((place, array, value))
        if backend == "cuda" and os.getpid() != self._pid:
            raise UsageError("CUDA does not survive a fork; start processes with multiprocessing's `spawn`, or load the "
                             "kernel in the child")
        self._run(backend, packed, kept, outputs)
        results = [array if value is None else value for _, array, value in outputs]
        return results[0] if len(results) == 1 else tuple(results)

    def _bind(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        names = [p.name for p in self.parameters]
        needed = [p.name for p in self.parameters if p.scalar or p.input or not p.output]
        if unknown := [name for name in named if name not in names]:
            raise UsageError(f"`{self.name}` has no parameter `{unknown[0]}`; it has {', '.join(names)}")
        order = names if len(arguments) + len(named) == len(names) else needed
        rest = [name for name in order if name not in named]
        if len(arguments) > len(rest):
            raise UsageError(f"`{self.name}` takes {', '.join(needed)}, or all of {', '.join(names)}; "
                             f"{len(arguments) + len(named)} arguments were given")
        given = {**dict(zip(rest, arguments)), **named}
        if missing := [name for name in needed if name not in given]:
            raise UsageError(f"`{self.name}` is not given `{missing[0]}`; it takes {', '.join(needed)}")
        return [given.get(name) for name in names]

    def _run(self, backend: str, packed: Any, kept: list[Any], outputs: list[Any]) -> None:
        call = (self._handle, self.name.encode(), backend.encode(), packed, len(packed))
        if threading.current_thread() is not threading.main_thread():
            _raise(LIBRARY.tilevm_run(*call), LIBRARY.tilevm_message(), LIBRARY.tilevm_prints())
            return
        # The main thread waits where Ctrl-C reaches it. What it leaves behind ends by itself, at the limit of steps;
        # until then it keeps its memory, which is not the caller's.
        private = {place: array.copy() for place, array, _ in outputs}
        for place, array in private.items():
            packed[place] = CArgument(array.ctypes.data, array.nbytes)
        answer: list[Any] = []

        def work(program: Any = self, alive: Any = (kept, private)) -> None:
            answer.extend((LIBRARY.tilevm_run(*call), LIBRARY.tilevm_message(), LIBRARY.tilevm_prints()))

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join()
        _raise(*answer)
        for place, array, _ in outputs:
            array[...] = private[place]

    def _in_folder(self, command: str, options: list[str], statuses: tuple[int, ...] = (0,),
                   json: bool = True) -> Any:
        text, path, _, target, _ = self._recipe
        words = [word for define in self._defines for word in ("-D", define)]
        words += ["--target", target] if target else []
        with tempfile.TemporaryDirectory() as folder:
            file = path
            if text is not None:
                file = os.path.join(folder, re.sub(r"[^\w.]", "_", os.path.basename(path)) or "program")
                with open(file, "w", encoding="utf-8") as out:
                    out.write(text)
            what = _command.report if json else _command.text
            return what([command, file, *words, *options], None, statuses)

    def _diagnostics(self) -> tuple[Diagnostic, ...]:
        try:
            found = self._in_folder("check", [], statuses=(0, 1))["diagnostics"]
        except Error:
            return ()  # without the command there are no places, and the message has them in words
        return tuple(Diagnostic.of(each) for each in found)

    def check(self) -> tuple[Diagnostic, ...]:
        """The warnings of the program, as data."""
        return self._diagnostics()

    def explain(self) -> dict[str, Any]:
        """What the CUDA backend chose and why, as `tilevm compile --explain --json` tells it."""
        return self._in_folder("compile", ["--explain"])

    def _inputs(self, inputs: dict[str, Any]) -> list[str]:
        return ["--entry", self.name, *(word for each in inputs.items() for word in ("--in", "{}={}".format(*each)))]

    def stats(self, **inputs: Any) -> dict[str, Any]:
        """Counters of a run in the simulator (docs/counters.md).

        `inputs` are scalars, and what `--in` of the command takes for tensors, such as "iota"; others are random.
        """
        return self._in_folder("run", [*self._inputs(inputs), "--stats"])["stats"]

    def diff(self, a: str = "sim", b: str = "emu", *, seed: int = 0, **inputs: Any) -> dict[str, Any]:
        """Two backends bit by bit; `exact` says whether they agree (docs/diff.md). Inputs as of stats()."""
        options = [*self._inputs(inputs), "--backends", f"{a},{b}", "--seed", str(seed)]
        return self._in_folder("diff", options, statuses=(0, 1))

    def debug(self, *commands: str, **inputs: Any) -> str:
        """What the debugger answers to commands (docs/debugging.md). Inputs as of stats()."""
        with tempfile.NamedTemporaryFile("w", suffix=".dbg") as script:
            script.write("".join(f"{command}\n" for command in commands))
            script.flush()
            options = [*self._inputs(inputs), "--batch", "-x", script.name]
            return self._in_folder("debug", options, json=False)


def _raise(status: int, message: bytes, prints: bytes) -> None:
    if prints:
        print(prints.decode(errors="replace"), end="")
    if status != 0:
        raise OF_STATUS.get(status, Error)(message.decode(errors="replace"))


def _constant(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _scalar(parameter: Parameter, value: Any) -> Any:
    holder = SCALARS[parameter.type]
    if parameter.type == "f32":
        try:
            return holder(float(value))
        except (TypeError, ValueError):
            raise UsageError(f"`{parameter.name}` is a number, f32; it was given {value!r}") from None
    try:
        number = value.__index__()
    except AttributeError:
        raise UsageError(f"`{parameter.name}` is an integer, {parameter.type}; it was given {value!r}") from None
    made = holder(number)
    if made.value != number or (parameter.type == "bool" and number > 1):
        raise UsageError(f"`{parameter.name}` is {parameter.type}, which does not hold {number}")
    return made


def _dtype(name: str) -> tuple[Any, bool]:
    """The array's type of a tensor's elements, and whether they are packed bytes."""
    import numpy

    if name in NUMPY_NAMES:
        return numpy.dtype(NUMPY_NAMES[name]), False
    if name in ML_NAMES:
        try:
            import ml_dtypes

            return numpy.dtype(getattr(ml_dtypes, ML_NAMES[name])), False
        except ImportError:
            return numpy.dtype("uint16" if name == "bf16" else "uint8"), False
    return numpy.dtype("uint8"), True


def _array(parameter: Parameter, value: Any) -> Any:
    import numpy

    dtype, packed = _dtype(parameter.type)
    shape = (parameter.bytes,) if packed else parameter.shape
    name = f"`{parameter.name}`"
    if value is None:
        if parameter.shape is None:
            raise UsageError(f"the shape of {name} depends on the call; pass an array for it")
        return numpy.zeros(shape, dtype)
    array = value
    if not isinstance(value, numpy.ndarray):
        if not hasattr(value, "__dlpack__"):
            raise UsageError(f"{name} is {parameter}; it was given {type(value).__name__}, pass a NumPy array")
        if value.__dlpack_device__()[0] != 1:
            raise UsageError(f"{name} is in memory of a device; pass it on the host, as `x.cpu()`")
        try:
            array = numpy.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError) as error:
            raise UsageError(f"{name}: {error}; pass a NumPy array") from None
    if array.dtype != dtype:
        way = f"the bytes of tilevm.pack(x, '{parameter.type}')" if packed else f"x.astype('{dtype}')"
        raise UsageError(f"{name} is {parameter}; it was given {array.dtype}, pass {way}")
    if parameter.shape is not None and array.shape != shape:
        raise UsageError(f"{name} is {parameter}, an array of shape {list(shape)}; it was given {list(array.shape)}")
    if not array.flags.c_contiguous:
        raise UsageError(f"{name} is not contiguous; pass numpy.ascontiguousarray(x)"
                         + (" and read the output from it" if parameter.output else ""))
    if parameter.output and not array.flags.writeable:
        raise UsageError(f"{name} is written, and this array is read-only; pass a copy")
    return array


def load(path: str | os.PathLike[str], *, target: str | None = None, entry: str | None = None,
         **constants: Any) -> Kernel:
    """Reads a program from a file. ProgramError: it has faults. UsageError: it cannot be read."""
    return Kernel(None, os.path.abspath(os.fspath(path)), constants, target, entry)


def loads(text: str, *, name: str = "program.tile", target: str | None = None, entry: str | None = None,
          **constants: Any) -> Kernel:
    """Reads a program from a string; `name` is for messages. ProgramError: it has faults."""
    return Kernel(textwrap.dedent(text), name, constants, target, entry)


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Kernel]:
    """Makes a kernel of the docstring of a function, for notebooks; the options are those of loads()."""
    def make(function: Callable[..., Any]) -> Kernel:
        text = inspect.getdoc(function)
        if not text:
            raise UsageError(f"`{function.__name__}` has no docstring; write the program there")
        return loads(text, name=f"{function.__name__}.tile", **options)

    return make
