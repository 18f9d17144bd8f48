"""What a program raised, shown as `python` shows it."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["flush", "show", "without_our_frames"]

_PACKAGE = str(Path(__file__).resolve().parent.parent) + "/"


def show(error: BaseException) -> None:
    """Print it by the program's own `sys.excepthook`; SystemExit is the interpreter's to show.

    Raises SystemExit where the hook does: that is the program's status then.
    """
    if isinstance(error, SystemExit):
        return
    without_our_frames(error)
    flush()
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    hook = getattr(sys, "excepthook", _NO_HOOK)
    if hook is _NO_HOOK:
        print("sys.excepthook is missing", file=sys.stderr)
        hook = sys.__excepthook__
    try:
        hook(type(error), error, error.__traceback__)
    except SystemExit:
        raise
    except BaseException as inner:
        if inner.__context__ is error:
            inner.__context__ = None
        without_our_frames(inner)
        print("Error in sys.excepthook:", file=sys.stderr)
        sys.__excepthook__(type(inner), inner, inner.__traceback__)
        print("\nOriginal exception was:", file=sys.stderr)
        sys.__excepthook__(type(error), error, error.__traceback__)


_NO_HOOK: Any = object()


def flush() -> None:
    """Standard output, as far as the program has left one."""
    with contextlib.suppress(Exception):
        sys.stdout.flush()


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
