"""Concurrent calls: each gets its own answer, whatever the timing; each recording has its own calls alone."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import random
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import tracetape
from tracetape.errors import DivergenceError

ran: list[Any] = []  # what has really run: nothing of it may in a replay that serves


@pytest.fixture(autouse=True)
def _nothing_has_run() -> None:
    ran.clear()


async def jitter() -> None:
    await asyncio.sleep(random.random() / 200)


async def in_turn() -> None:
    await asyncio.sleep(0)


@tracetape.boundary("quote", kind="tool")
async def quote(item: Any) -> Any:
    ran.append(item)
    await jitter()
    return {"quoted": item}


@tracetape.boundary("fetch", kind="retrieval")
def fetch(item: Any) -> Any:
    ran.append(item)
    return {"fetched": item}


@tracetape.boundary("page", kind="tool")
async def page(text: str) -> int:
    """The same question from everybody, and another answer for each."""
    ran.append(text)
    number = next(_numbers)
    await jitter()
    return number


@tracetape.boundary("visit", kind="agent")
async def visit(item: Any) -> list[int]:
    ran.append(item)
    found = []
    for _ in range(2):
        await jitter()
        found.append(await page("next page"))
    return found


@tracetape.boundary("step", kind="tool")
def step(text: str) -> int:
    ran.append(text)
    return next(_numbers)


@tracetape.boundary("job", kind="agent")
def job(item: int) -> list[int]:
    ran.append(item)
    return [step("first"), step("second"), step("second")]


_numbers = itertools.count()


def recorded(path: Path, program: Callable[[], Any]) -> Any:
    """Record the program; its result."""
    with tracetape.record(path):
        result = program()
    ran.clear()
    return result


async def gathered(calls: Sequence[Awaitable[Any]]) -> list[Any]:
    return list(await asyncio.gather(*calls))


async def grouped(calls: Sequence[Coroutine[Any, Any, Any]]) -> list[Any]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(call) for call in calls]
    return [task.result() for task in tasks]


async def after(wait: Awaitable[None], call: Callable[[], Awaitable[Any]]) -> Any:
    await wait
    return await call()


TEXTS = [f"item-{number}" for number in range(10)]
NUMBERS = list(range(10))
DICTS = [{"id": f"item-{number}", "amounts": [number, 5], "side": "sell"} for number in range(10)]


@pytest.mark.parametrize("together", [gathered, grouped])
@pytest.mark.parametrize("items", [TEXTS, NUMBERS, DICTS], ids=["texts", "numbers", "dicts"])
def test_ten_of_ten_same_named_crossings_get_their_own_answer_under_jitter(
    tmp_path: Path, items: list[Any], together: Callable[..., Coroutine[Any, Any, list[Any]]]
) -> None:
    def program() -> list[Any]:
        async def main() -> list[Any]:
            return await together([after(jitter(), partial(quote, item)) for item in items])

        return asyncio.run(main())

    original = recorded(tmp_path / "run.jsonl", program)
    assert original == [{"quoted": item} for item in items]
    for _ in range(3):
        with tracetape.replay(tmp_path / "run.jsonl") as tape:
            assert program() == original
        assert (tape.report.verdict, len(tape.report.steps), ran) == ("same", 10, [])


class Reversed:
    """Calls that end in the reversed order of their starts, while it is recorded."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.started = 0
        self.ended: list[int] = []
        self.may_end = [asyncio.Event() for _ in range(count)]
        self.may_end[-1].set()

    async def call(self) -> int:
        number, self.started = self.started, self.started + 1
        await self.may_end[number].wait()
        self.ended.append(number)
        if number:
            self.may_end[number - 1].set()
        return number


@pytest.mark.parametrize("together", [gathered, grouped])
@pytest.mark.parametrize("kind", ["coroutine", "stream", "effect", "method"])
def test_six_identical_crossings_each_position_gets_its_own_though_they_ended_in_reverse(
    tmp_path: Path, kind: str, together: Callable[..., Coroutine[Any, Any, list[Any]]]
) -> None:
    table: list[Reversed] = []

    @tracetape.boundary("draw", kind="llm")
    async def draw(prompt: str) -> int:
        return await table[0].call()

    @tracetape.boundary("draw", kind="llm")
    async def draw_items(prompt: str) -> Any:
        yield await table[0].call()

    class Client:
        @tracetape.boundary("draw", kind="llm")
        async def draw(self, prompt: str) -> int:
            return await table[0].call()

    async def streamed() -> int:
        [item] = [item async for item in draw_items("the same")]
        return int(item)

    calls: dict[str, Callable[[], Coroutine[Any, Any, int]]] = {
        "coroutine": lambda: draw("the same"),
        "stream": streamed,
        "effect": lambda: tracetape.effect("draw", lambda: table[0].call()),
        "method": lambda: Client().draw("the same"),
    }

    def program() -> list[int]:
        async def main() -> list[int]:
            table[:] = [Reversed(6)]
            return await together([calls[kind]() for _ in range(6)])

        return asyncio.run(main())

    assert recorded(tmp_path / "run.jsonl", program) == [0, 1, 2, 3, 4, 5]
    assert table[0].ended == [5, 4, 3, 2, 1, 0]
    with tracetape.replay(tmp_path / "run.jsonl") as tape:
        assert program() == [0, 1, 2, 3, 4, 5]
    assert table[0].started == 0
    assert tape.report.verdict == "same"
    assert [tape["draw", number].mode for number in range(1, 7)] == ["stub"] * 6


def changed_dict(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "amounts": [item["amounts"][0], 5_000]}


CHANGES: dict[str, tuple[list[Any], Any, str, str, str]] = {
    "texts": (TEXTS, "item-7 changed", "$.item", '"item-7"', '"item-7 changed"'),
    "numbers": (NUMBERS, 7_000, "$.item", "7", "7000"),
    "dicts": (DICTS, changed_dict(DICTS[7]), "$.item.amounts[1]", "5", "5000"),
}


@pytest.mark.parametrize("arrival", ["first", "middle", "last", "jitter", "order of the recording"])
@pytest.mark.parametrize("kind", CHANGES)
def test_the_blame_for_a_changed_call_among_equals_lands_on_that_one(
    tmp_path: Path, kind: str, arrival: str
) -> None:
    items, changed, path, before, now = CHANGES[kind]

    def program(asked: Sequence[Any], start: Callable[[], Awaitable[None]] = in_turn) -> None:
        async def main() -> None:
            waits = [start() for _ in asked]
            await gathered([after(wait, partial(quote, item)) for wait, item in zip(waits, asked, strict=True)])

        asyncio.run(main())

    recorded(tmp_path / "run.jsonl", lambda: program(items))
    others = [item for item in items if item is not items[7]]
    for _ in range(3):
        random.shuffle(others)
        at = {"first": 0, "middle": 5, "last": 9}.get(arrival)
        asked = [*others[:at], changed, *others[at:]] if at is not None else [*items[:7], changed, *items[8:]]
        with pytest.raises(DivergenceError) as caught, tracetape.replay(tmp_path / "run.jsonl") as tape:
            program(asked, jitter if arrival == "jitter" else in_turn)
        told = [(one.kind, one.name, [str(change) for change in one.changes]) for one in tape.report.divergences]
        assert told == [("changed", "quote@8", [f"{path}: recorded {before}, now {now}"])]
        assert f"DIVERGED: quote@8 was called with other inputs than recorded (before the cut)\n  {path}: " in str(
            caught.value
        )
        assert ran == []


@pytest.mark.parametrize("kind", CHANGES)
def test_after_the_cut_a_changed_call_among_equals_is_the_stale_one(tmp_path: Path, kind: str) -> None:
    items, changed, path, before, now = CHANGES[kind]

    def program(asked: Sequence[Any], start: Callable[[], Awaitable[None]] = in_turn) -> list[Any]:
        fetch("first")

        async def main() -> list[Any]:
            return await gathered([after(start(), partial(quote, item)) for item in asked])

        return asyncio.run(main())

    original = recorded(tmp_path / "run.jsonl", lambda: program(items))
    asked = [*items[:7], changed, *items[8:]]
    for _ in range(3):
        with tracetape.replay(tmp_path / "run.jsonl", live=["fetch"]) as tape:
            assert program(asked, jitter) == original
        assert [one.name for one in tape.report.stale] == ["quote@8"]
        assert [str(one) for one in tape["quote", 8].changes] == [f"{path}: recorded {before}, now {now}"]


def in_a_pool(work: Callable[[int], Any], count: int) -> list[Any]:
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(tracetape.propagate(work), range(count)))


def in_a_pool_without_a_context(work: Callable[[int], Any], count: int) -> list[Any]:
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(work, range(count)))


def in_threads(
    work: Callable[[int], Any], count: int, carry: Callable[[Any], Any] = tracetape.propagate
) -> list[Any]:
    results: dict[int, Any] = {}
    together = threading.Barrier(8)

    def worker(first: int) -> None:
        together.wait()
        for number in range(first, count, 8):
            results[number] = work(number)

    threads = [threading.Thread(target=carry(worker), args=(first,)) for first in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [results[number] for number in range(count)]


def in_bare_threads(work: Callable[[int], Any], count: int) -> list[Any]:
    return in_threads(work, count, lambda function: function)


def in_to_thread(work: Callable[[int], Any], count: int) -> list[Any]:
    async def main() -> list[Any]:
        return await gathered([asyncio.to_thread(work, number) for number in range(count)])

    return asyncio.run(main())


def in_loops_of_threads(work: Callable[[int], Any], count: int) -> list[Any]:
    async def one(number: int) -> Any:
        await asyncio.sleep(0)
        return work(number)

    return in_threads(lambda number: asyncio.run(one(number)), count)


CARRIED = [in_a_pool, in_threads, in_to_thread, in_loops_of_threads]
BARE = [in_a_pool_without_a_context, in_bare_threads]


@pytest.mark.parametrize("run", [*CARRIED, *BARE])
def test_two_hundred_crossings_over_eight_threads_are_all_right(
    tmp_path: Path, run: Callable[[Callable[[int], Any], int], list[Any]]
) -> None:
    def program() -> list[Any]:
        return run(lambda number: fetch(f"page {number}"), 200)

    original = recorded(tmp_path / "run.jsonl", program)
    recording = tracetape.load(tmp_path / "run.jsonl")
    assert len(recording.crossings) == 200
    assert recording.gaps == ()
    with tracetape.replay(tmp_path / "run.jsonl", strict=True) as tape:
        assert program() == original == [{"fetched": f"page {number}"} for number in range(200)]
    assert (tape.report.verdict, len(tape.report.steps), ran) == ("same", 200, [])
    assert all(one.inputs == one.recorded.inputs for one in tape.report.steps if one.recorded is not None)


@pytest.mark.parametrize("run", CARRIED)
@pytest.mark.parametrize("live", [(), ("whole",)], ids=["outer served", "outer live"])
def test_what_carried_threads_call_hangs_under_the_call_that_started_them(
    tmp_path: Path, run: Callable[[Callable[[int], Any], int], list[Any]], live: Sequence[str]
) -> None:
    @tracetape.boundary("whole", kind="agent")
    def whole() -> list[Any]:
        return run(fetch, 40)

    original = recorded(tmp_path / "run.jsonl", whole)
    [root] = tracetape.load(tmp_path / "run.jsonl").roots
    assert (root.boundary, len(root.children)) == ("whole", 40)
    with tracetape.replay(tmp_path / "run.jsonl", live=live, strict=True) as tape:
        assert whole() == original
    assert ran == []
    assert len(tape.report.steps) == (41 if live else 1)
    assert all(one.parent is tape["whole", 1] for one in tape.report.steps[1:])


@pytest.mark.parametrize("run", [*CARRIED, *BARE])
def test_identical_calls_of_threads_get_each_answer_once(
    tmp_path: Path, run: Callable[[Callable[[int], Any], int], list[Any]]
) -> None:
    def program() -> list[Any]:
        return run(lambda number: step("the same"), 40)

    original = recorded(tmp_path / "run.jsonl", program)
    with tracetape.replay(tmp_path / "run.jsonl") as tape:
        again = program()
    assert sorted(again) == sorted(original)
    assert len(set(again)) == 40
    assert tape.report.verdict == "same"


@pytest.mark.parametrize("run", [*CARRIED, *BARE])
def test_a_changed_call_of_a_thread_is_blamed_itself(
    tmp_path: Path, run: Callable[[Callable[[int], Any], int], list[Any]]
) -> None:
    def program(changed: str = "page 57") -> None:
        def work(number: int) -> Any:
            try:
                return fetch(changed if number == 57 else f"page {number}")
            except BaseException:
                return None

        run(work, 200)

    recorded(tmp_path / "run.jsonl", program)
    with pytest.raises(DivergenceError) as caught, tracetape.replay(tmp_path / "run.jsonl"):
        program("page 57 of the appendix")
    report = caught.value.report
    assert report is not None
    [divergence] = report.divergences
    assert [str(one) for one in divergence.changes] == [
        '$.item: recorded "page 57", now "page 57 of the appendix"'
    ]
    assert tracetape.load(tmp_path / "run.jsonl")["fetch", int(divergence.name.split("@")[1])].inputs == {
        "item": "page 57"
    }


@pytest.mark.parametrize("live", [(), ("visit",)], ids=["outer served", "outer live"])
@pytest.mark.parametrize("items", [TEXTS, ["the same"] * 6], ids=["different", "identical"])
def test_nested_calls_of_tasks_are_answered_from_under_their_own_caller(
    tmp_path: Path, items: list[str], live: Sequence[str]
) -> None:
    """All ask for `next page`: the parent alone tells whose it is."""
    is_same = len(set(items)) == 1

    def program() -> list[Any]:
        async def main() -> list[Any]:
            # Identical ones have nothing but the order of their starts.
            starts = [in_turn() if is_same else jitter() for _ in items]
            return await gathered(
                [after(wait, partial(visit, item)) for wait, item in zip(starts, items, strict=True)]
            )

        return asyncio.run(main())

    original = recorded(tmp_path / "run.jsonl", program)
    assert len({number for pages in original for number in pages}) == 2 * len(items)
    for _ in range(3):
        with tracetape.replay(tmp_path / "run.jsonl", live=live) as tape:
            assert program() == original
        assert sorted(ran) == (sorted(items) if live else [])
        ran.clear()
        assert tape.report.verdict == "same"
        assert len(tape.report.steps) == len(items) * (3 if live else 1)


@pytest.mark.parametrize("live", [(), ("job",)], ids=["outer served", "outer live"])
@pytest.mark.parametrize("run", [*CARRIED, *BARE])
def test_nested_calls_of_threads_are_answered_from_under_their_own_caller(
    tmp_path: Path, run: Callable[[Callable[[int], Any], int], list[Any]], live: Sequence[str]
) -> None:
    def program() -> list[Any]:
        return run(job, 40)

    original = recorded(tmp_path / "run.jsonl", program)
    with tracetape.replay(tmp_path / "run.jsonl", live=live) as tape:
        assert program() == original
    assert {"first", "second"}.isdisjoint(ran)
    assert sorted(ran) == (list(range(40)) if live else [])
    assert tape.report.verdict == "same"
    assert len(tape.report.steps) == (160 if live else 40)


def test_one_outer_call_live_among_served_ones_has_its_own_inside(tmp_path: Path) -> None:
    def program() -> list[Any]:
        async def main() -> list[Any]:
            return await gathered([after(jitter(), partial(visit, item)) for item in TEXTS])

        return asyncio.run(main())

    original = recorded(tmp_path / "run.jsonl", program)
    name = next(
        one.name for one in tracetape.load(tmp_path / "run.jsonl").roots if one.inputs == {"item": "item-4"}
    )
    for _ in range(3):
        with tracetape.replay(tmp_path / "run.jsonl", live=[name]) as tape:
            assert program() == original
        assert [one.name for one in tape.report.live_calls] == [name]
        assert len(tape.report.steps) == 12
        assert all(one.parent is None or one.parent.name == name for one in tape.report.steps)


# -- time-outs


async def forever() -> None:
    """Under any event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        import trio

        await trio.sleep_forever()
    await asyncio.Event().wait()


@tracetape.boundary("slow", kind="llm")
async def slow() -> str:
    ran.append("slow")
    await forever()
    return "too late"


@tracetape.boundary("slow", kind="llm")
async def slow_tokens() -> Any:
    ran.append("slow")
    yield "token"
    await forever()


@tracetape.boundary("slow", kind="llm")
def slow_handed_out() -> Coroutine[Any, Any, str]:
    async def waiting() -> str:
        await forever()
        return "too late"

    ran.append("slow")
    return waiting()


async def slow_stream() -> str:
    return "".join([token async for token in slow_tokens()])


Slow = Callable[[], Coroutine[Any, Any, str]]


async def by_wait_for(call: Slow) -> str:
    try:
        return await asyncio.wait_for(call(), 0.01)
    except TimeoutError:
        return "timed out"


async def by_timeout(call: Slow) -> str:
    try:
        async with asyncio.timeout(0.01):
            return await call()
    except TimeoutError:
        return "timed out"


async def by_cancelling(call: Slow) -> str:
    task = asyncio.create_task(call())
    await asyncio.sleep(0.01)
    task.cancel("no longer needed")
    try:
        return await task
    except asyncio.CancelledError:
        return "timed out"


async def by_waiting_for_the_first(call: Slow) -> str:
    task = asyncio.create_task(call())
    done, _ = await asyncio.wait({task, asyncio.create_task(asyncio.sleep(0.01))}, return_when="FIRST_COMPLETED")
    task.cancel()
    await asyncio.wait({task})
    return "timed out" if task.cancelled() and task not in done else "answered"


async def by_a_task_group(call: Slow) -> str:
    class Late(Exception):
        pass

    async def hurry() -> None:
        await asyncio.sleep(0.01)
        raise Late

    late: list[Exception] = []
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(call())
            group.create_task(hurry())
    except* Late as group_of_one:
        late += group_of_one.exceptions
    return "timed out" if late else "answered"


async def by_move_on_after(call: Slow) -> str:
    import anyio

    with anyio.move_on_after(0.01) as scope:
        return await call()
    return "timed out" if scope.cancelled_caught else "answered"


async def by_fail_after(call: Slow) -> str:
    import anyio

    try:
        with anyio.fail_after(0.01):
            return await call()
    except TimeoutError:
        return "timed out"


async def by_the_scope_of_a_group(call: Slow) -> str:
    import anyio

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    return "timed out"


Impatient = Callable[[Slow], Coroutine[Any, Any, str]]


def on_asyncio(program: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> Any:
    return asyncio.run(program(*arguments))


def on_trio(program: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> Any:
    import trio

    return trio.run(program, *arguments)


OF_ASYNCIO: list[Impatient] = [by_wait_for, by_timeout, by_cancelling, by_waiting_for_the_first, by_a_task_group]
OF_ANYIO: list[Impatient] = [by_move_on_after, by_fail_after, by_the_scope_of_a_group]
TIMEOUTS = [
    *((on_asyncio, one) for one in OF_ASYNCIO),
    *(pytest.param(loop, one, marks=pytest.mark.optional) for loop in (on_asyncio, on_trio) for one in OF_ANYIO),
]


@pytest.mark.parametrize("call", [slow, slow_stream, slow_handed_out])
@pytest.mark.parametrize(("loop", "program"), TIMEOUTS)
def test_a_call_that_timed_out_times_out_for_its_caller_again(
    tmp_path: Path, loop: Callable[..., Any], program: Impatient, call: Slow
) -> None:
    assert recorded(tmp_path / "run.jsonl", lambda: loop(program, call)) == "timed out"
    crossing = tracetape.load(tmp_path / "run.jsonl")["slow", 1]
    how = ("streamed", "raised") if call is slow_stream else ("cancelled", None)
    assert (crossing.outcome, crossing.stream_end) == how
    with tracetape.replay(tmp_path / "run.jsonl") as tape:
        assert loop(program, call) == "timed out"
    assert (tape.report.verdict, ran) == ("same", [])


@pytest.mark.parametrize("program", OF_ASYNCIO)
def test_a_time_out_among_calls_that_answer_is_the_same_one_again(tmp_path: Path, program: Impatient) -> None:
    async def main() -> list[Any]:
        return await gathered([quote("a"), program(slow), quote("b"), program(slow), quote("c")])

    original = recorded(tmp_path / "run.jsonl", lambda: asyncio.run(main()))
    assert original == [{"quoted": "a"}, "timed out", {"quoted": "b"}, "timed out", {"quoted": "c"}]
    with tracetape.replay(tmp_path / "run.jsonl") as tape:
        assert asyncio.run(main()) == original
    assert (tape.report.verdict, ran) == ("same", [])


def test_a_call_that_a_failing_sibling_had_cancelled_need_not_come_to_its_call_again(tmp_path: Path) -> None:
    """What failed late fails at once when it is served: then the sibling is cancelled on its way to its call."""
    waiting: list[asyncio.Event] = []

    @tracetape.boundary("fail", kind="tool")
    async def fail() -> None:
        await waiting[0].wait()
        raise ValueError("no such page")

    @tracetape.boundary("linger", kind="tool")
    async def linger() -> None:
        waiting[0].set()
        await forever()

    async def sibling() -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        await linger()

    async def main() -> list[str]:
        waiting[:] = [asyncio.Event()]
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(fail())
                group.create_task(sibling())
        except ExceptionGroup as error:
            return [str(one) for one in error.exceptions]
        return []

    assert recorded(tmp_path / "run.jsonl", lambda: asyncio.run(main())) == ["no such page"]
    assert tracetape.load(tmp_path / "run.jsonl")["linger", 1].outcome == "cancelled"
    with tracetape.replay(tmp_path / "run.jsonl") as tape:
        assert asyncio.run(main()) == ["no such page"]
    assert tape.report.verdict == "same"


# -- recordings side by side


@tracetape.boundary("authorise", kind="tool")
def authorise(request: int) -> int:
    return request


@tracetape.boundary("ask", kind="llm")
async def ask(request: int, part: int) -> int:
    await jitter()
    fetch(request)
    return request


@tracetape.boundary("say_goodbye", kind="tool")
def say_goodbye(request: int) -> int:
    return request


def of_request(folder: Path, request: int) -> list[str]:
    """The names in the recording of a request; fails where it has anything of another one."""
    recording = tracetape.load(folder / f"{request}.jsonl")
    assert recording.gaps == ()
    for crossing in recording.crossings:
        found = crossing.inputs.get("request", crossing.inputs.get("item"))
        assert found == request, f"{crossing.name} of {found} in the recording of {request}"
    return sorted(crossing.boundary for crossing in recording.crossings)


ONE_REQUEST = sorted(["authorise", *["ask", "fetch"] * 3, "say_goodbye"])


def test_recordings_of_tasks_never_mix(tmp_path: Path) -> None:
    async def handle(request: int) -> None:
        await jitter()
        with tracetape.record(tmp_path / f"{request}.jsonl"):
            authorise(request)
            await jitter()
            await asyncio.gather(*(ask(request, part) for part in range(3)))
            await asyncio.to_thread(say_goodbye, request)

    async def main() -> None:
        await asyncio.gather(*(handle(request) for request in range(20)))

    asyncio.run(main())
    assert [of_request(tmp_path, request) for request in range(20)] == [ONE_REQUEST] * 20


@pytest.mark.parametrize("carry", [tracetape.propagate, lambda function: function], ids=["carried", "bare"])
def test_recordings_of_threads_never_mix(tmp_path: Path, carry: Callable[[Any], Any]) -> None:
    together = threading.Barrier(8)

    def handle(request: int) -> None:
        together.wait()
        with tracetape.record(tmp_path / f"{request}.jsonl"):
            together.wait()
            authorise(request)
            asyncio.run(gathered([ask(request, part) for part in range(3)]))
            together.wait()
            say_goodbye(request)

    threads = [threading.Thread(target=carry(handle), args=(request,)) for request in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [of_request(tmp_path, request) for request in range(8)] == [ONE_REQUEST] * 8


def test_a_recording_inside_another_one_goes_to_both_of_its_context_alone(tmp_path: Path) -> None:
    async def handle(request: int) -> None:
        with tracetape.record(tmp_path / f"{request}.jsonl"):
            await jitter()
            authorise(request)
            with tracetape.record(tmp_path / f"inner-{request}.jsonl"):
                await ask(request, 0)
            say_goodbye(request)

    async def main() -> None:
        await asyncio.gather(*(handle(request) for request in range(10)))

    asyncio.run(main())
    for request in range(10):
        assert of_request(tmp_path, request) == ["ask", "authorise", "fetch", "say_goodbye"]
        inner = tracetape.load(tmp_path / f"inner-{request}.jsonl")
        assert [(one.boundary, one.inputs) for one in inner.crossings] == [
            ("ask", {"request": request, "part": 0}),
            ("fetch", {"item": request}),
        ]


def test_replays_of_tasks_never_mix(tmp_path: Path) -> None:
    async def handle(request: int) -> list[Any]:
        await jitter()
        return [authorise(request), *(await gathered([ask(request, part) for part in range(3)]))]

    def record_one(request: int) -> None:
        with tracetape.record(tmp_path / f"{request}.jsonl"):
            asyncio.run(handle(request))

    for request in range(10):
        contextvars.copy_context().run(record_one, request)
    ran.clear()

    async def replay(request: int) -> list[Any]:
        with tracetape.replay(tmp_path / f"{request}.jsonl", strict=True) as tape:
            result = await handle(request)
        assert len(tape.report.steps) == 4
        return result

    async def main() -> list[Any]:
        return await gathered([replay(request) for request in range(10)])

    assert asyncio.run(main()) == [[request] * 4 for request in range(10)]
    assert ran == []


@pytest.mark.parametrize("carry", [tracetape.propagate, lambda function: function], ids=["carried", "bare"])
def test_replays_of_threads_never_mix(tmp_path: Path, carry: Callable[[Any], Any]) -> None:
    for request in range(8):
        recorded(tmp_path / f"{request}.jsonl", partial(fetch, request))
    together = threading.Barrier(8)
    verdicts: dict[int, list[str]] = {}

    def replay(request: int) -> None:
        together.wait()
        for _ in range(10):
            with tracetape.replay(tmp_path / f"{request}.jsonl", strict=True) as tape:
                fetch(request)
            verdicts.setdefault(request, []).append(tape.report.verdict)

    threads = [threading.Thread(target=carry(replay), args=(request,)) for request in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verdicts == {request: ["same"] * 10 for request in range(8)}
    assert ran == []


@pytest.mark.optional
@pytest.mark.parametrize("endpoint", ["async", "sync"])
def test_twenty_concurrent_requests_of_an_app_have_a_recording_each(tmp_path: Path, endpoint: str) -> None:
    import fastapi
    import httpx

    async def recording(request: int) -> Any:
        await jitter()
        with tracetape.record(tmp_path / f"{request}.jsonl"):
            yield

    def authorised(request: int) -> Iterator[None]:
        """Runs in a pool: entered in one thread, left in another."""
        authorise(request)
        yield
        say_goodbye(request)

    async def asynchronous(request: int) -> list[int]:
        return list(await asyncio.gather(*(ask(request, part) for part in range(3))))

    def synchronous(request: int) -> list[int]:
        return asyncio.run(gathered([ask(request, part) for part in range(3)]))

    app = fastapi.FastAPI(dependencies=[fastapi.Depends(recording), fastapi.Depends(authorised)])
    app.get("/{request}")({"async": asynchronous, "sync": synchronous}[endpoint])
    asyncio.run(twenty_requests(httpx.ASGITransport(app)))
    assert [of_request(tmp_path, request) for request in range(20)] == [ONE_REQUEST] * 20


@pytest.mark.optional
def test_recordings_that_dependencies_open_in_a_pool_never_mix(tmp_path: Path) -> None:
    """What such a dependency opens is in no context of the endpoint: what belongs to none is counted."""
    import fastapi
    import httpx

    def recording(request: int) -> Iterator[None]:
        with tracetape.record(tmp_path / f"{request}.jsonl"):
            authorise(request)
            yield

    async def endpoint(request: int) -> list[int]:
        return list(await asyncio.gather(*(ask(request, part) for part in range(3))))

    app = fastapi.FastAPI(dependencies=[fastapi.Depends(recording)])
    app.get("/{request}")(endpoint)
    asyncio.run(twenty_requests(httpx.ASGITransport(app)))
    for request in range(20):
        recording_of = tracetape.load(tmp_path / f"{request}.jsonl")
        assert {one.inputs["request"] for one in recording_of.crossings if "request" in one.inputs} == {request}
        assert {one.inputs["item"] for one in recording_of.crossings if "item" in one.inputs} <= {request}
        assert {gap.code for gap in recording_of.gaps} <= {"UNPLACED"}


async def twenty_requests(transport: Any) -> None:
    import httpx

    async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
        answers = await asyncio.gather(*(client.get(f"/{request}") for request in range(20)))
    assert [(answer.status_code, answer.json()) for answer in answers] == [
        (200, [request] * 3) for request in range(20)
    ]


# -- identical calls of unlike tasks


@pytest.mark.parametrize("strict", [False, True])
def test_of_identical_calls_each_task_gets_the_answer_that_it_got(tmp_path: Path, strict: bool) -> None:
    """What is served is there at once: on replay the tasks come to the same call in another order."""
    ratings = itertools.count(1)

    @tracetape.boundary("look_up", kind="retrieval")
    async def look_up(name: str, ticks: int) -> str:
        for _ in range(ticks):
            await asyncio.sleep(0)
        return f"about {name}"

    @tracetape.boundary("rate", kind="llm")
    async def rate(scale: str) -> int:
        return next(ratings)

    async def program() -> list[list[int]]:
        async def one(number: int) -> list[int]:
            await look_up(f"item {number}", 10 * (6 - number))
            first = await rate("1 to 6")
            await look_up(f"more of {number}", 10 * number)
            return [first, await rate("1 to 6")]

        return await asyncio.gather(*map(one, range(6)))

    with tracetape.record(tmp_path / "run.jsonl"):
        recorded = asyncio.run(program())
    assert [first for first, _ in recorded] == [6, 5, 4, 3, 2, 1], "the last one came first"
    with tracetape.replay(tmp_path / "run.jsonl", strict=strict) as tape:
        assert asyncio.run(program()) == recorded
    assert tape.report.verdict == "same"


def test_what_is_called_inside_a_call_does_not_count_as_the_call_before(tmp_path: Path) -> None:
    """It is not called when that one is served."""
    drawn = itertools.count(1)

    @tracetape.boundary("draw", kind="tool")
    async def draw() -> int:
        return next(drawn)

    @tracetape.boundary("think", kind="agent")
    async def think(name: str, ticks: int) -> None:
        for _ in range(ticks):
            await asyncio.sleep(0)
        await draw()

    async def program() -> list[int]:
        async def one(number: int) -> int:
            await think(f"{number}", 10 * (4 - number))
            await asyncio.sleep(0)
            return await draw()

        return await asyncio.gather(*map(one, range(4)))

    with tracetape.record(tmp_path / "run.jsonl"):
        recorded = asyncio.run(program())
    for live in ([], ["think"]):
        drawn = itertools.count(100)
        with tracetape.replay(tmp_path / "run.jsonl", live=live):
            assert asyncio.run(program()) == recorded
