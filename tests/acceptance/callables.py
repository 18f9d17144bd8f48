"""One of each kind of callable, under `mark`: loaded twice, once with a `mark` that does nothing.

python callables.py     compares the two under a tracer provider of the host, prints what differs as JSON
"""

from __future__ import annotations

import abc
import asyncio
import contextlib
import dataclasses
import functools
import operator
from collections.abc import Callable
from typing import Any

mark: Callable[[Any], Any] = globals().get("mark") or (lambda function: function)


class Token:
    """What is returned: to be the same object for the caller."""


TOKEN = Token()
ERROR = LookupError("the same object")
LAST: list[Any] = []


class Stop(BaseException):
    pass


def body(a: Any, *others: Any) -> Any:
    """What all of them do: raise, by their first argument, or return it if it is a token."""
    if a == "from":
        try:
            _ = 1 // 0
        except ZeroDivisionError as zero:
            raise KeyError("asked") from zero
    if a == "while":
        try:
            raise ValueError("first")
        except ValueError:
            raise RuntimeError("then")  # noqa: B904
    if a == "none":
        raise OSError(2, "gone") from None
    if a == "same":
        raise ERROR
    if a == "base":
        raise Stop("base", 7)
    if a == "stop":
        raise StopIteration("a plain function may")
    return (TOKEN if a == "token" else a, *others)


@mark
def function(a: Any, /, b: int = 2, *rest: int, c: int = 3, **more: int) -> Any:
    """Its docstring."""
    return body(a, b, rest, c, more)


@mark
def positional_only(a: Any, b: str = "b", /) -> Any:
    return body(a, b)


@mark
async def coroutine(a: Any, /, b: int = 2, *rest: int, c: int = 3, **more: int) -> Any:
    await asyncio.sleep(0)
    return body(a, b, rest, c, more)


@mark
def generator(a: Any, /, b: int = 2, *rest: int, c: int = 3, **more: int) -> Any:
    got = yield TOKEN
    yield body(a, b, rest, c, more, got)
    return TOKEN


@mark
async def async_generator(a: Any, /, b: int = 2, *rest: int, c: int = 3, **more: int) -> Any:
    got = yield TOKEN
    await asyncio.sleep(0)
    yield body(a, b, rest, c, more, got)


class Base:
    @mark
    def method(self, a: Any, b: int = 2, *rest: int, c: int = 3, **more: int) -> Any:
        return body(a, b, rest, c, more)

    @mark
    @classmethod
    def over_class(cls, a: Any, b: int = 2, *rest: int, c: int = 3, **more: int) -> Any:
        return body(a, cls.__name__, b, rest, c, more)

    @classmethod
    @mark
    def under_class(cls, a: Any, b: int = 2, *rest: int, c: int = 3, **more: int) -> Any:
        return body(a, cls.__name__, b, rest, c, more)

    @mark
    @staticmethod
    def over_static(a: Any, b: int = 2, *rest: int, c: int = 3, **more: int) -> Any:
        return body(a, b, rest, c, more)

    @staticmethod
    @mark
    def under_static(a: Any, b: int = 2, *rest: int, c: int = 3, **more: int) -> Any:
        return body(a, b, rest, c, more)

    @mark
    async def coroutine_method(self, a: Any, b: int = 2, *rest: int, c: int = 3, **more: int) -> Any:
        return body(a, b, rest, c, more)

    @mark
    def generator_method(self, a: Any, b: int = 2, *rest: int, c: int = 3, **more: int) -> Any:
        yield body(a, b, rest, c, more)


class Derived(Base):
    @mark
    def method(self, a: Any, b: int = 2, *rest: int, c: int = 3, **more: int) -> Any:
        return ("derived", super().method(a, b, *rest, c=c, **more))

    @mark
    @classmethod
    def over_class(cls, a: Any, b: int = 2, *rest: int, c: int = 3, **more: int) -> Any:
        return ("derived", super().over_class(a, b, *rest, c=c, **more))


class CallableObject:
    def __call__(self, a: Any, b: int = 2, *rest: int, c: int = 3, **more: int) -> Any:
        return body(a, b, rest, c, more)


class AsyncCallableObject:
    async def __call__(self, a: Any, b: int = 2, *rest: int, c: int = 3, **more: int) -> Any:
        return body(a, b, rest, c, more)


class GeneratorCallableObject:
    def __call__(self, a: Any, b: int = 2, *rest: int, c: int = 3, **more: int) -> Any:
        yield body(a, b, rest, c, more)


callable_object = mark(CallableObject())
async_callable_object = mark(AsyncCallableObject())
generator_callable_object = mark(GeneratorCallableObject())


def for_partial(first: Any, a: Any, b: int = 2, *rest: int, c: int = 3, **more: int) -> Any:
    return body(a, first, b, rest, c, more)


async def for_async_partial(first: Any, a: Any, b: int = 2, *rest: int, c: int = 3, **more: int) -> Any:
    return body(a, first, b, rest, c, more)


partial = mark(functools.partial(for_partial, "first", c=4))
async_partial = mark(functools.partial(for_async_partial, "first", c=4))


async def wait(a: Any) -> Any:
    await asyncio.sleep(0)
    return body(a)


class Later:
    """An awaitable of the program's own."""

    def __init__(self, a: Any) -> None:
        self.a = a

    def __await__(self) -> Any:
        yield from asyncio.sleep(0).__await__()
        return body(self.a)


def remember(value: Any) -> Any:
    LAST[:] = [value]
    return value


@mark
def gives_coroutine(a: Any) -> Any:
    return wait(a)


@mark
def gives_task(a: Any) -> Any:
    return remember(asyncio.ensure_future(wait(a)))


@mark
def gives_future(a: Any) -> Any:
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_result, TOKEN if a == "token" else a)
    return remember(future)


@mark
def gives_awaitable(a: Any) -> Any:
    return remember(Later(a))


def plain_generator(a: Any) -> Any:
    yield TOKEN
    yield body(a)
    return TOKEN


@mark
def gives_generator(a: Any) -> Any:
    return plain_generator(a)


@mark
def gives_async_generator(a: Any) -> Any:
    async def items() -> Any:
        yield TOKEN
        yield body(a)

    return items()


@mark
def gives_iterator(a: Any) -> Any:
    return map(body, [1, a])


@mark
async def coroutine_gives_generator(a: Any) -> Any:
    return plain_generator(a)


builtin = mark(len)
c_callable = mark(operator.itemgetter(0))
c_method = mark("text".upper)


# Under and over other decorators


@functools.lru_cache
@mark
def cached_over(a: Any) -> Any:
    return body(a)


@mark
@functools.lru_cache
def cached_under(a: Any) -> Any:
    return body(a)


@contextlib.contextmanager
@mark
def manager_over(a: Any) -> Any:
    try:
        yield body(a)
    except KeyError as error:
        raise LookupError("translated") from error


@mark
@contextlib.contextmanager
def manager_under(a: Any) -> Any:
    yield body(a)


@contextlib.asynccontextmanager
@mark
async def async_manager_over(a: Any) -> Any:
    try:
        yield body(a)
    except KeyError as error:
        raise LookupError("translated") from error


@functools.singledispatch
@mark
def dispatch_over(a: Any) -> Any:
    return ("object", body(a))


@dispatch_over.register
@mark
def _(a: int) -> Any:
    return ("int", body(a))


@mark
@functools.singledispatch
def dispatch_under(a: Any) -> Any:
    return ("object", body(a))


class Abstract(abc.ABC):
    @abc.abstractmethod
    @mark
    def over(self) -> Any: ...

    @mark
    @abc.abstractmethod
    def under(self) -> Any: ...


@dataclasses.dataclass(frozen=True)
class Record:
    a: int

    @mark
    def doubled(self, by: int = 2) -> int:
        return self.a * by

    @property
    @mark
    def text(self) -> str:
        return str(body(self.a))

    @functools.cached_property
    @mark
    def lazily(self) -> str:
        return str(body(self.a))


if __name__ == "__main__":
    import importlib

    importlib.import_module("test_transparency").main()
