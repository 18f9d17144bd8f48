"""The whole text of each kind of report, as somebody reads it at night."""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import functools
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tracetape
from tests.acceptance.places import without_places
from tracetape import ReplayPlan
from tracetape.errors import DivergenceError, RecordingEnded


@tracetape.boundary("plan", kind="llm")
def plan(goal: str) -> str:
    return f"plan for {goal}"


@tracetape.boundary("act", kind="tool")
def act(step: str) -> str:
    return f"did {step}"


@tracetape.boundary("outer", kind="agent")
def outer(step: str) -> str:
    return act(step)


@tracetape.boundary("talk", kind="llm")
def talk(goal: str) -> Iterator[str]:
    yield "a"
    yield "b"


class Odd:
    """Nobody can store it."""


@tracetape.boundary("odd", kind="tool")
def odd() -> dict[str, Any]:
    return {"x": Odd()}


@tracetape.boundary("picky", kind="tool", input=lambda step: {"step": step["deep"]})
def picky(step: dict[str, int]) -> int:
    return 1


@tracetape.boundary("keyed", kind="tool", key=lambda step: step["deep"])
def keyed(step: dict[str, int]) -> int:
    return 1


@tracetape.boundary("slow", kind="tool")
async def slow() -> None:
    await asyncio.sleep(60)


@tracetape.boundary("fetch", kind="tool")
async def fetch(number: int) -> int:
    await asyncio.sleep(0)
    return number


def two() -> str:
    plan("g")
    return act("s")


def impatient() -> None:
    async def program() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(slow(), 0.01)

    asyncio.run(program())


def leave() -> None:
    next(talk("g"))


def fan_out(*numbers: int) -> Callable[[], None]:
    async def program() -> None:
        await asyncio.gather(*map(fetch, numbers))

    return lambda: asyncio.run(program())


def connect() -> None:
    two()
    with socket.socket() as client:
        client.connect(("192.0.2.1", 443))


def look_up() -> None:
    two()
    socket.getaddrinfo("model.example.com", 443)


CAUSES = (
    "  usual causes: a time, an id or a counter among the inputs; changed code before this call; what a served "
    "function changed in place (an argument, self), since only results are served\n"
)
LOOPS = (
    "  usual causes: a new call or one more round of a loop; or calls in an order that is not that of the "
    "recording, one of which took the answer of another\n"
)
CACHES = (
    "  usual causes: a cache (functools.lru_cache), a call made at import time, changed code before it; the "
    "program ended early, or was not run (a coroutine that nobody awaited)\n"
    "  to accept it: make the cut earlier (live=[…] of a call before it), or record the run again\n"
)
REPORTS: dict[str, tuple[Callable[[], Any], Callable[[], Any], dict[str, Any], str]] = {
    "changed": (
        two,
        lambda: (plan("g"), act("o")),
        {},
        "replay of RUN DIVERGED: 0 live, 1 served, 0 stale, 1 divergence, model calls: 0\n"
        "\n"
        "DIVERGED: act@1 was called with other inputs than recorded (before the cut)\n"
        '  $.step: recorded "s", now "o"\n'
        f"{CAUSES}"
        '  to leave a value out: ignore=["$.step"], or record it with tracetape.effect("…", …)\n'
        '  to accept it: live=["act@1"] runs the real function; ReplayPlan().stub("act", 1) serves the recorded '
        "outcome\n"
        "\n"
        "  plan@1  stub\n"
        "  act@1   halted",
    ),
    "changed, and it is not known which": (
        fan_out(1, 2, 3, 4, 5, 6, 7),
        fan_out(9),
        {},
        "replay of RUN DIVERGED: 0 live, 0 served, 0 stale, 1 divergence, model calls: 0\n"
        "\n"
        "DIVERGED: fetch@1 was called with other inputs than recorded (before the cut)\n"
        "  $.number: recorded 1, now 9\n"
        "  or it was fetch@2, fetch@3, fetch@4, fetch@5 and 2 more: their inputs differ in as much\n"
        f"{CAUSES}"
        '  to leave a value out: ignore=["$.number"], or record it with tracetape.effect("…", …)\n'
        '  to accept it: live=["fetch@1"] runs the real function; ReplayPlan().stub("fetch", 1) serves the '
        "recorded outcome\n"
        "\n"
        "  fetch@1  halted",
    ),
    "unrecorded, used up": (
        two,
        lambda: (two(), act("t")),
        {},
        "replay of RUN DIVERGED: 0 live, 2 served, 0 stale, 1 divergence, model calls: 0\n"
        "\n"
        "DIVERGED: act@new@1: a call that the recording does not have\n"
        "  the nearest recorded call is act@1, with other inputs; it was used up by an earlier call\n"
        '  $.step: recorded "s", now "t"\n'
        f"{LOOPS}"
        '  to accept it: live=["act"] runs the real function; or record the run again\n'
        "\n"
        "  plan@1     stub\n"
        "  act@1      stub\n"
        "  act@new@1  halted",
    ),
    "unrecorded, and of another place": (
        lambda: (outer("s"), two()),
        lambda: (plan("g"), act("s"), act("u")),
        {},
        "replay of RUN DIVERGED: 0 live, 2 served, 0 stale, 1 divergence, model calls: 0\n"
        "\n"
        "DIVERGED: act@new@1: a call that the recording does not have\n"
        "  the nearest recorded call is act@1, with other inputs; it is not under this parent\n"
        '  $.step: recorded "s", now "u"\n'
        f"{LOOPS}"
        '  to accept it: live=["act"] runs the real function; or record the run again\n'
        "\n"
        "  plan@1     stub\n"
        "  act@2      stub\n"
        "  act@new@1  halted",
    ),
    "unrecorded, a new name": (
        two,
        lambda: (two(), outer("t")),
        {},
        "replay of RUN DIVERGED: 0 live, 2 served, 0 stale, 1 divergence, model calls: 0\n"
        "\n"
        "DIVERGED: outer@new@1: a call that the recording does not have\n"
        "  the recording has no call of outer at all; there are: plan, act\n"
        f"{LOOPS}"
        '  to accept it: live=["outer"] runs the real function; or record the run again\n'
        "\n"
        "  plan@1       stub\n"
        "  act@1        stub\n"
        "  outer@new@1  halted",
    ),
    "missing": (
        lambda: (two(), act("more")),
        lambda: plan("g"),
        {},
        "replay of RUN DIVERGED: 0 live, 1 served, 0 stale, 2 divergences, model calls: 0\n"
        "\n"
        "DIVERGED: act@1 is in the recording and was never called\n"
        f"{CACHES}"
        "DIVERGED: act@2 is in the recording and was never called\n"
        "\n"
        "  plan@1  stub",
    ),
    "moved": (
        lambda: (outer("s"), act("t")),
        lambda: (act("t"), act("s")),
        {},
        "replay of RUN DIVERGED: 0 live, 2 served, 0 stale, 1 divergence, model calls: 0\n"
        "\n"
        "DIVERGED: outer@1 is in the recording and was never called\n"
        f"{CACHES}"
        "\n"
        "  act@2  stub\n"
        "  act@1  stub  moved",
    ),
    "inside a live call": (
        lambda: outer("s"),
        lambda: outer("t"),
        {"live": ["outer"]},
        "replay of RUN DIVERGED: 1 live, 0 served, 0 stale, 1 divergence, model calls: 0, "
        "live with other inputs: 1\n"
        "\n"
        "DIVERGED: outer@1 ran live and asked act@1 for something that the recording does not have\n"
        '  $.step: recorded "s", now "t"\n'
        '  to accept it: run it with live=["act"], or patch it with ReplayPlan().patch("act", 1, …)\n'
        "\n"
        '  outer@1  live  its inputs differ  $.step: recorded "s", now "t"\n'
        "  act@1    halted",
    ),
    "a state": (
        lambda: tracetape.checkpoint("positions", {"ACME": 5}),
        lambda: tracetape.checkpoint("positions", {"ACME": 1000}),
        {},
        "replay of RUN DIVERGED: 0 live, 0 served, 0 stale, 1 divergence, model calls: 0\n"
        "\n"
        "DIVERGED: positions@1: the program's state is not the recorded one (before the cut)\n"
        "  $.value.ACME: recorded 5, now 1000\n"
        "  usual causes: changed code before this checkpoint; a time, an id or a counter in the state\n"
        '  to accept it: ReplayPlan().stub("positions", 1) lists it and goes on; or record the run again\n'
        "\n"
        "  positions@1  halted",
    ),
    "a stream read further": (
        leave,
        lambda: list(talk("g")),
        {},
        "replay of RUN DIVERGED: 0 live, 1 served, 0 stale, 1 divergence, model calls: 0\n"
        "\n"
        "DIVERGED: talk@1 was asked for more than it had given when it was recorded: its consumer had left it\n"
        "  usual causes: changed code that reads the stream further\n"
        '  to accept it: live=["talk@1"] runs the real function\n'
        "\n"
        "  talk@1  stub",
    ),
    "what could not be stored": (
        odd,
        lambda: odd()["x"].anything,
        {},
        "replay of RUN DIVERGED: 0 live, 1 served, 0 stale, 1 divergence, model calls: 0\n"
        "\n"
        "DIVERGED: $.x of the outcome of odd@1 was used, a tests.acceptance.test_messages:Odd, which could not be "
        "stored\n"
        "  to record what the program needs of it: output=… of @boundary, or a boundary around that use of it\n"
        '  to go on without it: live=["odd@1"] runs the real function\n'
        "\n"
        "  odd@1  stub",
    ),
    "input= raised": (
        lambda: picky({"deep": 1}),
        lambda: picky({}),
        {},
        "replay of RUN DIVERGED: 0 live, 0 served, 0 stale, 1 divergence, model calls: 0\n"
        "\n"
        "DIVERGED: picky: input= of its boundary raised KeyError: 'deep'\n"
        "  without it the call cannot be compared with the recording; it gets the arguments by name, and key= "
        "gets those that were recorded too",
    ),
    "key= raised": (
        lambda: keyed({"deep": 1}),
        lambda: keyed({}),
        {},
        "replay of RUN DIVERGED: 0 live, 0 served, 0 stale, 1 divergence, model calls: 0\n"
        "\n"
        "DIVERGED: keyed: key= of its boundary raised KeyError: 'deep'\n"
        "  without it the call cannot be compared with the recording; it gets the arguments by name, and key= "
        "gets those that were recorded too",
    ),
    "listed, under strict": (
        two,
        lambda: (plan("h"), act("s")),
        {"plan": ReplayPlan().stub("plan"), "strict": True},
        "replay of RUN DIVERGED: 0 live, 2 served, 0 stale, 1 divergence, model calls: 0\n"
        'DIVERGED: plan@1: its inputs differ from the recorded ones at $.goal: recorded "g", now "h" (strict=True '
        "makes that a divergence)\n"
        "\n"
        '  plan@1  stub  its inputs differ  $.goal: recorded "g", now "h"\n'
        "  act@1   stub",
    ),
    "a connection": (
        two,
        connect,
        {},
        "replay of RUN DIVERGED: 0 live, 2 served, 0 stale, 1 divergence, model calls: 0, connections refused: 1\n"
        "\n"
        "DIVERGED: a connection to 192.0.2.1:443 was refused: a replay lets nothing out of this machine\n"
        "  it was tried outside of every boundary that runs live\n"
        '  to accept it: live=["…"] for the boundary that does it, allow_hosts=["192.0.2.1:443"], or '
        'network="allow"\n'
        "\n"
        "  plan@1  stub\n"
        "  act@1   stub\n"
        "  refused: a connection to 192.0.2.1:443",
    ),
    "a lookup": (
        two,
        look_up,
        {},
        "replay of RUN DIVERGED: 0 live, 2 served, 0 stale, 1 divergence, model calls: 0, connections refused: 1\n"
        "\n"
        "DIVERGED: looking up model.example.com:443 was refused: a replay lets nothing out of this machine\n"
        "  it was tried outside of every boundary that runs live\n"
        '  to accept it: live=["…"] for the boundary that does it, allow_hosts=["model.example.com:443"], or '
        'network="allow"\n'
        "\n"
        "  plan@1  stub\n"
        "  act@1   stub\n"
        "  refused: looking up model.example.com:443",
    ),
    "nothing": (
        two,
        lambda: None,
        {},
        "replay of RUN DIVERGED: 0 live, 0 served, 0 stale, 2 divergences, model calls: 0\n"
        "\n"
        "DIVERGED: plan@1 is in the recording and was never called\n"
        f"{CACHES}"
        "DIVERGED: act@1 is in the recording and was never called",
    ),
}


def report_of(path: Path, recorded: Callable[[], Any], replayed: Callable[[], Any], options: Any) -> str:
    with tracetape.record(path):
        recorded()
    with pytest.raises(DivergenceError) as caught, tracetape.replay(path, **options):
        replayed()
    return without_places(str(caught.value).replace(str(path), "RUN"))


@pytest.mark.parametrize("kind", REPORTS)
def test_a_divergence_is_told_whole(kind: str, tmp_path: Path) -> None:
    recorded, replayed, options, text = REPORTS[kind]
    assert report_of(tmp_path / "run.jsonl", recorded, replayed, options) == text


def test_a_call_that_nobody_cancels_is_told_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracetape.replayer.serving._SPARE_SECONDS", 0.0)
    assert report_of(tmp_path / "run.jsonl", impatient, lambda: asyncio.run(slow()), {}) == (
        "replay of RUN DIVERGED: 0 live, 1 served, 0 stale, 1 divergence, model calls: 0\n"
        "\n"
        "DIVERGED: slow@1 had been cancelled by its caller when it was recorded, and nobody cancelled it now: it "
        "has no outcome to serve\n"
        "  usual causes: a longer time-out, or none; changed code that waits for it\n"
        '  to accept it: live=["slow@1"] runs the real function; ReplayPlan().patch("slow", 1, …) serves an '
        "outcome\n"
        "\n"
        "  slow@1  stub"
    )


def test_a_call_in_another_process_is_told_whole(tmp_path: Path) -> None:
    program = "import os, tracetape; print(os.getpid(), flush=True); tracetape.boundary('act')(len)('s')"
    told: list[str] = []

    def start() -> None:
        two()
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        told.append(done.stdout.strip())

    assert report_of(tmp_path / "run.jsonl", two, start, {}) == (
        "replay of RUN DIVERGED: 0 live, 2 served, 0 stale, 1 divergence, model calls: 0\n"
        "\n"
        f"DIVERGED: act was called in another process ({told[0]}), which the program started\n"
        "  a replay answers the calls of its own process; there, every boundary halts before anything is run\n"
        "  to replay that part: run it in this process or a thread of it, while it is replayed\n"
        "  or mark the function that starts the process, @tracetape.boundary, and record the run again: then its "
        "result is served, and no process is started\n"
        '  live=["act"] does not reach into another process\n'
        "\n"
        "  plan@1  stub\n"
        "  act@1   stub\n"
        f"  started, and not seen what they send: {Path(sys.executable).name}"
    )


def test_a_program_without_the_marks_of_the_recording_is_told_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with tracetape.record(path):
        two()
    lines = path.read_text().splitlines()
    renamed = "\n".join(line.replace('"plan"', '"other_plan"').replace('"act"', '"other_act"') for line in lines)
    path.write_text(renamed + "\n")
    with pytest.raises(DivergenceError) as caught, tracetape.replay(path):
        pass
    assert without_places(str(caught.value).replace(str(path), "RUN")) == (
        "replay of RUN DIVERGED: 0 live, 0 served, 0 stale, 1 divergence, model calls: 0, untouched: 2\n"
        "\n"
        "DIVERGED: no boundary of the recording was called: nothing was replayed\n"
        "  the recording has other_plan, other_act; nothing in this process is marked so\n"
        "  usual causes: another program than the one that was recorded, or its @boundary marks are gone\n"
        "  untouched, for nothing here is marked so: other_plan@1, other_act@1"
    )


def test_a_call_of_nobody_is_told_whole_and_its_thread_says_no_more(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.jsonl"
    with tracetape.record(path):
        two()

    def program() -> None:
        with tracetape.replay(path):
            thread = threading.Thread(target=act, args=("s",))
            thread.start()
            thread.join()

    with pytest.raises(DivergenceError) as caught, tracetape.replay(path):
        program()
    halted = (
        "DIVERGED: act was called in a thread or task that belongs to none of the replays that are open\n"
        "  with several replays open, only the context tells which is meant\n"
        "  start the thread with tracetape.propagate(function), or keep one replay open at a time"
    )
    assert without_places(str(caught.value).replace(str(path), "RUN")) == (
        f"replay of RUN DIVERGED: 0 live, 0 served, 0 stale, 1 divergence, model calls: 0\n\n{halted}"
    )
    assert without_places(capfd.readouterr().err) == f"tracetape: {halted}\n"


def test_a_call_after_its_replay_is_told_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with tracetape.record(path):
        two()
    with tracetape.replay(path):
        two()
        inside = contextvars.copy_context()
    with pytest.raises(BaseException) as caught:
        inside.run(act, "s")
    assert without_places(str(caught.value).replace(str(path), "RUN")) == (
        "DIVERGED: act was called after the replay of RUN had ended\n"
        "  a thread, task or generator of that replay was still running\n"
        "  wait for it inside the with block"
    )


def test_an_error_of_our_own_is_told_whole_and_nothing_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: Any) -> Any:
        raise RuntimeError("a defect")

    monkeypatch.setattr("tracetape.replayer.keying.json_utf8", broken)
    assert report_of(tmp_path / "run.jsonl", two, two, {}) == (
        "replay of RUN DIVERGED: 0 live, 0 served, 0 stale, 1 divergence, model calls: 0\n"
        "\n"
        "DIVERGED: plan: the replay itself failed: RuntimeError: a defect\n"
        "  nothing was run for real; please report this with the recording"
    )


def test_an_outcome_that_cannot_be_given_back_is_told_whole(tmp_path: Path) -> None:
    @dataclasses.dataclass
    class Local:
        value: int

    @tracetape.boundary("local")
    def local() -> Local:
        return Local(1)

    here = f"{__name__}:test_an_outcome_that_cannot_be_given_back_is_told_whole.<locals>.Local"
    assert report_of(tmp_path / "run.jsonl", local, local, {}) == (
        "replay of RUN DIVERGED: 0 live, 0 served, 0 stale, 1 divergence, model calls: 0\n"
        "\n"
        "DIVERGED: local@1: its recorded outcome cannot be given back\n"
        f"  $ is a {here}, which is made inside a function: pass types=[Local]\n"
        '  to go on without it: live=["local@1"] runs the real function; ReplayPlan().patch("local", 1, …) serves '
        "another outcome\n"
        "\n"
        "  local@1  halted"
    )


def test_the_end_of_the_recording_is_told_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with tracetape.record(path):
        two()

    def program() -> None:
        two()
        plan("more")

    with pytest.raises(RecordingEnded) as caught, tracetape.replay(path, live=["act"]):
        program()
    assert str(caught.value) == (
        "left the recording at plan@new@1, after act@1 ran live; what follows in the block was not run. Wrap the "
        "program's part in tape.run(…), which returns tracetape.ENDED there:\n"
        "    result = tape.run(agent, …)"
    )
    with tracetape.replay(path, live=["act"]) as tape:
        assert tape.run(program) is tracetape.ENDED
    assert str(tape.report).replace(str(path), "RUN") == (
        "replay of RUN: 1 live, 1 served, 0 stale, 0 divergences, model calls: 0\n"
        "left the recording at plan@new@1, after act@1 ran live\n"
        "\n"
        "  plan@1      stub\n"
        "  act@1       live\n"
        "  plan@new@1  halted"
    )


def test_what_is_stale_is_told_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with tracetape.record(path):
        two()
    with tracetape.replay(path, live=["plan"]) as tape:
        plan("g")
        act("x")
    assert str(tape.report).replace(str(path), "RUN") == (
        "replay of RUN: 1 live, 1 served, 1 stale, 0 divergences, model calls: 1\n"
        "\n"
        "  plan@1  live\n"
        '  act@1   stub  stale: its inputs differ, after the cut  $.step: recorded "s", now "x"'
    )


def test_a_halt_names_the_line_of_the_program_not_of_its_libraries(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with tracetape.record(path):
        two()

    def program() -> None:
        plan("g")
        functools.reduce(lambda before, step: act(step), ["other"], None)  # called by the standard library

    with pytest.raises(DivergenceError) as caught, tracetape.replay(path):
        program()
    here = Path(__file__).relative_to(Path.cwd()) if Path(__file__).is_relative_to(Path.cwd()) else Path(__file__)
    line = program.__code__.co_firstlineno + 2
    assert f"\n  called at {here}:{line}, in <lambda>\n" in str(caught.value)
