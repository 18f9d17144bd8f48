"""The stand-in for an iterator object: of its class, forwarding what it has, told of each item."""

from __future__ import annotations

import asyncio
import copy
import gc
import pickle
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from tracetape._crossing import BARE, cross_coroutine, cross_function
from tracetape._iterators import is_iterator
from tracetape.model.call import BoundarySpec, Call, Flow, Outcome, Returned, Streamed


class Watching:
    fails = "open"

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.items: list[Any] = []

    def cross(self, call: Call) -> Flow:
        call.watchers = (*call.watchers, self.items.append)
        outcome = yield from BARE.cross(call)
        self.outcomes.append(outcome)
        return outcome


class Both:
    """Can be read either way, as some SDKs' streams."""

    def __init__(self) -> None:
        self.left = [1, 2]

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        if not self.left:
            raise StopIteration
        return self.left.pop(0)

    def __aiter__(self) -> AsyncIterator[int]:
        return self

    async def __anext__(self) -> int:
        if not self.left:
            raise StopAsyncIteration
        return self.left.pop(0)

    def send(self, value: int) -> int:
        return value


def handed_out(value: Any, mode: Watching) -> Any:
    return cross_function(mode, Call(BoundarySpec(name="b"), {}, lambda: value))


@pytest.mark.parametrize(
    ("value", "expected"), [(iter([]), True), (map(str, []), True), (Both(), True), ([], False), (5, False)]
)
def test_what_is_an_iterator(value: Any, expected: bool) -> None:
    assert is_iterator(type(value)) is expected


def test_no_code_of_the_class_runs_to_find_out() -> None:
    class Meta(type):
        def __getattribute__(cls, name: str) -> Any:
            raise RuntimeError(name)

    assert is_iterator(Meta("Odd", (), {})) is False


@pytest.mark.parametrize(
    ("way", "shape"), [("sync", "iterator"), ("async", "async_iterator"), ("send", "iterator")]
)
def test_an_object_that_can_be_read_either_way_is_what_it_is_read_as(way: str, shape: str) -> None:
    mode = Watching()
    stream = handed_out(Both(), mode)

    async def read() -> list[int]:
        return [item async for item in stream]

    if way == "send":
        assert stream.send(7) == 7
        del stream
        gc.collect()
        assert (mode.items, mode.outcomes) == ([7], [Streamed(end="abandoned", shape=shape)])
        return
    assert (list(stream) if way == "sync" else asyncio.run(read())) == [1, 2]
    assert mode.outcomes == [Streamed(shape=shape)]
    assert mode.items == [1, 2]


def test_it_ends_once_and_goes_on_unwatched() -> None:
    mode = Watching()
    source = Both()
    stream = handed_out(source, mode)
    assert list(stream) == [1, 2]
    source.left.append(3)
    assert list(stream) == [3]
    del stream
    gc.collect()
    assert (mode.items, mode.outcomes) == ([1, 2], [Streamed(shape="iterator")])


def test_what_is_used_for_something_else_than_its_items_is_a_result() -> None:
    mode = Watching()
    source = Both()
    stream = handed_out(source, mode)
    assert stream.left == [1, 2]
    del stream
    gc.collect()
    assert mode.outcomes == [Returned(source)]


def test_it_is_copied_pickled_and_printed_as_what_it_stands_for() -> None:
    stream = handed_out(iter([1, 2]), Watching())
    assert type(copy.copy(stream)) is type(copy.deepcopy(stream)) is type(pickle.loads(pickle.dumps(stream)))
    assert list(copy.copy(stream)) == list(stream) == [1, 2]
    assert repr(stream).startswith("<list_iterator")


def test_a_stream_that_a_coroutine_returns_is_watched_too() -> None:
    mode = Watching()

    async def later() -> Any:
        return iter([1])

    async def main() -> None:
        assert list(await cross_coroutine(mode, Call(BoundarySpec(name="b"), {}, later))) == [1]
        assert list(await cross_function(mode, Call(BoundarySpec(name="b"), {}, later))) == [1]

    asyncio.run(main())
    assert mode.outcomes == [Streamed(shape="iterator"), Streamed(shape="awaitable_iterator")]
