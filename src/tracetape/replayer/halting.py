"""What unwinds a program inside a replay."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tracetape.model.report import Divergence

__all__ = ["EndOfRecording", "Halt", "hide_in_threads", "unwinds"]


class Halt(BaseException):
    """A divergence, on its way out. A BaseException, since agents catch `Exception` around tools; users
    never see it: leaving the replay turns it into DivergenceError."""

    def __init__(self, divergence: Divergence) -> None:
        super().__init__(divergence.text)
        self.divergence = divergence

    def __reduce__(self) -> tuple[Any, ...]:
        """A pool of processes sends it to the process that waits."""
        return Halt, (self.divergence,)


class EndOfRecording(BaseException):
    """After the cut the program went where the recording does not reach. No divergence."""


def unwinds(error: BaseException) -> bool:
    """Whether it is one of these, or a task group's parcel with one in it."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(unwinds, error.exceptions))
    return isinstance(error, (Halt, EndOfRecording))


def hide_in_threads() -> Callable[[], None]:
    """From now on what unwinds a thread is not shown as an error that nobody handled: the report has it.

    Returns what undoes that. Replays may overlap and end in any order, and a program may have put a hook of its
    own before ours: then ours stays where it is, and shows everything.
    """
    global _hiding
    _hiding += 1
    if not getattr(threading.excepthook, "_tracetape_hides", False) and _hiding == 1:
        threading.excepthook = _hook_before(threading.excepthook)

    def undo() -> None:
        global _hiding
        _hiding -= 1
        hook: Any = threading.excepthook
        if not _hiding and getattr(hook, "_tracetape_hides", False):
            threading.excepthook = hook.before

    return undo


def _hook_before(before: Callable[[threading.ExceptHookArgs], Any]) -> Any:
    def hook(told: threading.ExceptHookArgs) -> None:
        if not _hiding or not isinstance(told.exc_value, (Halt, EndOfRecording)):
            before(told)

    hook._tracetape_hides, hook.before = True, before  # type: ignore[attr-defined]
    return hook


_hiding = 0
