"""Any nesting of any values comes back equal, of the same types, as the same text."""

from __future__ import annotations

import enum
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import timedelta, timezone
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import orjson
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracetape.codec import encode, parse, scan, to_tree
from tracetape.codec.reader import Reader
from tracetape.model.payload import Payload


class Color(enum.Enum):
    RED = "r"
    BLUE = (1, 2)


@dataclass(frozen=True)
class Node:
    left: Any
    right: Any = None


class Pair(NamedTuple):
    a: Any
    b: Any


class Bag(dict):
    pass


ANY_TEXT = st.text(max_size=8) | st.sampled_from(
    ["\ud800", "$type", "opaque", '"$type":"opaque"', "\udfff\\u0041", ""]
)
ZONES = st.none() | st.timedeltas(min_value=timedelta(hours=-23), max_value=timedelta(hours=23)).map(timezone)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=-(2**80), max_value=2**80)
    | st.floats(allow_nan=False)
    | ANY_TEXT
    | st.binary(max_size=8)
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.uuids()
    | st.dates()
    | st.datetimes(timezones=ZONES)
    | st.times()
    | st.timedeltas()
    | st.complex_numbers(allow_nan=False)
    | st.sampled_from(Color)
    | st.just(PurePosixPath("/a"))
)
KEYS = st.recursive(
    SCALARS, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=4
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(ANY_TEXT, inner, max_size=4)
        | st.dictionaries(KEYS, inner, max_size=3)
        | st.sets(KEYS, max_size=4)
        | st.lists(inner, max_size=3).map(deque)
        | st.dictionaries(ANY_TEXT, inner, max_size=3).map(OrderedDict)
        | st.dictionaries(KEYS, inner, max_size=3).map(Bag)
        | st.builds(Node, inner, inner)
        | st.builds(Pair, inner, inner)
        | st.lists(inner, max_size=3).map(lambda args: Node(tuple(args)))
    ),
    max_leaves=20,
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=15,
)
TAGS = st.sampled_from(
    ["tuple", "set", "dict", "int", "str", "datetime", "exception", "dataclass", "enum", "opaque", "subclass", "x"]
)
PARTS = st.sampled_from(
    ["items", "value", "class", "fields", "state", "args", "name", "tz", "hex", "of", "members"]
)
CLASSES = st.sampled_from(
    ["builtins:ValueError", "builtins:OSError", f"{__name__}:Node", f"{__name__}:Bag", "a:B"]
)
HOSTILE = st.recursive(
    JSON | CLASSES,
    lambda inner: (
        st.builds(
            lambda tag, body: {**body, "$type": tag}, TAGS, st.dictionaries(PARTS, inner | CLASSES, max_size=4)
        )
        | st.lists(inner, max_size=3)
    ),
    max_leaves=12,
)

slow_to_make = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)


@slow_to_make
@given(VALUES)
def test_comes_back_equal_and_of_the_same_types(value):
    payload = encode(value)
    made = Reader().result(payload)
    assert type(made) is type(value)
    assert made == value
    assert encode(made) == payload
    assert scan(payload.text) == ()


@slow_to_make
@given(VALUES)
def test_the_text_is_json_of_the_tree(value):
    payload = encode(value)
    assert parse(payload.text) == to_tree(value) == orjson.loads(payload.text)
    assert Payload.of(payload.text) == payload


@slow_to_make
@given(JSON)
def test_plain_json_is_stored_as_it_is(value):
    if "$type" not in repr(value):
        assert to_tree(value) == value
        assert parse(encode(value).text) == value


@slow_to_make
@given(HOSTILE)
def test_any_payload_is_read_or_refused(tree):
    payload = Payload.of(orjson.dumps({"a": tree}).decode())
    scan(payload.text)
    inputs = Reader().inputs(payload)
    encode(inputs)
    assert isinstance(Reader().error(Payload.of(orjson.dumps(tree).decode())), BaseException)
