"""A span as read from anywhere: one flat record, whatever the format was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

__all__ = ["NOTHING", "Event", "Gap", "Link", "LogEvent", "Scope", "SpanRecord", "Status", "nothing"]

NOTHING: Mapping[str, Any] = MappingProxyType({})


def nothing() -> Mapping[str, Any]:
    """The default of mapping fields (dataclasses refuse a mapping as a default)."""
    return NOTHING


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that a recording lacks, or that a reader had to put up with.

    code:   a stable word in capitals (`MISSING_PARENT`, `PAYLOAD_TRUNCATED`, …).
    text:   for people: what is lacking and what would cure it.
    where:  the file and line, the span, or the crossing.
    """

    code: str
    text: str
    where: str = ""

    def __str__(self) -> str:
        return f"{self.code}: {self.text}" + (f" ({self.where})" if self.where else "")


@dataclass(frozen=True, slots=True)
class Status:
    """`code` is UNSET, OK or ERROR."""

    code: str = "UNSET"
    message: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    name: str
    time_ns: int
    attributes: Mapping[str, Any] = field(default_factory=nothing)


@dataclass(frozen=True, slots=True)
class LogEvent:
    """A log record that belongs to a span, as an event of it."""

    trace_id: str
    span_id: str
    event: Event


@dataclass(frozen=True, slots=True)
class Link:
    trace_id: str
    span_id: str
    attributes: Mapping[str, Any] = field(default_factory=nothing)


@dataclass(frozen=True, slots=True)
class Scope:
    name: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRecord:
    """One span.

    trace_id, span_id, parent_id:  lower-case hex of 32, 16 and 16 digits; no parent is None.
    kind:          INTERNAL, SERVER, CLIENT, PRODUCER, CONSUMER or UNSPECIFIED.
    start_ns, end_ns:  nanoseconds since the epoch; an unended span has end_ns None.
    attributes:    str, bool, int, float, bytes, None, lists and dicts of these. A number that JSON
                   cannot hold comes as the float that it names.
    dropped_attributes:  how many the SDK says it dropped.
    gaps:          what the reader noticed about this span alone.
    where:         file and line or record, for messages. Not part of the span's identity.
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    kind: str = "INTERNAL"
    start_ns: int = 0
    end_ns: int | None = None
    status: Status = field(default_factory=Status)
    attributes: Mapping[str, Any] = field(default_factory=nothing)
    events: tuple[Event, ...] = ()
    links: tuple[Link, ...] = ()
    resource: Mapping[str, Any] = field(default_factory=nothing)
    scope: Scope = field(default_factory=Scope)
    dropped_attributes: int = 0
    gaps: tuple[Gap, ...] = field(default=(), compare=False)
    where: str = field(default="", compare=False)
