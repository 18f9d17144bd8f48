"""Crossing → the outcome that its caller gets: the recorded one, or a patched one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from tracetape.errors import ValueNotRebuilt
from tracetape.model.call import Cancelled, Outcome, Raised, Returned, Streamed
from tracetape.model.crossing import Crossing

__all__ = ["patched_outcome", "recorded_outcome"]

# A cancelled call waits for its caller's cancellation for as long as it took, with this much to spare.
_SPARE_SECONDS = 5.0


def recorded_outcome(crossing: Crossing, exhausted: Callable[[], NoReturn]) -> Outcome:
    """What was recorded, as a fresh value.

    exhausted:  called when the caller wants more than the recording has: one item more of an abandoned
                stream, the end of a cancelled call that nobody cancels.

    Raises ValueNotRebuilt where the outcome is not there or cannot be rebuilt.
    """
    if crossing.outcome == "cancelled":
        patience = (crossing.duration or 0) / 1e9 + _SPARE_SECONDS
        return Cancelled(shape=crossing.shape, patience=patience, exhausted=exhausted)
    if crossing.output is None or crossing.values is None:
        why = "; ".join(gap.text for gap in crossing.gaps) or "the recording has no outcome of it"
        raise ValueNotRebuilt(why)
    if crossing.outcome == "returned":
        return Returned(crossing.values.result(crossing.output), crossing.shape)
    if crossing.outcome == "raised":
        return Raised(crossing.values.error(crossing.output), crossing.shape)
    items, error, value = crossing.values.stream(crossing.output)
    return Streamed(items, crossing.stream_end or "finished", error, value, crossing.shape, exhausted=exhausted)


def patched_outcome(crossing: Crossing, patch: Any) -> Outcome:
    """`patch` instead of what was recorded: a value, an exception, or a function of the recorded result
    (for a stream: of its items)."""
    shape = crossing.shape
    if _is_error(patch):
        return Raised(patch() if isinstance(patch, type) else patch, shape)
    if callable(patch):
        recorded = crossing.items if crossing.outcome == "streamed" else crossing.result
        try:
            patch = patch(recorded)
        except Exception as error:  # noqa: BLE001
            return Raised(error, shape)
    if crossing.outcome == "streamed":
        return Streamed(tuple(patch), shape=shape)
    return Returned(patch, shape)


def _is_error(patch: Any) -> bool:
    return isinstance(patch, BaseException) or (isinstance(patch, type) and issubclass(patch, BaseException))
