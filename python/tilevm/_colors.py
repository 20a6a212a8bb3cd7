"""Colours of messages: in tracebacks on a terminal, and in notebooks. $NO_COLOR forbids them."""

from __future__ import annotations

import os
import pathlib
import sys
import threading
from typing import Any

HERE = str(pathlib.Path(__file__).resolve().parent) + os.sep
STYLES = {"1": "font-weight:bold", "31": "color:#c02020", "32": "color:#107a10", "33": "color:#9a6700",
          "35": "color:#a000a0", "36": "color:#006f7d"}


class _Painting(threading.local):
    """Whether this thread's messages are asked for in colour, which a traceback does while it is printed."""

    on = False


painting = _Painting()


def forbidden() -> bool:
    """$NO_COLOR, as the command reads it."""
    return bool(os.environ.get("NO_COLOR"))


def wanted(stream: Any) -> bool:
    """Whether a stream shows colours, by the rules of the command: $NO_COLOR, $CLICOLOR_FORCE, $TERM, a terminal."""
    if forbidden():
        return False
    if os.environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    if os.environ.get("TERM") == "dumb":
        return False
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def paint_tracebacks(kind: type[BaseException]) -> None:
    """Makes tracebacks of uncaught exceptions of a kind print their messages in colour, where colours are wanted. What
    sys.excepthook was prints them, so that other packages' tracebacks stay as they are."""
    before = sys.excepthook

    def hook(type_: Any, value: Any, trace: Any) -> None:
        painting.on = issubclass(type_, kind) and wanted(sys.stderr)
        try:
            before(type_, value, trace)
        finally:
            painting.on = False

    sys.excepthook = hook


def traceback_of(error: Any) -> list[str]:
    """The calls that led to an exception, without those within the package, and its message: in colour, or plain."""
    import traceback

    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(HERE)
              and f"{os.sep}IPython{os.sep}" not in frame.filename]
    message = str(error) if forbidden() else error.painted
    return ["Traceback (most recent call last):", *"".join(traceback.format_list(frames)).splitlines(),
            f"{type(error).__module__.partition('.')[0]}.{type(error).__name__}: {message}"]


def to_html(painted: str) -> str:
    """A message with escapes as HTML, for notebooks."""
    import html
    import re

    if forbidden():
        painted = re.sub("\x1b\\[[0-9;]*m", "", painted)
    text, is_open = "", False
    for piece in re.split("(\x1b\\[[0-9;]*m)", painted):
        if not piece.startswith("\x1b["):
            text += html.escape(piece)
            continue
        text += "</span>" if is_open else ""
        styles = ";".join(STYLES[code] for code in piece[2:-1].split(";") if code in STYLES)
        is_open = bool(styles)
        text += f'<span style="{styles}">' if is_open else ""
    return f"<pre>{text}{'</span>' if is_open else ''}</pre>"
