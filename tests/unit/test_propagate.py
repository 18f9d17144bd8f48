"""`propagate`: what runs in a thread hangs under the crossing that started it."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tracetape
from tracetape.errors import UsageError

user = contextvars.ContextVar("user", default="nobody")


@tracetape.boundary("step")
def step(number: int) -> int:
    return number


def work(number: int, *, twice: bool = False) -> int:
    """What a thread does."""
    return step(number) * (2 if twice else 1)


async def awork(number: int) -> int:
    await asyncio.sleep(0)
    return step(number)


@tracetape.boundary("outer")
def outer(run: Callable[[], Any]) -> None:
    run()


def in_a_pool() -> None:
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(tracetape.propagate(work), range(6))) == list(range(6))


def in_a_thread() -> None:
    thread = threading.Thread(target=tracetape.propagate(work), args=(1,))
    thread.start()
    thread.join()


def in_a_loop_of_its_own() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: asyncio.run(carried(1))).result() == 1


carried: Any = None


@pytest.mark.parametrize("run", [in_a_pool, in_a_thread, in_a_loop_of_its_own])
def test_crossings_keep_their_parent_in_recording_and_in_replay(tmp_path: Path, run: Callable[[], None]) -> None:
    def start() -> None:
        global carried
        carried = tracetape.propagate(awork)
        run()

    with tracetape.record(tmp_path / "run.jsonl") as recorded:
        outer(start)
    recording = recorded.recording
    steps = [one for one in recording.crossings if one.boundary == "step"]
    assert steps
    assert {(one.parent, one.detached) for one in steps} == {(recording["outer", 1], False)}
    with tracetape.replay(recording, live=["outer"]) as tape:
        outer(start)
    assert [one.mode for one in tape.report.steps] == ["live", *["stub"] * len(steps)]
    assert {one.parent for one in tape.report.steps[1:]} == {tape["outer", 1]}


def test_with_two_recordings_open_a_thread_belongs_to_that_of_its_starter(tmp_path: Path) -> None:
    async def one(name: str, number: int) -> Any:
        with tracetape.record(tmp_path / name) as run:
            await asyncio.sleep(0)
            await asyncio.get_running_loop().run_in_executor(None, tracetape.propagate(work), number)
            await asyncio.sleep(0)
        return run

    async def both() -> Any:
        return await asyncio.gather(one("a", 1), one("b", 2))

    for number, run in enumerate(asyncio.run(both()), start=1):
        assert [crossing.result for crossing in run.recording.crossings] == [number]
        assert run.recording.gaps == ()


def test_the_context_is_that_of_the_call_of_propagate_and_each_run_has_its_own() -> None:
    def change(name: str) -> str:
        before = user.get()
        user.set(name)
        return before

    async def achange(name: str) -> str:
        before = user.get()
        user.set(name)
        await asyncio.sleep(0)
        assert user.get() == name
        return before

    user.set("ada")
    carried, acarried = tracetape.propagate(change), tracetape.propagate(achange)
    user.set("bob")
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(carried, "abcdef")) == ["ada"] * 6
        assert list(pool.map(lambda name: asyncio.run(acarried(name)), "abc")) == ["ada"] * 3
    assert user.get() == "bob"


def test_a_coroutine_is_stepped_as_without_it() -> None:
    async def wait() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "cancelled"
        return "slept"

    async def fail() -> None:
        raise KeyError("x")

    async def main() -> None:
        task = asyncio.ensure_future(tracetape.propagate(wait)())
        await asyncio.sleep(0)
        task.cancel()
        assert await task == "cancelled"
        with pytest.raises(KeyError, match="x"):
            await tracetape.propagate(fail)()
        assert await asyncio.wait_for(tracetape.propagate(asyncio.sleep)(0, "slept"), 60) == "slept"

    asyncio.run(main())
    thrown_away = tracetape.propagate(wait)()
    thrown_away.close()


def test_it_looks_like_the_function() -> None:
    carried = tracetape.propagate(work)
    assert (carried.__name__, carried.__doc__) == ("work", "What a thread does.")
    assert inspect.signature(carried) == inspect.signature(work)
    assert inspect.iscoroutinefunction(tracetape.propagate(awork))
    assert not inspect.iscoroutinefunction(carried)
    assert carried(2, twice=True) == 4
    assert pickle.loads(pickle.dumps(carried)) is work


def numbers() -> Iterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (5, "propagate(function) takes a function, not 5; call it in the thread"),
        (numbers, "propagate(function): numbers is a generator function; propagate what consumes it"),
    ],
)
def test_what_cannot_be_meant_is_told(function: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        tracetape.propagate(function)
    assert str(caught.value) == message
