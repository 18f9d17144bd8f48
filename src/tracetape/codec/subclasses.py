"""Stores instances of the program's subclasses of plain types: what the plain type holds, then attributes."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from tracetape.codec.classes import class_body
from tracetape.codec.raw import c_base, is_enum, is_python_class, mro, read_state, write_state
from tracetape.codec.records import attributes_of, is_named_tuple, state_body
from tracetape.codec.registry import Codec, Read, Tree, Write

__all__ = ["CODECS"]


@dataclass(frozen=True, slots=True)
class _Base:
    """A plain type: `plain` takes the contents out of a subclass, `make` puts them into one.

    Both go by the methods of the plain type itself, whatever the subclass did to them.
    """

    plain: Callable[[Any], Any]
    make: Callable[[type, Any], Any]


def _filled(base: Any) -> Callable[[type, Any], Any]:
    """Empty first, then filled by the C `__init__`."""

    def make(cls: type, plain: Any) -> Any:
        made = base.__new__(cls)
        base.__init__(made, plain)
        return made

    return make


def _whole(base: Any) -> Callable[[type, Any], Any]:
    """Made with its contents at once: the immutable ones."""

    def make(cls: type, plain: Any) -> Any:
        return base.__new__(cls, plain)

    return make


def _plain_ordered(value: Any) -> Any:
    return OrderedDict((key, dict.__getitem__(value, key)) for key in OrderedDict.__iter__(value))


def _make_ordered(cls: type, plain: Any) -> Any:
    made: Any = OrderedDict.__new__(cls)
    # Not OrderedDict.__init__: it fills a subclass by the subclass's own __setitem__.
    for key, one in plain.items():
        OrderedDict.__setitem__(made, key, one)
    return made


def _plain_default(value: Any) -> Any:
    factory = defaultdict.__dict__["default_factory"].__get__(value)
    return defaultdict(factory, dict.copy(value))


def _make_default(cls: type, plain: Any) -> Any:
    made: Any = defaultdict.__new__(cls)
    defaultdict.__init__(made, plain.default_factory)
    dict.update(made, dict(plain))
    return made


def _plain_deque(value: Any) -> Any:
    return deque(deque.__iter__(value), deque.__dict__["maxlen"].__get__(value))


def _make_deque(cls: type, plain: Any) -> Any:
    made: Any = deque.__new__(cls)
    deque.__init__(made, plain, plain.maxlen)
    return made


def _day(value: Any) -> tuple[int, int, int]:
    return (
        date.__dict__["year"].__get__(value),
        date.__dict__["month"].__get__(value),
        date.__dict__["day"].__get__(value),
    )


def _clock(base: Any, value: Any) -> tuple[Any, ...]:
    names = ("hour", "minute", "second", "microsecond", "tzinfo")
    return tuple(base.__dict__[name].__get__(value) for name in names)


def _fold(base: Any, value: Any) -> int:
    fold: int = base.__dict__["fold"].__get__(value)
    return fold


_BASES: dict[type, _Base] = {
    str: _Base(str.__str__, _whole(str)),
    int: _Base(int.__int__, _whole(int)),
    float: _Base(float.__float__, _whole(float)),
    complex: _Base(complex.__complex__, _whole(complex)),
    bytes: _Base(lambda value: bytes.__getitem__(value, slice(None)), _whole(bytes)),
    tuple: _Base(lambda value: tuple.__getitem__(value, slice(None)), _whole(tuple)),
    frozenset: _Base(lambda value: frozenset(frozenset.__iter__(value)), _whole(frozenset)),
    bytearray: _Base(lambda value: bytearray.__getitem__(value, slice(None)), _filled(bytearray)),
    list: _Base(list.copy, _filled(list)),
    set: _Base(lambda value: set(set.__iter__(value)), _filled(set)),
    dict: _Base(dict.copy, _filled(dict)),
    OrderedDict: _Base(_plain_ordered, _make_ordered),
    defaultdict: _Base(_plain_default, _make_default),
    deque: _Base(_plain_deque, _make_deque),
    Decimal: _Base(Decimal, _whole(Decimal)),
    date: _Base(
        lambda value: date(*_day(value)),
        lambda cls, plain: date.__new__(cls, *_day(plain)),
    ),
    datetime: _Base(
        lambda value: datetime(*_day(value), *_clock(datetime, value), fold=_fold(datetime, value)),
        lambda cls, plain: datetime.__new__(
            cls,
            *_day(plain),
            *_clock(datetime, plain),
            fold=_fold(datetime, plain),
        ),
    ),
    time: _Base(
        lambda value: time(*_clock(time, value), fold=_fold(time, value)),
        lambda cls, plain: time.__new__(cls, *_clock(time, plain), fold=_fold(time, plain)),
    ),
    timedelta: _Base(
        lambda value: timedelta(*_span(value)),
        lambda cls, plain: timedelta.__new__(cls, *_span(plain)),
    ),
}


def _span(value: Any) -> tuple[int, int, int]:
    days, seconds, microseconds = (
        timedelta.__dict__[name].__get__(value) for name in ("days", "seconds", "microseconds")
    )
    return days, seconds, microseconds


def _base_of(cls: type) -> type | None:
    """The plain type that a class is a Python subclass of."""
    for one in mro(cls):
        if any(one is base for base in _BASES):
            # No other C type in between that has a `__new__`, hence perhaps a state, of its own.
            return one if c_base(cls) is c_base(one) else None
        if not is_python_class(one):
            break
    return None


def _covers(cls: type) -> bool:
    return (
        not any(cls is base for base in _BASES)
        and _base_of(cls) is not None
        and not is_enum(cls)
        and not is_named_tuple(cls)
    )


def _encode(value: Any, write: Write) -> dict[str, Tree]:
    cls = type(value)
    base = _base(cls)
    return {
        **class_body(cls),
        "of": base.__name__,
        "value": write(_BASES[base].plain(value)),
        **state_body(read_state(value), write),
    }


def _decode(body: Mapping[str, Tree], read: Read) -> Any:
    cls = read.cls(body)
    base = _base(cls)
    plain = read(body["value"])
    if type(plain) is not base:
        read.refuse(
            f"which was recorded as a subclass of {type(plain).__name__} and is one of {base.__name__} here"
        )
    made = _BASES[base].make(cls, plain)
    write_state(made, attributes_of(body, "state", read))
    return made


def _base(cls: type) -> type:
    found = _base_of(cls)
    assert found is not None  # noqa: S101 - the class is covered
    return found


CODECS = (Codec(tag="subclass", covers=_covers, encode=_encode, decode=_decode, levels=1),)
