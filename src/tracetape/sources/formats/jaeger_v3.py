"""Jaeger's API v3: OTLP JSON inside `result`, one object or one a chunk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracetape.errors import SourceError, TraceSelectionError
from tracetape.model.span import Gap, SpanRecord
from tracetape.sources.formats.otlp_json import spans_in
from tracetape.sources.formats.otlp_span import field, map_of, text_of
from tracetape.sources.records import Record

__all__ = ["NOT_KEPT", "claims", "name", "read"]

name = "Jaeger API v3"

NOT_KEPT = (
    "Is the id right, and has the trace been kept? Jaeger's memory storage drops the oldest traces, others have a "
    "time to live."
)
"""Why a trace is not found."""


def claims(content: dict[str, Any] | bytes) -> bool:
    """An object with `result`, or with the `error` of the gateway before it."""
    if type(content) is not dict:
        return False
    result, error = content.get("result"), content.get("error")
    if type(result) is dict:
        return not result or "resourceSpans" in result or "resource_spans" in result
    return type(error) is dict and ("httpCode" in error or "grpcCode" in error)


def read(record: Record) -> Iterator[SpanRecord | Gap]:
    """The spans of an answer of `/api/v3/traces/{id}` or `/api/v3/traces?query…` (Jaeger 2, HTTP gateway).

    Raises FormatError as OTLP JSON does; TraceSelectionError TRACE_NOT_FOUND, SourceError BACKEND_ERROR.
    """
    content = map_of(record.content, "the record", record.where)
    error = content.get("error")
    if error is not None:
        _refuse(map_of(error, "error", record.where), record.where)
    yield from spans_in(
        field(map_of(content.get("result"), "result", record.where), "resourceSpans"), record.where
    )


def _refuse(error: dict[str, Any], where: str) -> None:
    message = text_of(error.get("message"))[:200]
    if error.get("httpCode") == 404 or error.get("grpcCode") == 5:
        raise TraceSelectionError(
            f"{where}: Jaeger has not found the trace ({message!r}). {NOT_KEPT}", code="TRACE_NOT_FOUND"
        )
    raise SourceError(f"{where}: is an error of Jaeger instead of a trace: {message!r}", code="BACKEND_ERROR")
