"""What an import refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from .._errors import UsageError

if TYPE_CHECKING:
    from ._mlir import Origin


class NotImported(UsageError):
    """A kernel has something that is not imported. The message names the operation, the line of the user's source and
    what to do instead; `origin` is that line, or None."""

    def __init__(self, what: str, instead: str = "", origin: Optional["Origin"] = None, operation: str = "") -> None:
        self.what, self.instead, self.origin, self.operation = what, instead, origin, operation
        place = f"{origin.file}:{origin.line}: " if origin else ""
        of = f"`{operation}`: " if operation else ""
        super().__init__(f"{place}{of}{what} is not imported{'; ' + instead if instead else ''}")

    def at(self, origin: Optional["Origin"], operation: str) -> "NotImported":
        """The error with a location, unless it has one."""
        if self.operation:
            return self
        return NotImported(self.what, self.instead, self.origin or origin, operation)

    def __reduce__(self) -> tuple[object, ...]:
        return NotImported, (self.what, self.instead, self.origin, self.operation)
