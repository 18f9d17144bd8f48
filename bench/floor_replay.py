"""The floor of replaying: a look-up of the call's key, then a fresh value from the recording's file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson
import wrapt

from bench.floors import bound, plain

__all__ = ["Replayed"]

_LONGEST_KEY = 64


class _Step:
    """What a report keeps of one call."""

    __slots__ = ("arguments", "boundary", "mode", "place")

    def __init__(self, boundary: str, mode: str, arguments: Any, place: tuple[int, int]) -> None:
        self.boundary, self.mode, self.arguments, self.place = boundary, mode, arguments, place


class Replayed:
    """Stubs of one function that gives its argument back, each to be used once, in their order.

    A stub is found by its arguments as JSON with sorted keys, or by their SHA-256 over 64 bytes. In memory is
    only where its output lies in the file, as a JSON text inside a JSON string.
    """

    def __init__(self, function: Any, path: Path, values: Iterable[Any]) -> None:
        self._places: dict[bytes, list[tuple[int, int]]] = {}
        position = 0
        with path.open("wb") as file:
            for value in values:
                text = orjson.dumps(orjson.dumps(value).decode())
                self._places.setdefault(_key(bound(value)), []).append((len(text), position))
                position += file.write(text + b"\n")
        self._descriptor = os.open(path, os.O_RDONLY)
        self._table: dict[bytes, list[tuple[int, int]]] = {}
        self._steps: list[_Step] = []
        self.call = wrapt.FunctionWrapper(function, self._answered)
        self.rewind()

    def rewind(self) -> None:
        """No stub is used, no step taken."""
        self._table.clear()
        self._table.update((key, places[::-1]) for key, places in self._places.items())
        self._steps.clear()

    def close(self) -> None:
        os.close(self._descriptor)

    def _answered(self, wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        arguments = bound(*args, **kwargs)
        place = self._table[_key(arguments)].pop()
        self._steps.append(_Step("echo", "stub", arguments, place))
        return orjson.loads(orjson.loads(os.pread(self._descriptor, *place)))


def _key(arguments: Any) -> bytes:
    plain(arguments)
    text = orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS)
    return text if len(text) <= _LONGEST_KEY else hashlib.sha256(text).digest()
