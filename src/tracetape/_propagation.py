"""`propagate`: a function that brings the context of here along."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from typing import Any, TypeVar

from tracetape._wrapping import wrap
from tracetape.errors import UsageError

__all__ = ["propagate"]

F = TypeVar("F", bound=Callable[..., Any])


def propagate(function: F) -> F:
    """Carry the context into a thread or a pool: what `function` calls there hangs under the crossing that is
    current here, in a recording and in a replay, and under your own current span.

    A thread starts with an empty context (`asyncio.to_thread` alone copies it). Without this its calls hang
    under the run's root where one recording or replay is open, and belong to none where there are several.

    function:  a function or a coroutine function. What is returned has its name and signature, and may run
               in several threads at once: each run has a fresh copy of the context, and what it sets in it
               is its own.

    Raises UsageError for what cannot be called, and for generator functions: propagate what consumes them.

        pool.submit(tracetape.propagate(fetch), url)
        threading.Thread(target=tracetape.propagate(work)).start()
    """
    if not callable(function):
        raise UsageError(f"propagate(function) takes a function, not {function!r}; call it in the thread")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        name = getattr(function, "__qualname__", function)
        raise UsageError(f"propagate(function): {name} is a generator function; propagate what consumes it")
    captured = copy_context()
    is_coroutine = inspect.iscoroutinefunction(function)

    def run(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
        context = captured.copy()
        if is_coroutine:
            return _within(context, functools.partial(wrapped, *args, **kwargs))
        return context.run(wrapped, *args, **kwargs)

    carried: F = wrap(function, run, _as_pickled)
    return carried


def _as_pickled(function: Any) -> tuple[Any, ...]:
    """As the plain function: what another process does has its parent by itself."""
    return _itself, (function,)


def _itself(function: Any) -> Any:
    return function


async def _within(context: Context, start: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return await _steps(context, context.run(start))


@types.coroutine
def _steps(context: Context, coroutine: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Each step of the coroutine in the context; what it awaits goes on to the loop."""
    step: Callable[..., Any] = coroutine.send
    given: Any = None
    while True:
        try:
            awaited = context.run(step, given)
        except StopIteration as stop:
            return stop.value
        try:
            given, step = (yield awaited), coroutine.send
        except GeneratorExit:
            context.run(coroutine.close)
            raise
        except BaseException as error:  # noqa: BLE001 (thrown in by the loop, and handed on)
            given, step = error, coroutine.throw
