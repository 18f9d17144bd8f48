"""The table of the plan, row by row."""

from __future__ import annotations

import pytest

from tracetape.model.plan import PlanEntry, ReplayPlan
from tracetape.replayer.deciding import Decision, Situation, decide

SERVE, STALE = Decision("serve"), Decision("serve", stale=True)
RUN, HALT, END, PATCH = Decision("run"), Decision("halt"), Decision("end"), Decision("patch")

# (match, after the cut) of the four columns.
EQUAL, BEFORE, AFTER = ("equal", False), ("changed", False), ("changed", True)
NEW_BEFORE, NEW_AFTER = ("unrecorded", False), ("unrecorded", True)

ROWS = {
    None: {EQUAL: SERVE, BEFORE: HALT, AFTER: STALE, NEW_BEFORE: HALT, NEW_AFTER: END},
    "stub": {EQUAL: SERVE, BEFORE: SERVE, AFTER: SERVE, NEW_BEFORE: HALT, NEW_AFTER: END},
    "live": {EQUAL: RUN, BEFORE: RUN, AFTER: RUN, NEW_BEFORE: RUN, NEW_AFTER: RUN},
    "patched": {EQUAL: PATCH, BEFORE: PATCH, AFTER: PATCH, NEW_BEFORE: HALT, NEW_AFTER: END},
}


def entry(mode: str | None) -> PlanEntry | None:
    return None if mode is None else PlanEntry("b", None, mode)


@pytest.mark.parametrize(
    ("mode", "column", "expected"),
    [(mode, column, expected) for mode, row in ROWS.items() for column, expected in row.items()],
)
def test_each_cell_of_the_table(mode: str | None, column: tuple[str, bool], expected: Decision) -> None:
    match, after = column
    assert decide(entry(mode), Situation(match, after, False, "llm"), "serve", False) == expected


@pytest.mark.parametrize("kind", ["tool", "memory"])
@pytest.mark.parametrize(
    ("match", "expected"), [("equal", SERVE), ("changed", HALT), ("unrecorded", HALT), ("moved", SERVE)]
)
def test_a_tool_or_memory_inside_a_live_call_must_be_as_recorded(
    kind: str, match: str, expected: Decision
) -> None:
    assert decide(None, Situation(match, True, True, kind), "serve", False) == expected


def test_a_model_inside_a_live_call_is_after_the_cut() -> None:
    assert decide(None, Situation("changed", True, True, "llm"), "serve", False) == STALE
    assert decide(None, Situation("unrecorded", True, True, "llm"), "serve", False) == END


def test_a_tool_inside_a_live_call_that_the_plan_names_follows_the_plan() -> None:
    assert decide(entry("live"), Situation("unrecorded", True, True, "tool"), "serve", False) == RUN


@pytest.mark.parametrize(
    ("after_cut", "strict", "changed", "unrecorded"),
    [("halt", False, HALT, HALT), ("live", False, RUN, RUN), ("serve", True, HALT, HALT)],
)
def test_after_cut_and_strict_rule_what_the_plan_does_not_name(
    after_cut: str, strict: bool, changed: Decision, unrecorded: Decision
) -> None:
    assert decide(None, Situation("changed", True, False, "llm"), after_cut, strict) == changed
    assert decide(None, Situation("unrecorded", True, False, "llm"), after_cut, strict) == unrecorded
    assert decide(None, Situation("changed", False, False, "llm"), after_cut, strict) == HALT
    assert decide(entry("stub"), Situation("changed", True, False, "llm"), after_cut, strict) == SERVE


def test_a_state_stated_anew_after_the_cut_ends_nothing() -> None:
    assert decide(None, Situation("unrecorded", True, False, "checkpoint"), "serve", False) == SERVE
    assert decide(None, Situation("unrecorded", False, False, "checkpoint"), "serve", False) == HALT


def test_of_a_plan_s_entries_the_one_for_an_occurrence_wins_then_the_latest() -> None:
    plan = ReplayPlan().live("a", 2).stub("a").patch("a", 2, 5).live("b").stub("b")
    assert [plan.entry_for("a", n).mode for n in (1, 2)] == ["stub", "patched"]  # type: ignore[union-attr]
    assert plan.entry_for("b", 1).mode == "stub"  # type: ignore[union-attr]
    assert plan.entry_for("a", None).mode == "stub"  # type: ignore[union-attr]
    assert ReplayPlan().live("a", 1).entry_for("a", None) is None
    assert plan.entry_for("c", 1) is None
