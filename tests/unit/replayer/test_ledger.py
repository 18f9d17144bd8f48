"""Which calls use a stub up, and which only borrow it."""

from __future__ import annotations

import asyncio
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest

import tracetape
from tracetape import ReplayPlan
from tracetape.codec.text_keys import key_of_text
from tracetape.errors import DivergenceError
from tracetape.replayer import stubs

pages: list[str] = []


@tracetape.boundary("plan_pages", kind="router")
def plan_pages() -> list[str]:
    return list(pages)


@tracetape.boundary("fetch_page", kind="retrieval")
def fetch_page(page: str, request: str = "") -> str:
    return f"text of {page}"


def program(request: Any = lambda: "") -> dict[str, str]:
    return {page: fetch_page(page, request()) for page in plan_pages()}


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    pages[:] = ["a", "b", "c"]
    path = tmp_path / "run.jsonl"
    with tracetape.record(path):
        program()
    return path


def test_a_stale_answer_is_still_there_for_the_call_that_it_was_recorded_for(recorded: Path) -> None:
    """One page more first: the others do not each get the next one's text."""
    pages[:] = ["x", "a", "b"]
    with tracetape.replay(recorded, live=["plan_pages"]) as tape:
        assert tape.run(program) == {"x": "text of a", "a": "text of a", "b": "text of b"}
    assert [step.name for step in tape.report.stale] == ["fetch_page@new@1"]
    assert tape["fetch_page", 1].inputs["page"] == "a"
    assert tape["fetch_page", "new@1"].inputs["page"] == "x"
    assert tape.report.notes == ["not called after the cut: fetch_page@3"]


def test_the_same_holds_under_ids_that_each_run_makes_anew(tmp_path: Path) -> None:
    def fresh() -> str:
        return f"call_{uuid.uuid4().hex}"

    pages[:] = ["a", "b", "c"]
    path = tmp_path / "run.jsonl"
    with tracetape.record(path):
        program(fresh)
    pages[:] = ["x", "a", "b"]
    with tracetape.replay(path, live=["plan_pages"]) as tape:
        assert tape.run(program, fresh) == {"x": "text of a", "a": "text of a", "b": "text of b"}
    assert len(tape.report.stale) == 1


def test_each_answer_is_lent_once(recorded: Path) -> None:
    pages[:] = ["x", "y", "z", "a"]
    with tracetape.replay(recorded, live=["plan_pages"]) as tape:
        answers = tape.run(program)
    assert answers == {"x": "text of a", "y": "text of b", "z": "text of c", "a": "text of a"}
    pages[:] = ["w", "x", "y", "z"]
    with tracetape.replay(recorded, live=["plan_pages"]) as tape:
        assert tape.run(program) is tracetape.ENDED, "three answers, four calls of which it knows none"


def test_what_a_plan_serves_by_hand_is_lent_too(recorded: Path) -> None:
    pages[:] = ["a", "b", "c"]
    with tracetape.replay(recorded, ReplayPlan().stub("fetch_page")) as tape:
        assert fetch_page("x") == "text of a"
        assert program() == {"a": "text of a", "b": "text of b", "c": "text of c"}
    assert tape.report.steps[0].name == "fetch_page@new@1"


def test_what_was_lent_alone_is_not_missing(recorded: Path) -> None:
    with tracetape.replay(recorded, ReplayPlan().stub("fetch_page")) as tape:
        plan_pages()
        for page in ("x", "y", "z"):
            fetch_page(page)
    assert tape.report.verdict == "same"
    with pytest.raises(DivergenceError, match="fetch_page@2: its inputs differ"):
        with tracetape.replay(recorded, ReplayPlan().stub("fetch_page"), strict=True):
            plan_pages()
            for page in ("a", "y", "c"):
                fetch_page(page)


def test_before_the_cut_nothing_is_lent(recorded: Path) -> None:
    with pytest.raises(DivergenceError, match="fetch_page@1 was called with other inputs"):
        with tracetape.replay(recorded):
            plan_pages()
            fetch_page("x")


def test_calls_that_are_equal_but_for_the_order_of_names_are_answered_in_their_order(tmp_path: Path) -> None:
    """Where a set makes the order, each run has another. That a text is the same is no reason to skip one."""
    answers = iter(range(9))

    @tracetape.boundary("poll")
    def poll(job: dict[str, int]) -> int:
        return next(answers)

    one, other = {"a": 1, "b": 2}, {"b": 2, "a": 1}
    path = tmp_path / "run.jsonl"
    with tracetape.record(path):
        recorded = [poll(one), poll(other), poll(one), poll(other)]
    for order in ((other, one, other, one), (one, one, other, other), (other, other, one, one)):
        with tracetape.replay(path) as tape:
            assert [poll(job) for job in order] == recorded
        assert [list(tape["poll", n].inputs["job"]) for n in (1, 2, 3, 4)] == [list(job) for job in order]


def test_a_call_that_comes_where_it_was_recorded_is_found_behind_an_equal_one_that_is_left_out(
    tmp_path: Path,
) -> None:
    answers = iter(range(9))

    @tracetape.boundary("poll")
    def poll(job: str) -> int:
        return next(answers)

    @tracetape.boundary("note")
    def note(text: str) -> None:
        return None

    path = tmp_path / "run.jsonl"
    with tracetape.record(path):
        poll("x")
        note("between")
        poll("x")
    with pytest.raises(DivergenceError, match="poll@1 is in the recording and was never called"):
        with tracetape.replay(path):
            note("between")
            assert poll("x") == 1


def test_a_signal_handler_that_calls_in_the_middle_of_making_keys_does_not_begin_them_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each one would be interrupted by the next, until the stack is full."""
    ticks = iter(range(100))

    @tracetape.boundary("tick")
    def tick() -> int:
        return next(ticks)

    @tracetape.boundary("note")
    def note(number: int) -> int:
        return number

    path = tmp_path / "run.jsonl"
    with tracetape.record(path):
        for number in range(20):
            note(number)
            tick()
    asked: list[int] = []

    def interrupted(utf8: bytes) -> bytes | None:
        if len(asked) < 5:
            asked.append(tick())
        return key_of_text(utf8)

    monkeypatch.setattr(stubs, "key_of_text", interrupted)
    with tracetape.replay(path) as tape:
        assert tick() == 5  # not next in its order, so that the keys are made
        assert [tick() for _ in range(14)] == list(range(6, 20))
        for number in range(20):
            note(number)
    assert tape.report.verdict == "same"
    assert asked == [0, 1, 2, 3, 4]


def test_equal_calls_of_tasks_that_were_started_together_are_answered_in_their_order(tmp_path: Path) -> None:
    answers = iter(range(9))

    @tracetape.boundary("search")
    async def search(filters: dict[str, str]) -> int:
        return next(answers)

    one, other = {"lang": "en", "kind": "doc"}, {"kind": "doc", "lang": "en"}

    async def program(*asked: dict[str, str]) -> list[int]:
        return list(await asyncio.gather(*map(search, asked)))

    path = tmp_path / "run.jsonl"
    with tracetape.record(path):
        recorded = asyncio.run(program(one, other))
    with tracetape.replay(path):
        assert asyncio.run(program(other, one)) == recorded


def test_an_equal_call_of_a_bare_thread_in_a_served_call_does_not_answer_for_the_program(tmp_path: Path) -> None:
    answers = iter(range(9))

    @tracetape.boundary("ask")
    def ask(filters: dict[str, str]) -> int:
        return next(answers)

    @tracetape.boundary("agent")
    def agent() -> None:
        thread = threading.Thread(target=ask, args=({"kind": "doc", "lang": "en"},))
        thread.start()
        thread.join()

    def program(filters: dict[str, str]) -> int:
        found = ask(filters)
        agent()
        return found

    path = tmp_path / "run.jsonl"
    with tracetape.record(path):
        recorded = program({"lang": "en", "kind": "doc"})
    with tracetape.replay(path) as tape:
        assert program({"kind": "doc", "lang": "en"}) == recorded
    assert tape.report.verdict == "same"
