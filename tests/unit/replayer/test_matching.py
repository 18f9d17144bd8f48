"""Which recorded crossing answers a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from tests.unit.replayer.recordings import crossing, recording
from tracetape.codec.canonical import canonical
from tracetape.codec.ignore_paths import IgnorePaths
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
    table = StubTable.of(run, ReplayPlan(), IgnorePaths(()))
    return find(table, Asked(boundary, lambda: tree, under, loose), unused)


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


def at(n: int, inputs: Any, span: tuple[int, int]) -> Crossing:
    return crossing("a", inputs, span=span, seq=n)


@pytest.mark.parametrize(
    ("recorded", "asked", "meant"),
    [
        (["item-0", "item-7", "item-9"], "item-7 changed", 2),
        ([0, 9, 7], 7000, 3),
        (["buy 10 shares", "sell 10 shares", "hold"], "sell 10 dollars", 2),
        ([{"id": 1}, {"id": 2}, {"id": 3}], {"id": 2, "extra": 1}, 2),
    ],
)
def test_of_calls_made_at_the_same_time_the_one_most_alike_has_changed(
    recorded: list[Any], asked: Any, meant: int
) -> None:
    """They come in any order: that it came first says nothing."""
    run = recording(*(at(n, {"x": value}, (n, 9)) for n, value in enumerate(recorded)))
    assert answer(ask(run, "a", {"x": asked})) == ("changed", meant)


def test_of_calls_made_one_after_the_other_the_next_one_has_changed() -> None:
    run = recording(*(at(n, {"x": value}, (n, n + 1)) for n, value in enumerate(["one", "two", "three"])))
    assert answer(ask(run, "a", {"x": "three!"})) == ("changed", 1)
    assert answer(ask(run, "a", {"x": "three!"}, used=[0])) == ("changed", 2)
    assert ask(run, "a", {"x": "three!"}).as_near == ()


@pytest.mark.parametrize("before", [7, 0])
def test_of_calls_in_tasks_of_their_own_the_one_most_alike_has_changed(before: int) -> None:
    """None overlaps another; all had the same call before them, or none, so that each is in a task of its own."""
    values = ["one", "two", "three"]
    calls = [crossing("a", {"x": one}, span=(n, n + 1), seq=n, seq_before=before) for n, one in enumerate(values)]
    assert answer(ask(recording(*calls), "a", {"x": "three!"})) == ("changed", 3)


def test_calls_of_which_it_is_not_known_what_was_before_come_one_after_the_other() -> None:
    """Else all calls of a foreign or an older recording would be in tasks of their own."""
    calls = [crossing("a", {"x": one}, span=(n, n + 1), seq=n) for n, one in enumerate(["one", "two", "three"])]
    assert answer(ask(recording(*calls), "a", {"x": "three!"})) == ("changed", 1)


def test_once_a_later_one_has_come_first_they_come_in_any_order() -> None:
    """Threads that each make one quick call after another: none overlaps another."""
    run = recording(*(at(n, {"x": f"page {n}"}, (n, n + 1)) for n in range(9)))
    assert answer(ask(run, "a", {"x": "page 7!"})) == ("changed", 1)
    assert answer(ask(run, "a", {"x": "page 7!"}, used=[4])) == ("changed", 8)


def test_those_that_it_might_as_well_have_been_are_told() -> None:
    run = recording(*(at(n, {"x": n}, (n, 9)) for n in range(4)), at(9, {"x": 5}, (20, 21)))
    match = ask(run, "a", {"x": 9}, used=[0])
    assert answer(match) == ("changed", 2)
    assert [stub.crossing.name for stub in match.as_near] == ["a@3", "a@4"]


def test_what_overlaps_one_after_another_was_made_at_the_same_time() -> None:
    """A semaphore lets three of ten run at once: the tenth still comes as early as it likes."""
    run = recording(*(at(n, {"x": f"item-{n}"}, (n, n + 3)) for n in range(10)))
    assert answer(ask(run, "a", {"x": "item-9 changed"}, used=[4])) == ("changed", 10)


def test_under_a_call_that_the_recording_does_not_have_the_search_goes_on_anywhere() -> None:
    parent = crossing("p", {})
    run = recording(crossing("a", {"x": 1}), parent, crossing("a", {"x": 2}, parent=parent))
    assert answer(ask(run, "a", {"x": 2}, under=None, loose=True)) == ("equal", 2)


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
