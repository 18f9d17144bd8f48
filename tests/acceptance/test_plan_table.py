"""Every row with every column of the plan's table, by what a program gets from a real replay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tracetape
from tracetape.errors import DivergenceError, PlanError

RECORDED, LIVE, PATCHED = "recorded", "ran", "patched"
says = RECORDED


@tracetape.boundary("think", kind="llm")
def think(about: str) -> str:
    return says


@tracetape.boundary("act", kind="tool")
def act(step: str) -> str:
    return says


@tracetape.boundary("conclude", kind="llm")
def conclude(about: str) -> str:
    return says


@tracetape.boundary("work", kind="agent")
def work(inner: Callable[[str], str], asked: str) -> str:
    return str(inner(asked))


@tracetape.boundary("look_up", kind="tool")
def look_up(key: str) -> str:
    return says


@tracetape.boundary("remember", kind="memory")
def remember(key: str) -> str:
    return says


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    with tracetape.record(path):
        think("same")
        act("same")
        conclude("same")
    return path


def entry(mode: str, name: str) -> tracetape.ReplayPlan:
    plan = tracetape.ReplayPlan()
    if mode == "stub":
        return plan.stub(name)
    if mode == "live":
        return plan.live(name)
    return plan.patch(name, 1, PATCHED) if mode == "patch" else plan


def replayed(
    monkeypatch: pytest.MonkeyPatch, path: Path, plan: Any, program: Any, **options: Any
) -> tuple[str, Any]:
    """What happened to the last call of the program → its word, and the report."""
    monkeypatch.setattr("tests.acceptance.test_plan_table.says", LIVE)
    answers: list[Any] = []

    def run() -> None:
        program(answers)

    try:
        with tracetape.replay(path, plan, **options) as tape:
            ended = tape.run(run)
    except DivergenceError as error:
        kinds = {one.kind for one in error.report.divergences} if error.report else set()
        return ("halt" if kinds - {"listed"} else "listed"), error.report
    word = {RECORDED: "serve", LIVE: "run", PATCHED: "patch"}
    return ("end" if ended is tracetape.ENDED else word[answers[-1]]), tape.report


def before(kind: str) -> Callable[[list[str]], None]:
    """The call in question stands before any cut."""

    def program(answers: list[str]) -> None:
        if kind == "unrecorded":
            think("same")
        answer = think("same" if kind == "equal" else "other")
        act("same")
        conclude("same")
        answers.append(answer)

    return program


def after(kind: str) -> Callable[[list[str]], None]:
    """The call in question stands after a live one."""

    def program(answers: list[str]) -> None:
        think("same")
        act("same")
        if kind == "unrecorded":
            conclude("same")
        answers.append(conclude("same" if kind == "equal" else "other"))

    return program


# Each row: what the plan says of the call; then what happens before the cut where its inputs are equal, changed,
# and where it is not in the recording; after the cut the same for after_cut "serve", "halt" and "live".
EQUAL, CHANGED, UNRECORDED = "equal", "changed", "unrecorded"
BEFORE = {
    "nothing": {EQUAL: "serve", CHANGED: "halt", UNRECORDED: "halt"},
    "stub": {EQUAL: "serve", CHANGED: "serve", UNRECORDED: "halt"},
    "live": {EQUAL: "run", CHANGED: "run", UNRECORDED: "run"},
    "patch": {EQUAL: "patch", CHANGED: "patch", UNRECORDED: "halt"},
}
AFTER = {
    "serve": {
        "nothing": {EQUAL: "serve", CHANGED: "serve", UNRECORDED: "end"},
        "stub": {EQUAL: "serve", CHANGED: "serve", UNRECORDED: "end"},
        "live": {EQUAL: "run", CHANGED: "run", UNRECORDED: "run"},
        "patch": {EQUAL: "patch", CHANGED: "patch", UNRECORDED: "end"},
    },
    "halt": {
        "nothing": {EQUAL: "serve", CHANGED: "halt", UNRECORDED: "halt"},
        "stub": {EQUAL: "serve", CHANGED: "serve", UNRECORDED: "halt"},
        "live": {EQUAL: "run", CHANGED: "run", UNRECORDED: "run"},
        "patch": {EQUAL: "patch", CHANGED: "patch", UNRECORDED: "halt"},
    },
    "live": {
        "nothing": {EQUAL: "serve", CHANGED: "run", UNRECORDED: "run"},
        "stub": {EQUAL: "serve", CHANGED: "serve", UNRECORDED: "run"},
        "live": {EQUAL: "run", CHANGED: "run", UNRECORDED: "run"},
        "patch": {EQUAL: "patch", CHANGED: "patch", UNRECORDED: "run"},
    },
}
ROWS = ["nothing", "stub", "live", "patch"]
COLUMNS = [EQUAL, CHANGED, UNRECORDED]


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("after_cut", ["serve", "halt", "live"])
def test_before_the_cut_each_cell_does_what_the_table_says(
    recorded: Path, monkeypatch: pytest.MonkeyPatch, row: str, column: str, after_cut: str
) -> None:
    """Whatever is said of what comes after it."""
    word, report = replayed(monkeypatch, recorded, entry(row, "think"), before(column), after_cut=after_cut)
    # What is patched is a cut itself: a second call of it comes after that.
    table = AFTER[after_cut] if (row, column) == ("patch", UNRECORDED) else BEFORE
    assert word == table[row][column]
    assert report.stale == []
    if row == "stub" and column == CHANGED:
        assert "think@1     stub  its inputs differ" in str(report), "served, and listed"


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("after_cut", ["serve", "halt", "live"])
def test_after_the_cut_each_cell_does_what_the_table_says(
    recorded: Path, monkeypatch: pytest.MonkeyPatch, row: str, column: str, after_cut: str
) -> None:
    plan = entry(row, "conclude").live("act")
    word, report = replayed(monkeypatch, recorded, plan, after(column), after_cut=after_cut)
    assert word == AFTER[after_cut][row][column]
    is_stale = (after_cut, row, column) == ("serve", "nothing", CHANGED)
    assert [step.name for step in report.stale] == (["conclude@1"] if is_stale else [])
    if is_stale:
        assert "1 stale" in report.first_line
    if word == "end":
        cut = "conclude@1 was patched" if row == "patch" else "act@1 ran live"
        assert f"left the recording at conclude@new@1, after {cut}" in str(report)


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("after_cut", ["serve", "live"])
def test_strict_halts_after_the_cut_too_and_makes_a_divergence_of_what_is_listed(
    recorded: Path, monkeypatch: pytest.MonkeyPatch, row: str, column: str, where: str, after_cut: str
) -> None:
    name = "think" if where == "before" else "conclude"
    plan = entry(row, name)
    program = before(column) if where == "before" else after(column)
    if where == "after":
        plan = plan.live("act")
    word, _ = replayed(monkeypatch, recorded, plan, program, strict=True, after_cut=after_cut)
    expected = (BEFORE if where == "before" else AFTER["halt"])[row][column]
    if column == CHANGED and (expected in ("serve", "patch") or (where, expected) == ("before", "run")):
        expected = "listed"
    assert word == expected


INSIDE = {
    "nothing": {EQUAL: "serve", CHANGED: "halt", UNRECORDED: "halt"},
    "stub": {EQUAL: "serve", CHANGED: "serve", UNRECORDED: "end"},
    "live": {EQUAL: "run", CHANGED: "run", UNRECORDED: "run"},
    "patch": {EQUAL: "patch", CHANGED: "patch", UNRECORDED: "halt"},  # one of them was patched, and not this one
}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("inner", [look_up, remember], ids=["tool", "memory"])
@pytest.mark.parametrize("after_cut", ["serve", "live"])
def test_a_tool_or_memory_inside_a_live_call_is_never_answered_by_guess_nor_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str, column: str, inner: Any, after_cut: str
) -> None:
    """Whatever comes after the cut may be live: what a tool does inside of it costs money."""
    path = tmp_path / "run.jsonl"
    with tracetape.record(path):
        work(inner, "same")
    name = "look_up" if inner is look_up else "remember"

    def program(answers: list[str]) -> None:
        def twice(asked: str) -> str:
            inner("same")
            return str(inner("same"))

        asked = "other" if column == CHANGED else "same"
        answers.append(work(twice if column == UNRECORDED else inner, asked))

    plan = entry(row, name).live("work")
    word, report = replayed(monkeypatch, path, plan, program, after_cut=after_cut)
    expected = INSIDE[row][column]
    assert word == ("run" if expected == "end" and after_cut == "live" else expected)
    if (row, column) == ("nothing", CHANGED):
        assert (
            f"DIVERGED: work@1 ran live and asked {name}@1 for something that the recording does not have\n"
            '  $.key: recorded "same", now "other"\n'
            f'  to accept it: run it with live=["{name}"], or patch it with ReplayPlan().patch("{name}", 1, …)'
        ) in str(report)


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        (
            tracetape.ReplayPlan().stub("conclde"),
            "the plan names conclde, and {path} has no crossing of it; did you mean 'conclude'?",
        ),
        (
            tracetape.ReplayPlan().live("conclude", 2),
            "the plan names conclude@2, and {path} has 1 of conclude: the last is conclude@1",
        ),
        (
            tracetape.ReplayPlan().stub("act", 9),
            "the plan names act@9, and {path} has 1 of act: the last is act@1",
        ),
        (
            tracetape.ReplayPlan().patch("act", 2, None),
            "the plan names act@2, and {path} has 1 of act: the last is act@1",
        ),
        (
            tracetape.ReplayPlan().patch("Conclude", 1, None),
            "the plan names Conclude@1, and {path} has no crossing of it; did you mean 'conclude'?",
        ),
    ],
)
def test_names_and_occurrences_that_are_not_there_are_refused_with_the_nearest(
    recorded: Path, plan: tracetape.ReplayPlan, says: str
) -> None:
    with pytest.raises(PlanError) as caught:
        tracetape.replay(recorded, plan)
    assert str(caught.value) == says.format(path=recorded)
