"""Stands for an iterator object that a function returned: its items are watched as the consumer takes them.

Such are `map`, a csv reader, an open file, a class with `__iter__` besides `__next__`, the streams of SDKs, also
in their async form. Re-iterable containers are values.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from types import CoroutineType, MappingProxyType
from typing import Any

from tracetape._running import Handed, Running
from tracetape._wrapping import Proxy, wrap
from tracetape.model.call import ASYNC_ITERATOR, ITERATOR, PLAIN, Returned, Streamed

__all__ = ["is_iterator", "watched"]

_MRO = type.__dict__["__mro__"]
_DICT: Any = type.__dict__["__dict__"]
_MODULE = type.__dict__["__module__"]


def is_iterator(cls: type) -> bool:
    """Whether instances of `cls` are iterators, sync or async. Runs no code of the class."""
    return _steps(cls, "__next__", "__iter__") or _steps(cls, "__anext__", "__aiter__")


def _steps(cls: type, take: str, begin: str) -> bool:
    bases = _MRO.__get__(cls)
    return (
        any(take in _DICT.__get__(one) for one in bases)
        and any(begin in _DICT.__get__(one) for one in bases)
        # A MagicMock can do everything; tests compare what came back with the mock that they put in.
        and not any(_MODULE.__get__(one) == "unittest.mock" for one in bases[1:])
    )


def watched(begun: Running, source: Any, prefix: str) -> Any:
    """`source` as its consumer gets it. `prefix` goes before the shape."""
    cls = type(source)
    if not _steps(cls, "__anext__", "__aiter__"):
        return _Iterator(begun, source, prefix, ITERATOR)
    if _steps(cls, "__next__", "__iter__"):
        return _EitherIterator(begun, source, prefix, ITERATOR)
    return _AsyncIterator(begun, source, prefix, ASYNC_ITERATOR)


class _Progress(Handed):
    """How far the consumer is. The crossing ends with the first end that is seen."""

    __slots__ = ("prefix", "shape", "taken", "used")

    def __init__(self, begun: Running, source: Any, prefix: str, shape: str) -> None:
        self.prefix, self.shape = prefix, prefix + shape
        self.taken = self.used = False
        super().__init__(begun, self._abandoned(), source)

    def take(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """One item."""
        if self.over:
            return function(*arguments)
        try:
            self.go_on()
            item = self.step(function, *arguments)
        except StopIteration as stop:
            self._finish(stop.value)
            raise
        except BaseException as error:
            self._fail(error)
            raise
        self._got(item)
        return item

    async def atake(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if self.over:
            return await function(*arguments)
        self._became_async()
        try:
            self.go_on()
            item = await self.astep(self.step(function, *arguments))
        except StopAsyncIteration:
            self._finish()
            raise
        except BaseException as error:
            self._fail(error)
            raise
        self._got(item)
        return item

    def close(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A call that closes the stream."""
        if self.over:
            return function(*arguments)
        try:
            result = self.step(function, *arguments)
        except BaseException as error:
            self._fail(error)
            raise
        if type(result) is CoroutineType:
            return self.aclose(result)
        self.leave()
        return result

    async def aclose(self, closing: Any) -> Any:
        self._became_async()
        try:
            result = await self.astep(closing)
        except BaseException as error:
            self._fail(error)
            raise
        self.leave()
        return result

    def leave(self) -> None:
        self.end(self.call.given_up or self._abandoned())

    def use(self) -> None:
        """Something else than items was asked for. If nothing else ever is, then what the consumer needs of the
        object (`read` of a file, `fetchall` of a cursor) is not in its items: it is a result like any other."""
        if not self.used and not self.taken and not self.over:
            self.used = True
            self.call.given_up = Returned(self.source, self.prefix.removesuffix("_") or PLAIN)

    def _got(self, item: Any) -> None:
        if not self.taken:
            self.taken = True
            self.call.given_up = self._abandoned()
        self.watch(item)

    def _finish(self, value: Any = None) -> None:
        if self.used and not self.taken:
            self.leave()
        else:
            self.end(Streamed(value=value, shape=self.shape))

    def _fail(self, error: BaseException) -> None:
        if isinstance(error, GeneratorExit):
            self.end(self._abandoned())
        else:
            self.end(Streamed(end="raised", error=error, shape=self.shape))

    def _abandoned(self) -> Streamed:
        return Streamed(end="abandoned", shape=self.shape)

    def _became_async(self) -> None:
        """An object that can be read both ways is what it is read as."""
        shape = self.prefix + ASYNC_ITERATOR
        if self.shape != shape:
            self.shape = shape
            if not self.used:
                self.call.given_up = self._abandoned()


class _Stream(Proxy):
    """What every kind has in common: attributes, ways to close it."""

    def __init__(self, begun: Running, source: Any, prefix: str, shape: str) -> None:
        super().__init__(source)
        self._self_progress: _Progress = _Progress(begun, source, prefix, shape)

    def __getattr__(self, name: str) -> Any:
        found, progress = getattr(self.__wrapped__, name), self._self_progress
        watch = _WATCHED.get(name)
        if watch is None or not callable(found):
            if not name.startswith("_"):
                progress.use()
            return found

        def call(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
            return watch(progress, lambda: wrapped(*args, **kwargs))

        return wrap(found, call)

    def __enter__(self) -> Any:
        wrapped = self.__wrapped__
        self._self_progress.go_on()
        entered = self._self_progress.step(type(wrapped).__enter__, wrapped)
        return self if entered is wrapped else entered

    def __exit__(self, *raised: Any) -> Any:
        wrapped = self.__wrapped__
        return self._self_progress.close(type(wrapped).__exit__, wrapped, *raised)

    async def __aenter__(self) -> Any:
        wrapped, progress = self.__wrapped__, self._self_progress
        progress.go_on()
        entered = await progress.astep(progress.step(type(wrapped).__aenter__, wrapped))
        return self if entered is wrapped else entered

    async def __aexit__(self, *raised: Any) -> Any:
        wrapped, progress = self.__wrapped__, self._self_progress
        leaving = type(wrapped).__aexit__(wrapped, *raised)
        return await (leaving if progress.over else progress.aclose(leaving))


_WATCHED = MappingProxyType(
    {
        "close": _Progress.close,
        "aclose": _Progress.close,
        "send": _Progress.take,
        "throw": _Progress.take,
        "asend": _Progress.atake,
        "athrow": _Progress.atake,
    }
)


class _Iterator(_Stream):
    def __iter__(self) -> Iterator[Any]:
        wrapped, progress = self.__wrapped__, self._self_progress
        inner = progress.step(iter, wrapped)
        return self if inner is wrapped else _each(progress, inner)

    def __next__(self) -> Any:
        return self._self_progress.take(next, self.__wrapped__)


class _AsyncIterator(_Stream):
    def __aiter__(self) -> AsyncIterator[Any]:
        wrapped, progress = self.__wrapped__, self._self_progress
        inner = progress.step(aiter, wrapped)
        return self if inner is wrapped else _aeach(progress, inner)

    def __anext__(self) -> Any:
        return self._self_progress.atake(anext, self.__wrapped__)


class _EitherIterator(_Iterator, _AsyncIterator):
    """Some SDKs have one class for both."""


def _each(progress: _Progress, inner: Iterator[Any]) -> Iterator[Any]:
    """The items of an iterator that the object made of itself: they are the object's own."""
    while True:
        try:
            item = progress.take(next, inner)
        except StopIteration:
            return
        yield item


async def _aeach(progress: _Progress, inner: AsyncIterator[Any]) -> AsyncIterator[Any]:
    try:
        while True:
            try:
                item = await progress.atake(anext, inner)
            except StopAsyncIteration:
                return
            yield item
    finally:
        close = getattr(inner, "aclose", None)
        if close is not None:
            await close()
