"""Gives a caller an outcome that was decided without running the function, in the shape that it would have."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from typing import Any, NoReturn

from tracetape._running import is_cancellation, sleep
from tracetape.model.call import (
    ASYNC_GENERATOR,
    ASYNC_ITERATOR,
    AWAITABLE,
    ITERATOR,
    Cancelled,
    Outcome,
    Raised,
    Returned,
    Streamed,
)

__all__ = ["adeliver", "adeliver_stream", "deliver", "deliver_stream"]


def deliver(outcome: Outcome, boundary: str) -> Any:
    """To the caller of a plain function."""
    __tracebackhide__ = True
    if outcome.shape.startswith(AWAITABLE):
        made: Any = adeliver(outcome, boundary)
        # What a warning calls it that was never awaited.
        made.__name__ = made.__qualname__ = boundary
        return made
    return _given(outcome, boundary)


async def adeliver(outcome: Outcome, boundary: str) -> Any:
    """To the caller of a coroutine function."""
    __tracebackhide__ = True
    if isinstance(outcome, Cancelled):
        await _wait_to_be_cancelled(outcome)
    return _given(outcome, boundary)


def deliver_stream(outcome: Outcome) -> Generator[Any, Any, Any]:
    """To the consumer of a generator."""
    stream = _streamed(outcome)
    left = len(stream.items)
    for item in stream.items:
        left -= 1
        try:
            yield item
        except GeneratorExit:
            if left == 0 and stream.end == "abandoned" and stream.value is not None:
                return stream.value  # as it did when it was recorded: who calls `throw` by hand sees it
            raise
        except BaseException:
            continue  # what was thrown in when it was recorded led to the next item, or to the end below
    if stream.error is not None:
        raise stream.error
    if stream.end == "abandoned":
        _exhaust(stream)
    return stream.value


async def adeliver_stream(outcome: Outcome) -> AsyncGenerator[Any, Any]:
    """To the consumer of an async generator."""
    stream = _streamed(outcome)
    for item in stream.items:
        try:
            yield item
        except BaseException as thrown:
            if is_cancellation(thrown):
                raise
            # see deliver_stream
    await _wait_to_be_cancelled(stream)
    if stream.error is not None:
        raise stream.error
    if stream.end == "abandoned":
        _exhaust(stream)


def _given(outcome: Outcome, boundary: str) -> Any:
    __tracebackhide__ = True
    if isinstance(outcome, Returned):
        return outcome.value
    if isinstance(outcome, Raised):
        raise outcome.error
    if isinstance(outcome, Streamed):
        return _stream(outcome, boundary)
    _exhaust(outcome)


def _stream(outcome: Streamed, boundary: str) -> Any:
    shape = outcome.shape.removeprefix(f"{AWAITABLE}_")
    if shape == ASYNC_GENERATOR:
        return adeliver_stream(outcome)
    if shape == ITERATOR:
        return _ServedIterator(outcome, boundary)
    if shape == ASYNC_ITERATOR:
        return _ServedAsyncIterator(outcome, boundary)
    return deliver_stream(outcome)


class _Served:
    """The items of an iterator object, which has nothing else of it any more."""

    def __init__(self, boundary: str) -> None:
        self._boundary = boundary

    def __getattr__(self, name: str) -> NoReturn:
        boundary = self.__dict__.get("_boundary", "?")
        raise AttributeError(
            f"{name!r} of what {boundary} returned is not in the recording: that was an iterator, of which the "
            f"items are served. Record what the program needs of it (output=… at its boundary), or run that "
            f'call live: live=["{boundary}"]',
            name=name,
        )


class _ServedIterator(_Served):
    def __init__(self, outcome: Streamed, boundary: str) -> None:
        super().__init__(boundary)
        self._items = deliver_stream(outcome)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._items)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *raised: object) -> None:
        self._items.close()

    def close(self) -> None:
        self._items.close()


class _ServedAsyncIterator(_Served):
    def __init__(self, outcome: Streamed, boundary: str) -> None:
        super().__init__(boundary)
        self._items = adeliver_stream(outcome)
        self._closed = False

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        if self._closed:
            raise StopAsyncIteration
        return await anext(self._items)

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    def close(self) -> _Closing:
        """Closed at once, awaited or not: some have a `close` that is no coroutine."""
        self._closed = True
        return _Closing(self._items)

    aclose = close


class _Closing:
    def __init__(self, items: AsyncGenerator[Any, Any]) -> None:
        self._items = items

    def __await__(self) -> Generator[Any, Any, None]:
        return self._items.aclose().__await__()


def _streamed(outcome: Outcome) -> Streamed:
    if isinstance(outcome, Raised):
        raise outcome.error
    if not isinstance(outcome, Streamed):
        raise TypeError(f"a stream is needed here, and the recording has: {type(outcome).__name__.lower()}")
    return outcome


async def _wait_to_be_cancelled(outcome: Cancelled | Streamed) -> None:
    """Raising CancelledError by ourselves would break wait_for and timeout(), which count the cancellations
    that they asked for: so wait for the caller's own."""
    if outcome.patience:
        await sleep(outcome.patience)
        _exhaust(outcome)


def _exhaust(outcome: Streamed | Cancelled) -> NoReturn:
    if outcome.exhausted is not None:
        outcome.exhausted()
    if isinstance(outcome, Cancelled) and outcome.error is not None:
        raise outcome.error
    raise RuntimeError(f"a recorded {type(outcome).__name__.lower()} call has nothing more to give")
