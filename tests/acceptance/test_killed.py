"""A process that dies in a call: what its recording holds, and how far a replay of it reaches."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import tracetape
import tracetape.errors
from tracetape.cli.commands import cli

PROGRAM = """
import asyncio, os, signal, sys, threading, tracetape

path, kind, death = sys.argv[1:4]

def die():
    if death == "os._exit":
        os._exit(9)
    os.kill(os.getpid(), getattr(signal, death))

@tracetape.boundary("step", kind="tool")
def step(number):
    return {"number": number}

def order(kind):
    @tracetape.boundary("place_order", kind="tool")
    def function(symbol, quantity):
        die()

    @tracetape.boundary("place_order", kind="tool")
    async def coroutine(symbol, quantity):
        await asyncio.sleep(0)
        die()

    @tracetape.boundary("place_order", kind="tool")
    def generator(symbol, quantity):
        yield from "abc"

    @tracetape.boundary("place_order", kind="tool")
    async def async_generator(symbol, quantity):
        for item in "abc":
            yield item

    return locals()[kind]

@tracetape.boundary("agent", kind="agent")
def agent(task):
    @tracetape.boundary("tool_call", kind="tool")
    def tool_call(name):
        order("function")("ACME", 5)
    step(99)
    tool_call("place_order")

async def consume():
    async for item in order("async_generator")("ACME", 5):
        die()

with tracetape.record(path):
    for number in range(25):
        step(number)
    if kind == "agent":
        agent("sell")
    elif kind == "beside":
        @tracetape.boundary("place_order", kind="tool")
        def place_order(symbol, quantity):
            thread = threading.Thread(target=step, args=(25,))
            thread.start()
            thread.join()
            die()
        place_order("ACME", 5)
    elif kind == "between":
        die()
    elif kind == "function":
        order(kind)("ACME", 5)
    elif kind == "coroutine":
        asyncio.run(order(kind)("ACME", 5))
    elif kind == "generator":
        for item in order(kind)("ACME", 5):
            die()
    else:
        asyncio.run(consume())
"""

STATUS = {
    "SIGKILL": -signal.SIGKILL,
    "SIGTERM": -signal.SIGTERM,
    "os._exit": 9,
    "SIGINT": -signal.SIGINT,
}


@tracetape.boundary("step", kind="tool")
def step(number: int) -> Any:
    raise AssertionError("ran")


@tracetape.boundary("place_order", kind="tool")
def place_order(symbol: str, quantity: int) -> Any:
    raise AssertionError("ran")


@tracetape.boundary("confirm", kind="tool")
def confirm() -> Any:
    raise AssertionError("ran")


def killed(tmp_path: Path, kind: str, death: str) -> Path:
    path = tmp_path / "run.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), kind, death], check=False, capture_output=True, text=True
    )
    assert done.returncode == STATUS[death], done.stderr
    return path


def beside(path: Path) -> list[Path]:
    return [one for one in path.parent.iterdir() if one != path]


def recorded(tmp_path: Path, program: str) -> Path:
    """Run a program that records into its first argument, to its end."""
    path = tmp_path / "run.jsonl"
    subprocess.run([sys.executable, "-c", textwrap.dedent(program), str(path)], check=True)
    return path


@pytest.mark.parametrize("death", ["SIGKILL", "SIGTERM", "os._exit"])
@pytest.mark.parametrize("kind", ["function", "coroutine", "generator", "async_generator"])
def test_what_had_ended_is_there_and_the_call_in_flight_is_unfinished_with_its_inputs(
    tmp_path: Path, kind: str, death: str
) -> None:
    recording = tracetape.load(killed(tmp_path, kind, death))
    *finished, in_flight = recording.crossings
    assert [one.result for one in finished] == [{"number": number} for number in range(25)]
    assert {one.grade for one in finished} == {"exact"}
    assert (in_flight.name, in_flight.outcome, in_flight.grade) == ("place_order@1", "unfinished", "unusable")
    assert in_flight.inputs == {"symbol": "ACME", "quantity": 5}
    assert [gap.code for gap in in_flight.gaps] == ["UNFINISHED"]
    assert recording.gaps == ()


def test_the_root_of_a_killed_run_is_there_without_an_end(tmp_path: Path) -> None:
    recording = tracetape.load(killed(tmp_path, "between", "SIGKILL"))
    assert (recording.spans[0].name, recording.spans[0].end_ns) == ("recording", None)
    assert (recording.grade, recording.gaps) == ("exact", ())
    assert len(recording.crossings) == 25


def test_ctrl_c_in_a_call_is_what_it_raised(tmp_path: Path) -> None:
    path = killed(tmp_path, "function", "SIGINT")
    crossing = tracetape.load(path)["place_order", 1]
    assert (crossing.outcome, crossing.error_type) == ("raised", "KeyboardInterrupt")
    assert type(crossing.error) is KeyboardInterrupt
    assert beside(path) == []


def test_calls_in_flight_hang_under_each_other(tmp_path: Path) -> None:
    recording = tracetape.load(killed(tmp_path, "agent", "SIGKILL"))
    agent, inner = recording["agent", 1], recording["place_order", 1]
    assert [one.name for one in agent.children] == ["step@26", "tool_call@1"]
    assert inner.parent is recording["tool_call", 1]
    assert inner.parent is not None
    assert inner.parent.parent is agent
    assert {one.outcome for one in (agent, inner, inner.parent)} == {"unfinished"}
    assert recording["step", 26].result == {"number": 99}
    assert agent.inputs == {"task": "sell"}


def the_program() -> Any:
    for number in range(25):
        step(number)
    place_order("ACME", 5)
    confirm()


def test_a_replay_goes_as_far_as_the_recording_and_ends_there(tmp_path: Path) -> None:
    path = killed(tmp_path, "beside", "SIGKILL")
    assert tracetape.load(path)["step", 26].outcome == "returned"
    with tracetape.replay(path) as tape:
        assert tape.run(the_program) is tracetape.ENDED
    assert tape["step", 25].result == {"number": 24}
    assert tape.report.divergences == []  # step@26, which is never asked for, is not missing
    assert tape.report.verdict == "ended"
    assert tape.report.ended == "left the recording at place_order@1, which had not ended when the recording did"


def test_a_bare_block_fails_where_the_recording_ends(tmp_path: Path) -> None:
    path = killed(tmp_path, "function", "SIGKILL")
    with pytest.raises(tracetape.errors.RecordingEnded), tracetape.replay(path):
        the_program()


def test_the_call_in_flight_may_run_live_in_a_replay(tmp_path: Path) -> None:
    path = killed(tmp_path, "function", "SIGKILL")

    @tracetape.boundary("place_order", kind="tool")
    def repaired(symbol: str, quantity: int) -> str:
        return f"{symbol} {quantity}"

    def program() -> str:
        for number in range(25):
            step(number)
        return repaired("ACME", 5)

    with tracetape.replay(path, live=["place_order"]) as tape:
        assert tape.run(program) == "ACME 5"
    assert tape.report.divergences == []


def test_what_had_ended_inside_a_call_in_flight_is_served_while_that_one_runs_live(tmp_path: Path) -> None:
    path = killed(tmp_path, "agent", "SIGKILL")

    @tracetape.boundary("tool_call", kind="tool")
    def tool_call(name: str) -> None:
        raise AssertionError("ran")

    @tracetape.boundary("agent", kind="agent")
    def agent(task: str) -> None:
        assert step(99) == {"number": 99}
        tool_call("place_order")
        raise AssertionError("came back")

    def program() -> None:
        for number in range(25):
            step(number)
        agent("sell")

    with tracetape.replay(path) as tape:
        assert tape.run(program) is tracetape.ENDED
    assert tape.report.ended == (
        "left the recording at agent@1, which had not ended when the recording did; what was recorded inside it "
        'is replayed when it runs live: live=["agent"]'
    )
    with tracetape.replay(path, live=["agent"]) as tape:
        assert tape.run(program) is tracetape.ENDED
    assert tape.report.ended.startswith("left the recording at tool_call@1, which had not ended")
    assert tape["step", 26].mode == "stub"
    assert tape.report.divergences == []


def test_the_command_line_says_what_had_not_ended(tmp_path: Path) -> None:
    path = killed(tmp_path, "function", "SIGKILL")
    shown = CliRunner().invoke(cli, ["show", str(path)])
    assert shown.exit_code == 0
    assert "place_order@1  tool  unfinished  unusable" in shown.output
    assert '{"symbol":"ACME","quantity":5}' in shown.output
    checked = CliRunner().invoke(cli, ["check", str(path)])
    assert checked.exit_code == 1
    assert "UNFINISHED: the call had not ended when the recording did" in checked.output
    flat = " ".join(checked.output.split())
    assert (
        "replayable as far as it goes: of 26 crossings 1 had not ended when the recording did (place_order@1), "
        "and a replay ends there a replay serves 25 (step@1, " in flat
    )


def test_a_run_is_read_while_it_goes_on(tmp_path: Path) -> None:
    inside, go_on = threading.Event(), threading.Event()

    @tracetape.boundary("wait")
    def wait(name: str) -> str:
        inside.set()
        assert go_on.wait(60)
        return name

    with tracetape.record(tmp_path / "run.jsonl") as run:
        thread = threading.Thread(target=wait, args=("x",))
        thread.start()
        assert inside.wait(60)
        halfway = tracetape.load(run.path)
        go_on.set()
        thread.join()
        nearly = run.recording
    assert (halfway["wait", 1].outcome, halfway["wait", 1].inputs) == ("unfinished", {"name": "x"})
    assert nearly["wait", 1].result == run.recording["wait", 1].result == "x"
    assert halfway.gaps == nearly.gaps == run.recording.gaps == ()
    assert beside(run.path) == []


@pytest.mark.parametrize("end", [lambda: None, lambda: 1 / 0])
def test_a_run_that_ends_leaves_its_file_alone(tmp_path: Path, end: Callable[[], Any]) -> None:
    @tracetape.boundary("echo")
    def echo(value: Any) -> Any:
        return value

    try:
        with tracetape.record(tmp_path / "run.jsonl") as run:
            echo(1)
            end()
    except ZeroDivisionError:
        pass
    assert beside(run.path) == []


def test_without_marks_there_is_never_a_file_and_nothing_of_the_call(tmp_path: Path) -> None:
    path = recorded(
        tmp_path,
        """
        import os, sys, tracetape
        from pathlib import Path

        @tracetape.boundary("step")
        def step(last):
            assert [one.name for one in Path(sys.argv[1]).parent.iterdir()] == ["run.jsonl"]
            last and os._exit(0)

        with tracetape.record(sys.argv[1], marks=False):
            step(False)
            step(True)
        """,
    )
    assert [one.outcome for one in tracetape.load(path).crossings] == ["returned"]


def test_an_input_over_64_kib_of_a_call_in_flight_is_known_by_its_size(tmp_path: Path) -> None:
    path = recorded(
        tmp_path,
        """
        import os, sys, tracetape

        @tracetape.boundary("send")
        def send(text):
            os._exit(0)

        with tracetape.record(sys.argv[1]):
            send("x" * 100_000)
        """,
    )
    (marks,) = beside(path)
    assert marks.stat().st_size < 4_000
    crossing = tracetape.load(path)["send", 1]
    assert crossing.inputs == {}
    assert [gap.code for gap in crossing.gaps] == ["PAYLOAD_OMITTED", "UNFINISHED"]


def test_after_a_fork_each_process_has_marks_of_its_own(tmp_path: Path) -> None:
    path = recorded(
        tmp_path,
        """
        import os, sys, tracetape

        @tracetape.boundary("step")
        def step(name):
            if name == "dies":
                os._exit(0)

        with tracetape.record(sys.argv[1]):
            step("before")
            dying = os.fork()
            if dying == 0:
                step("child")
                step("dies")
            os.waitpid(dying, 0)
            leaving = os.fork()
            step("parent" if leaving else "leaves")
            if leaving:
                os.waitpid(leaving, 0)
        """,
    )
    assert len(beside(path)) == 1  # that of the child that died; those who left the block have removed theirs
    recording = tracetape.load(path)
    outcomes = {one.inputs["name"]: one.outcome for one in recording.crossings}
    assert outcomes.pop("dies") == "unfinished"
    assert outcomes == dict.fromkeys(("before", "child", "parent", "leaves"), "returned")
    assert recording.gaps == ()


def test_workers_of_a_pool_leave_nothing_behind(tmp_path: Path) -> None:
    path = recorded(
        tmp_path,
        """
        import multiprocessing, sys, tracetape

        @tracetape.boundary("step")
        def step(number):
            return number

        with tracetape.record(sys.argv[1]):
            pool = multiprocessing.get_context("fork").Pool(2)
            pool.map(step, range(8), chunksize=1)
            pool.close()
            pool.join()
        """,
    )
    assert beside(path) == []
    assert sorted(one.result for one in tracetape.load(path).crossings) == list(range(8))


def test_a_run_added_to_the_file_of_a_killed_one_keeps_what_that_left(tmp_path: Path) -> None:
    path = killed(tmp_path, "function", "SIGKILL")
    first = tracetape.load(path).trace_id
    with tracetape.record(path, mode="a"):
        pass
    assert tracetape.load(path, trace_id=first)["place_order", 1].outcome == "unfinished"


@pytest.mark.parametrize("mode", ["x", "w"])
def test_a_new_file_has_nothing_to_do_with_the_marks_of_an_old_one(
    tmp_path: Path, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = killed(tmp_path, "function", "SIGKILL")
    (left,) = beside(path)
    if mode == "x":
        path.unlink()
    with tracetape.record(path, mode=mode) as run:
        pass
    assert tracetape.load(path).trace_id == run.trace_id
    assert not left.exists()
    said = [record.getMessage() for record in caplog.records]
    text = f"tracetape: {path} is new; the marks that an earlier run has left beside it were removed: {left.name}"
    assert said == ([text] if mode == "x" else [])


def test_a_recording_inside_another_is_in_the_tree_of_both(tmp_path: Path) -> None:
    path = recorded(
        tmp_path,
        """
        import os, sys, tracetape

        @tracetape.boundary("step")
        def step(last):
            last and os._exit(0)

        with tracetape.record(sys.argv[1]), tracetape.record(sys.argv[1] + "-inner"):
            step(False)
            step(True)
        """,
    )
    for one in (path, path.with_name("run.jsonl-inner")):
        recording = tracetape.load(one)
        assert [crossing.outcome for crossing in recording.crossings] == ["returned", "unfinished"]
        assert recording.gaps == ()
