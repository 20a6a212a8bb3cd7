"""What there is to know of a kernel besides its results: checks, counters, pages, comparisons, times. A base of Kernel."""

from __future__ import annotations

import ctypes
import json
import os
from typing import Any

from ._device import is_on_device
from ._errors import Diagnostic, Error, ProgramError, UsageError
from ._host import is_torch
from ._library import LIBRARY, check, diagnostics, report, words
from ._parameter import Parameter, type_bits
from ._types import is_packed


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


class Reports:
    """Data of a report is given as in a call of the kernel; or all by name, and tensors as generators such as "iota" or as
    files (docs/reference/data.md). Tensors that are not named are random then, by `seed`. Tensors of torch on a GPU are copied to
    the host."""

    name: str
    parameters: tuple[Parameter, ...]
    _program: Any
    _recipe: tuple[Any, ...]
    _defines: list[str]
    _bind: Any
    _host_call: Any
    _device_tensor: Any
    _run: Any

    def check(self, *arguments: Any, seed: int = 0, **inputs: Any) -> tuple[Diagnostic, ...]:
        """What is said of the program, as data: its warnings, and with data also faults and notes of a run in the
        simulator. UsageError: an argument does not fit."""
        of_program: tuple[Diagnostic, ...] = self._program.diagnostics
        if not arguments and not inputs:
            return of_program
        try:
            if _is_call(arguments, inputs):
                found: tuple[Diagnostic, ...] = self._simulate(arguments, inputs).notes
            else:
                self._report(LIBRARY.tilevm_stats, inputs, seed)
                found = diagnostics()
        except ProgramError as error:
            found = error.diagnostics
        return of_program + found

    def explain(self) -> dict[str, Any]:
        """What the CUDA backend chose and why, as an item of `targets` of `tilevm compile --explain --json`. Its
        decisions are there without a compiler as well; `error` says then what is missing."""
        return dict(json.loads(report(LIBRARY.tilevm_explain, self._program.handle)))

    def stats(self, *arguments: Any, seed: int = 0, **inputs: Any) -> dict[str, Any]:
        """Counters of a run in the simulator (docs/reference/counters.md)."""
        if _is_call(arguments, inputs):
            return dict(json.loads(self._simulate(arguments, inputs).counters))
        return dict(json.loads(self._report(LIBRARY.tilevm_stats, inputs, seed)))

    def page(self, *arguments: Any, seed: int = 0, **inputs: Any) -> Page:
        """A run in the simulator as a page: faults, the cost of lines, outputs, bank conflicts, a timeline. Arrays for
        outputs stay as they are.

        In Jupyter the page shows itself; `page.save(path)` keeps it. A run that fails has a page as well, whose `error`
        says why. UsageError: an argument does not fit.
        """
        text = ctypes.c_char_p()
        if _is_call(arguments, inputs):
            call = self._host_call(*self._bound(arguments, inputs))
            status = LIBRARY.tilevm_page_with(self._program.handle, self.name.encode(), call.packed, len(call.packed), None,
                                              ctypes.byref(text))
        else:
            status = LIBRARY.tilevm_page(self._program.handle, self.name.encode(), _named(inputs), seed, None,
                                         ctypes.byref(text))
        html = None if text.value is None else text.value.decode(errors="replace")
        try:
            check(status)
        except Error as error:
            if html is None:
                raise
            return Page(html, error.with_traceback(None))
        return Page(html or "", None)

    def diff(self, a: str = "sim", b: str = "emu", *arguments: Any, seed: int = 0, **inputs: Any) -> dict[str, Any]:
        """Two engines bit by bit; `exact` says whether they agree (docs/guides/diff.md)."""
        options = ["--engines", f"{a},{b}", "--seed", str(seed)]
        return dict(self._command("diff", options, arguments, inputs, statuses=(0, 1)))

    def bench(self, *arguments: Any, repeat: int = 30, warm: bool = False, baseline: str | None = None,
              kernel: str | None = None, seed: int = 0, **inputs: Any) -> dict[str, Any]:
        """Times of the kernels on a GPU, as `tilevm bench` takes them (docs/guides/bench.md): `kernels` has microseconds, rates
        and registers of each.

        `repeat` launches are timed, of `kernel` alone if it is given; `warm` leaves data in L2; `baseline="cublas"`
        compares with cuBLAS. UnavailableError: there is no GPU, driver or compiler.
        """
        options = ["--repeat", str(repeat), "--seed", str(seed), *(["--warm"] if warm else [])]
        options += ["--baseline", baseline] if baseline is not None else []
        options += ["--kernel", kernel] if kernel is not None else []
        return dict(self._command("bench", options, arguments, inputs))

    def debug(self, *commands: str, **inputs: Any) -> str:
        """What the debugger answers to commands (docs/guides/debugging.md). Inputs all by name."""
        import tempfile

        with tempfile.NamedTemporaryFile("w", suffix=".dbg") as script:
            script.write("".join(f"{command}\n" for command in commands))
            script.flush()
            return str(self._command("debug", ["--batch", "-x", script.name], (), inputs, json=False))

    def _repr_html_(self) -> str:
        """Parameters, constants, warnings and, where it was given, the text: what a notebook shows."""
        from ._notebook import kernel_html

        return kernel_html(self.name, self.parameters, self._recipe, getattr(self, "warnings", ""))

    # How they are made.

    def _bound(self, arguments: tuple[Any, ...], inputs: dict[str, Any]) -> tuple[tuple[Parameter, ...], list[Any]]:
        """Parameters and values as of a call; tensors of torch on a GPU are copied to the host."""
        parameters, values = self._bind(arguments, inputs)
        self._device_tensor(parameters, values)
        return parameters, [_on_host(p, value) for p, value in zip(parameters, values)]

    def _simulate(self, arguments: tuple[Any, ...], inputs: dict[str, Any]) -> Any:
        from ._kernel import Options

        return self._run("sim", self._host_call(*self._bound(arguments, inputs)), Options(reports=True))

    def _report(self, function: Any, inputs: dict[str, Any], seed: int) -> str:
        return report(function, self._program.handle, self.name.encode(), _named(inputs), seed, None)

    def _command(self, command: str, options: list[str], arguments: tuple[Any, ...], inputs: dict[str, Any],
                 statuses: tuple[int, ...] = (0,), json: bool = True) -> Any:
        """What the command reports on the program; arrays go to it as files of their memory."""
        import re
        import tempfile

        from . import _command

        text, path, _, target, _, include = self._recipe
        options = [*(word for define in self._defines for word in ("-D", define)), "--entry", self.name, *options]
        options += ["--target", target] if target else []
        options += [word for each in include for word in ("-I", each)]
        with tempfile.TemporaryDirectory() as folder:
            given = self._files(arguments, inputs, folder) if _is_call(arguments, inputs) else \
                ["{}={}".format(*each) for each in inputs.items()]
            file = path
            if text is not None:
                file = os.path.join(folder, re.sub(r"[^\w.]", "_", os.path.basename(path)) or "program")
                with open(file, "w", encoding="utf-8") as out:
                    out.write(text)
            what = _command.report if json else _command.text
            options += [word for each in given for word in ("--in", each)]
            try:
                return what([command, file, *options], None, statuses)
            except Error as error:
                raise _with_file(error, file, path) from None

    def _files(self, arguments: tuple[Any, ...], inputs: dict[str, Any], folder: str) -> list[str]:
        """NAME=SPEC of each parameter, as `--in` takes it: scalars, and the memory of tensors as packed bytes."""
        import numpy

        parameters, values = self._bound(arguments, inputs)
        call, given = self._host_call(parameters, values), []
        for place, (p, value) in enumerate(zip(parameters, values)):
            if p.scalar:
                given.append(f"{p.name}={float(value) if p.type == 'f32' else int(value)}")
                continue
            known = self.parameters[place].shape is not None
            if not p.input and known:
                continue
            array = call.arrays[place]
            shape = p.shape
            if shape is None:
                shape = (8 * array.bytes // type_bits(p.type),) if is_packed(p.type) else tuple(value.shape)
            memory = numpy.frombuffer(ctypes.string_at(array.address, array.bytes), "uint8")
            numpy.save(os.path.join(folder, f"{p.name}.npy"), memory)
            typed = "" if known else f"{p.type}{list(shape)}=".replace(" ", "")
            given.append(f"{p.name}={typed}packed:{os.path.join(folder, p.name)}.npy")
        return given


def _is_call(arguments: tuple[Any, ...], inputs: dict[str, Any]) -> bool:
    """Whether data is given as in a call, not by the words for files and generators."""
    return bool(arguments) or any(hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__")
                                  or hasattr(value, "__cuda_array_interface__") for value in inputs.values())


def _named(inputs: dict[str, Any]) -> Any:
    """NAME=SPEC of each input; True is 1."""
    return words([f"{name}={int(value) if isinstance(value, bool) else value}" for name, value in inputs.items()])


def _on_host(parameter: Parameter, value: Any) -> Any:
    if parameter.scalar or value is None or not is_on_device(value):
        return value
    if is_torch(value):
        return value.detach().cpu()
    raise UsageError(f"`{parameter.name}` is on a GPU, and this runs in the simulator; pass a copy on the host, as x.get()")


def _with_file(error: Error, file: str, path: str) -> Error:
    """The error with the program's own path instead of that of a copy."""
    found = tuple(each._replace(file=path if each.file == file else each.file,
                                notes=tuple(note._replace(file=path if note.file == file else note.file) for note in each.notes))
                  for each in error.diagnostics)
    message = _without_options(Exception.__str__(error).replace(file, path))
    return type(error)(message, found)


def _without_options(message: str) -> str:
    """What the command says, without its options, which a caller does not have."""
    import re

    return re.sub(r"(?:give it with )?--in (?=\w+=)|--(?:in|out) |-D (?=\w)|^tilevm: error: | with -D\b", "", message)
