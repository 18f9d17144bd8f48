"""What every registered codec keeps to, whoever wrote it."""

from __future__ import annotations

import contextlib
import enum
import os
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from importlib.util import find_spec
from pathlib import PosixPath, PurePosixPath, PureWindowsPath, WindowsPath
from types import SimpleNamespace
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import orjson
import pytest

from tracetape.codec import encode, registry, to_tree
from tracetape.codec.opaque import Missing
from tracetape.codec.reader import Reader
from tracetape.codec.registry import Codec, codec_for, codec_of, register
from tracetape.errors import RecordedError, ValueNotRebuilt
from tracetape.model.payload import Payload


class Color(enum.Enum):
    RED = 1


@dataclass
class Point:
    x: int


class Pair(NamedTuple):
    a: int


class Items(list):
    pass


SAMPLES: dict[str, Any] = {
    "opaque": Missing("$", {"class": "a:B", "text": "b"}),
    "int": 2**70,
    "str": "\ud800",
    "float": float("inf"),
    "bytes": b"x",
    "bytearray": bytearray(b"x"),
    "complex": 1j,
    "Decimal": Decimal("1.0"),
    "Fraction": Fraction(1, 3),
    "UUID": UUID(int=1),
    "datetime": datetime(2026, 1, 1, tzinfo=UTC),
    "time": time(1),
    "date": date(2026, 1, 1),
    "timedelta": timedelta(1),
    "timezone": UTC,
    "zoneinfo": ZoneInfo("Europe/Berlin"),
    "PurePosixPath": PurePosixPath("a"),
    "PureWindowsPath": PureWindowsPath("a"),
    "PosixPath": PosixPath("a"),
    "Ellipsis": ...,
    "NotImplemented": NotImplemented,
    "tuple": (1,),
    "set": {1},
    "frozenset": frozenset({1}),
    "dict": {1: 2},
    "OrderedDict": OrderedDict(a=1),
    "Counter": Counter("a"),
    "deque": deque([1]),
    "defaultdict": defaultdict(list),
    "range": range(3),
    "slice": slice(3),
    "namespace": SimpleNamespace(a=1),
    "enum": Color.RED,
    "class": ValueError,
    "exception": ValueError("x"),
    "dataclass": Point(1),
    "namedtuple": Pair(1),
    "subclass": Items([1]),
}

if find_spec("pydantic"):
    import pydantic
    import pydantic_core

    class Model(pydantic.BaseModel):
        x: int

    SAMPLES["pydantic"] = Model(x=1)
    SAMPLES["pydantic.ValidationError"] = pydantic_core.ValidationError.from_exception_data("t", [])
    SAMPLES["pydantic.Url"] = pydantic_core.Url("http://a.b/")
    SAMPLES["pydantic.MultiHostUrl"] = pydantic_core.MultiHostUrl("redis://a,b")
    SAMPLES["pydantic.network"] = pydantic.HttpUrl("http://a.b/")

if find_spec("attrs"):
    import attrs  # type: ignore[import-not-found, unused-ignore]

    @attrs.define
    class Attrs:
        x: int

    SAMPLES["attrs"] = Attrs(x=1)  # type: ignore[call-arg, unused-ignore]

# A Path of the other system cannot be made here: it is stored there and refused here.
FOREIGN = PosixPath if os.name == "nt" else WindowsPath


def tags() -> list[str]:
    return [codec.tag for codec in registry.codecs() if codec.tag != FOREIGN.__name__]


def test_every_codec_has_a_sample():
    assert sorted(tags()) == sorted(SAMPLES)


@pytest.mark.parametrize("tag", SAMPLES)
def test_it_writes_its_tag_and_plain_json(tag):
    tree = to_tree(SAMPLES[tag])
    assert tree["$type"] == tag
    assert orjson.loads(orjson.dumps(tree)) == tree
    assert encode(SAMPLES[tag]).text == orjson.dumps(tree).decode()


@pytest.mark.parametrize("tag", SAMPLES)
def test_it_writes_the_same_again(tag):
    value = SAMPLES[tag]
    assert to_tree(value) == to_tree(value)
    assert to_tree(Reader().result(encode([value]))[0]) == to_tree(value)


@pytest.mark.parametrize("tag", SAMPLES)
def test_what_it_reads_is_of_the_type_that_it_wrote(tag):
    value = SAMPLES[tag]
    assert type(Reader().result(encode([value]))[0]) is type(value)


@pytest.mark.parametrize("tag", SAMPLES)
def test_it_alone_is_responsible(tag):
    cls = type(SAMPLES[tag])
    codec = codec_of(tag)
    assert codec_for(cls) is codec
    exact = [one.tag for one in registry.codecs() if cls in one.types]
    covering = [one.tag for one in registry.codecs() if one.covers and one.covers(cls)]
    assert (exact or covering) == [tag]


NONSENSE: list[Any] = [None, 5, -1.5, "?", [], {}, [[]], ["?", None], {"a": 1}, {"$type": "tuple", "items": [1]}]


def broken(body: dict[str, Any]) -> Any:
    """The body with each of its parts gone, then replaced by each kind of nonsense."""
    for key in body:
        if key == "$type":
            continue
        yield {name: one for name, one in body.items() if name != key}
        for nonsense in NONSENSE:
            yield {**body, key: nonsense}


@pytest.mark.parametrize("tag", SAMPLES)
def test_a_broken_body_is_read_or_refused_by_name(tag):
    for body in broken(to_tree(SAMPLES[tag])):
        payload = Payload(orjson.dumps([body]).decode(), "", 0)
        with contextlib.suppress(ValueNotRebuilt):
            Reader().result(payload)
        Reader().inputs(payload)
        assert isinstance(Reader().error(Payload(orjson.dumps(body).decode(), "", 0)), BaseException)


def test_the_path_of_another_system_is_refused():
    body = {"$type": FOREIGN.__name__, "value": "a"}
    with pytest.raises(ValueNotRebuilt):
        Reader().result(Payload.of(orjson.dumps(body).decode()))
    assert type(Reader().error(Payload.of(orjson.dumps(body).decode()))) is RecordedError


def test_tags_and_types_are_taken_once():
    def nothing(*args: Any) -> Any:
        raise NotImplementedError

    with pytest.raises(ValueError, match=r"^two codecs have the tag 'tuple'$"):
        register(Codec(tag="tuple", encode=nothing, decode=nothing))
    with pytest.raises(ValueError, match=r"^<class 'tuple'> is written by 'tuple' and by 'tuple2'$"):
        register(Codec(tag="tuple2", types=(tuple,), encode=nothing, decode=nothing))
    assert codec_of("tuple2") is None


def test_optional_libraries_are_named_by_modules_that_exist():
    for library, module in registry.OPTIONAL.items():
        assert find_spec(module) is not None
        assert (module in sys.modules) <= (library in sys.modules)
