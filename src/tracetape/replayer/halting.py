"""What unwinds a program inside a replay."""

from __future__ import annotations

from typing import Any

from tracetape.model.report import Divergence

__all__ = ["EndOfRecording", "Halt"]


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
