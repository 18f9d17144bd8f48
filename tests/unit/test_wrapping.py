"""What is wrapped answers for itself."""

from __future__ import annotations

from typing import Any

import pytest

import tracetape


def plain(x: int) -> str:
    return str(x)


class Callable:
    def __call__(self, x: int) -> str:
        return str(x)


@pytest.mark.parametrize(
    "function", [plain, len, Callable(), map(str, [])], ids=["function", "C", "object", "iterator"]
)
def test_whoever_looks_at_the_annotations_of_our_classes_hides_none(function: Any) -> None:
    """Before Python 3.14 asking a class without any leaves an empty dict in it."""
    marked: Any = tracetape.boundary("marked")(function if callable(function) else lambda: function)
    for cls in type(marked).__mro__:
        getattr(cls, "__annotations__", None)
    bare = function if callable(function) else marked.__wrapped__
    assert getattr(marked, "__annotations__", "none") == getattr(bare, "__annotations__", "none")
