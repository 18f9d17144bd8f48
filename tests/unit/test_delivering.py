"""What was decided without running the function comes in the shape that the function has."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tracetape._delivering import adeliver, deliver, deliver_stream
from tracetape.model.call import AWAITABLE, Returned, Streamed


def test_an_iterator_can_be_closed_and_entered() -> None:
    stream = deliver(Streamed((1, 2, 3), shape="iterator"), "ask")
    assert iter(stream) is stream
    with stream as entered:
        assert next(entered) == 1
    assert list(stream) == []
    again = deliver(Streamed((1,), shape="iterator"), "ask")
    again.close()
    assert list(again) == []


def test_an_async_iterator_can_too_and_its_close_need_not_be_awaited() -> None:
    async def main() -> None:
        outcome = Streamed((1, 2, 3), shape="async_iterator")
        stream = deliver(outcome, "ask")
        async with stream as entered:
            assert await anext(entered) == 1
        assert [item async for item in stream] == []
        again = deliver(outcome, "ask")
        again.close()
        assert [item async for item in again] == []
        awaited = await deliver(Streamed((1,), shape="awaitable_async_iterator"), "ask")
        assert [item async for item in awaited] == [1]
        await awaited.aclose()
        assert [item async for item in await adeliver(outcome, "ask")] == [1, 2, 3]

    asyncio.run(main())


@pytest.mark.parametrize("shape", ["iterator", "async_iterator"])
def test_whatever_else_the_object_had_is_gone_and_said(shape: str) -> None:
    stream = deliver(Streamed((), shape=shape), "ask")
    assert not hasattr(stream, "response")
    with pytest.raises(AttributeError, match="'response' of what ask returned is not in the recording") as caught:
        stream.response  # noqa: B018
    assert caught.value.name == "response"


def test_an_awaitable_has_the_boundary_s_name() -> None:
    made: Any = deliver(Returned(5, AWAITABLE), "ask")
    assert made.__qualname__ == "ask"
    assert asyncio.run(made) == 5


def test_a_value_that_a_generator_returned_on_being_closed_is_given_to_who_throws() -> None:
    stream = deliver_stream(Streamed((1,), "abandoned", value="value"))
    next(stream)
    with pytest.raises(StopIteration) as stopped:
        stream.throw(GeneratorExit())
    assert stopped.value.value == "value"
