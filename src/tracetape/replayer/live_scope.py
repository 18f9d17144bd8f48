"""What is current while the code of a live call runs."""

from __future__ import annotations

from tracetape._frames import Frame, FrameScope
from tracetape.model.report import Step

__all__ = ["LiveScope"]


class LiveScope(FrameScope):
    """What makes the frame of a live call current, and the step known as running: while its code runs, not while
    a stream of it waits for its consumer."""

    __slots__ = ("_running", "_step")

    def __init__(self, frame: Frame, running: set[Step], step: Step) -> None:
        super().__init__(frame)
        self._running, self._step = running, step

    def attach(self) -> None:
        self._running.add(self._step)
        super().attach()

    def detach(self, before: Frame) -> None:
        self._running.discard(self._step)
        super().detach(before)
