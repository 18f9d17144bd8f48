"""How the second recording differs from the first."""

from __future__ import annotations

import pytest

import tracetape
from tests.unit.replayer.recordings import crossing, recording
from tracetape.errors import UsageError


def kinds(a: tracetape.Recording, b: tracetape.Recording) -> list[tuple[str, str]]:
    return [(one.kind, one.name) for one in tracetape.compare(a, b)]


def test_the_same_calls_in_another_order_are_the_same() -> None:
    a = recording(crossing("a", {"x": 1}, 1), crossing("a", {"x": 2}, 2))
    b = recording(crossing("a", {"x": 2}, 2), crossing("a", {"x": 1}, 1))
    assert kinds(a, b) == []


def test_each_kind_of_difference_is_named() -> None:
    parent = crossing("p", {})
    a = recording(
        crossing("changed", {"x": 1}, 1),
        crossing("outcome", {}, {"n": 1}),
        crossing("gone", {}),
        parent,
        crossing("moved", {}, parent=parent),
    )
    b = recording(
        crossing("changed", {"x": 2}, 1),
        crossing("outcome", {}, {"n": 2}),
        crossing("p", {}),
        crossing("moved", {}),
        crossing("new", {}),
    )
    assert kinds(a, b) == [
        ("changed", "changed@1"),
        ("outcome", "outcome@1"),
        ("moved", "moved@1"),
        ("added", "new@1"),
        ("missing", "gone@1"),
    ]
    texts = {one.kind: one.text for one in tracetape.compare(a, b)}
    assert texts["changed"] == "changed@1: other inputs\n  $.x: recorded 1, now 2"
    assert texts["outcome"] == "outcome@1: another outcome\n  $.n: recorded 1, now 2"


def test_what_raised_in_one_and_returned_in_the_other_is_another_outcome() -> None:
    a = recording(crossing("a", {}, 1))
    b = recording(crossing("a", {}, 1, outcome="raised"))
    (divergence,) = tracetape.compare(a, b)
    assert divergence.text == "a@1: another outcome\n  outcome: recorded returned, now raised"


def test_a_path_in_place_of_a_recording_is_told_what_to_write() -> None:
    with pytest.raises(UsageError) as caught:
        tracetape.compare("a.jsonl", recording())  # type: ignore[arg-type]
    assert str(caught.value) == "compare takes two Recordings, not 'a.jsonl': tracetape.load(…) reads one"


def test_ids_that_each_run_makes_anew_are_the_same_where_one_renaming_explains_them() -> None:
    def run(first: str, second: str, amount: int) -> tracetape.Recording:
        return recording(
            crossing("plan", {"q": 1}, {"id": first, "tool": "buy"}),
            crossing("buy", {"id": first, "amount": amount}, {"done": first}),
            crossing("plan", {"q": 2, "after": first}, {"id": second}),
        )

    a, b = "call_0a1b2c3d4e5f", "call_9f8e7d6c5b4a"
    c, d = "call_11aa22bb33cc", "call_44dd55ee66ff"
    assert tracetape.compare(run(a, b, 5), run(c, d, 5)) == []
    (changed,) = tracetape.compare(run(a, b, 5), run(c, d, 1000))
    assert [str(one) for one in changed.changes] == ["$.amount: recorded 5, now 1000"]
    assert tracetape.compare(run(a, b, 5), run(c, c, 5)) != [], "two ids became one"


def test_identical_calls_of_tasks_are_paired_by_what_each_task_did_before() -> None:
    def run(*order: str) -> tracetape.Recording:
        """Two tasks, `fetch` then `ask` each; the second calls in this order."""
        fetches = {name: crossing("fetch", {"of": name}, name, seq=n) for n, name in enumerate("xy", 1)}
        asks = [
            crossing("ask", {}, name.upper(), seq=n, seq_before=fetches[name].seq)
            for n, name in enumerate(order, 3)
        ]
        return recording(*fetches.values(), *asks)

    assert tracetape.compare(run("x", "y"), run("y", "x")) == []
    assert kinds(run("x", "x"), run("x", "y")) == [("outcome", "ask@2")]
