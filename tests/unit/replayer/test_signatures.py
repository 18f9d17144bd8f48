"""How many leaves differ, told by signatures alone."""

from __future__ import annotations

from typing import Any

import pytest

from tracetape.codec import to_tree
from tracetape.codec.canonical import canonical
from tracetape.replayer.signatures import signature, unlike

A, B = "call_a1b2c3d4e5", "call_z9y8x7w6v5"


def count(one: Any, other: Any) -> int:
    return unlike(*(signature(canonical(to_tree(value))) for value in (one, other)))


@pytest.mark.parametrize(
    ("one", "other", "leaves"),
    [
        ({"x": 1, "y": [1, 2]}, {"y": [1, 2], "x": 1}, 0),
        ({"x": 1, "y": [1, 2]}, {"x": 1, "y": [1, 3]}, 1),
        ({"x": 1}, {"x": 1, "y": 2}, 1),
        ({"x": 1, "y": 2}, {"z": 1}, 3),
        ({"a": {"b": {"c": [1, 2, 3]}}}, {"a": {"b": {"c": [1, 5, 6]}}}, 2),
        ({"x": {1, 2, 3}}, {"x": {3, 2, 1}}, 0),
        ({"x": (1, "a")}, {"x": (1, "b")}, 1),
        ({"id": A, "n": 1}, {"id": B, "n": 1}, 0),
        ({"of": {A: 1, "b": 2}}, {"of": {B: 1, "b": 2}}, 0),
        ({"x": []}, {"x": {}}, 1),
        ([], [], 0),
    ],
)
def test_differing_leaves_are_counted(one: Any, other: Any, leaves: int) -> None:
    assert count(one, other) == count(other, one) == leaves
