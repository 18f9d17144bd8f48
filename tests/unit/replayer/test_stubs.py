"""Which stubs there are for a question."""

from __future__ import annotations

from hashlib import sha256
from unittest.mock import patch

from tests.unit.replayer.recordings import crossing, recording
from tracetape.codec.ignore_paths import IgnorePaths
from tracetape.model.plan import ReplayPlan
from tracetape.replayer.indexes import Queue
from tracetape.replayer.stubs import StubTable


def test_a_stub_without_recorded_inputs_has_no_key_and_ignored_paths_are_no_part_of_it() -> None:
    run = recording(crossing("a", None), crossing("a", {"x": 1, "at": 5}), crossing("a", {"x": 1, "at": 6}))
    stubs = StubTable.of(run, ReplayPlan(), IgnorePaths(["$.at"])).stubs
    assert stubs[0].key is None
    assert stubs[1].key == stubs[2].key == b'{"x":1}'


def test_a_key_function_takes_the_place_of_the_inputs() -> None:
    run = recording(crossing("a", {"x": 1, "y": 2}))
    table = StubTable.of(run, ReplayPlan(), IgnorePaths(()))
    stubs = table.compared_by("a", lambda inputs: {"key": inputs["x"]}).stubs
    assert stubs[0].tree == {"key": 1}


def test_the_same_question_gets_the_same_sequence_and_what_is_not_there_the_same_nothing() -> None:
    """The ledger remembers by it how many of a sequence are used."""
    run = recording(*(crossing("a", {"x": n % 2}) for n in range(4)), crossing("b", {"x": 1}))
    table = StubTable.of(run, ReplayPlan(), IgnorePaths(()))
    key = b'{"x":1}'
    assert table.equal_under("a", None, key) is table.equal_under("a", None, key)
    assert [stub.position for stub in table.equal_under("a", None, key)] == [1, 3]
    assert [stub.position for stub in table.equal_anywhere("b", key)] == [4]
    assert table.under("a", None) is table.under("a", None)
    assert table.named("a") is table.named("a")
    assert table.under("c", None) is table.equal_anywhere("c", key) is table.equal_under("a", None, b"{}")


def test_equal_ones_are_told_apart_by_their_parents() -> None:
    one, two = crossing("p", {"n": 1}), crossing("p", {"n": 2})
    inside = [crossing("a", {}, parent=parent) for parent in (one, two, one)]
    run = recording(one, inside[0], two, inside[1], inside[2], crossing("a", {}))
    table = StubTable.of(run, ReplayPlan(), IgnorePaths(()))
    for parent, positions in ((one, [1, 4]), (two, [3]), (None, [5]), (crossing("p", {}), [])):
        assert [stub.position for stub in table.equal_under("a", parent, b"{}")] == positions
        assert [stub.position for stub in table.under("a", parent)] == positions
    assert [stub.crossing for stub in table.equal_anywhere("a", b"{}")] == [*inside, run.crossings[5]]


def test_a_look_up_takes_as_long_among_many_equal_calls_under_many_parents() -> None:
    """Counted, for nobody's clock is to be trusted: they are gone through once for all parents."""
    parents = [crossing("p", {"n": n}) for n in range(300)]
    calls = [one for parent in parents for one in (parent, crossing("now", {}, parent=parent))]
    run = recording(*calls)
    with patch.object(
        type(run.crossings), "boundary", autospec=True, side_effect=lambda _, at: calls[at].boundary
    ) as told:
        table = StubTable.of(run, ReplayPlan(), IgnorePaths(()))
        for parent in parents:
            assert len(table.equal_under("now", parent, b"{}")) == 1
    assert told.call_count == 300


def test_of_a_digest_there_are_those_at_its_place_whatever_their_key() -> None:
    parent = crossing("p", {"n": 1})
    run = recording(
        parent,
        crossing("a", {"x": 1, "y": 2}, parent=parent),
        crossing("a", {"x": 1, "y": 2}),
        crossing("a", {"y": 2, "x": 1}),
        crossing("a", {"x": 1, "y": 2}),
        crossing("b", {"x": 1, "y": 2}),
        crossing("a", None),
    )
    table = StubTable.of(run, ReplayPlan(), IgnorePaths(()))
    one, turned = (sha256(text).digest() for text in (b'{"x":1,"y":2}', b'{"y":2,"x":1}'))
    find = table.by_digest.find
    at_the_top = find("a", -1, one)
    assert isinstance(at_the_top, Queue)
    assert at_the_top.positions == [2, 4]
    assert find("a", -1, one) is at_the_top
    assert find("a", -1, turned) == 3
    assert find("a", 0, turned) is find("b", -1, turned) is find("a", -1, b"") is None
    assert [stub.position for stub in table.equal_under("a", None, b'{"x":1,"y":2}')] == [2, 3, 4]
    assert [stub.has_inputs for stub in table.stubs] == [True] * 6 + [False]
