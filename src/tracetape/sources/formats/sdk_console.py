"""What the Python SDK's ConsoleSpanExporter prints: one object a span."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracetape.model.span import Event, Gap, Link, Scope, SpanRecord, Status
from tracetape.sources.formats.json_fields import plain, time_of
from tracetape.sources.formats.otlp_span import enum_of, list_of, map_of, text_of
from tracetape.sources.formats.span_rules import KINDS, STATUS_CODES, finished_span
from tracetape.sources.ids import SPAN_ID_BYTES, TRACE_ID_BYTES, id_from_text
from tracetape.sources.records import Record

__all__ = ["claims", "name", "read"]

name = "OpenTelemetry SDK console"


def claims(content: dict[str, Any] | bytes) -> bool:
    """An object whose `context` has its ids in hexadecimal with `0x`."""
    context = content.get("context") if type(content) is dict else None
    return type(context) is dict and text_of(context.get("trace_id")).startswith("0x")


def read(record: Record) -> Iterator[SpanRecord | Gap]:
    """The span (opentelemetry-sdk, `ReadableSpan.to_json`). Times are in microseconds; there is no scope.

    Raises FormatError BAD_TRACE_ID, BAD_SPAN_ID, BAD_FIELD, TOO_DEEP.
    """
    where = record.where
    span = map_of(record.content, "the record", where)
    title = text_of(span.get("name"))
    what = f"span {title[:80]!r} ({where})"
    context = map_of(span.get("context"), "context", what)
    status = map_of(span.get("status"), "status", what)
    resource = span.get("resource")
    if type(resource) is dict:
        resource = resource.get("attributes", resource)
    yield finished_span(
        trace_id=_id(context.get("trace_id"), TRACE_ID_BYTES, what),
        span_id=_id(context.get("span_id"), SPAN_ID_BYTES, what),
        parent_id=_id(span.get("parent_id"), SPAN_ID_BYTES, f"the parent of {what}"),
        name=title,
        kind=enum_of(span.get("kind"), KINDS),
        start_ns=time_of(span.get("start_time"), "start_time", what) or 0,
        end_ns=time_of(span.get("end_time"), "end_time", what),
        status=Status(enum_of(status.get("status_code"), STATUS_CODES), text_of(status.get("description"))),
        attributes=_attributes(span, what),
        events=tuple(
            Event(
                text_of(one.get("name")),
                time_of(one.get("timestamp"), "an event's timestamp", what) or 0,
                _attributes(one, f"an event of {what}"),
            )
            for one in list_of(span.get("events"), "events", what)
        ),
        links=tuple(_link(one, f"a link of {what}") for one in list_of(span.get("links"), "links", what)),
        resource=plain(map_of(resource, "resource", what), what),
        scope=Scope(),
        dropped_attributes=0,
        gaps=(),
        where=where,
    )


def _link(link: dict[str, Any], what: str) -> Link:
    context = map_of(link.get("context"), "context", what)
    return Link(
        _id(context.get("trace_id"), TRACE_ID_BYTES, what),
        _id(context.get("span_id"), SPAN_ID_BYTES, what),
        _attributes(link, what),
    )


def _attributes(holder: dict[str, Any], what: str) -> dict[str, Any]:
    found: dict[str, Any] = plain(map_of(holder.get("attributes"), "attributes", what), what)
    return found


def _id(value: Any, size: int, what: str) -> str:
    return id_from_text(value.removeprefix("0x") if type(value) is str else value, size, what)
