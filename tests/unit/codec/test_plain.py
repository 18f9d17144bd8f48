"""What is written as it is, and what is not."""

from __future__ import annotations

import enum
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tracetape.codec import encode
from tracetape.codec.encoder import DEPTH_LIMIT
from tracetape.codec.plain import is_plain, plain_json


class Colour(enum.StrEnum):
    RED = "red"


def nest(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


CYCLE: list[Any] = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    "value",
    [None, True, 0, 2**63 - 1, -(2**63), 0.0, -0.0, "", "é🙂", [], {}, {"a": [1, {"b": None}]}, nest(DEPTH_LIMIT)],
)
def test_these_are_their_own_stored_form(value: Any) -> None:
    assert is_plain(value)


@pytest.mark.parametrize(
    "inner",
    [(), 2**63, -(2**63) - 1, float("nan"), float("inf"), b"", Colour.RED, uuid.UUID(int=1), {1: 2}, {"$type": 1}],
    ids=repr,
)
@pytest.mark.parametrize(
    "wrap", [lambda one: one, lambda one: [one], lambda one: {"a": one}, lambda one: [0.5] * 99 + [one]]
)
def test_these_are_not_though_a_fast_encoder_would_write_some_of_them(inner: Any, wrap: Any) -> None:
    assert not is_plain(wrap(inner))


@pytest.mark.parametrize("value", [nest(DEPTH_LIMIT + 1), CYCLE], ids=["too deep", "a cycle"])
def test_what_has_no_end_is_not(value: Any) -> None:
    assert not is_plain(value)


@contextmanager
def another_thread() -> Iterator[None]:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_with_other_threads_values_are_copied_before_they_are_looked_at() -> None:
    """One could put a tuple where a list was, after the look, before the writing. What is stored is the same."""
    value = {"a": [1, 2.5, "x"]}
    alone = encode(value)
    with another_thread():
        assert plain_json(value) is None
        assert encode(value) == alone
