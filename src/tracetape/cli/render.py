"""Text for a terminal: escaped, wrapped to its width, coloured only where colours are seen."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable
from typing import Any, TextIO

import orjson
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from tracetape.model.crossing import EXACT, REBUILT, UNUSABLE
from tracetape.model.printing import escaped

__all__ = [
    "GRADE_STYLE",
    "columns",
    "console",
    "counted",
    "print_json",
    "print_lines",
    "print_report",
    "wrapped",
]

GRADE_STYLE = {EXACT: "green", REBUILT: "yellow", UNUSABLE: "red"}
_WIDTH_OF_A_FILE = 100
_NARROWEST = 40
# Levels of nesting that are written: a reader of JSON stops at 1,024, and each is a call or two.
_DEEPEST = 5_000


def console(stderr: bool = False) -> Console:
    """A console that never takes text for markup. Colours are for terminals; rich obeys NO_COLOR."""
    stream = sys.stderr if stderr else sys.stdout
    if not stderr and hasattr(stream, "reconfigure"):
        # A stream that knows ASCII alone gets question marks for the lines of the tree, not a traceback.
        stream.reconfigure(errors="replace")
    return Console(
        file=stream,
        width=_width(),
        markup=False,
        highlight=False,
        emoji=False,
        soft_wrap=True,
    )


def _width() -> int:
    """What COLUMNS says, else the width of the terminal that is there, if only behind a pager; else that of
    a file or a log: wide enough for a value, narrow enough to be read."""
    width = shutil.get_terminal_size((0, 0)).columns
    for stream in (sys.__stderr__, sys.__stdin__):
        width = width or _terminal_width(stream)
    return max(_NARROWEST, width or _WIDTH_OF_A_FILE)


def _terminal_width(stream: TextIO | None) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns if stream is not None else 0
    except (OSError, ValueError):
        return 0


def print_json(value: Any) -> None:
    """One JSON document on standard output, in UTF-8 whatever the terminal's encoding."""
    sys.stdout.flush()
    try:
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str)
    except orjson.JSONEncodeError:
        # Nested deeper than it writes, or with half of a surrogate pair: what is read may be so.
        sys.setrecursionlimit(max(sys.getrecursionlimit(), _DEEPEST))
        text = json.dumps(value, default=str).encode("ascii")
    sys.stdout.buffer.write(text + b"\n")
    sys.stdout.buffer.flush()


def print_lines(lines: Iterable[Text], to: Console | None = None) -> None:
    """Lines on standard output, each as it is, however long."""
    out = to or console()
    for line in lines:
        out.print(line)


def print_report(text: str, *, diverged: bool) -> None:
    """A report on standard error; its first line, and those that say DIVERGED, stand out on a terminal."""
    out = console(stderr=True)
    for number, line in enumerate(text.split("\n")):
        style = "green" if number == 0 and not diverged else ""
        if diverged and (number == 0 or line.startswith("DIVERGED")):
            style = "bold red"
        out.print(Text(escaped(line), style=style))


def counted(count: int, noun: str) -> str:
    """`1 crossing`, `2 crossings`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width` cells (a Chinese character takes two), broken behind a space or a comma
    where there is one in the last third. Nothing is left out but the break itself."""
    lines = []
    while cell_len(text) > width:
        end = _fitting(text, width)
        soft = max((text.rfind(one, 0, end) for one in " ,"), default=-1) + 1
        if soft > end * 2 // 3:
            end = soft
        lines.append(text[:end])
        text = text[end:]
    return [*lines, text] if text or not lines else lines


def _fitting(text: str, width: int) -> int:
    """How many characters fit into `width` cells; at least one."""
    used = 0
    for position, one in enumerate(text):
        used += cell_len(one)
        if used > width:
            return max(1, position)
    return len(text)


def columns(rows: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Rows of a label with what stands behind it, the labels padded to the widest (in cells)."""
    listed = list(rows)
    width = max((cell_len(label) for label, _ in listed), default=0)
    return [(label + " " * (width - cell_len(label)), text) for label, text in listed]
