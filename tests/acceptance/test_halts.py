"""A halt: nothing hides it, nothing of a boundary runs after it, whoever waits is woken, the text says it all."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tracetape
from tests.acceptance.places import without_places
from tracetape.errors import DivergenceError, RecordingEnded

ran: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_has_run() -> None:
    ran.clear()


@tracetape.boundary("plan", kind="llm")
def plan(goal: str) -> str:
    ran.append(goal)
    return f"plan for {goal}"


@tracetape.boundary("act", kind="tool")
def act(step: str) -> str:
    ran.append(step)
    return f"did {step}"


def program(goal: str = "g", step: str = "s") -> str:
    plan(goal)
    return act(step)


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    return record(tmp_path / "run.jsonl", program)


def record(path: Path, function: Callable[[], Any]) -> Path:
    with tracetape.record(path):
        function()
    ran.clear()
    return path


# -- nothing hides it

Call = Callable[[], Any]
Hide = Callable[[Call], None]
HIDING: list[Any] = []


def hiding(function: Hide) -> Hide:
    HIDING.append(function)
    return function


def hiding_in_a_library(function: Hide) -> Hide:
    HIDING.append(pytest.param(function, marks=pytest.mark.optional))
    return function


@hiding
def except_exception(call: Call) -> None:
    try:
        call()
    except Exception:
        pass


@hiding
def except_base_exception(call: Call) -> None:
    try:
        call()
    except BaseException:
        pass


@hiding
def bare_except_and_another_error(call: Call) -> None:
    try:
        call()
    except BaseException:
        raise LookupError("the program's own") from None


@hiding
def suppressed(call: Call) -> None:
    with contextlib.suppress(BaseException):
        call()


@hiding
def system_exit(call: Call) -> None:
    try:
        call()
    finally:
        raise SystemExit(0)


@hiding
def exit_stack_callback(call: Call) -> None:
    with contextlib.suppress(BaseException), contextlib.ExitStack() as stack:
        stack.callback(call)


@hiding
def gathered_with_exceptions(call: Call) -> None:
    async def main() -> None:
        await asyncio.gather(in_a_coroutine(call), asyncio.sleep(0), return_exceptions=True)

    asyncio.run(main())


async def in_a_coroutine(call: Call) -> Any:
    await asyncio.sleep(0)
    return call()


@hiding
def task_group(call: Call) -> None:
    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(in_a_coroutine(call))
            group.create_task(asyncio.sleep(0))

    asyncio.run(main())


@hiding
def task_group_caught(call: Call) -> None:
    try:
        task_group(call)
    except* BaseException:
        pass


@hiding
def task_that_nobody_awaits(call: Call) -> None:
    async def main() -> None:
        task = asyncio.ensure_future(in_a_coroutine(call))
        while not task.done():
            await asyncio.sleep(0)

    asyncio.run(main())


@hiding
def task_cut_off_by_the_end_of_the_loop(call: Call) -> None:
    async def at_the_end() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            call()

    async def main() -> None:
        tasks.append(asyncio.create_task(at_the_end()))
        await asyncio.sleep(0)

    tasks: list[Any] = []
    asyncio.run(main())


@hiding
def shielded(call: Call) -> None:
    async def main() -> None:
        await asyncio.wait({asyncio.shield(in_a_coroutine(call))})

    asyncio.run(main())


@hiding
def done_callback_of_a_task(call: Call) -> None:
    async def main() -> None:
        task = asyncio.create_task(asyncio.sleep(0))
        task.add_done_callback(lambda done: call())
        await task
        await asyncio.sleep(0)

    asyncio.run(main())


@hiding
def callback_of_the_loop(call: Call) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(call)
        loop.call_later(0, call)
        loop.call_soon_threadsafe(call)
        for _ in range(5):
            await asyncio.sleep(0)

    asyncio.run(main())


@hiding
def executor_of_the_loop(call: Call) -> None:
    async def main() -> None:
        await asyncio.wait({asyncio.get_running_loop().run_in_executor(None, call)})

    asyncio.run(main())


@hiding
def async_generator_s_finally(call: Call) -> None:
    async def items() -> Any:
        try:
            yield 1
        finally:
            call()

    async def main() -> None:
        kept.append(items())
        await anext(kept[0])

    kept: list[Any] = []
    asyncio.run(main())


@hiding_in_a_library
def anyio_task_group(call: Call) -> None:
    in_a_group_of_anyio(call, "asyncio")


@hiding_in_a_library
def trio_task_group(call: Call) -> None:
    in_a_group_of_anyio(call, "trio")


def in_a_group_of_anyio(call: Call, backend: str) -> None:
    import anyio

    async def work() -> None:
        await anyio.sleep(0)
        call()

    async def main() -> None:
        with contextlib.suppress(BaseException):
            async with anyio.create_task_group() as group:
                group.start_soon(work)
                group.start_soon(anyio.sleep, 0)

    anyio.run(main, backend=backend)


@hiding_in_a_library
def anyio_thread(call: Call) -> None:
    import anyio.to_thread

    async def main() -> None:
        with contextlib.suppress(BaseException):
            await anyio.to_thread.run_sync(call)

    anyio.run(main)


@hiding_in_a_library
def anyio_portal(call: Call) -> None:
    import anyio.from_thread

    with contextlib.suppress(BaseException), anyio.from_thread.start_blocking_portal() as portal:
        portal.start_task_soon(in_a_coroutine, call)


@hiding
def bare_thread(call: Call) -> None:
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


@hiding
def carried_thread(call: Call) -> None:
    bare_thread(tracetape.propagate(call))


@hiding
def timer(call: Call) -> None:
    thread = threading.Timer(0, call)
    thread.start()
    thread.join()


@hiding
def future_that_nobody_asks_for(call: Call) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(call)


@hiding
def exception_of_a_future(call: Call) -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(call).exception() is not None


@hiding
def done_callback_of_a_future(call: Call) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).add_done_callback(lambda done: call())


@hiding
def worker_that_catches_all_and_goes_on(call: Call) -> None:
    jobs: queue.Queue[Callable[[], Any] | None] = queue.Queue()

    def worker() -> None:
        while (job := jobs.get()) is not None:
            try:
                job()
            except BaseException:
                pass
            finally:
                jobs.task_done()

    thread = threading.Thread(target=worker)
    thread.start()
    for job in (call, call, lambda: act("s")):
        jobs.put(job)
    jobs.join()
    jobs.put(None)
    thread.join()


@hiding
def generator_s_finally(call: Call) -> None:
    def items() -> Iterator[int]:
        try:
            yield 1
        finally:
            call()

    next(items())  # and nobody has it any more


@hiding
def delete(call: Call) -> None:
    class Resource:
        def __del__(self) -> None:
            call()

    Resource()


@hiding
def finalizer(call: Call) -> None:
    class Resource:
        pass

    resource = Resource()
    weakref.finalize(resource, call)
    del resource


@hiding
def weak_reference(call: Call) -> None:
    class Resource:
        pass

    resource = Resource()
    reference = weakref.ref(resource, lambda gone: call())
    del resource
    assert reference() is None


@hiding
def function_of_a_database(call: Call) -> None:
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.create_function("act", 0, call)
        with pytest.raises(sqlite3.OperationalError):
            database.execute("select act()")


# What Python itself does with an error that has nobody to be raised to.
unraisable = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::pytest.PytestUnhandledThreadExceptionWarning"
)


@unraisable
@pytest.mark.parametrize("inside", ["the block", "tape.run"])
@pytest.mark.parametrize("hide", HIDING)
def test_nothing_that_swallows_a_halt_hides_the_divergence(recorded: Path, hide: Hide, inside: str) -> None:
    def diverging() -> None:
        plan("g")
        hide(lambda: act("other"))

    with pytest.raises(DivergenceError) as caught, tracetape.replay(recorded) as tape:
        if inside == "tape.run":
            tape.run(diverging)
        else:
            diverging()
    assert [(one.kind, one.name) for one in tape.report.divergences] == [("changed", "act@1")]
    assert caught.value.report is tape.report
    assert "DIVERGED: act@1 was called with other inputs than recorded (before the cut)" in str(caught.value)
    assert ran == []


@unraisable
@pytest.mark.parametrize("hide", [one for one in HIDING if one is not system_exit])
def test_nothing_that_swallows_the_end_of_the_recording_hides_it(recorded: Path, hide: Hide) -> None:
    def longer() -> str:
        plan("g")
        act("s")
        hide(lambda: act("one more"))
        return "the program's answer"

    with tracetape.replay(recorded, live=["plan"]) as tape:
        assert tape.run(longer) is tracetape.ENDED
    assert tape.report.ended == "left the recording at act@new@1, after plan@1 ran live"
    assert ran == ["g"]


@pytest.mark.parametrize("hide", [bare_thread, timer, future_that_nobody_asks_for])
@unraisable
def test_a_halt_outside_of_the_opening_thread_is_said_at_once(
    recorded: Path, hide: Hide, capsys: pytest.CaptureFixture[str]
) -> None:
    said = []
    with pytest.raises(DivergenceError), tracetape.replay(recorded):
        hide(lambda: except_base_exception(lambda: act("other")))
        said.append(capsys.readouterr().err)
    assert said[0].startswith(
        "tracetape: DIVERGED: act@1 was called with other inputs than recorded (before the cut)\n"
        '  $.step: recorded "s", now "other"\n'
    )


def test_a_halt_of_a_signal_handler_is_not_hidden(recorded: Path) -> None:
    import signal

    def handler(number: int, frame: object) -> None:
        act("other")

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(DivergenceError, match="act@1 was called"), tracetape.replay(recorded):
            with contextlib.suppress(BaseException):
                signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_halt_inside_of_an_inner_replay_is_the_inner_one_s_alone(recorded: Path) -> None:
    with tracetape.replay(recorded) as outer:
        with pytest.raises(DivergenceError, match="act@1 was called"), tracetape.replay(recorded):
            act("other")
        assert program() == "did s"
    assert outer.report.verdict == "same"


def test_a_halt_of_the_outer_replay_outlives_an_inner_one(recorded: Path) -> None:
    with pytest.raises(DivergenceError, match="act@1 was called") as caught, tracetape.replay(recorded) as outer:
        with contextlib.suppress(BaseException):
            act("other")
        with tracetape.replay(recorded) as inner:
            program()
        with contextlib.suppress(BaseException):
            act("s")
    assert inner.report.verdict == "same"
    assert caught.value.report is outer.report
    assert len(outer.report.steps) == 1


def test_only_the_first_of_many_threads_halts_and_the_others_see_the_same(recorded: Path) -> None:
    seen: list[BaseException] = []
    together = threading.Barrier(8)

    def worker(number: int) -> None:
        together.wait()
        try:
            act(f"other {number}")
        except BaseException as error:
            seen.append(error)

    with pytest.raises(DivergenceError), tracetape.replay(recorded) as tape:
        threads = [threading.Thread(target=worker, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(tape.report.divergences) == 1
    assert len(seen) == 8
    assert all(one is seen[0] for one in seen)


def test_a_program_that_goes_on_after_a_halt_pays_no_more_each_time(recorded: Path) -> None:
    """As agents do that try again: what is raised is one object, whose traceback must not grow."""
    seen: list[BaseException] = []

    def stubborn() -> None:
        for _ in range(200):
            try:
                act("other")
            except BaseException as error:
                seen.append(error)

    with pytest.raises(DivergenceError), tracetape.replay(recorded):
        stubborn()
    assert len(list(traceback.walk_tb(seen[-1].__traceback__))) < 50


# -- nothing of a boundary runs after it


def noted(what: int) -> int:
    ran.append(what)
    return what


@tracetape.boundary("later", kind="llm")
def function() -> str:
    ran.append("function")
    return "x"


@tracetape.boundary("later")
async def coroutine() -> None:
    ran.append("coroutine")


@tracetape.boundary("later")
def generator() -> Iterator[int]:
    for number in range(3):
        ran.append(("generator", number))
        yield number


@tracetape.boundary("later")
async def async_generator() -> Any:
    for number in range(3):
        ran.append(("async generator", number))
        yield number


@tracetape.boundary("later")
def iterator() -> Iterator[int]:
    return map(noted, range(3))


@tracetape.boundary("later")
def hands_out_a_generator() -> Any:
    return (noted(number) for number in range(3))


class AsyncItems:
    def __init__(self) -> None:
        self.left = 3

    def __aiter__(self) -> AsyncItems:
        return self

    async def __anext__(self) -> int:
        ran.append("async iterator")
        self.left -= 1
        if self.left < 0:
            raise StopAsyncIteration
        return self.left


@tracetape.boundary("later")
def async_iterator() -> AsyncItems:
    return AsyncItems()


@tracetape.boundary("later")
def hands_out_a_coroutine() -> Any:
    async def inner() -> None:
        ran.append("coroutine handed out")

    return inner()


class Tools:
    @tracetape.boundary("later", kind="tool")
    def method(self) -> None:
        ran.append("method")


async def all_of(items: Any) -> list[Any]:
    return [item async for item in items]


async def awaited(awaitable: Any) -> Any:
    return await awaitable


async def one_of(items: Any) -> Any:
    return await anext(items)


def begun(items: Iterator[Any]) -> Callable[[], Any]:
    next(items)
    return lambda: list(items)


def async_begun(items: Any) -> Callable[[], Any]:
    runner = asyncio.Runner()
    runner.run(one_of(items))

    def rest() -> Any:
        with runner:
            return runner.run(all_of(items))

    return rest


def in_a_new_thread() -> None:
    bare_thread(lambda: except_base_exception(function))


def made_before(make: Callable[[], Any], use: Callable[[Any], Any]) -> Callable[[], Callable[[], Any]]:
    def prepare() -> Callable[[], Any]:
        made = make()
        return lambda: use(made)

    return prepare


def run(awaitable: Any) -> Any:
    return asyncio.run(awaited(awaitable))


# What is done before the halt; it gives what is done after it.
LATER: dict[str, Callable[[], Callable[[], Any]]] = {
    "a function": lambda: function,
    "a method": lambda: Tools().method,
    "a coroutine": lambda: lambda: run(coroutine()),
    "a coroutine that was made before": made_before(coroutine, run),
    "a coroutine that was handed out before": made_before(hands_out_a_coroutine, run),
    "a generator": lambda: lambda: list(generator()),
    "a generator that was made before": made_before(generator, list),
    "a generator that was handed out before": made_before(hands_out_a_generator, list),
    "an iterator that was handed out before": made_before(iterator, list),
    "a generator being consumed": lambda: begun(generator()),
    "a generator that was handed out being consumed": lambda: begun(hands_out_a_generator()),
    "an iterator being consumed": lambda: begun(iterator()),
    "an async generator": lambda: lambda: run(all_of(async_generator())),
    "an async generator being consumed": lambda: async_begun(async_generator()),
    "an async iterator being consumed": lambda: async_begun(async_iterator()),
    "an effect": lambda: lambda: tracetape.effect("later", lambda: ran.append("effect")),
    "a checkpoint": lambda: lambda: tracetape.checkpoint("later", {"state": 1}),
    "a new thread": lambda: in_a_new_thread,
    "a carried thread": lambda: lambda: bare_thread(lambda: except_base_exception(tracetape.propagate(function))),
    "a pool": lambda: lambda: future_that_nobody_asks_for(function),
    "a task": lambda: lambda: task_that_nobody_awaits(function),
}


def halt() -> None:
    act("other")


def end() -> None:
    act("s")
    act("one more")


@unraisable
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize("ending", [halt, end])
@pytest.mark.parametrize("how", LATER)
def test_after_the_first_halt_no_code_of_any_boundary_runs(
    tmp_path: Path, how: str, ending: Callable[[], None]
) -> None:
    path = record(tmp_path / "run.jsonl", lambda: (plan("g"), act("s"), LATER[how]()()))
    live = ["later", *(["plan"] if ending is end else [])]
    with pytest.raises((DivergenceError, RecordingEnded)), tracetape.replay(path, live=live) as tape:
        plan("g")
        rest = LATER[how]()
        except_base_exception(ending)
        before = list(ran)
        except_base_exception(rest)
        after = list(ran)  # compared outside, for what leaves the block is the divergence
    assert after == before
    assert tape.report.verdict == {"halt": "diverged", "end": "ended"}[ending.__name__]


@pytest.mark.parametrize("ending", [halt, end])
def test_after_the_first_halt_no_function_of_a_patch_runs(tmp_path: Path, ending: Callable[[], None]) -> None:
    path = record(tmp_path / "run.jsonl", lambda: (plan("g"), act("s"), function()))
    patch = tracetape.ReplayPlan().patch("later", 1, ran.append)
    live = ["plan"] if ending is end else []
    with pytest.raises((DivergenceError, RecordingEnded)), tracetape.replay(path, patch, live=live):
        plan("g")
        except_base_exception(ending)
        before = list(ran)
        except_base_exception(function)
        after = list(ran)
    assert after == before


def test_a_live_call_that_another_thread_s_halt_overtakes_gives_no_result(tmp_path: Path) -> None:
    entered, halted = threading.Event(), threading.Event()
    results = []

    @tracetape.boundary("long", kind="tool")
    def long() -> str:
        entered.set()
        halted.wait()
        return "as if nothing had happened"

    def both() -> None:
        thread = threading.Thread(target=lambda: except_base_exception(lambda: results.append(long())))
        thread.start()
        entered.wait()
        except_base_exception(lambda: act(step[0]))
        halted.set()
        thread.join()

    step = ["s"]
    path = record(tmp_path / "run.jsonl", both)
    assert results == ["as if nothing had happened"]
    step[0] = "other"
    entered.clear()
    halted.clear()
    with pytest.raises(DivergenceError, match="act@1 was called"), tracetape.replay(path, live=["long"]):
        both()
    assert results == ["as if nothing had happened"]


# -- whoever waits is woken

WAITING = """
    import asyncio, concurrent.futures, contextlib, multiprocessing.pool, os, queue, sys, threading, time
    import tracetape
    from tracetape.errors import DivergenceError

    @tracetape.boundary("act", kind="tool")
    def act(step):
        return step

    def halting():
        act("other")

    def swallowing():
        with contextlib.suppress(BaseException):
            act("other")

    def for_ever():
        swallowing()
        threading.Event().wait()

    def start(function):
        thread = threading.Thread(target=function, daemon=True)
        thread.start()
        return thread

    with tracetape.record(sys.argv[1]):
        act("s")
    threading.excepthook = lambda arguments: None
    try:
        with tracetape.replay(sys.argv[1]):
            WAIT
            print("went on")
    except DivergenceError as error:
        print([(one.kind, one.name) for one in error.report.divergences])
    # Nothing of it is left to hit what follows.
    assert not [one for one in threading.enumerate() if one.name == "tracetape-watch"]
    sys.stdout.flush()
    os._exit(0)
"""

WAITS = {
    "queue": "start(swallowing); queue.Queue().get()",
    "joined queue": """
        jobs = queue.Queue()
        jobs.put("a job")
        start(lambda: (jobs.get(), act("other"), jobs.task_done()))
        jobs.join()
    """,
    "event": "start(swallowing); threading.Event().wait()",
    "condition": """
        condition = threading.Condition()
        start(swallowing)
        with condition:
            condition.wait_for(lambda: False)
    """,
    "thread": "start(for_ever).join()",
    "future": """
        future = concurrent.futures.Future()
        start(lambda: (act("other"), future.set_result(1)))
        future.result()
    """,
    "futures": """
        future = concurrent.futures.Future()
        start(lambda: (act("other"), future.set_result(1)))
        concurrent.futures.wait([future])
    """,
    "pool of a done callback": """
        pool = concurrent.futures.ThreadPoolExecutor(1)
        ready = threading.Event()
        pool.submit(ready.wait).add_done_callback(lambda done: act("other"))
        ready.set()
        pool.submit(for_ever).result()
    """,
    "pool of threads": """
        multiprocessing.pool.ThreadPool(1).apply(halting)
    """,
    "sleep": "start(swallowing); time.sleep(600)",
    "loop": """
        async def main():
            start(swallowing)
            await asyncio.Event().wait()
        asyncio.run(main())
    """,
    "loop of an executor": """
        async def main():
            await asyncio.get_running_loop().run_in_executor(None, for_ever)
        loop = asyncio.new_event_loop()
        loop.run_until_complete(main())
    """,
    "swallowed wake": """
        start(swallowing)
        try:
            threading.Event().wait()
        except BaseException:
            pass
    """,
}
# It is the main thread's own loop that has halted, in a task or callback that nobody asks.
WAITS_OF_LOOPS = {
    "queue of a loop": """
        async def main():
            jobs = asyncio.Queue()
            jobs.put_nowait("other")
            async def worker():
                while True:
                    act(await jobs.get())
                    jobs.task_done()
            task = asyncio.create_task(worker())
            await jobs.join()
            task.cancel()
        asyncio.run(main())
    """,
    "future of a loop": """
        async def main():
            loop = asyncio.get_running_loop()
            future = loop.create_future()
            loop.call_soon(lambda: (act("other"), future.set_result(1)))
            await future
        asyncio.run(main())
    """,
}
# Woken from one wait, the main thread goes into the next one on its way out.
WAITS_ON_THE_WAY_OUT = {
    "left pool": """
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(for_ever).result()
    """,
    "left loop": """
        async def main():
            await asyncio.to_thread(for_ever)
        asyncio.run(main())
    """,
    "left worker": """
        jobs, results = queue.Queue(), queue.Queue()
        def worker():
            while (job := jobs.get()) is not None:
                with contextlib.suppress(BaseException):
                    results.put(act(job))
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(worker)
            jobs.put("other")
            results.get()
            jobs.put(None)
    """,
}
OF_LIBRARIES = {
    "trio": """
        import trio
        async def main():
            start(swallowing)
            await trio.sleep_forever()
        trio.run(main)
    """,
    "anyio": """
        import anyio
        async def main():
            async with anyio.create_task_group() as group:
                group.start_soon(anyio.sleep_forever)
                start(swallowing)
        anyio.run(main)
    """,
    "uvloop": """
        import uvloop
        async def main():
            start(swallowing)
            await asyncio.Event().wait()
        uvloop.run(main())
    """,
}


ALL_WAITS = WAITS | WAITS_OF_LOOPS | WAITS_ON_THE_WAY_OUT | OF_LIBRARIES
PATIENCE_S = 60  # for what would wait for ever


class Waiting:
    """All of them at once, for each waits for the grace."""

    def __init__(self, folder: Path) -> None:
        self.until = time.monotonic() + PATIENCE_S
        self.processes = {}
        for number, (name, wait) in enumerate(ALL_WAITS.items()):
            inside = textwrap.indent(textwrap.dedent(wait).strip(), " " * 8).strip()
            source = textwrap.dedent(WAITING).replace("WAIT", inside)
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-c", source, str(folder / f"{number}.jsonl")],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )

    def ended(self, name: str) -> tuple[str, str]:
        """What it has printed; fails where it waits."""
        process = self.processes[name]
        try:
            out, err = process.communicate(timeout=max(0.1, self.until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            pytest.fail(f"it waits for ever; it has said {out + err!r}")
        assert process.returncode == 0, out + err
        return out, err


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Waiting]:
    waiting = Waiting(tmp_path_factory.mktemp("waiting"))
    yield waiting
    for process in waiting.processes.values():
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    "what", [*WAITS, *(pytest.param(one, marks=pytest.mark.optional) for one in OF_LIBRARIES)]
)
def test_a_main_thread_that_waits_for_a_thread_that_has_halted_is_woken(waiting: Waiting, what: str) -> None:
    out, err = waiting.ended(what)
    assert out.splitlines()[-1:] == ["[('changed', 'act@1')]"]
    assert ("went on" in out) == (what == "swallowed wake")
    assert "tracetape: DIVERGED: act@1 was called with other inputs than recorded" in err


@pytest.mark.parametrize("what", WAITS_OF_LOOPS)
def test_a_main_thread_that_waits_for_what_has_halted_in_its_own_loop_is_woken(
    waiting: Waiting, what: str
) -> None:
    out, _ = waiting.ended(what)
    assert out == "[('changed', 'act@1')]\n"


@pytest.mark.parametrize("what", WAITS_ON_THE_WAY_OUT)
def test_a_main_thread_that_waits_again_on_its_way_out_is_woken_again(waiting: Waiting, what: str) -> None:
    out, _ = waiting.ended(what)
    assert out == "[('changed', 'act@1')]\n"


# -- the text says it all (what `test_messages` does not have)


@tracetape.boundary("outer", kind="agent")
def outer(step: str) -> str:
    return act(step)


@tracetape.boundary("notify", kind="tool")
def notify(whom: str) -> None: ...


@tracetape.boundary("tokens", kind="llm")
def tokens() -> Iterator[str]:
    yield from "abc"


CHANGED_AFTER_THE_CUT = """\
replay of RUN DIVERGED: 1 live, 0 served, 0 stale, 1 divergence, model calls: 1

DIVERGED: act@1 was called with other inputs than recorded (after the cut)
  $.step: recorded "s", now "other"
  usual causes: a time, an id or a counter among the inputs; changed code before this call; what a served \
function changed in place (an argument, self), since only results are served
  to leave a value out: ignore=["$.step"], or record it with tracetape.effect("…", …)
  to accept it: live=["act@1"] runs the real function; ReplayPlan().stub("act", 1) serves the recorded outcome

  plan@1  live
  act@1   halted"""

USED_UP = """\
replay of RUN DIVERGED: 0 live, 2 served, 0 stale, 1 divergence, model calls: 0

DIVERGED: act@new@1: a call that the recording does not have
  the nearest recorded call is act@1, with the same inputs; it was used up by an earlier call
  usual causes: a new call or one more round of a loop; or calls in an order that is not that of the recording, \
one of which took the answer of another
  to accept it: live=["act"] runs the real function; or record the run again

  plan@1     stub
  act@1      stub
  act@new@1  halted"""

MOVED = """\
replay of RUN: 0 live, 3 served, 0 stale, 0 divergences, model calls: 0

  act@1    stub  moved
  outer@1  stub
  plan@1   stub"""

MOVED_STRICTLY = """\
replay of RUN DIVERGED: 0 live, 3 served, 0 stale, 1 divergence, model calls: 0
DIVERGED: act@1: it was served from another place in the recording (strict=True makes that a divergence)

  act@1    stub  moved
  outer@1  stub
  plan@1   stub"""

STALE_STRICTLY = """\
replay of RUN DIVERGED: 1 live, 0 served, 0 stale, 2 divergences, model calls: 1, live with other inputs: 1

DIVERGED: act@1 was called with other inputs than recorded (after the cut)
  $.step: recorded "s", now "new"
  usual causes: a time, an id or a counter among the inputs; changed code before this call; what a served \
function changed in place (an argument, self), since only results are served
  to leave a value out: ignore=["$.step"], or record it with tracetape.effect("…", …)
  to accept it: live=["act@1"] runs the real function; ReplayPlan().stub("act", 1) serves the recorded outcome
DIVERGED: plan@1: its inputs differ from the recorded ones at $.goal: recorded "g", now "new" (strict=True makes \
that a divergence)

  plan@1  live  its inputs differ  outcome $: recorded "plan for g", now "plan for new"
  act@1   halted"""

STALE_BEHIND_A_PATCH = """\
replay of RUN: 0 live, 1 served, 1 patched, 1 stale, 0 divergences, model calls: 0

  plan@1  patched
  act@1   stub  stale: its inputs differ, after the cut  $.step: recorded "s", now "new\""""

STUBBED_BY_HAND = """\
replay of RUN: 0 live, 2 served, 0 stale, 0 divergences, model calls: 0

  plan@1  stub  its inputs differ  $.goal: recorded "g", now "new"
  act@1   stub"""


def calls(*steps: Call) -> Call:
    return lambda: [step() for step in steps]


nested = calls(lambda: outer("s"), lambda: plan("g"))
early = calls(lambda: act("s"), nested)
other = calls(lambda: plan("g"), lambda: act("other"))
new = calls(lambda: plan("new"), lambda: act("new"))
patch = tracetape.ReplayPlan().patch("plan", 1, "another plan")
stub = tracetape.ReplayPlan().stub("plan", 1)

# What is recorded, what is replayed, how, what is said.
TEXTS: dict[str, tuple[Call, Call, dict[str, Any], str]] = {
    "changed after the cut": (program, other, {"live": ["plan"], "after_cut": "halt"}, CHANGED_AFTER_THE_CUT),
    "used up": (program, calls(program, lambda: act("s")), {}, USED_UP),
    "moved": (nested, early, {}, MOVED),
    "moved, strictly": (nested, early, {"strict": True}, MOVED_STRICTLY),
    "stale, strictly": (program, new, {"live": ["plan"], "strict": True}, STALE_STRICTLY),
    "stale behind a patch": (
        program,
        calls(lambda: plan("g"), lambda: act("new")),
        {"plan": patch},
        STALE_BEHIND_A_PATCH,
    ),
    "stubbed by hand": (program, calls(lambda: plan("new"), lambda: act("s")), {"plan": stub}, STUBBED_BY_HAND),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_the_whole_text(tmp_path: Path, kind: str) -> None:
    what, again, options, text = TEXTS[kind]
    path = record(tmp_path / "run.jsonl", what)
    said = ""
    try:
        with tracetape.replay(path, **options) as tape:
            again()
    except DivergenceError as error:
        said = str(error)
    assert str(tape.report) == said or not tape.report.divergences
    assert without_places(str(tape.report).replace(str(path), "RUN")) == text


CURES: list[tuple[Call, Call, list[dict[str, Any]]]] = [
    (
        program,
        other,
        [{"live": ["act@1"]}, {"plan": tracetape.ReplayPlan().stub("act", 1)}, {"ignore": ["$.step"]}],
    ),
    (program, calls(program, lambda: notify("Ada")), [{"live": ["notify"]}]),
    (program, calls(program, lambda: act("s")), [{"live": ["act"]}]),
    (lambda: next(tokens()), lambda: list(tokens()), [{"live": ["tokens@1"]}]),
    (
        lambda: outer("s"),
        lambda: outer("other"),
        [{"live": ["outer", "act"]}, {"live": ["outer"], "plan": tracetape.ReplayPlan().patch("act", 1, "done")}],
    ),
    (
        lambda: tracetape.checkpoint("state", 1),
        lambda: tracetape.checkpoint("state", 2),
        [{"plan": tracetape.ReplayPlan().stub("state", 1)}],
    ),
]


@pytest.mark.parametrize(("what", "again", "cures"), CURES)
def test_each_line_that_a_text_offers_cures_it(
    tmp_path: Path, what: Call, again: Call, cures: list[dict[str, Any]]
) -> None:
    path = record(tmp_path / "run.jsonl", what)
    for cure in cures:
        with tracetape.replay(path, **cure) as tape:
            again()
        assert tape.report.verdict == "same"
