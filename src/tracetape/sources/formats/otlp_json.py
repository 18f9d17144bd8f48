"""OTLP JSON: a TracesData object, by itself, one per line, or in an array."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracetape.model.span import Gap, SpanRecord
from tracetape.sources.formats.otlp_span import attributes_of, field, list_of, map_of, scope_of, span_of
from tracetape.sources.records import Record

__all__ = ["claims", "name", "read", "spans_in"]

name = "OTLP JSON"


def claims(content: dict[str, Any] | bytes) -> bool:
    """An object with `resourceSpans`; an empty one too, since that is how an empty TracesData is written."""
    return type(content) is dict and ("resourceSpans" in content or "resource_spans" in content or not content)


def read(record: Record) -> Iterator[SpanRecord | Gap]:
    """The spans of a TracesData (opentelemetry/proto/trace/v1/trace.proto), also of the form before OTLP
    0.15, which says `instrumentationLibrarySpans` for `scopeSpans`.

    Raises FormatError BAD_TRACE_ID, BAD_SPAN_ID, BAD_FIELD or TOO_DEEP.
    """
    content = map_of(record.content, "the record", record.where)
    return spans_in(field(content, "resourceSpans"), record.where)


def spans_in(groups: Any, where: str) -> Iterator[SpanRecord | Gap]:
    """The spans of a list of ResourceSpans. Raises FormatError as `read` does."""
    for group in list_of(groups, "resourceSpans", where):
        gaps: list[Gap] = []
        about = map_of(group.get("resource"), "resource", where)
        resource = attributes_of(about.get("attributes"), f"the resource ({where})", gaps)
        yield from gaps
        for spans, by in _scopes(group, where):
            scope = scope_of(by, where)
            for span in list_of(spans, "spans", where):
                yield span_of(span, resource, scope, where)


def _scopes(group: dict[str, Any], where: str) -> Iterator[tuple[Any, Any]]:
    for one in list_of(field(group, "scopeSpans"), "scopeSpans", where):
        yield one.get("spans"), one.get("scope")
    old = field(group, "instrumentationLibrarySpans")
    for one in list_of(old, "instrumentationLibrarySpans", where):
        yield one.get("spans"), field(one, "instrumentationLibrary")
