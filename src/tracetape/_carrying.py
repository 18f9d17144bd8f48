"""Carries what unwinds a replayed program through what bears an Exception alone.

A Halt is a BaseException, for agents catch `Exception` around their tools. A loop that several tests share, and
what pytest runs at the end of a fixture, do not survive one: so it leaves a test's or fixture's function as an
Exception that holds it.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from tracetape.replayer.halting import unwinds

__all__ = ["Unwound", "carried"]


class Unwound(Exception):
    """`held` is the Halt or EndOfRecording, or the group of a task group that has one in it."""

    def __init__(self, held: BaseException) -> None:
        super().__init__(str(held))
        self.held = held


def carried(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a test or a fixture, of the same kind, out of which no Halt comes but in an Unwound."""
    if inspect.ismethod(function):  # bound anew by pytest and its plugins, to the instance of the test
        return types.MethodType(carried(function.__func__), function.__self__)
    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def items_later(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            with _carrying():
                async with contextlib.aclosing(function(*args, **kwargs)) as items:
                    async for item in items:
                        yield item

        return items_later
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def later(*args: Any, **kwargs: Any) -> Any:
            with _carrying():
                return await function(*args, **kwargs)

        return later
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def items_now(*args: Any, **kwargs: Any) -> Iterator[Any]:
            with _carrying():
                yield from function(*args, **kwargs)

        return items_now

    @functools.wraps(function)
    def now(*args: Any, **kwargs: Any) -> Any:
        with _carrying():
            return function(*args, **kwargs)

    return now


@contextlib.contextmanager
def _carrying() -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        if not unwinds(error):
            raise
        carrying = Unwound(error)
    else:
        return
    raise carrying from None
