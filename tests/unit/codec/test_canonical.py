"""What makes two stored values equal, and where two differ."""

from __future__ import annotations

import enum
import re
from typing import Any

import pytest

from tracetape.codec import to_tree
from tracetape.codec.canonical import canonical, differences, key_of, match_key, readable
from tracetape.codec.ignore_paths import IgnorePaths
from tracetape.errors import UsageError


def nest(levels: int) -> Any:
    tree: Any = 0
    for _ in range(levels):
        tree = [tree]
    return tree


class Side(enum.Enum):
    SELL = "sell"


def key(value: Any) -> bytes:
    return key_of(canonical(to_tree(value)))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({1: "x", 2: "y"}, {2: "y", 1: "x"}),
        ({"s": {3, 1, 2}}, {"s": {2, 3, 1}}),
        ({"f": frozenset(["b", "a"])}, {"f": frozenset(["a", "b"])}),
        ({"o": object()}, {"o": object()}),
        ({"o": lambda: 1}, {"o": lambda: 2}),
    ],
)
def test_these_are_the_same_call(a: Any, b: Any) -> None:
    assert key(a) == key(b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([1, 2], [2, 1]),
        ((1, 2), [1, 2]),
        (1, True),
        (1, 1.0),
        (1, "1"),
        (0.0, -0.0),
        (float("nan"), float("inf")),
        (10**30, 10**30 + 1),
        ({"a": None}, {}),
        (b"a", "a"),
        ({1}, frozenset({1})),
        (object(), lambda: 1),
    ],
)
def test_these_are_not(a: Any, b: Any) -> None:
    assert key(a) != key(b)


def where(a: Any, b: Any) -> list[str]:
    return [str(one) for one in differences(canonical(to_tree(a)), canonical(to_tree(b)))]


def test_each_differing_leaf_has_its_path_and_both_values() -> None:
    assert where({"order": {"quantity": 1000, "side": "sell"}}, {"order": {"quantity": 5, "side": "sell"}}) == [
        "$.order.quantity: recorded 1000, now 5"
    ]
    assert where({"a": [1, 2, 3]}, {"a": [1, 9]}) == [
        "$.a[1]: recorded 2, now 9",
        "$.a[2]: recorded 3, now (absent)",
    ]
    assert where({"odd key": 1}, {}) == ['$["odd key"]: recorded 1, now (absent)']
    assert where({"a": [1]}, {"a": {"b": 1}}) == ['$.a: recorded [1], now {"b":1}']
    assert where({"a": 1}, {"a": 1}) == []


def test_tags_are_no_part_of_the_path() -> None:
    assert where({"t": (1, 2)}, {"t": (1, 3)}) == ["$.t[1]: recorded 2, now 3"]


def test_long_values_are_cut() -> None:
    (text,) = where({"a": "x" * 1000}, {"a": "y"})
    assert len(text) < 300
    assert text.endswith('(1,002 characters), now "y"')


def test_two_long_values_are_cut_where_they_begin_to_differ() -> None:
    (text,) = where({"a": "p" * 1_000 + "A" + "q" * 1_000}, {"a": "p" * 1_000 + "B"})
    assert re.fullmatch(r'\$\.a: recorded …p+Aq+… \(2,003 characters\), now …p+B" \(1,003 characters\)', text)


def test_values_are_shown_as_people_write_them() -> None:
    shown = readable(to_tree({"t": (1, 2), "e": ValueError("no"), "k": {1: 2}, "b": {3, 4}, "s": Side.SELL}))
    assert shown == {
        "t": [1, 2],
        "e": 'ValueError("no")',
        "k": {"1": 2},
        "b": [3, 4],
        "s": "Side.SELL",
    }


TREE = {"at": 0, "m": [{"id": 1, "at": 2}, {"id": 3}], "t": {"$type": "tuple", "items": [{"at": 4}]}}


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("$.at", {"m": [{"id": 1, "at": 2}, {"id": 3}], "t": {"$type": "tuple", "items": [{"at": 4}]}}),
        (".at", {"m": [{"id": 1, "at": 2}, {"id": 3}], "t": {"$type": "tuple", "items": [{"at": 4}]}}),
        ("..at", {"m": [{"id": 1}, {"id": 3}], "t": {"$type": "tuple", "items": [{}]}}),
        ("$.m[*].id", {"at": 0, "m": [{"at": 2}, {}], "t": {"$type": "tuple", "items": [{"at": 4}]}}),
        ("$.m[1]", {"at": 0, "m": [{"id": 1, "at": 2}, None], "t": {"$type": "tuple", "items": [{"at": 4}]}}),
        ("$.t[0].at", {"at": 0, "m": [{"id": 1, "at": 2}, {"id": 3}], "t": {"$type": "tuple", "items": [{}]}}),
        ('$["at"]', {"m": [{"id": 1, "at": 2}, {"id": 3}], "t": {"$type": "tuple", "items": [{"at": 4}]}}),
        ("$[*]", {}),
        (
            "$.nowhere.x",
            {"at": 0, "m": [{"id": 1, "at": 2}, {"id": 3}], "t": {"$type": "tuple", "items": [{"at": 4}]}},
        ),
    ],
)
def test_ignored_paths_are_left_out(path: str, left: Any) -> None:
    assert IgnorePaths([path]).prune(TREE) == left


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "$.a[x]",
            "ignore path '$.a[x]' cannot be read at '[x]': a path is made of .name, ..name, [0], [*] and "
            "[\"odd name\"], as in '$.messages[*].id' or '..created'",
        ),
        ("$", "ignore path '$' would leave nothing to compare; name a member, as in '$.created'"),
        ("created", None),
    ],
)
def test_a_path_that_cannot_be_read_is_refused(path: str, message: str | None) -> None:
    with pytest.raises(UsageError) as caught:
        IgnorePaths([path])
    if message is not None:
        assert str(caught.value) == message


def test_the_text_of_an_exception_does_not_count_where_it_is_made_of_what_was_not_stored():
    class Client:
        pass

    first, second = (to_tree(ValueError(Client())) for _ in range(2))
    assert canonical(first) == canonical(second)
    assert "text" not in canonical(first)
    assert "text" in canonical(to_tree(KeyError("a")))


def test_a_class_is_shown_by_its_name_and_matches_whatever_module_it_is_in():
    assert readable(canonical(to_tree({"format": Side}))) == {"format": "<class Side>"}
    other = {"$type": "class", "class": f"elsewhere:{Side.__qualname__}", "main": True}
    assert key_of(canonical(to_tree(Side))) == key_of(canonical(other))
    assert key_of(canonical(to_tree(Side))) != key_of(canonical(to_tree(ValueError)))


@pytest.mark.parametrize(
    "tree",
    [
        {"$type": ["set"], "items": [2, 1]},
        {"$type": {}, "class": "m:C"},
        ["\ud800"],
        {"\udfff": 1},
        nest(300),
    ],
    ids=["a list for a tag", "a dict for a tag", "half a pair", "half a pair as a key", "nested 300 levels"],
)
def test_what_only_an_edited_file_has_is_compared_like_anything_else(tree: Any) -> None:
    assert match_key(canonical(tree)) == match_key(canonical(tree))
    assert match_key(canonical(tree)) != match_key(canonical([tree]))
