"""The four drivers that run a call through a mode: the only place that asks "sync, async, stream?".

A mode is anything with `cross(call)`: a generator that may yield one `Invoke`, is then sent the
`Outcome`, and returns the outcome that goes to the caller. A mode that returns without yielding has
answered the call itself. Modes compose by `yield from inner.cross(call)`.

    class Passing:
        fails = "open"
        def cross(self, call):
            outcome = yield Invoke(call)
            return outcome
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any, NoReturn

from tracetape._running import BARE, Running, begin
from tracetape.model.call import (
    ASYNC_GENERATOR,
    AWAITABLE,
    PLAIN,
    Call,
    Cancelled,
    Mode,
    Outcome,
    Raised,
    Returned,
    Streamed,
)

__all__ = [
    "BARE",
    "cross_async_generator",
    "cross_coroutine",
    "cross_function",
    "cross_generator",
]


def cross_function(mode: Mode, call: Call) -> Any:
    """Run a plain function. A coroutine or generator that it returns is handed on, watched."""
    begun = begin(mode, call)
    if not isinstance(begun, Running):
        return _deliver(begun)
    try:
        value = begun.step(call.invoke)
    except BaseException as error:
        decided = begun.end(Raised(error))
        if isinstance(decided, Raised) and decided.error is error:
            del decided  # this frame is in the error's traceback: a cycle would keep the program's locals alive
            raise
        return _deliver(decided)
    # By `type`: isinstance would ask a lazy proxy for its class, and so load what it stands for.
    kind = type(value)
    if kind is CoroutineType:
        return _finish_coroutine(begun, value, AWAITABLE)
    if kind is GeneratorType:
        return _drive_generator(begun, value)
    if kind is AsyncGeneratorType:
        return _drive_async_generator(lambda: begun, value)
    decided = begun.end(Returned(value))
    return decided.value if isinstance(decided, Returned) and decided.shape == PLAIN else _deliver(decided)


async def cross_coroutine(mode: Mode, call: Call) -> Any:
    """Run a coroutine function."""
    begun = begin(mode, call)
    if isinstance(begun, Running):
        return await _finish_coroutine(begun, begun.step(call.invoke), PLAIN)
    return await _adeliver(begun)


def cross_generator(mode: Mode, call: Call) -> Generator[Any, Any, Any]:
    """Run a generator function. Nothing happens before the first `next`, as without us."""
    begun = begin(mode, call)
    if isinstance(begun, Running):
        return (yield from _drive_generator(begun, begun.step(call.invoke)))
    return (yield from _serve(begun))


def cross_async_generator(mode: Mode, call: Call) -> AsyncGenerator[Any, Any]:
    """Run an async generator function. Nothing happens before the first `anext`, as without us."""
    return _drive_async_generator(lambda: begin(mode, call), None)


async def _finish_coroutine(begun: Running, coroutine: Coroutine[Any, Any, Any], shape: str) -> Any:
    try:
        value = await begun.astep(coroutine)
    except BaseException as error:
        outcome = Cancelled(error, shape) if _is_cancellation(error) else Raised(error, shape)
        decided = begun.end(outcome)
        if decided is outcome:
            del decided, outcome  # see cross_function
            raise
        return await _adeliver(decided)
    returned = Returned(value, shape)
    decided = begun.end(returned)
    return value if decided is returned else await _adeliver(decided)


def _drive_generator(begun: Running, source: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    resume: Callable[[Any], Any] = source.send
    argument: Any = None
    while True:
        try:
            item = begun.step(resume, argument)
        except StopIteration as stop:
            begun.end(Streamed(value=stop.value))
            return stop.value
        except BaseException as error:
            begun.end(Streamed(end="raised", error=error))
            raise
        begun.watch(item)
        try:
            argument, resume = (yield item), source.send
        except GeneratorExit:
            try:
                begun.step(source.close)
            except BaseException as error:
                begun.end(Streamed(end="raised", error=error))
                raise
            begun.end(Streamed(end="abandoned"))
            raise
        except BaseException as thrown:
            argument, resume = thrown, source.throw


async def _drive_async_generator(
    begin: Callable[[], Running | Outcome], source: AsyncGenerator[Any, Any] | None
) -> AsyncGenerator[Any, Any]:
    begun = begin()
    if not isinstance(begun, Running):
        for item in _items(begun):
            try:
                yield item
            except GeneratorExit:
                raise
            except BaseException:
                continue  # what was thrown in when it was recorded led to the next item, or to the end below
        if isinstance(begun, Streamed):
            await _wait_to_be_cancelled(begun)
        _end_stream(begun)
        return
    source = begun.step(begun.call.invoke) if source is None else source
    resume: Callable[[Any], Awaitable[Any]] = source.asend
    argument: Any = None
    while True:
        try:
            item = await begun.astep(resume(argument))
        except StopAsyncIteration:
            begun.end(Streamed(shape=ASYNC_GENERATOR))
            return
        except GeneratorExit:
            begun.end(Streamed(end="abandoned", shape=ASYNC_GENERATOR))
            raise
        except BaseException as error:
            begun.end(Streamed(end="raised", error=error, shape=ASYNC_GENERATOR))
            raise
        begun.watch(item)
        try:
            argument, resume = (yield item), source.asend
        except GeneratorExit:
            try:
                await begun.astep(source.aclose())
            except GeneratorExit:
                begun.end(Streamed(end="abandoned", shape=ASYNC_GENERATOR))
                raise
            except BaseException as error:
                begun.end(Streamed(end="raised", error=error, shape=ASYNC_GENERATOR))
                raise
            begun.end(Streamed(end="abandoned", shape=ASYNC_GENERATOR))
            raise
        except BaseException as thrown:
            argument, resume = thrown, source.athrow


def _deliver(outcome: Outcome) -> Any:
    """Give a plain function's caller what was decided, in the shape that the function gives it."""
    if isinstance(outcome, Streamed):
        return _serve_either(outcome)
    if outcome.shape == AWAITABLE:
        return _adeliver(outcome)
    if isinstance(outcome, Returned):
        return outcome.value
    if isinstance(outcome, Raised):
        raise outcome.error
    _exhaust(outcome)


async def _adeliver(outcome: Outcome) -> Any:
    if isinstance(outcome, Returned):
        return outcome.value
    if isinstance(outcome, Raised):
        raise outcome.error
    if isinstance(outcome, Streamed):
        return _serve_either(outcome)
    await _wait_to_be_cancelled(outcome)
    _exhaust(outcome)


async def _wait_to_be_cancelled(outcome: Cancelled | Streamed) -> None:
    """Raising CancelledError by ourselves would break wait_for and timeout(), which count the cancellations
    that they asked for: so wait for the caller's own."""
    if outcome.patience:
        import asyncio

        await asyncio.sleep(outcome.patience)
        _exhaust(outcome)


def _serve_either(outcome: Streamed) -> Any:
    if outcome.shape == ASYNC_GENERATOR:
        return _drive_async_generator(lambda: outcome, None)
    return _serve(outcome)


def _serve(outcome: Outcome) -> Generator[Any, Any, Any]:
    for item in _items(outcome):
        try:
            yield item
        except GeneratorExit:
            raise
        except BaseException:
            continue  # what was thrown in when it was recorded led to the next item, or to the end below
    return _end_stream(outcome)


def _items(outcome: Outcome) -> tuple[Any, ...]:
    if isinstance(outcome, Raised):
        raise outcome.error
    if not isinstance(outcome, Streamed):
        raise TypeError(f"a stream is needed here, and the recording has: {type(outcome).__name__.lower()}")
    return outcome.items


def _end_stream(outcome: Outcome) -> Any:
    if not isinstance(outcome, Streamed):
        return None
    if outcome.error is not None:
        raise outcome.error
    if outcome.end == "abandoned":
        _exhaust(outcome)
    return outcome.value


def _exhaust(outcome: Streamed | Cancelled) -> NoReturn:
    if outcome.exhausted is not None:
        outcome.exhausted()
    if isinstance(outcome, Cancelled) and outcome.error is not None:
        raise outcome.error
    raise RuntimeError(f"a recorded {type(outcome).__name__.lower()} call has nothing more to give")


def _is_cancellation(error: BaseException) -> bool:
    """asyncio's and trio's, without importing either; a coroutine thrown away counts too."""
    if isinstance(error, GeneratorExit):
        return True
    for module, name in (("asyncio", "CancelledError"), ("trio", "Cancelled")):
        loaded = sys.modules.get(module)
        cls = getattr(loaded, name, None)
        if isinstance(cls, type) and isinstance(error, cls):
            return True
    return False
