"""Jaeger's legacy JSON: `/api/traces`, which is what its UI downloads."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

from tracetape.errors import SourceError, TraceSelectionError
from tracetape.model.span import Event, Gap, Link, SpanRecord, Status
from tracetape.sources.formats.jaeger_v3 import NOT_KEPT
from tracetape.sources.formats.json_fields import microseconds, objects, plain
from tracetape.sources.formats.otlp_span import enum_of, float_of, list_of, map_of, refuse, text_of, whole
from tracetape.sources.formats.otlp_tags import OWN_TAGS, padded_id, scope_in
from tracetape.sources.formats.span_rules import KINDS, NAN, STATUS_CODES, add_attribute, finished_span
from tracetape.sources.ids import SPAN_ID_BYTES, TRACE_ID_BYTES
from tracetape.sources.records import Record

__all__ = ["claims", "name", "read"]

name = "Jaeger JSON"

# A service that said no name (Jaeger, its OTLP translator).
_NO_NAME = "OTLPResourceNoServiceName"


def claims(content: dict[str, Any] | bytes) -> bool:
    """An answer with `data` and `errors`, or one trace of it."""
    if type(content) is not dict:
        return False
    if "traceID" in content:
        return "spans" in content
    data = content.get("data")
    if data is None:
        return type(content.get("errors")) is list
    found = objects(data)
    return found is not None and ("traceID" in found[0] if found else "total" in content and "errors" in content)


def read(record: Record) -> Iterator[SpanRecord | Gap]:
    """The spans (Jaeger 2, internal/uimodel). Times are in microseconds; arrays have become JSON text.

    Raises FormatError BAD_TRACE_ID, BAD_SPAN_ID, BAD_FIELD; TraceSelectionError TRACE_NOT_FOUND; SourceError
    BACKEND_ERROR.
    """
    where = record.where
    content = map_of(record.content, "the record", where)
    if "traceID" in content:
        yield from _trace(content, where)
        return
    for trace in list_of(content.get("data"), "data", where):
        yield from _trace(trace, where)
    errors = list_of(content.get("errors"), "errors", where)
    if errors and not content.get("data"):
        _refuse(errors[0], where)


def _refuse(error: dict[str, Any], where: str) -> None:
    message = text_of(error.get("msg"))[:200]
    if error.get("code") == 404:
        raise TraceSelectionError(
            f"{where}: Jaeger has not found the trace ({message!r}). {NOT_KEPT}", code="TRACE_NOT_FOUND"
        )
    raise SourceError(
        f"{where}: is an error of Jaeger instead of a trace: {message!r}. Its legacy API fails where any "
        "attribute is NaN or an infinity: ask /api/v3/traces/{id}.",
        code="BACKEND_ERROR",
    )


def _trace(trace: dict[str, Any], where: str) -> Iterator[SpanRecord | Gap]:
    processes: dict[str, dict[str, Any]] = {}
    for key, process in map_of(trace.get("processes"), "processes", where).items():
        gaps: list[Gap] = []
        processes[key] = _resource(map_of(process, f"process {key!r}", where), where, gaps)
        yield from gaps
    for span in list_of(trace.get("spans"), "spans", where):
        yield _span(span, processes, where)


def _resource(process: dict[str, Any], where: str, gaps: list[Gap]) -> dict[str, Any]:
    service = text_of(process.get("serviceName"))
    resource: dict[str, Any] = {"service.name": service} if service and service != _NO_NAME else {}
    tags = _tags(process.get("tags"), f"a process ({where})", gaps)
    return {**resource, **tags}


def _span(span: dict[str, Any], processes: dict[str, dict[str, Any]], where: str) -> SpanRecord:
    title = text_of(span.get("operationName"))
    what = f"span {title[:80]!r} ({where})"
    gaps: list[Gap] = []
    trace_id = padded_id(span.get("traceID"), TRACE_ID_BYTES, what)
    tags = _tags(span.get("tags"), what, gaps)
    parent_id, links = _references(span, trace_id, what)
    start = microseconds(span.get("startTime"), "startTime", what)
    process = span.get("process")
    if type(process) is dict:  # as the query service has it before its traces are put together
        resource = _resource(process, what, gaps)
    else:
        resource = processes.get(text_of(span.get("processID")), {})
    warnings = span.get("warnings")
    for warning in warnings if type(warnings) is list else ():
        gaps.append(Gap("BACKEND_WARNING", f"Jaeger says: {text_of(warning)[:200]}", what))
    status = _status(tags)
    return finished_span(
        trace_id=trace_id,
        span_id=padded_id(span.get("spanID"), SPAN_ID_BYTES, what),
        parent_id=parent_id,
        name=title,
        kind=enum_of(tags.get("span.kind"), KINDS),
        start_ns=start,
        end_ns=microseconds(span.get("duration"), "duration", what, start),
        status=status,
        attributes={
            key: value
            for key, value in tags.items()
            if key not in OWN_TAGS and not (key == "error" and value is True and status.code == "ERROR")
        },
        events=tuple(_event(one, what, gaps) for one in list_of(span.get("logs"), "logs", what)),
        links=links,
        resource=resource,
        scope=scope_in(tags),
        dropped_attributes=0,
        gaps=tuple(gaps),
        where=where,
    )


def _references(span: dict[str, Any], trace_id: str, what: str) -> tuple[str, tuple[Link, ...]]:
    parent_id = ""
    links: list[Link] = []
    for one in list_of(span.get("references"), "references", what):
        other = padded_id(one.get("traceID"), TRACE_ID_BYTES, f"a reference of {what}")
        target = padded_id(one.get("spanID"), SPAN_ID_BYTES, f"a reference of {what}")
        if one.get("refType") == "CHILD_OF" and other == trace_id and not parent_id:
            parent_id = target
        elif other and target:
            links.append(Link(other, target))
    if not parent_id and span.get("parentSpanID"):
        parent_id = padded_id(span["parentSpanID"], SPAN_ID_BYTES, f"the parent of {what}")
    return parent_id, tuple(links)


def _status(tags: Mapping[str, Any]) -> Status:
    code = enum_of(tags.get("otel.status_code"), STATUS_CODES)
    if code == "UNSET" and tags.get("error") in (True, "true"):
        code = "ERROR"
    return Status(code, text_of(tags.get("otel.status_description")))


def _event(log: dict[str, Any], what: str, gaps: list[Gap]) -> Event:
    fields = _tags(log.get("fields"), f"an event of {what}", gaps)
    title = fields.pop("event", None)
    if title is None:
        title = fields.pop("message", None)
    return Event(text_of(title), microseconds(log.get("timestamp"), "timestamp", what), fields)


def _tags(value: Any, what: str, gaps: list[Gap]) -> dict[str, Any]:
    tags: dict[str, Any] = {}
    for tag in list_of(value, "tags", what):
        key = tag.get("key")
        if type(key) is not str:
            refuse("a tag's key", "a string", key, what)
        add_attribute(tags, key, _value(tag.get("type"), tag.get("value"), key, what), what, gaps)
    return tags


def _value(kind: Any, value: Any, key: str, what: str) -> Any:
    if kind == "int64":
        number = whole(value)
        if number is None or not -(2**63) <= number < 2**63:
            refuse(f"the integer {key!r}", "a number of 64 bits", value, what)
        return number
    if kind == "float64" and type(value) in (int, float):
        return NAN if value != value else float_of(value)
    if kind == "bool" and type(value) is str:
        return value == "true"
    if kind == "binary":
        try:
            return base64.b64decode(value, validate=True)
        except (TypeError, ValueError, binascii.Error):
            refuse(f"the bytes {key!r}", "base64", value, what)
    return plain(value, what)
