"""The command `tilevm`, whose reports are JSON: what a notebook shows is what a terminal shows."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
from typing import Any

from ._errors import OF_STATUS, Diagnostic, Error, UnavailableError
from ._library import HERE


def path() -> str:
    """The command is the first of these: $TILEVM_COMMAND, that of the package, that beside the library, that on PATH."""
    named = os.environ.get("TILEVM_COMMAND")
    beside = pathlib.Path(os.environ.get("TILEVM_LIBRARY", "/")).parent / "tilevm"
    for candidate in (named, HERE / "bin" / "tilevm", beside, shutil.which("tilevm")):
        if candidate and os.path.isfile(candidate):
            return str(candidate)
    raise UnavailableError("the command `tilevm` is not found; put it on PATH, or name the file in TILEVM_COMMAND")


def programs() -> pathlib.Path:
    """The folder of the programs that come with the package."""
    for candidate in (HERE / "share" / "tilevm" / "programs", HERE.parents[1] / "programs"):
        if candidate.is_dir():
            return candidate
    raise UnavailableError("the programs are not here; they come with the wheel")


def text(arguments: list[str], folder: str | None = None, statuses: tuple[int, ...] = (0,)) -> str:
    """What the command prints to standard output."""
    done = subprocess.run([path(), *arguments], cwd=folder, text=True, capture_output=True, check=False)
    if done.returncode not in statuses:
        raise OF_STATUS.get(done.returncode, Error)(done.stderr.strip() or done.stdout.strip())
    return done.stdout


def report(arguments: list[str], folder: str | None = None, statuses: tuple[int, ...] = (0,)) -> dict[str, Any]:
    """The object that the command prints with --json."""
    done = subprocess.run([path(), arguments[0], "--json", *arguments[1:]], cwd=folder, text=True, capture_output=True, check=False)
    try:
        object_: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise Error(f"`tilevm {arguments[0]}` ended with status {done.returncode}: {done.stderr}") from None
    if done.returncode in statuses:
        return object_
    found = tuple(Diagnostic.of(each) for each in object_.get("diagnostics", ()))
    lines = [f"{d.file}:{d.line}:{d.column}: {d.severity}: {d.message} [{d.code}]" for d in found]
    message = object_.get("error") or "\n".join(lines) or done.stderr
    raise OF_STATUS.get(done.returncode, Error)(str(message), found)
