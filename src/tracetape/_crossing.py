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

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any

from tracetape._collecting import is_collecting
from tracetape._delivering import adeliver, adeliver_stream, deliver, deliver_stream
from tracetape._iterators import is_iterator, watched
from tracetape._running import BARE, UNWATCHED, Handed, Running, begin, is_cancellation, settled
from tracetape.model.call import (
    ASYNC_GENERATOR,
    AWAITABLE,
    GENERATOR,
    PLAIN,
    Call,
    Cancelled,
    ContextScope,
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

_COMPLETE: Any = object()
_THROWN_AWAY = Cancelled()


def cross_function(mode: Mode, call: Call) -> Any:
    """Run a plain function. A coroutine, generator or iterator that it returns is handed on, watched."""
    __tracebackhide__ = True  # from pytest, which shows the program's frames then
    begun = begin(mode, call)
    if not isinstance(begun, Running):
        return begun.value if type(begun) is Returned and begun.shape == PLAIN else deliver(begun, call.spec.name)
    try:
        value = begun.step(call.invoke)
    except BaseException as error:
        decided = begun.end(Raised(error))
        if isinstance(decided, Raised) and decided.error is error:
            del decided  # this frame is in the error's traceback: a cycle would keep the program's locals alive
            raise
        return deliver(decided, call.spec.name)
    if type(value) is CoroutineType:
        handed = Handed(begun, Cancelled(shape=AWAITABLE), value)
        return handed.hand(_finish_coroutine(handed, value, AWAITABLE))
    going_on = _handed_out(begun, value, "")
    if going_on is not _COMPLETE:
        return going_on
    decided = begun.end(Returned(value))
    if isinstance(decided, Returned) and decided.shape == PLAIN:
        return decided.value
    return deliver(decided, call.spec.name)


async def cross_coroutine(mode: Mode, call: Call) -> Any:
    """Run a coroutine function."""
    __tracebackhide__ = True
    begun = begin(mode, call)
    if isinstance(begun, Running):
        call.given_up = _THROWN_AWAY
        return await _finish_coroutine(begun, begun.step(call.invoke), PLAIN)
    return await adeliver(begun, call.spec.name)


def cross_generator(mode: Mode, call: Call) -> Generator[Any, Any, Any]:
    """Run a generator function. Nothing happens before the first `next`, as without us."""
    return _drive_generator(lambda: begin(mode, call), None, GENERATOR)


def cross_async_generator(mode: Mode, call: Call) -> AsyncGenerator[Any, Any]:
    """Run an async generator function. Nothing happens before the first `anext`, as without us."""
    return _drive_async_generator(lambda: begin(mode, call), None, ASYNC_GENERATOR)


def _handed_out(begun: Running, value: Any, prefix: str) -> Any:
    """`value` watched, if it is a stream: the crossing goes on with it. Else _COMPLETE.

    By `type`: isinstance would ask a lazy proxy for its class, and so load what it stands for.
    """
    kind = type(value)
    if kind is dict or kind is str or value is None or kind is list:
        return _COMPLETE
    if kind is GeneratorType:
        shape = prefix + GENERATOR
        handed = Handed(begun, Streamed(end="abandoned", shape=shape), value)
        return handed.hand(_drive_generator(lambda: handed, value, shape))
    if kind is AsyncGeneratorType:
        shape = prefix + ASYNC_GENERATOR
        handed = Handed(begun, Streamed(end="abandoned", shape=shape), value)
        return handed.hand(_drive_async_generator(lambda: handed, value, shape))
    call = begun.call
    # Where `output=` says what is recorded, the object is the program's alone. Whether it is storable is known of
    # most classes, and sooner told than whether it is an iterator.
    if call.spec.output is None and not call.storable(kind) and is_iterator(kind):
        return watched(begun, value, prefix)
    return _COMPLETE


async def _finish_coroutine(begun: Running, coroutine: Coroutine[Any, Any, Any], shape: str) -> Any:
    __tracebackhide__ = True
    try:
        try:
            begun.go_on()
        except BaseException:
            coroutine.close()
            raise
        value = await begun.astep(coroutine)
    except BaseException as error:
        outcome = Cancelled(error, shape) if is_cancellation(error) else Raised(error, shape)
        decided = begun.end(outcome)
        if decided is outcome:
            del decided, outcome  # see cross_function
            raise
        return await adeliver(decided, begun.call.spec.name)
    going_on = _handed_out(begun, value, "" if shape == PLAIN else f"{AWAITABLE}_")
    if going_on is not _COMPLETE:
        if isinstance(begun, Handed):
            begun.over = True  # what it ended in goes on instead
        return going_on
    returned = Returned(value, shape)
    decided = begun.end(returned)
    return value if decided is returned else await adeliver(decided, begun.call.spec.name)


def _drive_generator(
    begin: Callable[[], Running | Outcome], source: Generator[Any, Any, Any] | None, shape: str
) -> Generator[Any, Any, Any]:
    begun = begin()
    if not isinstance(begun, Running):
        source = deliver_stream(begun)
        begun = UNWATCHED
    if source is None:
        begun.call.given_up = Streamed(end="abandoned", shape=shape)
        source = begun.step(begun.call.invoke)
    # What each item passes is had once, and `step` is written out: an item is little work.
    gate, watchers = begun.call.gate, begun.call.watchers
    current, attach, detach = _of(begun.scope)
    resume: Callable[[Any], Any] | None = source.send
    argument: Any = None
    leaving = False
    while True:
        try:
            if gate is not None and not leaving:
                gate()
            if current is None:
                item = resume(argument)  # type: ignore[misc]
            else:
                before = current()
                try:
                    attach()
                    item = resume(argument)  # type: ignore[misc]
                finally:
                    detach(before)
        except StopIteration as stop:
            begun.end(Streamed(end="abandoned" if leaving else "finished", value=stop.value, shape=shape))
            return stop.value
        except BaseException as error:
            if leaving and isinstance(error, GeneratorExit):
                begun.end(Streamed(end="abandoned", shape=shape))
            else:
                begun.end(Streamed(end="raised", error=error, shape=shape))
            raise
        finally:
            resume = argument = None  # see cross_function
        for watch in watchers:
            watch(item)
        leaving = False
        try:
            argument, resume = (yield item), source.send
        except GeneratorExit as leave:
            leaving = True
            if is_collecting():
                current = None
            if isinstance(begun, Handed) and begun.is_shared():
                begun.end(Streamed(end="abandoned", shape=shape))
                raise
            # Thrown in as it came: what the generator makes of it (an item, a value) is seen as without us.
            argument, resume = leave, source.throw
        except BaseException as thrown:
            argument, resume = thrown, source.throw


async def _drive_async_generator(
    begin: Callable[[], Running | Outcome], source: AsyncGenerator[Any, Any] | None, shape: str
) -> AsyncGenerator[Any, Any]:
    begun = begin()
    if not isinstance(begun, Running):
        source = adeliver_stream(begun)
        begun = UNWATCHED
    if source is None:
        begun.call.given_up = Streamed(end="abandoned", shape=shape)
        source = begun.step(begun.call.invoke)
    gate, watchers = begun.call.gate, begun.call.watchers  # see _drive_generator
    current, attach, detach = _of(begun.scope)
    resume: Callable[[Any], Awaitable[Any]] | None = source.asend
    argument: Any = None
    leaving = cancelled = False
    while True:
        left: GeneratorExit | None = None
        try:
            if leaving:
                item, left = await begun.astep(settled(resume(argument)))  # type: ignore[misc]
            else:
                if gate is not None:
                    gate()
                awaitable = resume(argument)  # type: ignore[misc]
                if current is None:
                    item = await awaitable
                else:
                    before = current()
                    try:
                        attach()
                        item = await awaitable
                    finally:
                        del awaitable
                        detach(before)
        except StopAsyncIteration:
            begun.end(Streamed(end="abandoned" if leaving else "finished", shape=shape))
            return
        except GeneratorExit:
            begun.end(Streamed(end="abandoned", shape=shape))
            raise
        except BaseException as error:
            if cancelled and is_cancellation(error):
                # Its consumer was not waiting for it: a loop that ends cancels the closing of its generators.
                begun.end(Streamed(end="abandoned", shape=shape))
            else:
                begun.end(Streamed(end="raised", error=error, shape=shape))
            raise
        finally:
            resume = argument = None  # see cross_function
        if left is not None:
            begun.end(Streamed(end="abandoned", shape=shape))
            try:
                raise left
            finally:
                left = None
        for watch in watchers:
            watch(item)
        leaving = cancelled = False
        try:
            argument, resume = (yield item), source.asend
        except GeneratorExit as leave:
            leaving = cancelled = True
            # One that was collected together with ours has been closed by itself.
            if getattr(source, "ag_frame", True) is None or (isinstance(begun, Handed) and begun.is_shared()):
                begun.end(Streamed(end="abandoned", shape=shape))
                raise
            argument, resume = leave, source.athrow
        except BaseException as thrown:
            cancelled = is_cancellation(thrown)
            argument, resume = thrown, source.athrow


def _of(scope: ContextScope | None) -> tuple[Any, Any, Any]:
    return (None, None, None) if scope is None else (scope.current, scope.attach, scope.detach)
