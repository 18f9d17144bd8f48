"""Zipkin v2 JSON: a span an object, in an array."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from tracetape.model.span import NOTHING, Event, Gap, Link, SpanRecord, Status
from tracetape.sources.formats.json_fields import flattened, microseconds
from tracetape.sources.formats.otlp_span import enum_of, list_of, map_of, text_of
from tracetape.sources.formats.otlp_tags import OWN_TAGS, padded_id, scope_in
from tracetape.sources.formats.span_rules import KINDS, STATUS_CODES, finished_span
from tracetape.sources.ids import SPAN_ID_BYTES, TRACE_ID_BYTES
from tracetape.sources.records import Record

__all__ = ["claims", "name", "read"]

name = "Zipkin JSON"

_LINK = "otlp.link."


def claims(content: dict[str, Any] | bytes) -> bool:
    """An object with `traceId` and `id` (OTLP says `spanId`)."""
    return type(content) is dict and "traceId" in content and "id" in content and "spanId" not in content


def read(record: Record) -> Iterator[SpanRecord | Gap]:
    """The span (Zipkin API v2, `Span`; what of OTLP is where: OpenTelemetry specification, "Trace SDK: Zipkin").
    Every value is a string, and the resource is among the tags.

    Raises FormatError BAD_TRACE_ID, BAD_SPAN_ID, BAD_FIELD.
    """
    where = record.where
    span = map_of(record.content, "the record", where)
    title = text_of(span.get("name"))
    what = f"span {title[:80]!r} ({where})"
    tags = map_of(span.get("tags"), "tags", what)
    start = microseconds(span.get("timestamp"), "timestamp", what)
    service = text_of(map_of(span.get("localEndpoint"), "localEndpoint", what).get("serviceName"))
    yield finished_span(
        trace_id=padded_id(span.get("traceId"), TRACE_ID_BYTES, what),
        span_id=padded_id(span.get("id"), SPAN_ID_BYTES, what),
        parent_id=padded_id(span.get("parentId"), SPAN_ID_BYTES, f"the parent of {what}"),
        name=title,
        kind=enum_of(span.get("kind") or tags.get("span.kind") or "INTERNAL", KINDS),
        start_ns=start,
        end_ns=microseconds(span.get("duration"), "duration", what, start),
        status=_status(tags),
        attributes={key: value for key, value in tags.items() if not _is_own(key, tags)},
        events=tuple(_event(one, what) for one in list_of(span.get("annotations"), "annotations", what)),
        links=tuple(_link(value, what) for key, value in tags.items() if key.startswith(_LINK)),
        resource={"service.name": service} if service else NOTHING,
        scope=scope_in(tags),
        dropped_attributes=0,
        gaps=(),
        where=where,
    )


def _is_own(key: str, tags: dict[str, Any]) -> bool:
    if key == "error":
        return tags[key] in ("true", _status(tags).message)
    return key in OWN_TAGS or key.startswith(_LINK)


def _status(tags: dict[str, Any]) -> Status:
    code = enum_of(tags.get("otel.status_code"), STATUS_CODES)
    message = text_of(tags.get("otel.status_description"))
    error = tags.get("error")
    if code == "UNSET" and error is not None:
        code = "ERROR"
    if code == "ERROR" and not message and error not in (None, "true", ""):
        message = text_of(error)
    return Status(code, message)


def _event(annotation: dict[str, Any], what: str) -> Event:
    """`name|{json}|dropped`, or a name alone."""
    text = text_of(annotation.get("value"))
    attributes: dict[str, Any] = {}
    title, bar, rest = text.partition("|{")
    if bar:
        found = _object("{" + rest.rpartition("|")[0])
        title, attributes = (title, flattened(found, what)) if found is not None else (text, {})
    return Event(title, microseconds(annotation.get("timestamp"), "timestamp", what), attributes)


def _link(value: Any, what: str) -> Link:
    """`trace|span|state|{json}|dropped`"""
    parts = text_of(value).split("|", 3)
    trace_id, span_id = (*parts, "", "")[:2]
    found = _object(parts[3].rpartition("|")[0]) if len(parts) == 4 else None
    of = f"a link of {what}"
    return Link(
        padded_id(trace_id, TRACE_ID_BYTES, of), padded_id(span_id, SPAN_ID_BYTES, of), flattened(found or {}, of)
    )


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return found if type(found) is dict else None
