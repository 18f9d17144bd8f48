"""Streams, and every way of a consumer to leave one.

python streams.py     goes all of them under a tracer provider of the host, prints facts as JSON
"""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

Mark = Callable[[Any], Any]


class Numbers:
    """An iterator object that can be closed."""

    def __init__(self, count: int, fail_at: int | None) -> None:
        self.inner = plain_numbers(count, fail_at)
        self.count = count

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self.inner)

    def close(self) -> None:
        self.inner.close()

    def __enter__(self) -> Numbers:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


class NumbersAsSdksDo(Numbers):
    """Its `__iter__` is a generator over what `__next__` takes from too."""

    def __iter__(self) -> Iterator[Any]:
        for item in self.inner:  # noqa: UP028
            yield item


class AsyncNumbers:
    def __init__(self, count: int, fail_at: int | None) -> None:
        self.inner = plain_async_numbers(count, fail_at)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        return await anext(self.inner)

    async def aclose(self) -> None:
        await self.inner.aclose()

    async def __aenter__(self) -> AsyncNumbers:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()


class AsyncNumbersAsSdksDo(AsyncNumbers):
    async def __aiter__(self) -> AsyncIterator[Any]:
        async for item in self.inner:
            yield item

    async def close(self) -> None:
        await self.inner.aclose()


def plain_numbers(count: int, fail_at: int | None) -> Any:
    for number in range(count):
        if number == fail_at:
            raise ValueError("half-way")
        try:
            got = yield {"number": number}
            if got is not None:
                yield ("got", got)
        except KeyError as error:
            yield ("caught", *error.args)
    return "end"


async def plain_async_numbers(count: int, fail_at: int | None) -> Any:
    for number in range(count):
        await asyncio.sleep(0)
        if number == fail_at:
            raise ValueError("half-way")
        try:
            got = yield {"number": number}
            if got is not None:
                yield ("got", got)
        except KeyError as error:
            yield ("caught", *error.args)


def sync_sources(mark: Mark) -> dict[str, Any]:
    return {
        "generator function": mark(plain_numbers),
        "function that returns a generator": mark(lambda *args: plain_numbers(*args)),
        "function that returns an iterator": mark(lambda *args: Numbers(*args)),
        "function that returns an iterator, as SDKs do": mark(
            lambda count, fail_at: NumbersAsSdksDo(count, fail_at)
        ),
    }


def async_sources(mark: Mark) -> dict[str, Any]:
    async def later(count: int, fail_at: int | None) -> Any:
        return plain_async_numbers(count, fail_at)

    async def later_object(count: int, fail_at: int | None) -> Any:
        return AsyncNumbersAsSdksDo(count, fail_at)

    return {
        "async generator function": mark(plain_async_numbers),
        "function that returns an async generator": mark(
            lambda count, fail_at: plain_async_numbers(count, fail_at)
        ),
        "coroutine function that returns an async generator": mark(later),
        "function that returns a coroutine of an async generator": mark(
            lambda count, fail_at: later(count, fail_at)
        ),
        "function that returns an async iterator": mark(lambda *args: AsyncNumbers(*args)),
        "coroutine function that returns an async iterator, as SDKs do": mark(later_object),
        "function that returns a coroutine of an async iterator": mark(lambda *args: later_object(*args)),
    }


def error_of(call: Callable[[], Any]) -> Any:
    try:
        return ("gave", call())
    except BaseException as error:
        return (type(error).__name__, *error.args)


async def aerror_of(call: Callable[[], Awaitable[Any]]) -> Any:
    try:
        return ("gave", await call())
    except BaseException as error:
        return (type(error).__name__, *error.args)


# Ways to go through a sync stream: each is given a function that opens one.


def exhaust(open: Any) -> Any:
    stream = open()
    got = list(stream)
    return got, error_of(lambda: next(iter(stream)))


def returned_value(open: Any) -> Any:
    stream = iter(open())
    for _ in range(3):
        next(stream)
    return error_of(lambda: next(stream))


def fail_half_way(open: Any) -> Any:
    stream, got = open(2), list[Any]()
    return got, error_of(lambda: got.extend(stream))


def leave_by_break(open: Any) -> Any:
    got = []
    for item in open():
        got.append(item)
        break
    return got


def close(open: Any) -> Any:
    stream = open()
    first = next(stream)
    return first, stream.close(), error_of(lambda: next(stream))


def close_untouched(open: Any) -> Any:
    return open().close()


def drop_untouched(open: Any) -> Any:
    open()
    gc.collect()


def collected_in_a_cycle(open: Any) -> Any:
    stream = open()
    first = next(stream)
    cycle = [stream]
    cycle.append(cycle)
    del stream, cycle
    gc.collect()
    return first


def closed_in_another_thread(open: Any) -> Any:
    stream = open()
    first = next(stream)
    thread = threading.Thread(target=stream.close)
    thread.start()
    thread.join()
    return first


def two_interleaved(open: Any) -> Any:
    first, second = open(), open()
    got = [next(first), next(second), next(first), next(second)]
    return got, list(first), list(second)


def send(open: Any) -> Any:
    stream = open()
    return next(stream), stream.send("sent"), next(stream)


def throw(open: Any) -> Any:
    stream = open()
    return next(stream), stream.throw(KeyError("thrown")), error_of(lambda: stream.throw(OSError("out")))


def throw_generator_exit(open: Any) -> Any:
    stream = open()
    return next(stream), error_of(lambda: stream.throw(GeneratorExit("by hand")))


def throw_into_untouched(open: Any) -> Any:
    return error_of(lambda: open().throw(OSError("at once")))


def with_block(open: Any) -> Any:
    with open() as stream:
        first = next(stream)
    return first, error_of(lambda: next(stream))


FOR_ALL: dict[str, Any] = {
    one.__name__: one
    for one in (
        exhaust,
        fail_half_way,
        leave_by_break,
        close,
        close_untouched,
        drop_untouched,
        collected_in_a_cycle,
        closed_in_another_thread,
        two_interleaved,
    )
}
FOR_GENERATORS: dict[str, Any] = {
    one.__name__: one for one in (returned_value, send, throw, throw_generator_exit, throw_into_untouched)
}
FOR_OBJECTS: dict[str, Any] = {"with_block": with_block}


# Ways to go through an async stream.


async def aexhaust(open: Any) -> Any:
    stream = await open()
    return [item async for item in stream]


async def afail_half_way(open: Any) -> Any:
    stream, got = await open(2), []

    async def read() -> None:
        async for item in stream:
            got.append(item)

    return got, await aerror_of(read)


async def aleave_by_break(open: Any) -> Any:
    got = []
    async for item in await open():
        got.append(item)
        break
    gc.collect()
    await settle()
    return got


async def aclose(open: Any) -> Any:
    stream = await open()
    first = await anext(stream)
    await stream.aclose()
    return first, await aerror_of(lambda: anext(stream))


async def aclose_untouched(open: Any) -> Any:
    await (await open()).aclose()


async def adrop_untouched(open: Any) -> Any:
    await open()
    gc.collect()
    await settle()


async def aclosed_in_another_task(open: Any) -> Any:
    stream = await open()
    first = await anext(stream)

    async def leave() -> None:
        await stream.aclose()

    await asyncio.create_task(leave())
    return first


async def await_for_each_item(open: Any) -> Any:
    stream = await open()
    return [await asyncio.wait_for(anext(stream), 60) for _ in range(3)]


async def acollected(open: Any) -> Any:
    stream = await open()
    first = await anext(stream)
    cycle = [stream]
    cycle.append(cycle)
    del stream, cycle
    gc.collect()
    await settle()
    return first


async def atwo_interleaved(open: Any) -> Any:
    first, second = await open(), await open()
    got = [await anext(first), await anext(second), await anext(first), await anext(second)]
    return got, [item async for item in first], [item async for item in second]


async def acancelled_between_items(open: Any) -> Any:
    began, got = asyncio.Event(), []

    async def read(stream: Any) -> None:
        async for item in stream:
            got.append(item)
            began.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(read(await open()))
    await began.wait()
    task.cancel()
    (result,) = await asyncio.gather(task, return_exceptions=True)
    del task
    gc.collect()
    await settle()
    return got, type(result)


async def asend(open: Any) -> Any:
    stream = await open()
    return await anext(stream), await stream.asend("sent"), await anext(stream), await stream.aclose()


async def athrow(open: Any) -> Any:
    stream = await open()
    first = await anext(stream)
    return first, await stream.athrow(KeyError("in")), await aerror_of(lambda: stream.athrow(OSError("out")))


async def athrow_generator_exit(open: Any) -> Any:
    stream = await open()
    return await anext(stream), await aerror_of(lambda: stream.athrow(GeneratorExit("by hand")))


async def awith_block(open: Any) -> Any:
    async with await open() as stream:
        first = await anext(stream)
    return first, await aerror_of(lambda: anext(stream))


async def settle() -> None:
    """The loop closes what was collected in a task of its own."""
    for _ in range(5):
        await asyncio.sleep(0)


ASYNC_FOR_ALL: dict[str, Any] = {
    one.__name__: one
    for one in (
        aexhaust,
        afail_half_way,
        aleave_by_break,
        aclose,
        aclose_untouched,
        adrop_untouched,
        aclosed_in_another_task,
        await_for_each_item,
        acollected,
        atwo_interleaved,
        acancelled_between_items,
    )
}
ASYNC_FOR_GENERATORS: dict[str, Any] = {one.__name__: one for one in (asend, athrow, athrow_generator_exit)}
ASYNC_FOR_OBJECTS: dict[str, Any] = {"awith_block": awith_block}


def no_mark(function: Any) -> Any:
    return function


def _pairs(sources: dict[str, Any], for_all: Any, for_generators: Any, for_objects: Any) -> list[tuple[str, str]]:
    return [
        (source, way)
        for source in sources
        for way in {**for_all, **(for_objects if "iterator" in source else for_generators)}
    ]


SYNC_PAIRS = _pairs(sync_sources(no_mark), FOR_ALL, FOR_GENERATORS, FOR_OBJECTS)
ASYNC_PAIRS = _pairs(async_sources(no_mark), ASYNC_FOR_ALL, ASYNC_FOR_GENERATORS, ASYNC_FOR_OBJECTS)


def go(source: str, way: str, mark: Mark) -> Any:
    """What the consumer sees."""
    if (source, way) in SYNC_PAIRS:
        function = sync_sources(mark)[source]
        walk = {**FOR_ALL, **FOR_GENERATORS, **FOR_OBJECTS}[way]
        return walk(lambda fail_at=None: function(3, fail_at))
    function = async_sources(mark)[source]
    awalk = {**ASYNC_FOR_ALL, **ASYNC_FOR_GENERATORS, **ASYNC_FOR_OBJECTS}[way]

    async def opened(fail_at: int | None = None) -> Any:
        stream = function(3, fail_at)
        return await stream if "coroutine" in source else stream

    return asyncio.run(awalk(opened), debug=True)


def main() -> None:
    import logging

    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    import tracetape

    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # debug mode: slow callbacks on a busy machine
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    different, current, parents = [], [], 0
    for source, way in [*SYNC_PAIRS, *ASYNC_PAIRS]:
        bare = go(source, way, no_mark)
        seen = go(source, way, tracetape.boundary("stream"))
        if seen != bare:
            different.append([source, way, repr(seen), repr(bare)])
        if trace.get_current_span().get_span_context().is_valid:
            current.append([source, way])
    for span in exporter.get_finished_spans():
        parents += span.parent is not None
    print(
        json.dumps(
            {
                "different": different,
                "left current": current,
                "with a parent": parents,
                "ends": sorted(
                    {
                        str((span.attributes or {}).get("tracetape.stream.end"))
                        for span in exporter.get_finished_spans()
                    }
                ),
                "spans": len(exporter.get_finished_spans()),
                "pairs": len(SYNC_PAIRS) + len(ASYNC_PAIRS),
            }
        )
    )


if __name__ == "__main__":
    main()
