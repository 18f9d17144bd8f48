"""Which files of a folder of recordings are to go."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["NAME", "Kept", "expired", "name_of"]

NAME = re.compile(r"(?P<start>[0-9]{8}T[0-9]{6}Z)-(?P<trace>[0-9a-f]{32})\.otlp\.jsonl", re.ASCII)
"""What the exporter calls its files. Others in its folder are nobody's to delete."""

_LAST_SECOND = 253_402_300_799  # of the year 9999: what comes after has no four digits


def name_of(trace_id: int, start_ns: int) -> str:
    """Of UTC start time and trace id alone: no text of a program gets into a path."""
    second = min(max(start_ns // 10**9, 0), _LAST_SECOND)
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(second))}-{trace_id:032x}.otlp.jsonl"


@dataclass(frozen=True, slots=True)
class Kept:
    """A file of the folder. `written` is when it was last written, in seconds since the epoch."""

    name: str
    size: int
    written: float
    is_open: bool = False


def expired(files: Iterable[Kept], now: float, max_bytes: int, max_seconds: int) -> list[str]:
    """The names of those to delete, oldest first: written too long ago, and then as many as are too many bytes.

    Open ones stay, and their bytes count. However large it is, the latest stays as well. 0 is no limit.
    """
    mine = sorted((one for one in files if NAME.fullmatch(one.name)), key=lambda one: (one.written, one.name))
    total = sum(one.size for one in mine)
    gone = []
    for one in mine:
        is_old = bool(max_seconds) and now - one.written > max_seconds
        is_too_much = bool(max_bytes) and total > max_bytes and one is not mine[-1]
        if not one.is_open and (is_old or is_too_much):
            gone.append(one.name)
            total -= one.size
    return gone
