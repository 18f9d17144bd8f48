"""Tells the values that are their own stored form, which most are."""

from __future__ import annotations

from math import isfinite
from threading import active_count
from typing import Any

import orjson

from tracetape.codec.registry import TAG

__all__ = ["DEPTH_LIMIT", "LEAST", "MOST", "is_plain", "plain_json"]

DEPTH_LIMIT = 180
"""Levels of JSON. Readers of traces commonly stop at 200, orjson at 254."""

LEAST, MOST = -(2**63), 2**63 - 1
"""Ints that JSON's readers take."""

_CONTAINERS = 100_000
_WITH_OTHERS = 1_000
_LONG = 64
_NEVER_ODD = frozenset({str, bool, type(None)})
_FLOATS = frozenset({float})


def plain_json(value: Any) -> bytes | None:
    """The stored text of a value that is its own stored form; None for another.

    Where there are other threads, one could put a tuple where a list was, after it was looked at and before it is
    written, which is one step for all of them. So it is looked at again, and what has changed is refused. So is
    what takes longer: one could change it, and put it back in between.
    """
    alone = active_count() == 1
    most = _CONTAINERS if alone else _WITH_OTHERS
    try:
        if not is_plain(value, most):
            return None
        utf8 = orjson.dumps(value)
        return utf8 if alone or is_plain(value, most) else None
    except Exception:  # noqa: BLE001 - a lone surrogate; a signal handler that changes the size of a dict
        return None


def is_plain(value: Any, most: int = _CONTAINERS) -> bool:
    """Whether each part is exactly None, bool, str, an int of 64 bits, a finite float, a list, or a dict with str
    keys and without our tag: then a fast encoder writes it as we would. It writes others too, and not as we would
    (a tuple, an Enum, a UUID, NaN), so that it cannot be asked.

    A str with lone surrogates passes, for the encoder itself refuses it. What has more containers than `most`, or
    is nested deeply (a cycle is), is no plain value either. Raises RuntimeError where another thread changes it
    meanwhile.
    """
    cls = type(value)
    if cls is dict or cls is list:
        return _left(value, DEPTH_LIMIT, most) >= 0
    return _is_odd(cls, value) is False


def _left(value: Any, depth: int, containers: int) -> int:
    """How many more containers there may be; less than none where one part is not plain.

    depth:  of how many levels `value` may be. Containers that are shared come out as copies: counted are these.
    """
    if not depth:
        return -1
    parts = value
    if type(value) is dict:
        for key in value:
            if type(key) is not str:
                return -1
        if TAG in value:
            return -1
        parts = value.values()
    elif len(value) > _LONG:
        kinds = set(map(type, value))
        # As in an embedding. The sum of floats with one that is not finite among them is not finite.
        if kinds <= _NEVER_ODD or (kinds == _FLOATS and isfinite(sum(value))):
            return containers
    for one in parts:
        cls = type(one)
        if cls is str or one is None or cls is bool:
            continue
        if cls is dict or cls is list:
            containers = _left(one, depth - 1, containers - 1)
            if containers < 0:
                return -1
        elif cls is int:
            if not LEAST <= one <= MOST:
                return -1
        elif _is_odd(cls, one):
            return -1
    return containers


def _is_odd(cls: type, value: Any) -> bool:
    """Of what is no container."""
    if cls is int:
        return not LEAST <= value <= MOST
    if cls is float:
        # Infinities minus themselves are NaN, which equals nothing.
        return bool(value - value != 0.0)
    return cls is not str and value is not None and cls is not bool
