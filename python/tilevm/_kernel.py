"""Programs as functions of arrays."""

from __future__ import annotations

import _thread
import ctypes
import functools
import json
import os
import sys
import threading
from typing import Any, Callable

from . import _library
from ._device import current_stream, is_on_device, is_torch, make_like, stream_of
from ._errors import Diagnostic, Error, LimitError, UsageError
from ._host import array_of, is_packed
from ._launch import Launch
from ._library import LIBRARY, CArgument, check, diagnostics, report, run_options, text_of, words
from ._parameter import SCALARS, Parameter, set_scalar, with_shape
from ._program import Control, Program


class Kernel:
    """A verified program and its entry; load() and loads() make it. Calls may come from any thread."""

    def __init__(self, text: str | None, path: str, constants: dict[str, Any], target: str | None,
                 entry: str | None) -> None:
        self._recipe = (text, path, constants, target, entry)
        self._defines = [f"{name}={_constant(value)}" for name, value in constants.items()]
        self._programs: dict[str | None, Program] = {}
        self._launches = threading.local()
        self._program = Program(self._recipe, self._defines, target)
        self.warnings: str = LIBRARY.tilevm_warnings(self._program.handle).decode(errors="replace")
        self.name, self.parameters = self._find(entry)

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
        """The same program, which takes tensors of other shapes that have as many elements. It is pickled as it was."""
        other = Kernel.__new__(Kernel)
        other.__dict__.update(self.__dict__, parameters=parameters, _launches=threading.local())
        return other

    def __reduce__(self) -> Any:
        return Kernel, self._recipe

    def __repr__(self) -> str:
        return f"<tilevm kernel {self.name}({', '.join(f'{p.name}: {p}' for p in self.parameters)})>"

    def __call__(self, *arguments: Any, backend: str | None = None, stream: Any = None, checks: str | None = None,
                 threads: int = 0, max_steps: int = 0, **named: Any) -> Any:
        """Runs on arrays of the host, or launches on tensors of a GPU.

        Takes all parameters in order, or all that are no pure outputs, which are then made, as zeros; scalars of a
        pipeline that the shapes of tensors tell may be left out. Returns the output, or a tuple of them. Arrays of the host run on `backend`: sim (the default), emu, or cuda, which copies
        them; `checks`, `threads` and `max_steps` are those of the simulator (`tilevm run --help`). Tensors of a GPU
        are launched there without copies, on `stream` or the framework's current one, and nothing waits.

        UsageError: an argument does not fit. ProgramError: the program has a fault. LimitError: too many steps.
        """
        parameters, values = self._bind(arguments, named)
        on_device = [value for p, value in zip(parameters, values) if not p.scalar and is_on_device(value)]
        if on_device:
            return self._launch_on(parameters, values, on_device[0], backend, stream)
        return self._run_on_host(parameters, values, backend or "sim", checks, threads, max_steps, False)

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

    def _launch_on(self, parameters: tuple[Parameter, ...], values: list[Any], model: Any, backend: str | None,
                   stream: Any) -> Any:
        place = next(p for p, value in zip(parameters, values) if value is model)
        if backend not in (None, "cuda"):
            raise UsageError(f"`{place.name}` is on a GPU, and `{backend}` reads memory of the host; pass x.cpu()")
        number = current_stream(model, _device_index(model)) if stream is None else stream_of(stream)
        device = _device_index(model)
        made = [p.output and value is None for p, value in zip(parameters, values)]
        values = [make_like(p, model, device) if new else value for p, value, new in zip(parameters, values, made)]
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

    def _run_on_host(self, parameters: tuple[Parameter, ...], values: list[Any], backend: str, checks: str | None,
                     threads: int, max_steps: int, counts: bool) -> Any:
        kept: list[Any] = []
        outputs: list[tuple[int, Any, Any]] = []
        packed = (CArgument * len(values))()
        for place, (parameter, value) in enumerate(zip(parameters, values)):
            if parameter.scalar:
                holder = SCALARS[parameter.type]()
                set_scalar(parameter, holder, value)
                packed[place] = CArgument(ctypes.addressof(holder), ctypes.sizeof(holder))
                kept.append(holder)
                continue
            array = array_of(parameter, value)
            packed[place] = CArgument(array.ctypes.data, array.nbytes)
            kept.append(array)
            if parameter.output:
                outputs.append((place, array, value))
        counters = self._run(backend, packed, kept, outputs, (checks, threads, max_steps, counts))
        if counts:
            return counters
        results = [array if value is None else value for _, array, value in outputs]
        return results[0] if len(results) == 1 else tuple(results)

    def _run(self, backend: str, packed: Any, kept: list[Any], outputs: list[tuple[int, Any, Any]],
             options: tuple[str | None, int, int, bool]) -> str:
        program = self._program.handle
        if backend == "cuda":
            program = self._program_for(-1)
        call: tuple[Any, ...] = (program, self.name.encode(), text_of(backend, "`backend`"), packed, len(packed))
        if threading.current_thread() is not threading.main_thread():
            return _finish(LIBRARY.tilevm_run_with(*call, run_options(*options, None)))
        # The main thread waits where Ctrl-C reaches it, and then asks the run to end. A run on a GPU ends by itself;
        # until then it keeps memory of its own.
        private = {place: array.copy() for place, array, _ in outputs} if backend == "cuda" else {}
        for place, array in private.items():
            packed[place] = CArgument(array.ctypes.data, array.nbytes)
        control = Control()
        call = (*call, run_options(*options, control.handle))
        answer: list[Any] = []
        ended = _thread.allocate_lock()
        ended.acquire()

        def work(alive: Any = (self, kept, private, control)) -> None:
            try:
                answer.append(_finish(LIBRARY.tilevm_run_with(*call)))
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
            ended.acquire(timeout=0.1 if backend == "cuda" else 5)
            raise
        if isinstance(answer[0], BaseException):
            raise answer[0].with_traceback(None)
        for place, array, _ in outputs:
            if place in private:
                array[...] = private[place]
        return str(answer[0])

    # Reports.

    def check(self) -> tuple[Diagnostic, ...]:
        """The warnings of the program, as data."""
        return self._program.diagnostics

    def explain(self) -> dict[str, Any]:
        """What the CUDA backend chose and why, as an item of `targets` of `tilevm compile --explain --json`. Its
        decisions are there without a compiler as well; `error` says then what is missing."""
        return dict(json.loads(report(LIBRARY.tilevm_explain, self._program.handle)))

    def stats(self, *arguments: Any, seed: int = 0, **inputs: Any) -> dict[str, Any]:
        """Counters of a run in the simulator (docs/counters.md).

        Takes what a call takes; or, all by name, scalars and what `--in` of the command takes for tensors, such as
        "iota". Tensors that are not named are random then, by `seed`.
        """
        if arguments or any(hasattr(value, "__dlpack__") for value in inputs.values()):
            parameters, values = self._bind(arguments, inputs)
            return dict(json.loads(self._run_on_host(parameters, values, "sim", None, 0, 0, True)))
        named = words(["{}={}".format(*each) for each in inputs.items()])
        return dict(json.loads(report(LIBRARY.tilevm_stats, self._program.handle, self.name.encode(), named, seed, None)))

    def page(self, *, seed: int = 0, **inputs: Any) -> Page:
        """A run in the simulator as a page: faults, the cost of lines, outputs, bank conflicts, a timeline.

        Inputs all by name, as of stats(). In Jupyter the page shows itself; `page.save(path)` keeps it. A run that
        fails has a page as well, whose `error` says why. UsageError: an input does not fit.
        """
        named = words(["{}={}".format(*each) for each in inputs.items()])
        text = ctypes.c_char_p()
        status = LIBRARY.tilevm_page(self._program.handle, self.name.encode(), named, seed, None, ctypes.byref(text))
        try:
            check(status)
        except Error as error:
            if text.value is None:
                raise
            return Page(text.value.decode(errors="replace"), error.with_traceback(None))
        return Page((text.value or b"").decode(errors="replace"), None)

    def diff(self, a: str = "sim", b: str = "emu", *, seed: int = 0, **inputs: Any) -> dict[str, Any]:
        """Two backends bit by bit; `exact` says whether they agree (docs/diff.md). Inputs by name, as of stats()."""
        options = [*self._inputs(inputs), "--backends", f"{a},{b}", "--seed", str(seed)]
        return dict(self._in_folder("diff", options, statuses=(0, 1)))

    def debug(self, *commands: str, **inputs: Any) -> str:
        """What the debugger answers to commands (docs/debugging.md). Inputs by name, as of stats()."""
        import tempfile

        with tempfile.NamedTemporaryFile("w", suffix=".dbg") as script:
            script.write("".join(f"{command}\n" for command in commands))
            script.flush()
            options = [*self._inputs(inputs), "--batch", "-x", script.name]
            return str(self._in_folder("debug", options, json=False))

    def _inputs(self, inputs: dict[str, Any]) -> list[str]:
        return ["--entry", self.name, *(word for each in inputs.items() for word in ("--in", "{}={}".format(*each)))]

    def _in_folder(self, command: str, options: list[str], statuses: tuple[int, ...] = (0,),
                   json: bool = True) -> Any:
        import re
        import tempfile

        from . import _command

        text, path, _, target, _ = self._recipe
        options = [*(word for define in self._defines for word in ("-D", define)), *options]
        options += ["--target", target] if target else []
        with tempfile.TemporaryDirectory() as folder:
            file = path
            if text is not None:
                file = os.path.join(folder, re.sub(r"[^\w.]", "_", os.path.basename(path)) or "program")
                with open(file, "w", encoding="utf-8") as out:
                    out.write(text)
            what = _command.report if json else _command.text
            return what([command, file, *options], None, statuses)


class Page:
    """A self-contained page of HTML about a run; `error` is why the run failed, if it did."""

    def __init__(self, html: str, error: Error | None) -> None:
        self.html, self.error = html, error

    def save(self, path: str | os.PathLike[str]) -> None:
        with open(path, "w", encoding="utf-8") as out:
            out.write(self.html)

    def __repr__(self) -> str:
        return f"<tilevm page of {len(self.html)} bytes{', of a run that failed' if self.error else ''}>"

    def _repr_html_(self) -> str:
        import html

        return f'<iframe style="width:100%;height:40em;border:0" srcdoc="{html.escape(self.html)}"></iframe>'


def _finish(status: int) -> str:
    """Shows what this thread's run printed, and gives what it counted."""
    if prints := LIBRARY.tilevm_prints():
        sys.stdout.write(prints.decode(errors="replace"))
    check(status)
    return str(LIBRARY.tilevm_counters().decode())


def _constant(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _device_index(value: Any) -> int:
    """The number of a tensor's GPU; -1 where it does not tell."""
    if is_torch(value):
        return int(value.get_device())
    if hasattr(value, "__dlpack_device__"):
        return int(value.__dlpack_device__()[1])
    return -1


def load(path: str | os.PathLike[str], *, target: str | None = None, entry: str | None = None,
         **constants: Any) -> Kernel:
    """Reads a program from a file. ProgramError: it has faults. UsageError: it cannot be read."""
    return Kernel(None, os.path.abspath(os.fspath(path)), constants, target, entry)


def loads(text: str, *, name: str = "program.tile", target: str | None = None, entry: str | None = None,
          **constants: Any) -> Kernel:
    """Reads a program from a string; `name` is for messages. ProgramError: it has faults."""
    import textwrap

    return Kernel(textwrap.dedent(text), name, constants, target, entry)


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Kernel]:
    """Makes a kernel of the docstring of a function, for notebooks; the options are those of loads()."""
    def make(function: Callable[..., Any]) -> Kernel:
        import inspect

        text = inspect.getdoc(function)
        if not text:
            raise UsageError(f"`{function.__name__}` has no docstring; write the program there")
        return loads(text, name=f"{function.__name__}.tile", **options)

    return make
