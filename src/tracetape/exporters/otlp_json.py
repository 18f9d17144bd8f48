"""SpanRecord → one line of OTLP JSON.

The form is that of the OTLP/JSON encoding (OTLP specification, "JSON Protobuf Encoding"): camelCase keys,
ids in hex, enums as integers, 64-bit integers as strings, bytes in base64. One line is one TracesData with
one span, so that a damaged line costs one span.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson

from tracetape.model.span import NOTHING, Scope, SpanRecord

__all__ = ["encode_line"]

_KINDS = {"UNSPECIFIED": 0, "INTERNAL": 1, "SERVER": 2, "CLIENT": 3, "PRODUCER": 4, "CONSUMER": 5}
_CODES = {"UNSET": 0, "OK": 1, "ERROR": 2}
_INT64 = 2**63


def encode_line(span: SpanRecord, resource: Mapping[str, Any] = NOTHING) -> bytes:
    """One span as one line, line feed included. Strings that UTF-8 cannot hold are written with `?`.

    resource: for a span that brings none of its own.
    """
    try:
        body = orjson.dumps(_span(span, _same))
    except TypeError:
        body = orjson.dumps(_span(span, _clean))
    return _prefix(_Frozen(span.resource or resource), span.scope) + body + b"]}]}]}\n"


class _Frozen:
    """A resource as a cache key: by identity, for it is the same mapping for a whole run."""

    __slots__ = ("mapping",)

    def __init__(self, mapping: Mapping[str, Any]) -> None:
        self.mapping = mapping

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Frozen) and other.mapping is self.mapping

    def __hash__(self) -> int:
        return id(self.mapping)


@lru_cache(maxsize=64)
def _prefix(resource: _Frozen, scope: Scope) -> bytes:
    about = {"attributes": _attributes(resource.mapping, _clean)}
    by = {"name": _clean(scope.name)} | ({"version": _clean(scope.version)} if scope.version else {})
    return (
        b'{"resourceSpans":[{"resource":'
        + orjson.dumps(about)
        + b',"scopeSpans":[{"scope":'
        + orjson.dumps(by)
        + b',"spans":['
    )


def _span(span: SpanRecord, text: Any) -> dict[str, Any]:
    written: dict[str, Any] = {"traceId": span.trace_id, "spanId": span.span_id}
    if span.parent_id is not None:
        written["parentSpanId"] = span.parent_id
    written["name"] = text(span.name)
    written["kind"] = _KINDS.get(span.kind, 1)
    written["startTimeUnixNano"] = str(span.start_ns)
    written["endTimeUnixNano"] = str(span.end_ns or 0)
    written["attributes"] = _attributes(span.attributes, text)
    if span.dropped_attributes:
        written["droppedAttributesCount"] = span.dropped_attributes
    if span.events:
        written["events"] = [
            {
                "timeUnixNano": str(event.time_ns),
                "name": text(event.name),
                "attributes": _attributes(event.attributes, text),
            }
            for event in span.events
        ]
    if span.links:
        written["links"] = [
            {
                "traceId": link.trace_id,
                "spanId": link.span_id,
                "attributes": _attributes(link.attributes, text),
            }
            for link in span.links
        ]
    status: dict[str, Any] = {}
    if span.status.code != "UNSET":
        status["code"] = _CODES.get(span.status.code, 0)
        if span.status.message:
            status["message"] = text(span.status.message)
    written["status"] = status
    return written


def _attributes(attributes: Mapping[str, Any], text: Any) -> list[dict[str, Any]]:
    return [{"key": text(key), "value": _value(value, text)} for key, value in attributes.items()]


def _value(value: Any, text: Any) -> dict[str, Any]:
    """An AnyValue. What OTLP has no form for is written as its text."""
    if isinstance(value, str):
        return {"stringValue": text(value)}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)} if -_INT64 <= value < _INT64 else {"stringValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value if math.isfinite(value) else _NAMES[str(value)]}
    if isinstance(value, (list, tuple)):
        return {"arrayValue": {"values": [_value(one, text) for one in value]}}
    if isinstance(value, Mapping):
        return {"kvlistValue": {"values": _attributes({str(key): one for key, one in value.items()}, text)}}
    if isinstance(value, bytes):
        return {"bytesValue": base64.b64encode(value).decode("ascii")}
    return {} if value is None else {"stringValue": text(str(value))}


_NAMES = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _same(text: str) -> str:
    return text


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
