"""What a context knows of the open sessions.

A ContextVar, hence tasks and copied contexts inherit it.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tracetape._processes import OpenRun, Word
from tracetape.model.call import Mode

if TYPE_CHECKING:  # a program that is recorded never needs it
    from tracetape.model.report import Step

__all__ = ["EMPTY", "Frame", "FrameScope", "RecordingSession", "ReplaySession", "current_frame", "set_frame"]


class RecordingSession(Protocol):
    """One open `record`. `opener` is the thread that opened it (idents are used again)."""

    @property
    def is_open(self) -> bool: ...

    @property
    def opener(self) -> threading.Thread: ...

    def count_unplaced(self) -> None: ...

    def handed_on(self, *, here: bool) -> OpenRun | None:
        """For a process that adds to it: below the crossing that is made here, or below its root."""


class ReplaySession(Protocol):
    """One open `replay`.

    emits:         its calls are traced too.
    runs_program:  it is running the program itself (`tape.run`, the command line), not a block of a test.
    """

    @property
    def is_open(self) -> bool: ...

    @property
    def mode(self) -> Mode: ...

    @property
    def emits(self) -> bool: ...

    @property
    def runs_program(self) -> bool: ...

    def reads_from(self, path: Path) -> bool: ...

    def handed_on(self) -> Word: ...


@dataclass(frozen=True, slots=True)
class Frame:
    """What a context knows. `step` is the live call of a replay that we are inside of."""

    recordings: tuple[RecordingSession, ...] = ()
    replay: ReplaySession | None = None
    step: Step | None = None


EMPTY = Frame()
_frame: ContextVar[Frame] = ContextVar("tracetape_frame", default=EMPTY)

current_frame = _frame.get
set_frame = _frame.set


class FrameScope:
    """Makes a frame current while a function's own code runs."""

    __slots__ = ("frame",)

    def __init__(self, frame: Frame) -> None:
        self.frame = frame

    def current(self) -> Frame:
        return current_frame()

    def attach(self) -> None:
        set_frame(self.frame)

    def detach(self, before: Frame) -> None:
        if current_frame() is self.frame:
            set_frame(before)
