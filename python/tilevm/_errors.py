"""What goes wrong, by whose fault it is; the statuses are those of the command (docs/reference/data.md)."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _colors


class Origin(NamedTuple):
    """A line of the source that a program was generated from, such as a kernel of Triton."""

    file: str
    line: int
    text: str = ""


class Note(NamedTuple):
    """What a diagnostic says besides; `line` is 0 where it has no place."""

    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    origin: Origin | None = None

    @classmethod
    def of(cls, data: dict[str, Any]) -> Note:
        return cls(**_with_origin(cls, data))


class Diagnostic(NamedTuple):
    """A message about a place of a program. Lines and columns count from 1; the end is exclusive."""

    code: str
    severity: str
    message: str
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    fix: str = ""
    notes: tuple[Note, ...] = ()
    origin: Origin | None = None

    @classmethod
    def of(cls, data: dict[str, Any]) -> Diagnostic:
        known = _with_origin(cls, data)
        known["notes"] = tuple(Note.of(each) for each in data.get("notes", ()))
        return cls(**known)


def _with_origin(kind: Any, data: dict[str, Any]) -> dict[str, Any]:
    """What a report's object says, by the fields of a class."""
    known = {name: data[name] for name in kind._fields if name in data}
    if data.get("origin"):
        known["origin"] = Origin(**data["origin"])
    return known


class Error(Exception):
    """Anything that tilevm refuses; `diagnostics` has places where the program is at fault.

    `str(error)` is plain; `painted` has escapes for the colours of a terminal. A traceback on a terminal and in Jupyter
    shows those (_colors.py).
    """

    def __init__(self, message: str, diagnostics: tuple[Diagnostic, ...] = (), painted: str = "") -> None:
        super().__init__(message)
        self.diagnostics = diagnostics
        self.painted = painted or message

    def __str__(self) -> str:
        return self.painted if _colors.painting.on else super().__str__()

    def __reduce__(self) -> Any:
        return type(self), (super().__str__(), self.diagnostics, self.painted)

    def _repr_html_(self) -> str:
        return _colors.to_html(self.painted)


class ProgramError(Error):
    """The program or its data is wrong; the message is rendered with carets."""

    def _render_traceback_(self) -> list[str]:
        """The traceback that IPython shows: the calls of the user, without those within the package, and the message."""
        return _colors.traceback_of(self)


class UsageError(Error, TypeError):
    """The call is wrong: a type, a shape, a missing argument."""


class UnavailableError(Error):
    """A driver, a compiler or a device is missing."""


class LimitError(Error):
    """A limit was reached, or memory is short."""


_colors.paint_tracebacks(Error)
OF_STATUS: dict[int, type[Error]] = {1: ProgramError, 2: UsageError, 3: UnavailableError, 4: LimitError}
