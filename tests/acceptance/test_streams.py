"""Streams are recorded as they are consumed, replayed with the same ending, whatever their consumer does."""

from __future__ import annotations

import asyncio
import collections.abc
import csv
import gc
import io
import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tracetape
from tests.acceptance import streams
from tests.acceptance.streams import ASYNC_PAIRS, SYNC_PAIRS, go, no_mark

HERE = Path(__file__).parent


@pytest.mark.parametrize(("source", "way"), [*SYNC_PAIRS, *ASYNC_PAIRS])
def test_recorded_and_replayed_the_consumer_sees_the_same(
    source: str, way: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """close, throw, send, athrow, break, abandoned, failing half-way, closed by the collector or another thread
    or task, wait_for per item, two interleaved."""
    bare = go(source, way, no_mark)
    mark = tracetape.boundary("stream")
    with tracetape.record(tmp_path / "run.jsonl") as run:
        assert go(source, way, mark) == bare
    crossings = run.recording.crossings
    assert {crossing.outcome for crossing in crossings} <= {"streamed"}
    if not crossings:
        # The function itself did not begin.
        assert "untouched" in way
        assert source in ("generator function", "async generator function")
        return
    with tracetape.replay(run.path, strict=True) as tape:
        assert go(source, way, mark) == bare
    assert {step.mode for step in tape.report.steps} <= {"stub"}
    assert [record.getMessage() for record in caplog.records if "took" not in record.getMessage()] == []


@pytest.mark.parametrize(("source", "way"), [*SYNC_PAIRS, *ASYNC_PAIRS])
def test_run_live_in_a_replay_too(source: str, way: str, tmp_path: Path) -> None:
    mark = tracetape.boundary("stream")
    with tracetape.record(tmp_path / "run.jsonl") as run:
        expected = go(source, way, mark)
    if run.recording.crossings:
        with tracetape.replay(run.path, live=["stream"]) as tape:
            assert go(source, way, mark) == expected
        assert [step.outcome_changes for step in tape.report.steps if step.outcome_changes] == []


def test_under_a_tracer_provider_of_the_host_nothing_stays_current_and_nothing_fails_to_detach() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(HERE / "streams.py")], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""  # "Failed to detach context" would be here
    facts = json.loads(done.stdout)
    assert facts["different"] == facts["left current"] == []
    assert facts["with a parent"] == 0
    assert facts["ends"] == ["abandoned", "finished", "raised"]
    assert facts["spans"] > facts["pairs"]


def test_the_consumer_sees_each_item_when_it_is_produced(tmp_path: Path) -> None:
    events: list[str] = []

    def produce() -> Any:
        for number in range(3):
            events.append(f"produced {number}")
            yield number

    @tracetape.boundary("give")
    def give() -> Any:
        return map(str, produce())

    with tracetape.record(tmp_path / "run.jsonl"):
        for stream in (tracetape.boundary("produce")(produce)(), give()):
            for item in stream:
                events.append(f"consumed {item}")
    assert events == [f"{what} {n}" for n in range(3) for what in ("produced", "consumed")] * 2


def test_what_is_recorded_is_what_the_consumer_took_and_how_it_ended(tmp_path: Path) -> None:
    @tracetape.boundary("give")
    def give(fail_at: int | None = None) -> Any:
        return streams.Numbers(3, fail_at)

    with tracetape.record(tmp_path / "run.jsonl") as run:
        list(give())
        with pytest.raises(ValueError, match="half-way"):
            list(give(1))
        next(give())
        give()
        gc.collect()
    told = [(c.stream_end, c.item_count, c.shape) for c in run.recording.crossings]
    assert told == [
        ("finished", 3, "iterator"),
        ("raised", 1, "iterator"),
        ("abandoned", 1, "iterator"),
        ("abandoned", 0, "iterator"),
    ]
    assert run.recording.grade == "exact"
    assert run.recording["give", 1].items == tuple({"number": n} for n in range(3))
    assert repr(run.recording["give", 2].error) == "ValueError('half-way')"


def generator_of(*items: Any) -> Any:
    yield from items


ITERATORS: dict[str, Any] = {
    "map": lambda: map(str, [1, 2]),
    "filter": lambda: filter(None, [1, 0, 2]),
    "zip": lambda: zip([1], "a", strict=True),
    "enumerate": lambda: enumerate("ab"),
    "iter of a list": lambda: iter([1, 2]),
    "iter of a dict": lambda: iter({"a": 1}),
    "reversed": lambda: reversed([1, 2]),
    "itertools.chain": lambda: itertools.chain([1], [2]),
    "itertools.islice": lambda: itertools.islice(itertools.count(), 2),
    "csv.reader": lambda: csv.reader(["a,b", "c,d"]),
    "csv.DictReader": lambda: csv.DictReader(["a,b", "c,d"]),
    "lines of a file": lambda: io.StringIO("a\nb\n"),
    "lines of a binary file": lambda: io.BytesIO(b"a\nb\n"),
    "a class of the program": lambda: streams.Numbers(2, None),
    "a class as SDKs have": lambda: streams.NumbersAsSdksDo(2, None),
    "generator": lambda: generator_of(1, 2),
}


@pytest.mark.parametrize("kind", ITERATORS)
def test_an_iterator_is_of_its_class_with_its_attributes_and_replays(kind: str, tmp_path: Path) -> None:
    make = ITERATORS[kind]
    give = tracetape.boundary("give")(lambda: make())
    with tracetape.record(tmp_path / "run.jsonl"):
        stream = give()
        plain = make()
        assert isinstance(stream, type(plain))
        assert isinstance(stream, collections.abc.Iterator)
        assert not isinstance(stream, collections.abc.AsyncIterator)
        assert not hasattr(stream, "__aiter__")
        assert {name for name in dir(plain) if not name.startswith("_")} <= set(dir(stream))
        expected = list(stream)
    assert expected == list(plain)
    with tracetape.replay(tmp_path / "run.jsonl", strict=True):
        assert list(give()) == expected


@pytest.mark.parametrize(
    "value", [[1], {"a": 1}, range(3), (1,), {1}, "text", b"bytes"], ids=lambda value: type(value).__name__
)
def test_a_container_is_a_value_and_not_a_stream(value: Any, tmp_path: Path) -> None:
    with tracetape.record(tmp_path / "run.jsonl") as run:
        assert tracetape.boundary("give")(lambda: value)() is value
    assert run.recording["give", 1].outcome == "returned"


class Rows(list):
    """Can be stored, though it is an iterator as well."""

    def __next__(self) -> Any:
        return self.pop()


def test_an_iterator_that_can_be_stored_is_a_value(tmp_path: Path) -> None:
    rows = Rows([1, 2])
    with tracetape.record(tmp_path / "run.jsonl") as run:
        assert tracetape.boundary("give")(lambda: rows)() is rows
    assert run.recording["give", 1].result == rows


def test_a_mock_that_can_do_everything_is_itself(tmp_path: Path) -> None:
    from unittest.mock import MagicMock

    one = MagicMock()
    with tracetape.record(tmp_path / "run.jsonl"):
        assert tracetape.boundary("give")(lambda: one)() is one


def test_an_iterator_that_output_says_something_of_is_left_alone(tmp_path: Path) -> None:
    source = iter([1, 2])
    give = tracetape.boundary("give", output=lambda stream: "two numbers")(lambda: source)
    with tracetape.record(tmp_path / "run.jsonl") as run:
        assert give() is source
    assert run.recording["give", 1].result == "two numbers"


def test_an_attribute_that_is_gone_on_replay_is_an_attribute_error_that_names_the_boundary(tmp_path: Path) -> None:
    give = tracetape.boundary("give")(lambda: streams.Numbers(2, None))
    with tracetape.record(tmp_path / "run.jsonl"):
        stream = give()
        assert stream.count == 2
        list(stream)
    with tracetape.replay(tmp_path / "run.jsonl"):
        stream = give()
        with pytest.raises(AttributeError) as caught:
            stream.count  # noqa: B018
        list(stream)
    assert str(caught.value) == (
        "'count' of what give returned is not in the recording: that was an iterator, of which the items are "
        "served. Record what the program needs of it (output=… at its boundary), or run that call live: "
        'live=["give"]'
    )


def test_a_file_that_is_read_otherwise_is_refused_by_name_before_the_run(tmp_path: Path) -> None:
    give = tracetape.boundary("give")(lambda: io.StringIO("text"))
    with tracetape.record(tmp_path / "run.jsonl") as run:
        assert give().read() == "text"
    assert run.recording["give", 1].grade == "unusable"
    with pytest.raises(tracetape.errors.NotReplayable, match=r"give@1: the outcome is a _io:StringIO"):
        with tracetape.replay(run.path):
            pass


def test_a_generator_that_the_program_shares_is_not_closed_because_ours_was_dropped(
    tmp_path: Path,
) -> None:
    shared = generator_of(1, 2, 3)
    give = tracetape.boundary("give")(lambda: shared)
    with tracetape.record(tmp_path / "run.jsonl") as run:
        assert [next(give()), next(give()), next(give())] == [1, 2, 3]
    assert [crossing.items for crossing in run.recording.crossings] == [(1,), (2,), (3,)]


def returns_on_exit() -> Any:
    try:
        yield 1
    except GeneratorExit:
        return "value"


def yields_on_exit() -> Any:
    for number in range(3):
        try:
            yield number
        except GeneratorExit:
            continue


def fails_on_exit() -> Any:
    try:
        yield 1
    finally:
        raise OSError("in the end")


@pytest.mark.parametrize("make", [returns_on_exit, yields_on_exit, fails_on_exit])
@pytest.mark.parametrize("leave", ["close", "throw"])
def test_generator_exit_is_answered_as_by_the_bare_generator(make: Any, leave: str, tmp_path: Path) -> None:
    def program(function: Any) -> Any:
        stream = function()
        next(stream)
        act = stream.close if leave == "close" else lambda: stream.throw(GeneratorExit())
        seen = streams.error_of(act)
        rest = streams.error_of(lambda: next(stream))
        list(stream)
        return seen, rest

    expected = program(make)
    for function in (make, lambda: make()):
        with tracetape.record(tmp_path / f"{id(function)}.jsonl"):
            assert program(tracetape.boundary("stream")(function)) == expected
    if leave == "close" and make is yields_on_exit:
        assert expected[0] == ("RuntimeError", "generator ignored GeneratorExit")


async def areturns_on_exit() -> Any:
    try:
        yield 1
    except GeneratorExit:
        return


async def ayields_on_exit() -> Any:
    for number in range(3):
        try:
            yield number
        except GeneratorExit:
            continue


async def awaits_on_exit() -> Any:
    try:
        yield 1
    finally:
        await asyncio.sleep(0)


@pytest.mark.parametrize("make", [areturns_on_exit, ayields_on_exit, awaits_on_exit])
@pytest.mark.parametrize("leave", ["aclose", "athrow"])
def test_an_async_generator_too(make: Any, leave: str, tmp_path: Path) -> None:
    async def program(function: Any) -> Any:
        stream = function()
        await anext(stream)
        act = stream.aclose if leave == "aclose" else lambda: stream.athrow(GeneratorExit())
        seen = await streams.aerror_of(act)
        return seen, [item async for item in stream]

    expected = asyncio.run(program(make))
    for function in (make, lambda: make()):
        with tracetape.record(tmp_path / f"{id(function)}.jsonl"):
            assert asyncio.run(program(tracetape.boundary("stream")(function))) == expected


def drop(function: Any) -> None:
    function()
    gc.collect()


def test_a_coroutine_that_nobody_awaits_is_a_cancelled_call_and_warns_once_by_its_name(tmp_path: Path) -> None:
    async def later() -> int:
        return 5

    give = tracetape.boundary("give")(lambda: later())
    with tracetape.record(tmp_path / "run.jsonl") as run:
        with pytest.warns(RuntimeWarning, match=r"coroutine '.*later' was never awaited") as warned:
            drop(give)
        assert len(warned) == 1
        warned.clear()  # they hold the coroutine
        gc.collect()
    assert run.recording["give", 1].outcome == "cancelled"
    with tracetape.replay(run.path, strict=True):
        with pytest.warns(RuntimeWarning, match="coroutine 'give' was never awaited"):
            drop(give)
