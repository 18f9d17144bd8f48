"""Which recorded crossing answers a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tests.unit.replayer.recordings import crossing, recording
from tracetape.codec.canonical import IgnorePaths, canonical, match_key
from tracetape.model.crossing import Crossing
from tracetape.model.plan import ReplayPlan
from tracetape.model.recording import Recording
from tracetape.replayer.matching import Asked, Match, find
from tracetape.replayer.stubs import Stub, StubTable


def ask(
    run: Recording,
    boundary: str,
    inputs: Any,
    *,
    used: Iterable[int] = (),
    under: Crossing | None = None,
    loose: bool = False,
) -> Match:
    taken = set(used)

    def unused(stubs: Sequence[Stub]) -> Iterator[Stub]:
        return (stub for stub in stubs if stub.position not in taken)

    tree = canonical(inputs)
    table = StubTable(run, ReplayPlan(), IgnorePaths(()))
    return find(table, Asked(boundary, tree, match_key(tree), under, loose), unused)


def answer(match: Match) -> tuple[str, int | None]:
    return match.kind, match.stub.crossing.occurrence if match.stub else None


RUN = recording(crossing("a", {"x": 1}), crossing("a", {"x": 2}), crossing("a", {"x": 1}))


def test_an_equal_one_answers_wherever_it_stands() -> None:
    assert answer(ask(RUN, "a", {"x": 2})) == ("equal", 2)


def test_of_identical_calls_each_is_used_once_in_order() -> None:
    assert answer(ask(RUN, "a", {"x": 1})) == ("equal", 1)
    assert answer(ask(RUN, "a", {"x": 1}, used=[0])) == ("equal", 3)


def test_without_an_equal_one_the_nearest_has_changed() -> None:
    run = recording(crossing("a", {"x": 1, "y": 1}), crossing("a", {"x": 2, "y": 2}))
    match = ask(run, "a", {"x": 2, "y": 3})
    assert answer(match) == ("changed", 2)
    assert [str(change) for change in match.changes] == ["$.y: recorded 2, now 3"]


def test_when_all_are_used_up_the_call_is_unrecorded_and_names_the_nearest() -> None:
    match = ask(RUN, "a", {"x": 2}, used=[0, 1, 2])
    assert answer(match) == ("unrecorded", None)
    assert match.nearest is not None
    assert match.nearest.crossing.occurrence == 2
    assert ask(RUN, "b", {}).nearest is None


def test_an_equal_one_under_another_parent_has_moved() -> None:
    parent = crossing("p", {})
    run = recording(parent, crossing("a", {"x": 1}, parent=parent))
    assert answer(ask(run, "a", {"x": 1})) == ("moved", 1)
    assert answer(ask(run, "a", {"x": 5})) == ("unrecorded", None)


def test_under_its_parent_an_equal_one_comes_first_there() -> None:
    parent = crossing("p", {})
    run = recording(parent, crossing("a", {"x": 1}), crossing("a", {"x": 1}, parent=parent))
    assert answer(ask(run, "a", {"x": 1}, under=parent)) == ("equal", 2)
    assert answer(ask(run, "a", {"x": 1})) == ("equal", 1)


def test_inside_a_live_call_the_search_goes_on_anywhere() -> None:
    parent = crossing("p", {})
    run = recording(parent, crossing("a", {"x": 1}))
    assert answer(ask(run, "a", {"x": 1}, under=parent, loose=True)) == ("equal", 1)
    assert answer(ask(run, "a", {"x": 9}, under=parent, loose=True)) == ("changed", 1)


def test_a_crossing_without_recorded_inputs_fits_any_call() -> None:
    assert answer(ask(recording(crossing("a", None)), "a", {"x": 1})) == ("equal", 1)
