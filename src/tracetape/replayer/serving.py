"""Crossing → the outcome that its caller gets: the recorded one, or a patched one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from tracetape.codec import encode, scan
from tracetape.codec.reader import Reader
from tracetape.errors import ValueNotRebuilt
from tracetape.model.call import Cancelled, Outcome, Raised, Returned, Streamed
from tracetape.model.crossing import Crossing

__all__ = ["patched_outcome", "recorded_outcome", "recorded_result"]

# A cancelled call waits for its caller's cancellation for as long as it took, with this much to spare.
_SPARE_SECONDS = 5.0
_CANCELLATIONS = ("CancelledError", "Cancelled")


def recorded_outcome(crossing: Crossing, reader: Reader, exhausted: Callable[[], NoReturn]) -> Outcome:
    """What was recorded, as a fresh value.

    reader:     of this replay: its hook halts where a part that was not stored is used.
    exhausted:  called when the caller wants more than the recording has: one item more of an abandoned
                stream, the end of a cancelled call that nobody cancels.

    Raises ValueNotRebuilt where the outcome is not there or cannot be rebuilt.
    """
    if crossing.outcome == "cancelled":
        return Cancelled(shape=crossing.shape, patience=_patience(crossing), exhausted=exhausted)
    if crossing.output is None:
        why = "; ".join(gap.text for gap in crossing.gaps) or "the recording has no outcome of it"
        raise ValueNotRebuilt(why)
    if crossing.outcome == "returned":
        return Returned(reader.result(crossing.output), crossing.shape)
    if crossing.outcome == "raised":
        return Raised(reader.error(crossing.output), crossing.shape)
    items, error, value = reader.stream(crossing.output)
    end = crossing.stream_end or "finished"
    patience = _patience(crossing) if type(error).__name__ in _CANCELLATIONS else 0.0
    return Streamed(items, end, error, value, crossing.shape, patience, exhausted)


def _patience(crossing: Crossing) -> float:
    return (crossing.duration or 0) / 1e9 + _SPARE_SECONDS


def patched_outcome(
    patch: Any, reader: Reader, recorded: Callable[[], Any], *, shape: str, streamed: bool
) -> Outcome:
    """`patch` instead of what was recorded: a value, an exception, or a function of the recorded result
    (for a stream: of its items). Each call gets a value of its own, as far as values can be copied.

    recorded:         gives that result. shape, streamed: of the call.
    """
    if _is_error(patch):
        return Raised(patch() if isinstance(patch, type) else patch, shape)
    if callable(patch):
        result = recorded()
        try:
            patch = patch(result)
        except Exception as error:  # noqa: BLE001
            return Raised(error, shape)
    else:
        patch = _copied(patch, reader)
    if not streamed:
        return Returned(patch, shape)
    if not isinstance(patch, Iterable):
        raise ValueNotRebuilt(f"the patch of a stream is its items, and {type(patch).__name__} has none")
    return Streamed(tuple(patch), shape=shape)


def recorded_result(crossing: Crossing, reader: Reader) -> Any:
    """What a function that patches is asked with; None where nothing came back."""
    streamed = crossing.outcome == "streamed"
    if crossing.output is None or crossing.outcome not in ("returned", "streamed"):
        return None
    return reader.items(crossing.output) if streamed else reader.result(crossing.output)


def _copied(value: Any, reader: Reader) -> Any:
    payload = encode(value)
    try:
        return value if scan(payload.text) else reader.result(payload)
    except ValueNotRebuilt:
        return value


def _is_error(patch: Any) -> bool:
    return isinstance(patch, BaseException) or (isinstance(patch, type) and issubclass(patch, BaseException))
