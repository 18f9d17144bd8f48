"""attrs classes. Collected only where attrs is installed: see the conftest beside this file."""

# mypy: ignore-errors
from __future__ import annotations

from typing import Any

import attr
import attrs
import pytest

from tracetape.codec import encode, to_tree
from tracetape.codec.reader import Reader
from tracetape.errors import ValueNotRebuilt
from tracetape.model.payload import Payload

ran: list[str] = []


@attrs.define
class Point:
    x: int
    y: Any = None


@attrs.frozen
class Frozen:
    name: str
    tags: list[str] = attrs.field(factory=list)
    stamp: float = attrs.field(factory=lambda: 1.0)


@attr.s
class Old:
    a = attr.ib(default=1)


@attrs.define
class Child(Point):
    z: int = attrs.field(init=False)
    _private: int = 3

    def __attrs_post_init__(self) -> None:
        ran.append("post_init")
        self.z = 5


@attr.s(auto_attribs=True, slots=True)
class Checked:
    x: int = attrs.field(validator=lambda *_: ran.append("validator"), converter=lambda x: ran.append("c") or x)

    def __setattr__(self, name: str, value: Any) -> None:
        ran.append("setattr")
        object.__setattr__(self, name, value)


@attrs.define
class Failure(Exception):
    code: int


VALUES = [Point(1, (2,)), Frozen("a", ["b"]), Old(2), Child(1), Point(Point(1), {1})]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_comes_back_equal_and_of_the_same_type(value):
    for wrap in (lambda one: one, lambda one: [one], lambda one: {"k": (one,)}, lambda one: Point(1, one)):
        made = Reader().result(encode(wrap(value)))
        assert made == wrap(value)
        assert type(made) is type(wrap(value))
        assert to_tree(made) == to_tree(wrap(value))


def test_nothing_of_the_class_runs():
    stored, checked = encode(Child(1)), encode(Checked(1))
    ran.clear()
    assert Reader().result(stored).z == 5
    assert Reader().result(checked).x == 1
    assert ran == []


def test_fields_added_or_removed_since():
    text = encode(Frozen("a")).text
    reader = Reader()
    made = reader.result(Payload.of(text.replace('"tags":[]', '"old":1')))
    assert made == Frozen("a")
    assert len(reader.gaps) == 2
    with pytest.raises(ValueNotRebuilt, match="a field stamp now that was not recorded and has no plain default"):
        Reader().result(Payload.of(text.replace('"stamp":1.0', '"old":1')))


def test_an_exception_of_attrs_is_an_exception():
    made = Reader().error(encode(Failure(3)))
    assert type(made) is Failure
    assert made.code == 3
