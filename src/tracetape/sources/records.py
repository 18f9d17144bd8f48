"""What a file is cut into before a format reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["SKIPPED", "TRUNCATED", "Record", "brief", "quoted"]

SKIPPED = "SKIPPED_LINE"
TRUNCATED = "TRUNCATED_LAST_RECORD"

_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object (a dict) or one protobuf message (bytes), of whatever format.

    where: file and line, or file and number of the record, for messages.
    place: where its line begins in the unpacked file, and how long it is, in bytes; None for what is not a
           line by itself.
    """

    content: dict[str, Any] | bytes
    where: str
    place: tuple[int, int] | None = None


def brief(value: object) -> str:
    """A value for messages, however deep it is nested."""
    try:
        return repr(value)[:_SHOWN]
    except RecursionError:
        return f"a {type(value).__name__} that is nested very deeply"


def quoted(text: bytes) -> str:
    """The beginning of a line, safe to print: control characters are escaped."""
    shown = repr(text[:_SHOWN].decode("utf-8", "replace"))
    return shown + ("…" if len(text) > _SHOWN else "")
