"""Bare OTLP spans in JSON, one object each, without resource or scope."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracetape.model.span import NOTHING, Gap, Scope, SpanRecord
from tracetape.sources.formats.otlp_span import map_of, span_of
from tracetape.sources.records import Record

__all__ = ["claims", "name", "read"]

name = "OTLP JSON spans"


def claims(content: dict[str, Any] | bytes) -> bool:
    """An object with the keys of an OTLP span: its ids, and a start in nanoseconds."""
    if type(content) is not dict:
        return False
    return ("spanId" in content and "startTimeUnixNano" in content) or (
        "span_id" in content and "start_time_unix_nano" in content
    )


def read(record: Record) -> Iterator[SpanRecord | Gap]:
    """The span. Raises FormatError BAD_TRACE_ID, BAD_SPAN_ID, BAD_FIELD or TOO_DEEP."""
    yield span_of(map_of(record.content, "the record", record.where), NOTHING, Scope(), record.where)
