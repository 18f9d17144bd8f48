"""What is written as it is, and what is not."""

from __future__ import annotations

import enum
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
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


def test_with_other_threads_what_is_stored_is_the_same() -> None:
    value = {"a": [1, 2.5, "x"]}
    alone = encode(value)
    with another_thread():
        assert plain_json(value) == b'{"a":[1,2.5,"x"]}'
        assert encode(value) == alone


def test_what_another_thread_changes_between_the_look_and_the_writing_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It put a tuple where a list was: the encoder writes the one like the other."""
    value: dict[str, Any] = {"a": [1, 2]}
    dumps = orjson.dumps

    def changed_before(given: Any, *more: Any) -> bytes:
        value["a"] = (1, 2)
        return dumps(given, *more)

    monkeypatch.setattr(orjson, "dumps", changed_before)
    with another_thread():
        assert plain_json(value) is None
