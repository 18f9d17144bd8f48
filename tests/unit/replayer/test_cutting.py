"""What is before the cut and what after it, by the recording alone."""

from __future__ import annotations

from tests.unit.replayer.recordings import crossing, recording
from tracetape.model.plan import ReplayPlan
from tracetape.replayer.cutting import after_cut

LIVE = ReplayPlan().live("cut")


def test_in_one_process_what_started_later_is_after_and_the_clock_does_not_matter() -> None:
    run = recording(
        crossing("a", {}, span=(0, 1), seq=1),
        crossing("cut", {}, span=(1, 2), seq=2),
        crossing("b", {}, span=(2, 3), seq=3),
        crossing("clock stepped back", {}, span=(0, 1), seq=4),
    )
    assert after_cut(run.crossings, LIVE) == [False, False, True, True]


def test_what_started_while_the_live_call_ran_is_not_after_it() -> None:
    run = recording(
        crossing("cut", {}, span=(0, 10), seq=1),
        crossing("beside", {}, span=(5, 20), seq=2),
        crossing("after", {}, span=(10, 11), seq=3),
    )
    assert after_cut(run.crossings, LIVE) == [False, False, True]


def test_across_processes_and_in_foreign_traces_the_recorded_times_decide() -> None:
    run = recording(
        crossing("cut", {}, span=(0, 10), seq=5, process="one"),
        crossing("early", {}, span=(9, 11), seq=9, process="two"),
        crossing("late", {}, span=(10, 11), seq=1, process="two"),
        crossing("foreign", {}, span=(12, 13), seq=None),
    )
    assert after_cut(run.crossings, LIVE) == [False, False, True, True]


def test_without_a_live_call_nothing_is_after_the_cut() -> None:
    run = recording(crossing("a", {}, seq=1), crossing("b", {}, seq=2))
    assert after_cut(run.crossings, ReplayPlan().stub("a")) == [False, False]


def test_the_earliest_of_several_cuts_counts() -> None:
    run = recording(
        crossing("cut", {}, span=(0, 100), seq=1),
        crossing("cut", {}, span=(1, 2), seq=2),
        crossing("b", {}, span=(3, 4), seq=3),
    )
    assert after_cut(run.crossings, LIVE) == [False, False, True]
