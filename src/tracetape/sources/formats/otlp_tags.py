"""What formats that are older than OTLP keep as tags of what is no attribute there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracetape.model.span import Scope
from tracetape.sources.formats.otlp_span import text_of
from tracetape.sources.ids import id_from_text

__all__ = ["OWN_TAGS", "padded_id", "scope_in"]

OWN_TAGS = {
    "span.kind",
    "otel.status_code",
    "otel.status_description",
    "otel.scope.name",
    "otel.scope.version",
    "otel.library.name",
    "otel.library.version",
    "otlp.service.name.source",
    "w3c.tracestate",
    "internal.span.format",
}
"""The tags that are no attributes (OpenTelemetry specification, "Mapping to non-OTLP formats"; Jaeger's and the
Collector's translators)."""


def scope_in(tags: Mapping[str, Any]) -> Scope:
    return Scope(
        text_of(tags.get("otel.scope.name", tags.get("otel.library.name"))),
        text_of(tags.get("otel.scope.version", tags.get("otel.library.version"))),
    )


def padded_id(value: Any, size: int, what: str) -> str:
    """An id that may lack its leading zeros: Jaeger before 1.16 strips them, trace ids of 64 bits have 16 digits.

    size: bytes. Raises FormatError BAD_TRACE_ID or BAD_SPAN_ID.
    """
    text = text_of(value)
    return id_from_text(text.zfill(2 * size) if 0 < len(text) < 2 * size else text or value, size, what)
