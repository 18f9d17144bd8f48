"""An OTLP Span in JSON → SpanRecord, for every layout that holds such spans.

Takes what is legal to receive and what tools really write: camelCase and snake_case keys, hex and base64
ids, enums as numbers and names, 64-bit numbers as strings and numbers, unknown fields.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping
from typing import Any, NoReturn

from tracetape.errors import FormatError
from tracetape.model.span import NOTHING, Event, Gap, Link, Scope, SpanRecord, Status
from tracetape.sources.formats.quick_span import quick_span
from tracetape.sources.formats.span_rules import (
    KINDS,
    NAN,
    STATUS_CODES,
    add_attribute,
    finished_span,
    too_deep,
)
from tracetape.sources.ids import SPAN_ID_BYTES, TRACE_ID_BYTES, id_from_text
from tracetape.sources.records import brief

__all__ = [
    "attributes_of",
    "careful_span",
    "enum_of",
    "field",
    "float_of",
    "list_of",
    "map_of",
    "number_of",
    "refuse",
    "scope_of",
    "span_of",
    "text_of",
    "value_of",
    "whole",
]

_SNAKE = {
    "resourceSpans": "resource_spans",
    "scopeSpans": "scope_spans",
    "instrumentationLibrarySpans": "instrumentation_library_spans",
    "instrumentationLibrary": "instrumentation_library",
    "traceId": "trace_id",
    "spanId": "span_id",
    "parentSpanId": "parent_span_id",
    "startTimeUnixNano": "start_time_unix_nano",
    "endTimeUnixNano": "end_time_unix_nano",
    "timeUnixNano": "time_unix_nano",
    "droppedAttributesCount": "dropped_attributes_count",
}
_FLOATS = {"NaN": NAN, "Infinity": float("inf"), "-Infinity": float("-inf")}
_MAX_DEPTH = 200
_MAX_DIGITS = 20


def field(holder: dict[str, Any], name: str) -> Any:
    """A field under its camelCase or its snake_case name; None where it has neither."""
    value = holder.get(name)
    return holder.get(_SNAKE[name]) if value is None else value


def list_of(value: Any, name: str, where: str) -> list[dict[str, Any]]:
    """A repeated field: its objects, [] where it is absent. Raises FormatError BAD_FIELD."""
    if value is None:
        return []
    if type(value) is not list:
        refuse(name, "a list", value, where)
    for one in value:
        if type(one) is not dict:
            refuse(f"an entry of {name}", "an object", one, where)
    return value


def map_of(value: Any, name: str, where: str) -> dict[str, Any]:
    """An object field, {} where it is absent. Raises FormatError BAD_FIELD."""
    if value is None:
        return {}
    if type(value) is not dict:
        refuse(name, "an object", value, where)
    return value


def refuse(name: str, expected: str, value: Any, where: str) -> NoReturn:
    """Raise FormatError BAD_FIELD."""
    raise FormatError(
        f"{where}: {name} should be {expected}, not {brief(value)}. The file is not in the form that it seems "
        "to be in, or was edited: export it again.",
        code="BAD_FIELD",
    )


def scope_of(value: Any, where: str) -> Scope:
    scope = map_of(value, "scope", where)
    return Scope(text_of(scope.get("name")), text_of(scope.get("version"))) if scope else Scope()


def span_of(span: dict[str, Any], resource: Mapping[str, Any], scope: Scope, where: str) -> SpanRecord:
    """One Span (opentelemetry/proto/trace/v1/trace.proto).

    Raises FormatError BAD_TRACE_ID, BAD_SPAN_ID or BAD_FIELD, naming the span and the field.
    """
    return quick_span(span, resource, scope, where) or careful_span(span, resource, scope, where)


def careful_span(span: dict[str, Any], resource: Mapping[str, Any], scope: Scope, where: str) -> SpanRecord:
    """`span_of`, whatever the span is like."""
    name = text_of(span.get("name"))
    what = f"span {name[:80]!r} ({where})"
    gaps: list[Gap] = []
    status = map_of(span.get("status"), "status", what)
    end = number_of(field(span, "endTimeUnixNano"), "endTimeUnixNano", what)
    attributes = span.get("attributes")
    return finished_span(
        trace_id=id_from_text(field(span, "traceId"), TRACE_ID_BYTES, what),
        span_id=id_from_text(field(span, "spanId"), SPAN_ID_BYTES, what),
        parent_id=id_from_text(field(span, "parentSpanId"), SPAN_ID_BYTES, f"the parent of {what}"),
        name=name,
        kind=enum_of(span.get("kind"), KINDS),
        start_ns=number_of(field(span, "startTimeUnixNano"), "startTimeUnixNano", what),
        end_ns=end or None,
        status=Status(enum_of(status.get("code"), STATUS_CODES), text_of(status.get("message")))
        if status
        else Status(),
        attributes=attributes_of(attributes, what, gaps) if attributes else NOTHING,
        events=tuple(_event(one, what, gaps) for one in list_of(span.get("events"), "events", what)),
        links=tuple(_link(one, what, gaps) for one in list_of(span.get("links"), "links", what)),
        resource=resource,
        scope=scope,
        dropped_attributes=number_of(field(span, "droppedAttributesCount"), "droppedAttributesCount", what),
        gaps=tuple(gaps),
        where=where,
    )


def attributes_of(value: Any, what: str, gaps: list[Gap], depth: int = 0) -> dict[str, Any]:
    """A list of KeyValue as a dict; a key given twice keeps its first value, with gap DUPLICATE_ATTRIBUTE."""
    attributes: dict[str, Any] = {}
    for pair in list_of(value, "attributes", what):
        key = pair.get("key")
        if type(key) is not str:
            refuse("an attribute's key", "a string", key, what)
        content = pair.get("value")
        add_attribute(attributes, key, value_of(content, key, what, gaps, depth), what, gaps)
    return attributes


def value_of(value: Any, key: str, what: str, gaps: list[Gap], depth: int = 0) -> Any:
    """An AnyValue (opentelemetry/proto/common/v1/common.proto); an empty one is None."""
    if depth > _MAX_DEPTH:
        raise too_deep(what)
    if type(value) is not dict:
        if value is None:
            return None
        refuse(f"the value of {key!r}", 'an object such as {"stringValue": …}', value, what)
    for kind, content in value.items():
        # Phoenix writes all seven, null but for one.
        if content is None:
            continue
        if kind in ("stringValue", "string_value"):
            return content if type(content) is str else refuse(f"{key!r}", "a string", content, what)
        if kind in ("intValue", "int_value"):
            return _int64(content, key, what)
        if kind in ("boolValue", "bool_value"):
            return content if type(content) is bool else refuse(f"{key!r}", "true or false", content, what)
        if kind in ("doubleValue", "double_value"):
            return _double(content, key, what)
        if kind in ("arrayValue", "array_value"):
            values = list_of(map_of(content, repr(key), what).get("values"), f"{key!r}.values", what)
            return [value_of(one, key, what, gaps, depth + 1) for one in values]
        if kind in ("kvlistValue", "kvlist_value"):
            pairs = map_of(content, repr(key), what).get("values")
            return attributes_of(pairs, f"{key!r} of {what}", gaps, depth + 1)
        if kind in ("bytesValue", "bytes_value"):
            return _bytes(content, key, what)
    return None


def _int64(value: Any, key: str, what: str) -> int:
    number = whole(value)
    if number is None or not -(2**63) <= number < 2**63:
        refuse(f"the integer {key!r}", "a number of 64 bits", value, what)
    return number


def float_of(value: int | float) -> float:
    """An integer that no float can hold is an infinity, as orjson reads it."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _double(value: Any, key: str, what: str) -> float:
    if type(value) in (float, int):
        return NAN if value != value else float_of(value)
    if type(value) is str:
        if value in _FLOATS:
            return _FLOATS[value]
        try:
            return float(value)
        except (ValueError, OverflowError):
            pass
    refuse(f"the number {key!r}", 'a number, "NaN", "Infinity" or "-Infinity"', value, what)


def _bytes(value: Any, key: str, what: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error):
        refuse(f"the bytes {key!r}", "base64", value, what)


def number_of(value: Any, name: str, what: str) -> int:
    """An unsigned 64-bit number, 0 where it is absent."""
    if value is None:
        return 0
    number = whole(value)
    if number is None or not 0 <= number < 2**64:
        refuse(name, "a number of 64 bits, or its digits as a string", value, what)
    return number


def whole(value: Any) -> int | None:
    if type(value) is int:
        return value
    if type(value) is str:
        digits = value[1:] if value.startswith("-") else value
        return int(value) if digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS else None
    # orjson makes a float of an integer over 64 bits; JavaScript tools write whole floats.
    return int(value) if type(value) is float and value.is_integer() else None


def enum_of(value: Any, names: tuple[str, ...]) -> str:
    """An enum as its number (OTLP JSON) or name (protobuf's JSON mapping); the first name for all else."""
    if type(value) is int:
        return names[value] if 0 <= value < len(names) else names[0]
    if type(value) is str:
        word = value.rpartition(".")[2].removeprefix("SPAN_KIND_").removeprefix("STATUS_CODE_").upper()
        return word if word in names else names[0]
    return names[0]


def _event(event: dict[str, Any], what: str, gaps: list[Gap]) -> Event:
    return Event(
        text_of(event.get("name")),
        number_of(field(event, "timeUnixNano"), "timeUnixNano", what),
        attributes_of(event.get("attributes"), f"an event of {what}", gaps),
    )


def _link(link: dict[str, Any], what: str, gaps: list[Gap]) -> Link:
    return Link(
        id_from_text(field(link, "traceId"), TRACE_ID_BYTES, f"a link of {what}"),
        id_from_text(field(link, "spanId"), SPAN_ID_BYTES, f"a link of {what}"),
        attributes_of(link.get("attributes"), f"a link of {what}", gaps),
    )


def text_of(value: Any) -> str:
    return value if type(value) is str else ""
