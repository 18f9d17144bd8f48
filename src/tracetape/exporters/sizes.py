"""How many bytes a span takes in an OTLP request, at most.

Encoding it to find out would cost as much as sending it, once more (some 60 µs). So each part is counted with more
bytes around it than protobuf ever writes there: the sum is never below the true size, and over it by no more than
some bytes an attribute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan

__all__ = ["size_of", "size_of_origin"]

# A tag and a length, of a message of up to 2 GiB: 1 + 5 bytes. An attribute has three of them (itself, key, value)
# around a value that has one more; what has no text (numbers, flags) takes up to 10 bytes.
_AROUND = 6
_ATTRIBUTE = 4 * _AROUND
_NUMBER = 11
# Ids, times, kind, flags, counts and the lengths around them.
_SPAN = 160
_EVENT = 48
_LINK = 80


def size_of(span: ReadableSpan) -> int:
    """Of the span alone: what it shares with others is `size_of_origin`."""
    size = _SPAN + _text(span.name) + _attributes(span.attributes)
    status = span.status
    if status is not None and status.description:
        size += _AROUND + _text(status.description)
    context = span.context
    if context is not None and context.trace_state:
        size += _AROUND + _text(context.trace_state.to_header())
    for event in span.events:
        size += _EVENT + _text(event.name) + _attributes(event.attributes)
    for link in span.links:
        size += _LINK + _attributes(link.attributes)
        if link.context.trace_state:
            size += _text(link.context.trace_state.to_header())
    return size


def size_of_origin(span: ReadableSpan) -> int:
    """Of its resource and scope, which are in a request once for all spans that share them."""
    resource, scope = span.resource, span.instrumentation_scope
    size = 8 * _AROUND + _attributes(resource.attributes) + _text(resource.schema_url or "")
    if scope is not None:
        size += _text(scope.name) + _text(scope.version or "") + _text(scope.schema_url or "")
        size += _attributes(getattr(scope, "attributes", None))
    return size


def _attributes(attributes: Mapping[str, Any] | None) -> int:
    if attributes is None:
        return 0
    # The SDK's mapping asks for each value by itself; its copy is a dict.
    copy = getattr(attributes, "copy", None)
    known: Mapping[str, Any] = attributes if copy is None else copy()
    size = _ATTRIBUTE * len(known) + _text("".join(known))
    for value in known.values():
        if type(value) is str and value.isascii():
            size += len(value)
        else:
            size += _value(value)
    return size


def _value(value: Any) -> int:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, Mapping):
        return sum(_ATTRIBUTE + _text(str(key)) + _value(one) for key, one in value.items())
    if isinstance(value, Sequence):
        return sum(2 * _AROUND + _value(one) for one in value)
    return _NUMBER if value is None or isinstance(value, (int, float)) else _text(str(value))


def _text(text: str) -> int:
    """In UTF-8."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-8", "surrogatepass"))
