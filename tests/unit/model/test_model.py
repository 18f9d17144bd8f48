"""The frozen types: names, plans, recordings, reports."""

from __future__ import annotations

import pytest

from tests.unit.replayer.recordings import crossing, recording
from tracetape.errors import PlanError, TracetapeError, UsageError
from tracetape.model.names import nearest, split_name
from tracetape.model.plan import ReplayPlan
from tracetape.model.report import Difference, Divergence, Report, Step
from tracetape.model.span import Gap


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("place_order", ("place_order", None)),
        ("place_order@2", ("place_order", 2)),
        ("user@host@10", ("user@host", 10)),
        ("user@host", ("user@host", None)),
        ("@3", ("@3", None)),
    ],
)
def test_names_split_at_the_last_at_that_digits_follow(text: str, expected: tuple[str, int | None]) -> None:
    assert split_name(text) == expected


def test_a_wrong_name_is_answered_with_the_nearest_or_with_what_there_is() -> None:
    assert nearest("place_oder", ["place_order", "agent"]) == "; did you mean 'place_order'?"
    assert nearest("zzz", ["a", "b"]) == "; there are: a, b"
    assert nearest("zzz", []) == "; there are none"


def test_a_recording_is_asked_by_name_and_occurrence_from_1() -> None:
    run = recording(crossing("a", {"x": 1}, 5), crossing("a", {"x": 2}, 6))
    assert run["a", 2].result == 6
    for key, message in [
        (("a", 3), "a@3 is not in the recording: a has 2 crossing(s), so the last is a@2"),
        (("b", 1), "no crossing of 'b' in the recording; there are: a"),
        ("a", "a crossing is looked up as recording[\"name\", 1], not by 'a'"),
    ]:
        with pytest.raises(UsageError) as caught:
            run[key]  # type: ignore[index]
        assert str(caught.value) == message


def test_an_unusable_crossing_is_an_obstacle_only_if_it_would_be_served() -> None:
    outer = crossing("outer", {})
    gap = Gap("OPAQUE_VALUE", "the outcome is a socket")
    inner = crossing("inner", {}, parent=outer, grade="unusable", gaps=(gap,))
    run = recording(outer, inner)
    assert run.grade == "unusable"
    assert run.obstacles() == []
    assert run.obstacles(ReplayPlan().live("outer")) == ["inner@1: the outcome is a socket"]
    assert run.obstacles(ReplayPlan().live("outer").live("inner")) == []
    assert recording().obstacles() == [
        "the recording has no crossings: none of its spans was written at a boundary that we read"
    ]


def test_plans_are_values() -> None:
    empty = ReplayPlan()
    plan = empty.live("a")
    assert empty.entries == ()
    assert plan == ReplayPlan().with_live(["a"])
    assert ReplayPlan().with_live("a@2").entries[0].occurrence == 2


def test_every_error_is_ours_and_has_a_code() -> None:
    assert issubclass(PlanError, TracetapeError)
    assert PlanError("x").code == "UNKNOWN_BOUNDARY"
    assert UsageError("x", code="SPECIAL").code == "SPECIAL"


def test_a_report_counts_and_lists() -> None:
    report = Report("run.jsonl", "1" * 32)
    report.steps += [
        Step("model", "1", "llm", "live", dict),
        Step("tool", "1", "tool", "stub", dict, changes=(Difference("$.x", "1", "2"),), stale=True),
    ]
    assert report.model_calls == 1
    assert str(report) == (
        "replay of run.jsonl: 1 live, 1 served, 1 stale, 0 divergences, model calls: 1\n"
        "\n"
        "  model@1  live  not in the recording\n"
        "  tool@1   stub  stale: its inputs differ, after the cut  $.x: recorded 1, now 2"
    )
    report.divergences.append(Divergence("changed", "a@1", "DIVERGED: a@1\n  why"))
    assert report.verdict == "diverged"
    assert str(report).startswith("replay of run.jsonl DIVERGED: ")


def test_what_a_terminal_would_obey_is_escaped_in_a_report() -> None:
    report = Report("run\x1b[2J.jsonl", "1" * 32, notes=["a\u202eb", "日本　語"])
    assert str(report).splitlines()[0].startswith("replay of run\\x1b[2J.jsonl:")
    assert "a\\u202eb" in str(report)
    assert "日本　語" in str(report)
