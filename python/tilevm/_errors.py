"""What goes wrong, by whose fault it is; the statuses are those of the command (docs/data.md)."""

from __future__ import annotations

from typing import Any, NamedTuple


class Note(NamedTuple):
    """What a diagnostic says besides; `line` is 0 where it has no place."""

    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0


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

    @classmethod
    def of(cls, data: dict[str, Any]) -> Diagnostic:
        known = {name: data[name] for name in cls._fields if name in data}
        known["notes"] = tuple(Note(**each) for each in data.get("notes", ()))
        return cls(**known)


class Error(Exception):
    """Anything that tilevm refuses; `diagnostics` has places where the program is at fault."""

    def __init__(self, message: str, diagnostics: tuple[Diagnostic, ...] = ()) -> None:
        super().__init__(message)
        self.diagnostics = diagnostics

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.diagnostics)

    def _repr_html_(self) -> str:
        import html

        return f"<pre style='color:#a00000'>{html.escape(str(self))}</pre>"


class ProgramError(Error):
    """The program or its data is wrong; the message is rendered with carets."""


class UsageError(Error, TypeError):
    """The call is wrong: a type, a shape, a missing argument."""


class UnavailableError(Error):
    """A driver, a compiler or a device is missing."""


class LimitError(Error):
    """A limit was reached, or memory is short."""


OF_STATUS: dict[int, type[Error]] = {1: ProgramError, 2: UsageError, 3: UnavailableError, 4: LimitError}
