"""What a program raised, shown as `python` shows it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType

__all__ = ["show", "without_our_frames"]

_PACKAGE = str(Path(__file__).resolve().parent.parent) + "/"


def show(error: BaseException) -> None:
    """Print it by the program's own `sys.excepthook`; SystemExit is the interpreter's to show."""
    if isinstance(error, SystemExit):
        return
    without_our_frames(error)
    sys.stdout.flush()
    sys.excepthook(type(error), error, error.__traceback__)


def without_our_frames(error: BaseException) -> None:
    """Take the frames of tracetape out of the traceback, and out of those of its causes, contexts and parts:
    the program would not have them under `python`."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.__traceback__ = _kept(one.__traceback__)
        waiting += [one.__cause__, one.__context__]
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions


def _kept(trace: TracebackType | None) -> TracebackType | None:
    kept = []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            kept.append(trace)
        trace = trace.tb_next
    first: TracebackType | None = None
    for one in reversed(kept):
        one.tb_next = first
        first = one
    return first
