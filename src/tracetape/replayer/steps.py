"""What is noted of the calls of a replay: how each ended, which was the last one here."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from functools import partial
from typing import Any

from tracetape._collecting import is_collecting
from tracetape.model.call import Cancelled, Outcome, Raised, Returned, Streamed
from tracetape.model.report import Step

__all__ = ["LastStep", "note"]

# Of the last call in this task or thread the position, and whose it was. Contexts outlive replays: no more of it.
_last: ContextVar[tuple[object, int | None] | None] = ContextVar("tracetape_last_step", default=None)


class LastStep:
    """The last call of this task or thread, of one replay."""

    __slots__ = ("_token",)

    def __init__(self) -> None:
        self._token = object()  # by which a context knows that it is this replay's

    def set(self, step: Step) -> None:
        if not is_collecting():
            _last.set((self._token, None if step.found is None else step.found.position))

    def position(self) -> int | None:
        """Of the recorded call that it was matched with; None where there was no call, or it was another replay's,
        or is not recorded."""
        last = _last.get()
        return last[1] if last is not None and last[0] is self._token else None


def note(step: Step, outcome: Outcome, items: Iterable[Any]) -> None:
    """How the step ended, where that is not told by the recording. items: of a stream, those that came."""
    step.error = outcome.error if isinstance(outcome, (Raised, Streamed, Cancelled)) else None
    if step.came_back is not None:
        return
    if isinstance(outcome, Returned):
        step.came_back = partial(_itself, outcome.value)
    elif isinstance(outcome, Streamed):
        step.came_back = partial(_itself, tuple(items))


def _itself(value: Any) -> Any:
    return value
