"""Spans of other instrumentations → the files of the recordings that they belong to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.trace import format_span_id, format_trace_id

from tracetape.model.span import Event, Link, Scope, SpanRecord, Status
from tracetape.semconv import names

__all__ = ["ForeignSpans", "record_of"]

Listener = Callable[[SpanRecord], None]


class ForeignSpans(SpanProcessor):
    """Hands each ended span that is not ours to `wanted(trace_id)`'s listeners, as it ends.

    Spans of ours are left out: the recorder writes them itself, whole, whatever limits the host has set.
    """

    def __init__(self, wanted: Callable[[str], list[Listener]]) -> None:
        self._wanted = wanted

    def on_end(self, span: ReadableSpan) -> None:
        context = span.context
        scope = span.instrumentation_scope
        if context is None or (scope is not None and scope.name == names.SCOPE_NAME):
            return
        listeners = self._wanted(format_trace_id(context.trace_id))
        if listeners:
            record = record_of(span)
            for listener in listeners:
                listener(record)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Nothing is kept back. The base class of SDKs before 1.31 says None, which their provider takes for a
        failure, and then asks no processor behind it."""
        return True


def record_of(span: ReadableSpan) -> SpanRecord:
    """An SDK span as a SpanRecord."""
    context = span.context
    if context is None:
        raise ValueError(f"the span {span.name!r} has no context")
    scope = span.instrumentation_scope
    return SpanRecord(
        trace_id=format_trace_id(context.trace_id),
        span_id=format_span_id(context.span_id),
        parent_id=format_span_id(span.parent.span_id) if span.parent is not None else None,
        name=span.name,
        kind=span.kind.name,
        start_ns=span.start_time or 0,
        end_ns=span.end_time,
        status=Status(span.status.status_code.name, span.status.description or ""),
        attributes=_plain(span.attributes),
        events=tuple(Event(event.name, event.timestamp, _plain(event.attributes)) for event in span.events),
        links=tuple(
            Link(
                format_trace_id(link.context.trace_id),
                format_span_id(link.context.span_id),
                _plain(link.attributes),
            )
            for link in span.links
        ),
        resource=span.resource.attributes,
        scope=Scope(scope.name, scope.version or "") if scope is not None else Scope(),
        dropped_attributes=span.dropped_attributes,
    )


def _plain(attributes: Any) -> dict[str, Any]:
    return dict(attributes or {})
