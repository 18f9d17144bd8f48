"""One row per type: every value comes back equal and of the same type, wherever it is nested."""

from __future__ import annotations

import enum
import math
import sys
import uuid
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import InitVar, dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import SimpleNamespace
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar
from zoneinfo import ZoneInfo

import orjson
import pytest

from tracetape.codec import encode, to_tree
from tracetape.codec.reader import Reader

T = TypeVar("T")


class Color(enum.Enum):
    RED = 1
    CRIMSON = 1  # noqa: PIE796 - an alias is meant
    PAIR = (1, 2)


class Level(enum.IntEnum):
    LOW = 1


class Word(enum.StrEnum):
    HI = "hi"


class Right(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()
    RUN = enum.auto()


class Mask(enum.IntFlag):
    A = 1
    B = 2


@dataclass
class Point:
    x: int
    y: Any = None
    kind: ClassVar[str] = "point"


@dataclass(frozen=True, slots=True)
class Frozen:
    name: str
    tags: tuple[str, ...] = ()


@dataclass(slots=True)
class Slotted:
    a: int


@dataclass(slots=True)
class SlottedChild(Slotted):
    b: list[int] = field(default_factory=list)


@dataclass
class Derived(Point):
    total: int = field(init=False)
    seed: InitVar[int] = 3

    def __post_init__(self, seed: int) -> None:
        self.total = self.x + seed
        self.extra = "kept"


@dataclass
class Unset:
    later: int = field(init=False)


@dataclass
class Box(Generic[T]):
    item: T


class Private:
    __slots__ = ("__hidden",)


@dataclass
class Mangled(Private):
    x: int

    def __post_init__(self) -> None:
        self._Private__hidden = "h"


class Pair(NamedTuple):
    left: int
    right: str = "r"


Old = namedtuple("Old", "a b")


class WordText(str):
    pass


class Tagged(str):
    __slots__ = ("note",)
    note: str


class Num(int):
    pass


class Ratio(float):
    pass


class Comp(complex):
    pass


class Raw(bytes):
    pass


class RawArray(bytearray):
    pass


class Items(list):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.source = "here"


class Bag(dict):
    pass


class Group(set):
    pass


class FrozenGroup(frozenset):
    pass


class Row(tuple):
    __slots__ = ()


class Sorted(OrderedDict):
    pass


class Auto(defaultdict):
    pass


class Queue(deque):
    pass


class Tally(Counter):
    pass


class Day(date):
    pass


class Moment(datetime):
    pass


class Clock(time):
    pass


class Span(timedelta):
    pass


class Money(Decimal):
    pass


def tagged(text: str, note: str) -> Tagged:
    made = Tagged(text)
    made.note = note
    return made


BERLIN = ZoneInfo("Europe/Berlin")

VALUES: dict[str, Any] = {
    "none": None,
    "true": True,
    "zero": 0,
    "64 bits": 2**63 - 1,
    "-64 bits": -(2**63),
    "65 bits": 2**63,
    "-65 bits": -(2**63) - 1,
    "4300 digits": 10**4299,
    "4301 digits": -(10**4300),
    "float": 0.1,
    "whole float": 3.0,
    "-0.0": -0.0,
    "big float": sys.float_info.max,
    "small float": 5e-324,
    "inf": math.inf,
    "-inf": -math.inf,
    "str": "",
    "str of every kind": 'é 漢 😀 \x00 " \\ \u2028',
    "lone surrogate": "a\ud800\\ud800é😀\n",
    "surrogates side by side": "\ud83d\ude00",
    "bytes": b"\x00\xff",
    "bytearray": bytearray(b"ab"),
    "list": [1, [2, []]],
    "tuple": (1, (2, ())),
    "set": {1, "1", (1,), None},
    "frozenset": frozenset({frozenset({1}), 2}),
    "dict": {"b": 1, "a": {"c": 2}},
    "dict of odd keys": {1: "a", True and "1": "b", None: "c", (1, 2): "d", 2.5: "e", b"k": "f"},
    "dict in order": {3: 0, 1: 0, 2: 0},
    "dict with our tag": {"$type": "tuple", "items": [1]},
    "dict with a surrogate key": {"\ud800": 1},
    "deque": deque([1, 2], maxlen=5),
    "endless deque": deque([1]),
    "OrderedDict": OrderedDict([("b", 1), ("a", (2,))]),
    "defaultdict": defaultdict(list, {"a": [1]}),
    "defaultdict of None": defaultdict(None, {1: 2}),
    "Counter": Counter("abca"),
    "datetime": datetime(2026, 11, 30, 1, 2, 3, 4),
    "datetime UTC": datetime(2026, 11, 30, tzinfo=UTC),
    "datetime offset": datetime(2026, 11, 30, tzinfo=timezone(timedelta(hours=5, minutes=30, microseconds=1))),
    "datetime named": datetime(2026, 11, 30, tzinfo=timezone(timedelta(hours=1), "CET")),
    "datetime zone": datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN),
    "datetime fold": datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1),
    "naive fold": datetime(2026, 10, 25, 2, 30, fold=1),
    "date": date(2026, 11, 30),
    "time": time(1, 2, 3),
    "time zone": time(1, 2, 3, 4, tzinfo=BERLIN, fold=1),
    "timedelta": timedelta(days=-1, seconds=5, microseconds=7),
    "timezone": UTC,
    "zoneinfo": BERLIN,
    "Decimal": Decimal("1.10"),
    "Decimal infinity": Decimal("-Infinity"),
    "Decimal exponent": Decimal("1E+400"),
    "Fraction": Fraction(1, 10**30),
    "UUID": uuid.UUID(int=5),
    "Enum": Color.RED,
    "Enum alias": Color.CRIMSON,
    "Enum of a tuple": Color.PAIR,
    "IntEnum": Level.LOW,
    "StrEnum": Word.HI,
    "Flag": Right.READ,
    "Flag combined": Right.READ | Right.RUN,
    "Flag of none": Right(0),
    "IntFlag unknown bit": Mask(9),
    "Path": Path("a/b"),
    "PurePosixPath": PurePosixPath("/x"),
    "PureWindowsPath": PureWindowsPath("c:\\x"),
    "range": range(1, 10**30, 3),
    "complex": complex(1, -0.0),
    "Ellipsis": ...,
    "NotImplemented": NotImplemented,
    "SimpleNamespace": SimpleNamespace(a=(1,), b=2),
    "dataclass": Point(1, Point(2)),
    "dataclass frozen slots": Frozen("n", ("t",)),
    "dataclass slots inherited": SlottedChild(1, [2]),
    "dataclass init=False": Derived(1, 2),
    "dataclass never set": Unset(),
    "dataclass generic": Box[int](1),
    "dataclass mangled slot": Mangled(1),
    "NamedTuple": Pair(1, "x"),
    "namedtuple": Old((1,), [2]),
    "str subclass": WordText("x"),
    "str subclass with a slot": tagged("x", "n"),
    "int subclass": Num(2**70),
    "float subclass": Ratio(0.5),
    "complex subclass": Comp(1j),
    "bytes subclass": Raw(b"x"),
    "bytearray subclass": RawArray(b"x"),
    "list subclass": Items([1, (2,)]),
    "dict subclass": Bag({1: 2}),
    "set subclass": Group({1}),
    "frozenset subclass": FrozenGroup({1}),
    "tuple subclass": Row((1,)),
    "OrderedDict subclass": Sorted([("b", 1), ("a", 2)]),
    "defaultdict subclass": Auto(int, {1: 2}),
    "deque subclass": Queue([1], 3),
    "Counter subclass": Tally("aab"),
    "date subclass": Day(2026, 1, 2),
    "datetime subclass": Moment(2026, 1, 2, 3, tzinfo=BERLIN, fold=1),
    "time subclass": Clock(1, 2),
    "timedelta subclass": Span(1, 2, 3),
    "Decimal subclass": Money("1.5"),
}


def back(value: Any) -> Any:
    return Reader().result(encode(value))


def same(a: Any, b: Any) -> bool:
    """Equal and of the same types all the way down, which `==` alone does not say."""
    return type(a) is type(b) and a == b and repr(to_tree(a)) == repr(to_tree(b))


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_comes_back_equal_and_of_the_same_type(value):
    if type(value) is Unset:
        assert type(back(value)) is Unset
        assert vars(back(value)) == {}
        return
    assert same(back(value), value)
    assert same(back([value]), [value])
    assert same(back({"k": value})["k"], value)
    assert same(back((value, value)), (value, value))
    assert same(back({1: value})[1], value)
    assert same(back(Point(1, value)).y, value)
    assert same(back(Items([value])), Items([value]))


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_writes_json_that_others_can_read(value):
    payload = encode(value)
    assert payload.size == len(payload.text.encode("utf-8"))
    assert orjson.loads(payload.text) == to_tree(value)
    assert '"opaque"' not in payload.text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, 2.5, "x", None, True]}, '{"a":[1,2.5,"x",null,true]}'),
        ((1,), '{"$type":"tuple","items":[1]}'),
        ({"$type": 1}, '{"$type":"dict","items":[["$type",1]]}'),
        (Decimal("1.10"), '{"$type":"Decimal","value":"1.10"}'),
        (
            datetime(2026, 11, 30, tzinfo=UTC),
            '{"$type":"datetime","value":"2026-11-30T00:00:00+00:00"}',
        ),
        (
            OSError(2, "no"),
            (
                '{"$type":"exception","class":"builtins:FileNotFoundError","args":[2,"no"],'
                '"members":{"errno":2,"strerror":"no"},"text":"[Errno 2] no"}'
            ),
        ),
        (ValueError("bad"), '{"$type":"exception","class":"builtins:ValueError","args":["bad"]}'),
        (
            Frozen("n"),
            f'{{"$type":"dataclass","class":"{__name__}:Frozen",'
            '"fields":{"name":"n","tags":{"$type":"tuple","items":[]}}}',
        ),
        (Right.READ, f'{{"$type":"enum","class":"{__name__}:Right","value":1,"name":"READ"}}'),
    ],
)
def test_the_text(value, text):
    assert encode(value).text == text


def test_nan_comes_back():
    assert math.isnan(back(math.nan))
    assert math.isnan(back(Decimal("NaN")))
    assert str(back(Decimal("sNaN12"))) == "sNaN12"


def test_negative_zero_survives():
    assert math.copysign(1, back(-0.0)) == -1
    assert math.copysign(1, back([-0.0])[0]) == -1


def test_slice_comes_back():
    assert back(slice(1, None, (2,))) == slice(1, None, (2,))


def test_enum_members_are_the_members():
    assert back(Color.RED) is Color.RED
    assert back(Right.READ | Right.RUN) is Right.READ | Right.RUN


def test_flags_that_nobody_combined_yet_are_made_once():
    text = encode(Right.READ).text.replace('"value":1,"name":"READ"', '"value":6')
    from tracetape.model.payload import Payload

    made = Reader().result(Payload.of(text))
    assert made is Right.WRITE | Right.RUN


def test_attributes_besides_the_fields_come_back():
    assert back(Derived(1, 2)).extra == "kept"
    assert back(Mangled(1))._Private__hidden == "h"
    assert back(Items([1])).source == "here"
    assert back(tagged("x", "n")).note == "n"


def test_a_deque_and_a_defaultdict_go_on_as_before():
    assert back(deque([1, 2], maxlen=2)).maxlen == 2
    assert back(defaultdict(list))["new"] == []
    assert back(Auto(int))["new"] == 0


def test_the_order_of_an_ordered_dict_is_its_own():
    value = OrderedDict([("a", 1), ("b", 2)])
    value.move_to_end("a")
    assert list(back(value)) == ["b", "a"]
    moved = Sorted([("a", 1), ("b", 2)])
    moved.move_to_end("a")
    assert list(back(moved)) == ["b", "a"]


def test_shared_references_come_back_as_equal_copies():
    shared = [1]
    first, second = back([shared, shared])
    assert first == second == [1]
    assert first is not second


def test_digit_limits_of_the_program_do_not_matter():
    before = sys.get_int_max_str_digits()
    value = 10**2000
    sys.set_int_max_str_digits(640)
    try:
        assert back(value) == value
    finally:
        sys.set_int_max_str_digits(before)
