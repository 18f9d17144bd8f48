"""The main job, end to end: record a run, read it back, replay it with one function live."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import decimal
import enum
import random
import signal
import socket
import subprocess
import sys
import textwrap
import uuid
from pathlib import Path
from typing import Any

import pytest

import tracetape
import tracetape.errors

CAP = 10_000


@tracetape.boundary("decide", kind="llm")
def decide(message: str) -> dict[str, Any]:
    return {"symbol": "ACME", "quantity": 1000, "side": "sell"}


@tracetape.boundary("submit", kind="tool")
def submit_as_it_ran(symbol: str, quantity: int, side: str) -> dict[str, Any]:
    return {"status": "filled", "quantity": quantity}


@tracetape.boundary("submit", kind="tool")
def submit_repaired(symbol: str, quantity: int, side: str) -> dict[str, Any]:
    return {"blocked": True} if quantity * 190 > CAP else {"status": "filled", "quantity": quantity}


@tracetape.boundary("summarise", kind="llm")
def summarise(result: dict[str, Any]) -> str:
    return "blocked" if result.get("blocked") else "done"


def run_agent(message: str, submit: Any) -> str:
    return summarise(submit(**decide(message)))


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "incident.otlp.jsonl"
    with tracetape.record(path):
        assert run_agent("sell about $1,000", submit_as_it_ran) == "done"
    return path


def test_the_repaired_function_runs_on_the_recorded_decision_and_all_else_is_served(recorded: Path) -> None:
    with tracetape.replay(recorded, live=["submit"]) as tape:
        assert run_agent("sell about $1,000", submit_repaired) == "done"  # summarise@1 is served: stale
    assert tape.captured_result("submit", 1) == {"blocked": True}
    assert [step.mode for step in tape.report.steps] == ["stub", "live", "stub"]
    assert [step.name for step in tape.report.stale] == ["summarise@1"]
    assert tape.report.divergences == []
    assert tape.report.model_calls == 0
    assert tape.report.first_line == (
        f"replay of {recorded}: 1 live, 2 served, 1 stale, 0 divergences, model calls: 0"
    )


def test_a_replay_of_unchanged_code_is_the_same_and_the_report_says_so(recorded: Path) -> None:
    with tracetape.replay(recorded, strict=True) as tape:
        assert run_agent("sell about $1,000", submit_as_it_ran) == "done"
    assert tape.report.verdict == "same"
    assert tape.report.stale == tape.report.live_calls == []


def test_two_runs_of_one_agent_compare_as_the_same(recorded: Path, tmp_path: Path) -> None:
    with tracetape.record(tmp_path / "again.jsonl") as run:
        run_agent("sell about $1,000", submit_as_it_ran)
    assert tracetape.compare(tracetape.load(recorded), run.recording) == []


def test_a_connection_to_the_outside_is_refused_and_counted(recorded: Path) -> None:
    with pytest.raises(tracetape.errors.DivergenceError) as caught, tracetape.replay(recorded) as tape:
        decide("sell about $1,000")
        with socket.socket() as client:
            client.connect(("192.0.2.1", 443))
    assert tape.report.network_attempts == ["192.0.2.1:443"]
    assert "a connection to 192.0.2.1:443 was refused" in str(caught.value)
    assert "connections refused: 1" in tape.report.first_line


class Side(enum.Enum):
    SELL = "sell"


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    symbol: str
    legs: tuple[int, ...]
    placed: datetime.datetime


VALUES: list[Any] = [
    {"a": {"b": [1, None, True, 2.5, "é"]}},
    [1, [2, [3]]],
    (1, ("two", [3.0])),
    {1, 2, 3},
    b"\x00\xff",
    datetime.datetime(2026, 11, 30, 10, 0, 0, 123456, tzinfo=datetime.UTC),
    decimal.Decimal("1000.10"),
    uuid.UUID(int=7),
    Side.SELL,
    Order("ACME", (1, 2), datetime.datetime(2026, 1, 1)),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_replayed_value_is_equal_and_of_the_same_type(value: Any, tmp_path: Path) -> None:
    source = {"value": value}

    @tracetape.boundary("give")
    def give(given: Any) -> Any:
        return source["value"]

    with tracetape.record(tmp_path / "run.jsonl"):
        give(value)
    source.clear()
    with tracetape.replay(tmp_path / "run.jsonl") as tape:
        served = give(value)
    assert served == value
    assert type(served) is type(value)
    assert served is not value or isinstance(value, enum.Enum)
    assert tape["give", 1].mode == "stub"


class CodedError(Exception):
    def __init__(self, code: int, *, hint: str) -> None:
        super().__init__(f"code {code}")
        self.code = code
        self.hint = hint


@pytest.mark.parametrize(
    "error", [TimeoutError("too slow"), KeyError("x"), CodedError(7, hint="retry"), OSError(2, "gone", "f")]
)
def test_a_raised_exception_is_raised_again_as_itself(error: Exception, tmp_path: Path) -> None:
    armed = [error]

    @tracetape.boundary("fail", kind="tool")
    def fail() -> None:
        raise armed[0]

    with tracetape.record(tmp_path / "run.jsonl"), pytest.raises(type(error)):
        fail()
    armed.clear()
    with tracetape.replay(tmp_path / "run.jsonl"), pytest.raises(type(error)) as caught:
        fail()
    assert type(caught.value) is type(error)
    assert caught.value.args == error.args
    assert str(caught.value) == str(error)
    assert vars(caught.value) == vars(error)


def test_generators_replay_item_by_item_without_running(tmp_path: Path) -> None:
    ran: list[str] = []

    @tracetape.boundary("tokens")
    def tokens(count: int) -> Any:
        ran.append("sync")
        for number in range(count):
            yield {"token": number}
        return "end"

    @tracetape.boundary("chunks")
    async def chunks(count: int) -> Any:
        ran.append("async")
        for number in range(count):
            yield number

    async def collect() -> list[int]:
        return [item async for item in chunks(3)]

    def consume() -> Any:
        got = []
        stream = tokens(2)
        while True:
            try:
                got.append(next(stream))
            except StopIteration as stop:
                return got, stop.value, asyncio.run(collect())

    with tracetape.record(tmp_path / "run.jsonl"):
        original = consume()
    assert ran == ["sync", "async"]
    with tracetape.replay(tmp_path / "run.jsonl"):
        assert consume() == original == ([{"token": 0}, {"token": 1}], "end", [0, 1, 2])
    assert ran == ["sync", "async"]


def test_ten_concurrent_calls_each_get_their_own_answer_whatever_the_timing(tmp_path: Path) -> None:
    live = [True]

    @tracetape.boundary("quote", kind="tool")
    async def quote(symbol: str) -> str:
        assert live[0]
        await asyncio.sleep(random.random() / 200)
        return f"price of {symbol}"

    async def one(symbol: str) -> str:
        await asyncio.sleep(random.random() / 200)
        return await quote(symbol)

    async def main() -> list[str]:
        return await asyncio.gather(*(one(f"S{number}") for number in range(10)))

    with tracetape.record(tmp_path / "run.jsonl"):
        original = asyncio.run(main())
    live[0] = False
    for _ in range(5):
        with tracetape.replay(tmp_path / "run.jsonl") as tape:
            assert asyncio.run(main()) == original
        assert tape.report.divergences == []


def test_a_killed_process_leaves_every_finished_crossing(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import os, signal, sys, tracetape

        @tracetape.boundary("step", kind="tool")
        def step(number):
            return {"number": number}

        with tracetape.record(sys.argv[1]):
            for number in range(25):
                step(number)
            os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    path = tmp_path / "run.jsonl"
    done = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    recording = tracetape.load(path)
    assert [crossing.result for crossing in recording.crossings] == [{"number": n} for n in range(25)]
    assert recording.grade == "exact"
    assert recording.gaps == ()  # a root that never ended is normal


def test_a_torn_last_line_costs_one_span(recorded: Path) -> None:
    whole = recorded.read_bytes()
    lines = whole.splitlines(keepends=True)
    assert len(lines) == 4
    recorded.write_bytes(b"".join(lines[:3])[:-40])
    recording = tracetape.load(recorded)
    assert [crossing.boundary for crossing in recording.crossings] == ["decide", "submit"]
    assert "TRUNCATED_LAST_RECORD" in {gap.code for gap in recording.gaps}


def test_a_run_added_after_a_torn_line_is_whole(recorded: Path) -> None:
    recorded.write_bytes(recorded.read_bytes()[:-40])
    with tracetape.record(recorded, mode="a") as run:
        run_agent("sell about $1,000", submit_as_it_ran)
    assert [crossing.boundary for crossing in run.recording.crossings] == ["decide", "submit", "summarise"]
    assert run.recording.grade == "exact"


def test_a_recording_is_for_its_owner_alone(recorded: Path) -> None:
    assert recorded.stat().st_mode & 0o777 == 0o600


def test_an_existing_recording_is_never_overwritten_by_accident(recorded: Path) -> None:
    before = recorded.read_bytes()
    with pytest.raises(tracetape.errors.RecordingError) as caught, tracetape.record(recorded):
        pass
    assert caught.value.code == "FILE_EXISTS"
    assert str(caught.value) == (
        f"{recorded} exists, and a recording is never overwritten by accident: give another path, "
        'mode="a" to add this run to it, or mode="w" to replace it'
    )
    assert recorded.read_bytes() == before


def test_a_folder_gets_one_file_a_run(tmp_path: Path) -> None:
    for _ in range(2):
        with tracetape.record(tmp_path):
            decide("x")
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    assert all(tracetape.load(file)["decide", 1].inputs == {"message": "x"} for file in files)


def test_an_effect_is_served_and_a_checkpoint_is_compared(tmp_path: Path) -> None:
    clock = iter([1, 2])

    def program(state: int) -> int:
        now = tracetape.effect("now", lambda: next(clock))
        tracetape.checkpoint("positions", {"ACME": state})
        return now

    path = tmp_path / "run.jsonl"
    with tracetape.record(path):
        assert program(5) == 1
    with tracetape.replay(path):
        assert program(5) == 1
    with (
        pytest.raises(tracetape.errors.DivergenceError, match=r"\$\.value\.ACME: recorded 5, now 6"),
        tracetape.replay(path),
    ):
        program(6)
    assert next(clock) == 2


@pytest.mark.optional
def test_a_pydantic_model_comes_back_as_itself(tmp_path: Path) -> None:
    import pydantic

    class Reply(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="allow")
        text: str
        score: decimal.Decimal
        _private: int = pydantic.PrivateAttr(default=3)

    original = Reply(text="hi", score=decimal.Decimal("0.5"), more=[1])  # type: ignore[call-arg]

    @tracetape.boundary("reply", kind="llm")
    def reply() -> Reply:
        return original

    with tracetape.record(tmp_path / "run.jsonl"):
        reply()
    with tracetape.replay(tmp_path / "run.jsonl", types=[Reply]):
        served = reply()
    assert served == original
    assert type(served) is Reply
    assert served is not original
    assert served.model_extra == {"more": [1]}
