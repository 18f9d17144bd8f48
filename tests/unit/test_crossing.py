"""The four drivers: whatever a mode does, the caller sees what it would see without it."""

from __future__ import annotations

import asyncio
import gc
import traceback
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest

from tracetape._crossing import (
    BARE,
    cross_async_generator,
    cross_coroutine,
    cross_function,
    cross_generator,
)
from tracetape.model.call import (
    ASYNC_GENERATOR,
    AWAITABLE,
    BoundarySpec,
    Call,
    Cancelled,
    Flow,
    Invoke,
    Outcome,
    Raised,
    Returned,
    Streamed,
)

current: ContextVar[str] = ContextVar("current", default="outside")


class Scope:
    def current(self) -> str:
        return current.get()

    def attach(self) -> None:
        current.set("inside")

    def detach(self, before: str) -> None:
        if current.get() == "inside":
            current.set(before)


class Watching:
    """A mode that notes the outcome and every item, and makes a scope current."""

    fails = "open"

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.items: list[Any] = []

    def cross(self, call: Call) -> Flow:
        call.scopes = (*call.scopes, Scope())
        call.watchers = (*call.watchers, self.items.append)
        outcome = yield from BARE.cross(call)
        self.outcomes.append(outcome)
        return outcome


class Answering:
    """A mode that answers without running the function."""

    fails = "closed"

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome

    def cross(self, call: Call) -> Flow:
        return self.outcome
        yield Invoke(call)  # makes it a generator


class Broken:
    """A mode with an error of its own, before or behind the call."""

    def __init__(self, fails: str, *, before: bool) -> None:
        self.fails, self.before = fails, before

    def cross(self, call: Call) -> Flow:
        if self.before:
            raise RuntimeError("the mode's own")
        yield from BARE.cross(call)
        raise RuntimeError("the mode's own")


def call(invoke: Callable[[], Any]) -> Call:
    return Call(BoundarySpec(name="b"), {}, invoke)


def never() -> Any:
    raise AssertionError("the function ran")


def seen() -> str:
    return current.get()


async def aseen() -> str:
    await asyncio.sleep(0)
    return current.get()


def test_the_result_is_the_same_object_with_the_scope_current_while_it_runs() -> None:
    mode, value = Watching(), object()
    assert cross_function(mode, call(lambda: value)) is value
    assert cross_function(mode, call(seen)) == "inside"
    assert current.get() == "outside"
    assert mode.outcomes == [Returned(value), Returned("inside")]


def test_an_exception_is_the_same_object_with_its_own_traceback_and_no_context_of_ours() -> None:
    error = ValueError("x")

    def fail() -> None:
        raise error

    with pytest.raises(ValueError) as caught:
        cross_function(Watching(), call(fail))
    assert caught.value is error
    assert error.__context__ is None
    assert traceback.extract_tb(error.__traceback__)[-1].name == "fail"


def test_a_coroutine_runs_in_its_scope_and_its_cancellation_is_an_outcome() -> None:
    mode = Watching()

    async def main() -> None:
        assert await cross_coroutine(mode, call(aseen)) == "inside"
        task = asyncio.create_task(cross_coroutine(mode, call(lambda: asyncio.sleep(60))))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert current.get() == "outside"

    asyncio.run(main())
    assert isinstance(mode.outcomes[1], Cancelled)


def test_a_program_sees_its_own_context_variable_changes() -> None:
    own: ContextVar[int] = ContextVar("own", default=0)
    cross_function(Watching(), call(lambda: own.set(5)))
    assert own.get() == 5


def test_a_generator_is_current_only_while_its_own_code_runs() -> None:
    mode = Watching()

    def numbers() -> Any:
        got = yield current.get()
        yield (got, current.get())
        return "end"

    stream = cross_generator(mode, call(numbers))
    assert next(stream) == "inside"
    assert current.get() == "outside"
    assert stream.send("sent") == ("sent", "inside")
    with pytest.raises(StopIteration) as stop:
        next(stream)
    assert stop.value.value == "end"
    assert mode.items == ["inside", ("sent", "inside")]
    assert mode.outcomes == [Streamed(value="end")]


@pytest.mark.parametrize("leave", ["close", "break", "collect"])
def test_a_generator_that_its_consumer_leaves_is_abandoned_and_cleaned_up(leave: str) -> None:
    mode, cleaned = Watching(), []

    def numbers() -> Any:
        try:
            yield 1
            yield 2
        finally:
            cleaned.append(current.get())

    stream = cross_generator(mode, call(numbers))
    for _ in stream:
        break
    if leave == "close":
        stream.close()
    del stream
    assert cleaned == ["inside"]
    assert mode.outcomes == [Streamed(end="abandoned")]


def test_what_is_thrown_into_a_generator_arrives_inside() -> None:
    mode = Watching()

    def numbers() -> Any:
        try:
            yield 1
        except KeyError as error:
            yield error

    stream = cross_generator(mode, call(numbers))
    next(stream)
    error = KeyError("k")
    assert stream.throw(error) is error
    with pytest.raises(ZeroDivisionError):
        stream.throw(ZeroDivisionError())
    assert isinstance(mode.outcomes[0], Streamed)
    assert mode.outcomes[0].end == "raised"


def test_an_async_generator_does_all_that_too() -> None:
    mode, cleaned = Watching(), []

    async def numbers() -> Any:
        try:
            got = yield await aseen()
            yield got
            yield 3
        finally:
            await asyncio.sleep(0)
            cleaned.append(current.get())

    async def main() -> None:
        stream = cross_async_generator(mode, call(numbers))
        assert await anext(stream) == "inside"
        assert current.get() == "outside"
        assert await stream.asend("sent") == "sent"
        await stream.aclose()
        whole = [item async for item in cross_async_generator(mode, call(numbers))]
        assert whole == ["inside", None, 3]

    asyncio.run(main())
    assert cleaned == ["inside", "inside"]
    assert [outcome.end for outcome in mode.outcomes if isinstance(outcome, Streamed)] == ["abandoned", "finished"]


def test_an_async_generator_may_be_read_in_a_task_per_item_and_left(caplog: pytest.LogCaptureFixture) -> None:
    mode = Watching()

    async def numbers() -> Any:
        for number in range(3):
            await asyncio.sleep(0)
            yield number

    async def main() -> None:
        stream = cross_async_generator(mode, call(numbers))
        assert await asyncio.wait_for(anext(stream), 5) == 0
        assert await asyncio.wait_for(anext(stream), 5) == 1
        await asyncio.create_task(stream.aclose())

    asyncio.run(main())
    assert mode.outcomes == [Streamed(end="abandoned", shape=ASYNC_GENERATOR)]
    assert caplog.records == []


def test_what_a_plain_function_hands_out_is_watched_not_consumed() -> None:
    mode = Watching()

    async def coroutine() -> int:
        return 5

    def generator() -> Any:
        yield 1

    async def async_generator() -> Any:
        yield 2

    async def main() -> None:
        awaitable = cross_function(mode, call(coroutine))
        assert mode.outcomes == []
        assert await awaitable == 5
        assert list(cross_function(mode, call(generator))) == [1]
        assert [item async for item in cross_function(mode, call(async_generator))] == [2]

    asyncio.run(main())
    assert mode.outcomes == [
        Returned(5, AWAITABLE),
        Streamed(),
        Streamed(shape=ASYNC_GENERATOR),
    ]
    assert mode.items == [1, 2]


def test_an_answered_call_never_runs_and_comes_in_the_shape_that_the_function_has() -> None:
    assert cross_function(Answering(Returned(1)), call(never)) == 1
    assert list(cross_generator(Answering(Streamed((1, 2))), call(never))) == [1, 2]
    assert list(cross_function(Answering(Streamed((1, 2))), call(never))) == [1, 2]
    with pytest.raises(KeyError):
        cross_function(Answering(Raised(KeyError())), call(never))
    with pytest.raises(KeyError):
        list(cross_generator(Answering(Streamed((), "raised", KeyError())), call(never)))

    async def main() -> None:
        assert await cross_coroutine(Answering(Returned(1)), call(never)) == 1
        assert await cross_function(Answering(Returned(1, AWAITABLE)), call(never)) == 1
        stream = cross_function(Answering(Streamed((1,), shape=ASYNC_GENERATOR)), call(never))
        assert [item async for item in stream] == [1]
        assert [item async for item in cross_async_generator(Answering(Streamed((1,))), call(never))] == [1]

    asyncio.run(main())


def test_one_item_more_than_an_abandoned_stream_had_is_asked_of_the_mode() -> None:
    def exhausted() -> Any:
        raise EOFError

    answer = Answering(Streamed((1,), "abandoned", exhausted=exhausted))
    stream = cross_generator(answer, call(never))
    assert next(stream) == 1
    with pytest.raises(EOFError):
        next(stream)


def test_a_served_cancellation_waits_for_the_caller_s_own() -> None:
    async def main() -> None:
        answer = Answering(Cancelled(patience=60))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(cross_coroutine(answer, call(never)), 0.01)

    asyncio.run(main())


@pytest.mark.parametrize("before", [True, False])
def test_an_open_mode_s_own_error_does_not_reach_the_program(before: bool) -> None:
    assert cross_function(Broken("open", before=before), call(lambda: 5)) == 5
    assert asyncio.run(cross_coroutine(Broken("open", before=before), call(aseen))) == "outside"
    assert list(cross_generator(Broken("open", before=before), call(lambda: iter_of(1)))) == [1]


@pytest.mark.parametrize("before", [True, False])
def test_a_closed_mode_s_own_error_does(before: bool) -> None:
    with pytest.raises(RuntimeError, match="the mode's own"):
        cross_function(Broken("closed", before=before), call(lambda: 5))


def iter_of(item: Any) -> Any:
    yield item


def test_a_raised_exception_keeps_nothing_alive_in_a_cycle() -> None:
    class Held:
        pass

    seen: list[weakref.ref[Held]] = []

    def fail() -> None:
        held = Held()
        seen.append(weakref.ref(held))
        raise ValueError

    gc.disable()
    try:
        try:
            cross_function(BARE, call(fail))
        except ValueError:
            pass
        assert seen[0]() is None
    finally:
        gc.enable()


def test_the_class_of_a_lazy_result_is_not_asked_for() -> None:
    def outside(self: object) -> Any:
        raise RuntimeError("outside of its context")

    lazy = type("Lazy", (), {"__class__": property(outside)})()
    assert cross_function(BARE, call(lambda: lazy)) is lazy
