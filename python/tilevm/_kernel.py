"""Programs as functions of arrays."""

from __future__ import annotations

import _thread
import ctypes
import functools
import json
import os
import sys
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import _library
from ._device import current_stream, is_on_device, make_like, stream_of
from ._errors import UsageError
from ._host import HostArray, array_of, is_torch, result_of, zeros_for
from ._launch import Launch
from ._library import LIBRARY, CArgument, check, report, run_options, text_of, words
from ._parameter import SCALARS, Parameter, set_scalar, with_shape
from ._program import Control, Program
from ._reports import Reports
from ._types import is_packed, wants_codes


class Options(NamedTuple):
    """How a run on the host is done. `reports`: whether what it counts and notes is wanted."""

    checks: str | None = None
    threads: int = 0
    max_steps: int = 0
    reports: bool = False


class Outcome(NamedTuple):
    """What a run told: its counters as JSON, and its notes."""

    counters: str
    notes: tuple[Any, ...]


class Call(NamedTuple):
    """Arguments as the library takes them; `outputs` are the places of those that are written. The rest keeps memory."""

    packed: Any
    arrays: dict[int, HostArray]
    outputs: list[int]
    holders: list[Any]


class Kernel(Reports):
    """A verified program and its entry; load() and loads() make it. Calls may come from any thread."""

    def __init__(self, text: str | None, path: str, constants: dict[str, Any], target: str | None,
                 entry: str | None, include: tuple[str, ...] = ()) -> None:
        self._recipe = (text, path, constants, target, entry, include)
        self._defines = [f"{name}={_constant(value)}" for name, value in constants.items()]
        self._programs: dict[str | None, Program] = {}
        self._launches = threading.local()
        self._program = Program(self._recipe, self._defines, target)
        self.warnings: str = LIBRARY.tilevm_warnings(self._program.handle).decode(errors="replace")
        self.name, self.parameters = self._find(entry)
        self.__name__ = self.__qualname__ = self.name

    def _find(self, wanted: str | None) -> tuple[str, tuple[Parameter, ...]]:
        count = ctypes.c_size_t()
        entries = LIBRARY.tilevm_entries(self._program.handle, count)
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

    def _with_parameters(self, parameters: tuple[Parameter, ...]) -> Kernel:
        """The program for tensors of other shapes that have as many elements. It is pickled as it was."""
        other = Kernel.__new__(Kernel)
        other.__dict__.update(self.__dict__, parameters=parameters, _launches=threading.local())
        return other

    def __reduce__(self) -> Any:
        names = ("__name__", "__qualname__", "__module__", "__doc__")  # those of a function, after tilevm.kernel
        return Kernel, self._recipe, {name: self.__dict__[name] for name in names if name in self.__dict__}

    def __repr__(self) -> str:
        return f"<tilevm kernel {self.name}({', '.join(f'{p.name}: {p}' for p in self.parameters)})>"

    def __call__(self, *arguments: Any, engine: str | None = None, stream: Any = None, checks: str | None = None,
                 threads: int = 0, max_steps: int = 0, backend: str | None = None, **named: Any) -> Any:
        """Runs on arrays of the host, or launches on tensors of a GPU.

        Takes all parameters in order, or all that are not pure outputs, which are then made, as zeros; scalars of a
        pipeline that the shapes of tensors tell may be left out. Returns the output, or a tuple of them: tensors of
        torch where an argument is one. Arrays of the host run on `engine`: sim (the default), emu, or cuda, which copies
        them; `checks`, `threads` and `max_steps` are those of the simulator. One array for two parameters is one memory,
        as on a GPU. Tensors of a GPU are launched there without copies, on `stream` or the framework's current one, and
        nothing waits. `backend` is the old name of `engine`.

        UsageError: an argument does not fit. ProgramError: the program has a fault. LimitError: too many steps.
        """
        if engine is not None and backend is not None:
            raise UsageError("`engine` and `backend`, its old name, are both given")
        engine = engine or backend
        parameters, values = self._bind(arguments, named)
        model = self._device_tensor(parameters, values)
        if model is not None:
            return self._launch_on(parameters, values, model, engine, stream)
        call = self._host_call(parameters, values)
        self._run(engine or "sim", call, Options(checks, threads, max_steps))
        results = [result_of(call.arrays[place]) for place in call.outputs]
        return results[0] if len(results) == 1 else tuple(results)

    def _device_tensor(self, parameters: tuple[Parameter, ...], values: list[Any]) -> Any:
        """The first tensor that is on a GPU, or None. UsageError: an input is None."""
        model = None
        for p, value in zip(parameters, values):
            if p.scalar:
                continue
            if value is None:
                if p.input or not p.output:
                    raise UsageError(f"`{p.name}` is {p}, an input, and it was given None; only outputs may be None, which are "
                                     "then made. A tensor that some calls do without is left out by a constant of the program")
            elif model is None and is_on_device(value):
                model = value
        return model

    def _bind(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Parameter, ...], list[Any]]:
        """The parameters and their values, None for outputs that are to be made. Scalars that the shapes of tensors
        tell may be left out; the parameters then have the shapes of this call."""
        if not named and len(arguments) == len(self.parameters):
            return self.parameters, list(arguments)
        names = [p.name for p in self.parameters]
        needed = [p.name for p in self.parameters if p.scalar or p.input or not p.output]
        if unknown := [name for name in named if name not in names]:
            raise UsageError(f"`{self.name}` has no parameter `{unknown[0]}`; it has {', '.join(names)}")
        orders = [[name for name in order if name not in named] for order in (names, needed)]
        if len(arguments) not in map(len, orders) and self._told_by_shapes:
            orders.append([name for name in orders[1] if name not in self._told_by_shapes])
        rest = next((order for order in orders if len(order) == len(arguments)), orders[1])
        if len(arguments) > len(rest):
            raise UsageError(f"`{self.name}` takes {', '.join(needed)}, or all of {', '.join(names)}; "
                             f"{len(arguments) + len(named)} arguments were given")
        given = {**dict(zip(rest, arguments)), **named}
        missing = [name for name in needed if name not in given]
        if any(name not in self._told_by_shapes for name in missing):
            name = next(name for name in missing if name not in self._told_by_shapes)
            raise UsageError(f"`{self.name}` is not given `{name}`; it takes {', '.join(needed)}")
        parameters = self.parameters
        if missing or any(p.shape is None and not p.scalar and p.name not in given for p in parameters):
            sizes = self.sizes(**given)
            if untold := [name for name in missing if sizes[name] is None]:
                raise UsageError(f"`{self.name}` is not given `{untold[0]}`, which the shape of no argument tells; it takes "
                                 f"{', '.join(needed)}")
            given.update((name, sizes[name]) for name in missing)
            parameters = tuple(p if p.scalar or p.shape is not None else with_shape(p, sizes[p.name]) for p in parameters)
        return parameters, [given.get(name) for name in names]

    @functools.cached_property
    def _told_by_shapes(self) -> frozenset[str]:
        """Scalars of a pipeline that an extent of an input tells: n of `x: f32[2 * n]`."""
        if not any(p.scalar for p in self.parameters):
            return frozenset()
        found = json.loads(report(LIBRARY.tilevm_sizes, self._program.handle, self.name.encode(), None))
        return frozenset(each["name"] for each in found["scalars"] if each["can_be_told"])

    def sizes(self, **known: Any) -> dict[str, Any]:
        """What a call with these parameters has: each scalar's value, given or told by the shape of a tensor, and the
        shape of each tensor; None where nothing tells it. Takes scalars, and tensors or their shapes as tuples.

        UsageError: two shapes tell two values, or an extent cannot be.
        """
        texts = []
        for p in self.parameters:
            value = known.get(p.name)
            if value is None:
                continue
            if p.scalar:
                set_scalar(p, SCALARS[p.type](), value)
                texts.append(f"{p.name}={float(value) if p.type == 'f32' else int(value)}")
            elif isinstance(value, (tuple, list)):
                texts.append(f"{p.name}={list(value)}")
            elif not is_packed(p.type) and hasattr(value, "shape"):
                texts.append(f"{p.name}={[int(extent) for extent in value.shape]}")
        if unknown := [name for name in known if all(p.name != name for p in self.parameters)]:
            raise UsageError(f"`{self.name}` has no parameter `{unknown[0]}`")
        found = json.loads(report(LIBRARY.tilevm_sizes, self._program.handle, self.name.encode(), words(texts)))
        sizes: dict[str, Any] = {p.name: None for p in self.parameters}
        sizes.update((each["name"], each["value"]) for each in found["scalars"])
        sizes.update((name, value) for name, value in known.items() if sizes[name] is None and value is not None
                     and any(p.name == name and p.scalar for p in self.parameters))
        sizes.update((each["name"], None if each["shape"] is None else tuple(each["shape"])) for each in found["tensors"])
        return sizes

    # On a GPU.

    def _program_for(self, device: int) -> Any:
        """The handle of the program for a device's target, unless another target was asked for."""
        if self._recipe[3] is not None:
            return self._program.handle
        target = LIBRARY.tilevm_target_of(device)
        if target is None:
            check(3)
        name = target.decode()
        if name not in self._programs:
            self._programs[name] = Program(self._recipe, self._defines, name)
        return self._programs[name].handle

    def prepare(self, device: int = -1) -> Launch:
        """Compiles and loads for a GPU, by its number; -1: that of the thread's context. The result is a function that
        launches on tensors there, each time at the cost of some microseconds.

        UnavailableError: there is no GPU, driver or compiler.
        """
        return Launch(self, device)

    def _launch_on(self, parameters: tuple[Parameter, ...], values: list[Any], model: Any, engine: str | None,
                   stream: Any) -> Any:
        if engine not in (None, "cuda"):
            place = next(p for p, value in zip(parameters, values) if value is model)
            raise UsageError(f"`{place.name}` is on a GPU, and `{engine}` reads memory of the host; pass x.cpu()")
        device = _device_index(model)
        number = current_stream(model, device) if stream is None else stream_of(stream)
        if any(value is None for value in values):
            codes = wants_codes(parameters, values)
            values = [make_like(p, model, device, codes) if value is None and not p.scalar else value
                      for p, value in zip(parameters, values)]
        self._launch_for(device, number)(*values, stream=number)
        outputs = [value for p, value in zip(parameters, values) if p.output]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _launch_for(self, device: int, stream: int) -> Launch:
        """This thread's launch: one for all streams, or one for each if launches share memory."""
        if getattr(self._launches, "forks", None) != _library.forks:
            self._launches.forks, self._launches.known = _library.forks, {}
        known: dict[tuple[int, int | None], Launch] = self._launches.known
        for key in ((device, None), (device, stream)):
            if key in known:
                return known[key]
        made = Launch(self, device)
        known[device, None if made.may_overlap else stream] = made
        return made

    # On the host.

    def _host_call(self, parameters: tuple[Parameter, ...], values: list[Any]) -> Call:
        """Arguments of a call on the host. UsageError: one does not fit."""
        call = Call((CArgument * len(values))(), {}, [], [])
        for place, (parameter, value) in enumerate(zip(parameters, values)):
            if parameter.scalar:
                holder = SCALARS[parameter.type]()
                set_scalar(parameter, holder, value)
                call.packed[place] = CArgument(ctypes.addressof(holder), ctypes.sizeof(holder))
                call.holders.append(holder)
                continue
            if parameter.output:
                call.outputs.append(place)
            if value is None:
                in_torch = any(is_torch(each) for each in values)
                array = zeros_for(parameter, in_torch, wants_codes(parameters, values))
            else:
                array = array_of(parameter, value)
            call.packed[place] = CArgument(array.address, array.bytes)
            call.arrays[place] = array
        return call

    def _run(self, engine: str, given: Call, options: Options) -> Outcome:
        program = self._program.handle
        if engine == "cuda":
            program = self._program_for(-1)
        packed = given.packed
        call: tuple[Any, ...] = (program, self.name.encode(), text_of(engine, "`engine`"), packed, len(packed))
        if threading.current_thread() is not threading.main_thread():
            return _finish(LIBRARY.tilevm_run_with(*call, run_options(*options, None)), options.reports)
        # The main thread waits where Ctrl-C reaches it, and then asks the run to end. A run on a GPU ends by itself;
        # until then it keeps memory of its own.
        private = _private_memory(given) if engine == "cuda" else {}
        control = Control()
        call = (*call, run_options(*options, control.handle))
        answer: list[Any] = []
        ended = _thread.allocate_lock()
        ended.acquire()

        def work(alive: Any = (self, given, private, control)) -> None:
            try:
                answer.append(_finish(LIBRARY.tilevm_run_with(*call), options.reports))
            except BaseException as error:
                answer.append(error)
            finally:
                ended.release()

        # A lock, since Thread.join() takes a thread for ended that was interrupted while it waited.
        _thread.start_new_thread(work, ())
        try:
            ended.acquire()
        except BaseException:
            control.stop()
            ended.acquire(timeout=0.1 if engine == "cuda" else 5)
            raise
        if isinstance(answer[0], BaseException):
            raise answer[0].with_traceback(None)
        for address, memory in private.items():
            ctypes.memmove(address, memory, len(memory))
        outcome: Outcome = answer[0]
        return outcome


def _private_memory(call: Call) -> dict[int, Any]:
    """Copies of what outputs hold, by address; the arguments that have these addresses get the copies."""
    ranges = [(array.address, array.address + array.bytes) for array in call.arrays.values()]
    if any(a < d and c < b and (a, b) != (c, d) for a, b in ranges for c, d in ranges):
        return {}  # what overlaps otherwise than as one array is for the library to refuse
    private = {}
    for place in call.outputs:
        address, size = call.arrays[place][:2]
        private[address] = (ctypes.c_char * size).from_buffer_copy(ctypes.string_at(address, size))
    for place, array in call.arrays.items():
        memory = private.get(array.address)
        if memory is not None:
            call.packed[place] = CArgument(ctypes.addressof(memory), array.bytes)
    return private


def _finish(status: int, reports: bool) -> Outcome:
    """Shows what this thread's run printed, and gives what it told."""
    if prints := LIBRARY.tilevm_prints():
        sys.stdout.write(prints.decode(errors="replace"))
    check(status)
    if not reports:
        return Outcome("", ())
    return Outcome(LIBRARY.tilevm_counters().decode(), _library.diagnostics())


def _constant(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _device_index(value: Any) -> int:
    """The number of a tensor's GPU; -1 where it does not tell."""
    if is_torch(value):
        return int(value.get_device())
    if hasattr(value, "__dlpack_device__"):
        return int(value.__dlpack_device__()[1])
    return -1


def _folders(include: Any) -> tuple[str, ...]:
    """The absolute paths of a folder or of several."""
    several = (include,) if isinstance(include, (str, os.PathLike)) else include
    try:
        return tuple(os.path.abspath(os.fsdecode(folder)) for folder in several)
    except TypeError:
        raise UsageError(f"`include` takes a folder or a list of folders, not {include!r}") from None


def load(path: str | os.PathLike[str], *, target: str | None = None, entry: str | None = None,
         include: Sequence[str | os.PathLike[str]] = (), **constants: Any) -> Kernel:
    """Reads a program from a file. It may include files of its own folder, and of the folders `include`.

    ProgramError: it has faults. UsageError: it cannot be read.
    """
    return Kernel(None, os.path.abspath(os.fspath(path)), constants, target, entry, _folders(include))


def loads(text: str, *, name: str = "program.tile", target: str | None = None, entry: str | None = None,
          **constants: Any) -> Kernel:
    """Reads a program from a string; `name` is for messages. ProgramError: it has faults."""
    import textwrap

    return Kernel(textwrap.dedent(text), name, constants, target, entry)
