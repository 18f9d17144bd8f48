"""What unwinds a program inside a replay."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tracetape.model.report import Divergence

__all__ = ["EndOfRecording", "Halt", "hide_in_threads"]


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


def hide_in_threads() -> Callable[[], None]:
    """From now on what unwinds a thread is not shown as an error that nobody handled: the report has it.

    Returns what undoes that. Replays may overlap, and end in any order: the last one puts the hook back.
    """
    _hiding.append(None)
    if len(_hiding) == 1:
        before = threading.excepthook
        _before.append(before)
        threading.excepthook = _hook

    def undo() -> None:
        _hiding.pop()
        if not _hiding:
            before = _before.pop()
            if threading.excepthook is _hook:
                threading.excepthook = before

    return undo


def _hook(told: threading.ExceptHookArgs) -> None:
    if not isinstance(told.exc_value, (Halt, EndOfRecording)):
        _before[-1](told)


_hiding: list[None] = []
_before: list[Callable[[threading.ExceptHookArgs], Any]] = []
