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

    Returns what undoes that.
    """
    before = threading.excepthook

    def hook(told: threading.ExceptHookArgs) -> None:
        if not isinstance(told.exc_value, (Halt, EndOfRecording)):
            before(told)

    def undo() -> None:
        if threading.excepthook is hook:
            threading.excepthook = before

    threading.excepthook = hook
    return undo
