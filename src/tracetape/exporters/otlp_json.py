"""Span → one line of OTLP JSON.

The form is that of the OTLP/JSON encoding (OTLP specification, "JSON Protobuf Encoding"): camelCase keys,
ids in hex, enums as integers, 64-bit integers as strings, bytes in base64. One line is one TracesData with
one span, so that a damaged line costs one span.

A span is written in parts, for the recorder knows some of them long before the others and notes them twice:

    told = constant({"service": "shop"})                        # once for all spans that say so
    head = begun(trace_id, span_id, parent_id, "ask", start_ns)
    line = line_of(body(head, end_ns, [told, *entries({"attempt": 7})]), origin_of(resource, scope))
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from tracetape.model.span import NOTHING, Event, Link, Scope, SpanRecord, Status

__all__ = [
    "Body",
    "Entry",
    "Origin",
    "begun",
    "body",
    "constant",
    "encode_line",
    "entries",
    "line_of",
    "origin_of",
]

Body = dict[str, Any]
"""A span of the OTLP JSON form."""
Origin = tuple[Any, Any]
"""Resource and scope, as JSON already."""
Entry = Any
"""One element of an array of attributes; or several that are JSON already, as `constant` gives them."""

_KINDS = {"UNSPECIFIED": 0, "INTERNAL": 1, "SERVER": 2, "CLIENT": 3, "PRODUCER": 4, "CONSUMER": 5}
_CODES = {"UNSET": 0, "OK": 1, "ERROR": 2}
_INT64 = 2**63
_UNSET = Status()
_ORIGINS_KEPT = 64

_origins: dict[tuple[int, Scope], tuple[Mapping[str, Any], Origin]] = {}


def encode_line(span: SpanRecord, resource: Mapping[str, Any] = NOTHING) -> bytes:
    """One span as one line, line feed included. Strings that UTF-8 cannot hold are written with `?`.

    resource: for a span that brings none of its own.
    """
    head = begun(span.trace_id, span.span_id, span.parent_id, span.name, span.start_ns, span.kind)
    whole = body(head, span.end_ns, entries(span.attributes), span.status, span.events, span.links)
    if span.dropped_attributes:
        whole["droppedAttributesCount"] = span.dropped_attributes
    return line_of(whole, origin_of(span.resource or resource, span.scope))


def begun(
    trace_id: str, span_id: str, parent_id: str | None, name: str, start_ns: int, kind: str = "INTERNAL"
) -> Body:
    """What is known of a span at its start, for `body`."""
    head: Body = {"traceId": trace_id, "spanId": span_id}
    if parent_id is not None:
        head["parentSpanId"] = parent_id
    head["name"] = name
    head["kind"] = _KINDS.get(kind, 1)
    head["startTimeUnixNano"] = str(start_ns)
    return head


def body(
    head: Body,
    end_ns: int | None,
    attributes: list[Entry],
    status: Status = _UNSET,
    events: Iterable[Event] = (),
    links: Iterable[Link] = (),
) -> Body:
    """The whole span. `head` stays as it is."""
    whole = {**head, "endTimeUnixNano": str(end_ns or 0), "attributes": attributes}
    if events:
        whole["events"] = [
            {"timeUnixNano": str(one.time_ns), "name": one.name, "attributes": entries(one.attributes)}
            for one in events
        ]
    if links:
        whole["links"] = [
            {"traceId": one.trace_id, "spanId": one.span_id, "attributes": entries(one.attributes)}
            for one in links
        ]
    told: dict[str, Any] = {}
    if status.code != "UNSET":
        told["code"] = _CODES.get(status.code, 0)
        if status.message:
            told["message"] = status.message
    whole["status"] = told
    return whole


def line_of(whole: Body, origin: Origin) -> bytes:
    """A span as a line, line feed included. Strings that UTF-8 cannot hold are written with `?`."""
    resource, scope = origin
    line = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": scope, "spans": [whole]}]}]}
    try:
        # At once, for it may be large: put together of parts it would be there twice.
        return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        return orjson.dumps(_clean(line), option=orjson.OPT_APPEND_NEWLINE)


def origin_of(resource: Mapping[str, Any], scope: Scope) -> Origin:
    """The resource and the scope, encoded: kept, for a run has one resource, the same mapping each time."""
    key = (id(resource), scope)
    found = _origins.get(key)
    if found is not None and found[0] is resource:
        return found[1]
    about = {"attributes": entries(resource)}
    by = {"name": scope.name} | ({"version": scope.version} if scope.version else {})
    origin = (orjson.Fragment(orjson.dumps(_clean(about))), orjson.Fragment(orjson.dumps(_clean(by))))
    if len(_origins) >= _ORIGINS_KEPT:
        _origins.clear()
    _origins[key] = (resource, origin)
    return origin


def constant(attributes: Mapping[str, Any]) -> Entry:
    """Attributes that many spans have, encoded once. At least one."""
    return orjson.Fragment(orjson.dumps(_clean(entries(attributes)))[1:-1])


def entries(attributes: Mapping[str, Any]) -> list[Entry]:
    """Attributes as the array that OTLP JSON has for them."""
    return [
        {
            "key": key,
            # Most are texts and small numbers: they are spared the call.
            "value": {"stringValue": value}
            if type(value) is str
            else {"intValue": str(value)}
            if type(value) is int and -_INT64 <= value < _INT64
            else _value(value),
        }
        for key, value in attributes.items()
    ]


def _value(value: Any) -> dict[str, Any]:
    """An AnyValue. What OTLP has no form for is written as its text."""
    if value is True or value is False:
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)} if -_INT64 <= value < _INT64 else {"stringValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value if math.isfinite(value) else _NAMES[str(value)]}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, (list, tuple)):
        return {
            "arrayValue": {"values": [{"stringValue": one} if type(one) is str else _value(one) for one in value]}
        }
    if isinstance(value, Mapping):
        return {"kvlistValue": {"values": entries({str(key): one for key, one in value.items()})}}
    if isinstance(value, bytes):
        return {"bytesValue": base64.b64encode(value).decode("ascii")}
    return {} if value is None else {"stringValue": str(value)}


_NAMES = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _clean(part: Any) -> Any:
    """The same with `?` for what UTF-8 cannot hold."""
    if isinstance(part, str):
        return part.encode("utf-8", "replace").decode("utf-8")
    if isinstance(part, list):
        return [_clean(one) for one in part]
    if isinstance(part, dict):
        return {_clean(key): _clean(one) for key, one in part.items()}
    return part
