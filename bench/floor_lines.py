"""The floor of writing: a span as one line of OTLP JSON, by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import orjson
from opentelemetry.sdk.trace import ReadableSpan

__all__ = ["SUFFIX", "attributes_of", "line", "prefix"]

SUFFIX = b"]}]}]}\n"


def prefix(resource: Mapping[str, Any], scope: str, version: str) -> bytes:
    """All of a line before its span. Constant for a run, so made once."""
    about = orjson.dumps({"attributes": attributes_of(resource)})
    by = json.dumps({"name": scope, "version": version}).encode()
    return b'{"resourceSpans":[{"resource":%b,"scopeSpans":[{"scope":%b,"spans":[' % (about, by)


def attributes_of(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Any) -> dict[str, Any]:
    kind = type(value)
    if kind is str:
        return {"stringValue": value}
    if kind is bool:
        return {"boolValue": value}
    if kind is int:
        return {"intValue": str(value)}
    if kind is float:
        return {"doubleValue": value}
    if kind is tuple or kind is list:
        return {"arrayValue": {"values": [_value(one) for one in value]}}
    return {"stringValue": str(value)}


def line(before: bytes, span: ReadableSpan) -> bytes:
    """An ended span of the SDK as one line, from the SDK's own fields: its properties make copies, its
    attributes take a lock at every look."""
    context, parent, status = span._context, span._parent, span._status
    assert context is not None
    written: dict[str, Any] = {
        "traceId": f"{context.trace_id:032x}",
        "spanId": f"{context.span_id:016x}",
        "name": span._name,
        "kind": span._kind.value + 1,
        "startTimeUnixNano": str(span._start_time),
        "endTimeUnixNano": str(span._end_time),
        "attributes": attributes_of(getattr(span._attributes, "_dict", {})),
        "status": {},
    }
    if parent is not None:
        written["parentSpanId"] = f"{parent.span_id:016x}"
    if status.status_code.value:
        written["status"] = {"code": status.status_code.value, "message": status.description or ""}
    if span._events:
        written["events"] = [
            {
                "timeUnixNano": str(event.timestamp),
                "name": event.name,
                "attributes": attributes_of(event.attributes or {}),
            }
            for event in span._events
        ]
    return before + orjson.dumps(written) + SUFFIX
