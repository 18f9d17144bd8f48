"""What a span says of the exception that a call ended with."""

from __future__ import annotations

from tracetape.model.call import Outcome, Raised, Streamed
from tracetape.model.span import Event
from tracetape.recorder.storing import guard
from tracetape.semconv import names

__all__ = ["exception_event", "failure_of", "message_of"]

# Exceptions by which a program or framework steers: they are no failures of the call.
_CONTROL_FLOW = frozenset(
    {"CancelledError", "Cancelled", "GeneratorExit", "StopIteration", "StopAsyncIteration", "GraphInterrupt"}
)
_STATUS_TEXT = 1_000


def failure_of(outcome: Outcome) -> BaseException | None:
    """The exception that the span's status tells of: none where it was control flow."""
    error = outcome.error if isinstance(outcome, (Raised, Streamed)) else None
    if error is None or {cls.__name__ for cls in type(error).__mro__} & _CONTROL_FLOW:
        return None
    return error


def exception_event(error: BaseException, when: int) -> Event:
    """`when`: nanoseconds since the epoch."""
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return Event(
        names.EXCEPTION_EVENT,
        when,
        {names.EXCEPTION_TYPE: name, names.EXCEPTION_MESSAGE: message_of(error)},
    )


def message_of(error: BaseException) -> str:
    """Its text, up to 1,000 characters; "" where it has none that can be had."""
    return guard("an exception's text", lambda: str(error)[:_STATUS_TEXT]) or ""
