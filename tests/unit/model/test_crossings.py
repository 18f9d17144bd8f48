"""A sequence of crossings is one, whether they are at hand or made when they are asked for."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from unittest.mock import patch

import pytest

import tracetape
from tests.unit.replayer.recordings import crossing, recording
from tracetape.model.crossings import Crossings, Moment
from tracetape.model.recording import Recording
from tracetape.sources import own_lines


@tracetape.boundary("outer")
def outer(number: int) -> int:
    return inner(number) + inner(-number)


@tracetape.boundary("inner")
def inner(number: int) -> int:
    return number


def by_hand(_: Path) -> Recording:
    made = []
    for number in range(8):
        made.append(crossing("outer", {"number": number}, 0, span=(number, number + 1), seq=3 * number))
        for step in (1, 2):
            made.append(
                crossing(
                    "inner",
                    {"number": number},
                    1,
                    span=(number, number + 1),
                    seq=3 * number + step,
                    parent=made[-step],
                )
            )
    return recording(*made)


def of_spans(path: Path) -> Recording:
    with tracetape.record(path / "run.jsonl") as run:
        for number in range(8):
            outer(number)
    return run.recording


def of_templates(path: Path) -> Recording:
    with patch.object(own_lines, "_SIGHTINGS", 1):
        return of_spans(path)


@pytest.fixture(params=[by_hand, of_spans, of_templates], ids=lambda make: make.__name__)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Recording:
    made: Recording = request.param(tmp_path)
    return made


def test_it_is_a_sequence(run: Recording) -> None:
    crossings = run.crossings
    assert isinstance(crossings, Crossings)
    assert len(crossings) == 24
    assert [one.name for one in crossings[:4]] == ["outer@1", "inner@1", "inner@2", "outer@2"]
    assert crossings[-1] is crossings[23]
    assert crossings == tuple(crossings) == crossings[:]
    assert crossings != crossings[:-1]
    assert list(reversed(crossings)) == list(crossings)[::-1]
    assert crossings.index(crossings[5]) == 5
    assert crossings[5] in crossings
    assert crossing("outer", {}) not in crossings
    with pytest.raises(IndexError):
        crossings[24]


def test_the_same_crossing_comes_each_time_for_as_long_as_anybody_has_it(run: Recording) -> None:
    one = run.crossings[4]
    gc.collect()
    assert run["inner", 3] is run.crossings[4] is one
    assert run.crossings[3].children[0] is one
    assert one.parent is run["outer", 2]
    assert {one: 1}[run.crossings[4]] == 1


def test_what_is_told_of_positions_is_what_the_crossings_say(run: Recording) -> None:
    crossings = run.crossings
    listed = list(crossings)
    assert dict(crossings.counts()) == {"outer": 8, "inner": 16}
    assert list(crossings.counts()) == list(run.names)
    assert [crossings.boundary(at) for at in range(24)] == [one.boundary for one in listed]
    assert list(crossings.named("outer")) == list(range(0, 24, 3))
    assert list(crossings.named("nobody")) == []
    assert [crossings.position(one) for one in listed] == list(range(24))
    parents = [None if at < 0 else crossings[at] for at in crossings.parents()]
    assert parents == [one.parent for one in listed]
    assert [crossings.moment(at) for at in range(24)] == [
        Moment(one.started, one.ended, one.seq, one.process_id, one.seq_before) for one in listed
    ]
    at_hand = Crossings(listed)
    for told in ("input_text", "has_input", "occurrence"):
        assert [getattr(crossings, told)(at) for at in range(24)] == [
            getattr(at_hand, told)(at) for at in range(24)
        ]
    assert [told and told[:2] for told in map(crossings.returned, range(24))] == [
        told and told[:2] for told in map(at_hand.returned, range(24))
    ]
    assert (
        list(crossings.input_digests())
        == list(at_hand.input_digests())
        == [sha256(one.input.text.encode()).digest() for one in listed if one.input is not None]
    )
    alike = [(at, one) for at in range(24) for one in range(24)]
    before, at_hand_before = crossings.predecessors(), at_hand.predecessors()
    assert [before[at] == before[one] for at, one in alike] == [
        at_hand_before[at] == at_hand_before[one] for at, one in alike
    ]
    assert [one is None for one in before] == [one is None for one in at_hand_before]
    places = [(at, before) for at in range(24) for before in (None, *range(24))]
    assert [crossings.follows(*place) for place in places] == [at_hand.follows(*place) for place in places]
    assert told_of_order(crossings) in ([True, True, False], [None] * 3)
    assert crossings.numbered("inner", 16) is listed[-1]
    assert crossings.numbered("inner", 17) is None
    assert crossings.numbered("inner", 0) is None
    assert list(crossings.flawed()) == [one for one in listed if one.grade != "exact"]
    assert run.roots == tuple(one for one in listed if one.parent is None)


def told_of_order(crossings: Crossings) -> list[bool | None]:
    return [crossings.follows(0, None), crossings.follows(1, 0), crossings.follows(1, None)]


@pytest.mark.parametrize("make", [of_spans, of_templates])
def test_what_came_right_after_what_is_told(make: Callable[[Path], Recording], tmp_path: Path) -> None:
    assert told_of_order(make(tmp_path).crossings) == [True, True, False]


def test_crossings_of_a_file_are_let_go(tmp_path: Path) -> None:
    run = of_templates(tmp_path)
    gone = weakref.ref(run.crossings[20])
    gc.collect()
    assert gone() is None
