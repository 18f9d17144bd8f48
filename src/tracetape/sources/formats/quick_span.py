"""The span of OTLP JSON as nearly every exporter writes it, read with little work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from tracetape.model.span import NOTHING, Scope, SpanRecord, Status
from tracetape.sources.formats.span_rules import KINDS, STATUS_CODES

__all__ = ["quick_span", "usual_span"]

_NO_SPAN, _NO_TRACE = "0" * 16, "0" * 32
_UNSET = Status()
_KINDS = len(KINDS)
_TRACES_KEPT = 4_096
_traces: dict[str, str] = {}  # as they were written: a file has many spans of each
_NONE: list[Any] = []

_new = object.__new__
(
    _trace_id,
    _span_id,
    _parent_id,
    _name,
    _kind,
    _start_ns,
    _end_ns,
    _status,
    _attributes,
    _events,
    _links,
    _resource,
    _scope,
    _dropped_attributes,
    _gaps,
    _where,
) = (getattr(SpanRecord, one.name).__set__ for one in fields(SpanRecord))


def quick_span(span: dict[str, Any], resource: Mapping[str, Any], scope: Scope, where: str) -> SpanRecord | None:
    """What `careful_span` gives, for a span without events and links whose ids are in hex, whose numbers are
    decimal strings, whose attributes are plain; None for any other one.

    Nothing is called that is not needed: hundreds of thousands of spans are read this way.
    """
    try:
        trace_id = _traces.get(span["traceId"]) or _trace(span["traceId"])
        span_id = bytes.fromhex(span["spanId"]).hex()
        parent_id = span.get("parentSpanId")
        if parent_id:
            parent_id = bytes.fromhex(parent_id).hex()
            if len(parent_id) != 16 or len(span["parentSpanId"]) != 16:
                return None
            if parent_id == _NO_SPAN:
                parent_id = None
        elif parent_id == "":
            parent_id = None
        elif parent_id is not None or "parent_span_id" in span:
            return None
        start, end = span["startTimeUnixNano"], span["endTimeUnixNano"]
        # Before `int`, which takes more than digits.
        if not (start.isdecimal() and start.isascii() and end.isdecimal() and end.isascii()):
            return None
        if len(start) > 19 or len(end) > 19:
            return None
        attributes: dict[str, Any] = {}
        pairs = span.get("attributes", ())
        for pair in pairs:
            held = pair["value"]
            if len(held) != 1 or type(key := pair["key"]) is not str:
                return None
            if "stringValue" in held:
                if type(value := held["stringValue"]) is not str:
                    return None
            elif "intValue" in held:
                value = held["intValue"]
                if not (value.isdecimal() and value.isascii()) or len(value) > 18:
                    return None
                value = int(value)
            elif "boolValue" in held:
                if type(value := held["boolValue"]) is not bool:
                    return None
            elif not (value := _texts(held["arrayValue"])):
                return None
            attributes[key] = value
        if len(attributes) != len(pairs):
            return None
        name, told, kind = span["name"], span.get("status"), span.get("kind", 0)
        status = _UNSET
        if told:
            code, message = told.get("code", 0), told.get("message", "")
            if type(code) is not int or not 0 <= code < 3 or type(message) is not str:
                return None
            status = Status(STATUS_CODES[code], message)
        elif told is not None and type(told) is not dict:
            return None
    except (KeyError, ValueError, TypeError, AttributeError):
        return None
    if (
        len(span_id) != 16
        or len(span["spanId"]) != 16
        or span_id == _NO_SPAN
        or type(name) is not str
        or type(kind) is not int
        or not 0 <= kind < _KINDS
        or span.get("events", _NONE) != _NONE
        or span.get("links", _NONE) != _NONE
        or span.get("droppedAttributesCount", 0) != 0
        or span.get("droppedAttributesCount") is False
        or "dropped_attributes_count" in span
    ):
        return None
    return usual_span(
        trace_id,
        span_id,
        parent_id,
        name,
        KINDS[kind],
        int(start),
        int(end) or None,
        status,
        attributes or NOTHING,
        resource,
        scope,
        where,
    )


def _trace(written: Any) -> str:
    """A trace's id in lower case. Raises ValueError for what is none."""
    trace_id = bytes.fromhex(written).hex()
    if len(trace_id) != 32 or len(written) != 32 or trace_id == _NO_TRACE:
        raise ValueError
    if len(_traces) >= _TRACES_KEPT:
        _traces.clear()
    _traces[written] = trace_id
    return trace_id


def usual_span(
    trace_id: str,
    span_id: str,
    parent_id: str | None,
    name: str,
    kind: str,
    start_ns: int,
    end_ns: int | None,
    status: Status,
    attributes: Mapping[str, Any],
    resource: Mapping[str, Any],
    scope: Scope,
    where: str,
) -> SpanRecord:
    """A span without events, links and gaps. By its slots: the constructor of a frozen class takes three times as
    long."""
    made = _new(SpanRecord)
    _trace_id(made, trace_id)
    _span_id(made, span_id)
    _parent_id(made, parent_id)
    _name(made, name)
    _kind(made, kind)
    _start_ns(made, start_ns)
    _end_ns(made, end_ns)
    _status(made, status)
    _attributes(made, attributes)
    _events(made, ())
    _links(made, ())
    _resource(made, resource)
    _scope(made, scope)
    _dropped_attributes(made, 0)
    _gaps(made, ())
    _where(made, where)
    return made


def _texts(value: Any) -> list[str] | None:
    """The strings of an array of them, as payloads in pieces are; None for another one, or an empty one."""
    found = [one["stringValue"] for one in value["values"] if len(one) == 1]
    return found if len(found) == len(value["values"]) and all(type(one) is str for one in found) else None
