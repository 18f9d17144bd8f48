"""Reads again what stands at a place of a file that has been read before."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import orjson

from tracetape.sources.detect import BOM

__all__ = ["Strings", "line_at", "line_of"]


def line_at(path: Path, place: tuple[int, int]) -> dict[str, Any] | None:
    """The JSON object of a line that has been read before; None where it is not there any more.

    place: where it begins, and how long it is, in bytes.
    """
    begin, size = place
    try:
        with path.open("rb") as file:
            file.seek(begin)
            return line_of(file.read(size))
    except OSError:
        return None


def line_of(raw: bytes) -> dict[str, Any] | None:
    """The JSON object of a line; None where it is none."""
    try:
        found = orjson.loads(raw.strip().removeprefix(BOM))
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


class Strings:
    """The JSON strings of a file that was read before, each by its place. Of one that is kept in memory they are
    those that were read, whatever has become of it. Of another, whose strings are asked for in their order, some
    more are read with each.

    path: of a file that is not packed. whole: all that was read of it, where that is kept.
    """

    __slots__ = ("_block", "_next", "path", "whole")

    def __init__(self, path: str, whole: bytes) -> None:
        self.path, self.whole = path, whole
        # The bytes that were read last, with their place. Not locked: one pair is set in place of the other.
        self._block = (0, b"")
        self._next = -1  # where the string behind the last one may begin

    def text(self, begin: int, size: int) -> str | None:
        """The text of a string; None where there is none any more.

        begin, size: where it begins, quotes included, and how long it is, in bytes.
        """
        end = begin + size
        try:
            found = orjson.loads(self.whole[begin:end] if end <= len(self.whole) else self._of_large(begin, end))
        except (OSError, orjson.JSONDecodeError):
            return None
        return found if type(found) is str else None

    def look_again(self) -> None:
        """Forget what has been read ahead: it may stand there no more."""
        self._block = (0, b"")

    def _of_large(self, begin: int, end: int) -> bytes:
        at, block = self._block
        if not at <= begin <= end <= at + len(block):
            is_next = 0 <= begin - self._next <= _AHEAD
            at, block = begin, self._read(begin, max(end - begin, _AHEAD) if is_next else end - begin)
            if len(block) <= _AHEAD:  # a long value is not to stay
                self._block = (at, block)
        self._next = end
        return block[begin - at : end - at]

    def _read(self, begin: int, size: int) -> bytes:
        # Not kept open: what closes a file behind the last one who has it is code that the collector runs wherever
        # it comes; see `_tapes` in the replayer.
        file = os.open(self.path, os.O_RDONLY)
        try:
            return os.pread(file, size, begin)
        finally:
            os.close(file)


_AHEAD = 2**16
