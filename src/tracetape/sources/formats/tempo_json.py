"""Tempo's JSON, as it answers or as Grafana exports it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracetape.errors import SourceError
from tracetape.model.span import Gap, SpanRecord
from tracetape.sources.formats.json_fields import objects
from tracetape.sources.formats.otlp_json import spans_in
from tracetape.sources.formats.otlp_span import field, list_of, map_of, text_of
from tracetape.sources.records import Record

__all__ = ["claims", "name", "partial", "read"]

name = "Tempo JSON"

_LISTED = 20


def claims(content: dict[str, Any] | bytes) -> bool:
    """`batches` (`/api/traces`, Grafana), `trace` (`/api/v2/traces`), `traces` of a search."""
    if type(content) is not dict:
        return False
    trace, found = content.get("trace"), objects(content.get("traces"))
    if type(trace) is dict:
        # An empty answer has nothing in it; MLflow's has `trace_info`.
        return "trace_info" not in trace and (not trace or "resourceSpans" in trace or "batches" in trace)
    if found is not None:
        return "traceID" in found[0] if found else "metrics" in content
    return objects(content.get("batches")) is not None


def read(record: Record) -> Iterator[SpanRecord | Gap]:
    """The spans of an answer of `/api/traces/{id}` or `/api/v2/traces/{id}` (Tempo, pkg/tempopb): the protobuf
    messages in jsonpb, hence base64 ids and enum names, of Grafana hex and numbers. Gap PARTIAL_TRACE.

    Raises FormatError as OTLP JSON does; SourceError NO_SPANS for the result of a search.
    """
    where = record.where
    content = map_of(record.content, "the record", where)
    if "traces" in content:
        raise _no_spans(list_of(content["traces"], "traces", where), where)
    if "trace" not in content:
        yield from spans_in(content.get("batches"), where)
        return
    trace = map_of(content["trace"], "trace", where)
    yield from spans_in(trace.get("batches") or field(trace, "resourceSpans"), where)
    if content.get("status") in ("PARTIAL", 1):
        yield partial(text_of(content.get("message")), where)


def partial(message: str, where: str) -> Gap:
    """What Tempo says of a trace that is too large to be given whole."""
    return Gap(
        "PARTIAL_TRACE",
        f"Tempo has given a part of the trace alone: {message[:200] or 'no reason given'}. Raise "
        "max_bytes_per_trace (overrides.defaults.global), and fetch it again",
        where,
    )


def _no_spans(found: list[dict[str, Any]], where: str) -> SourceError:
    ids = [text_of(one.get("traceID")).lower().zfill(32) for one in found]
    if not ids:
        return SourceError(f"{where}: is the result of a search in Tempo that has found nothing", code="NO_SPANS")
    shown = "".join(f"\n  {one}" for one in ids[:_LISTED])
    more = f"\n  and {len(ids) - _LISTED:,} more" if len(ids) > _LISTED else ""
    return SourceError(
        f"{where}: is the result of a search in Tempo, which has no spans. Fetch one of the traces that it found, "
        f"as tempo+http://HOST:3200/TRACE_ID:{shown}{more}",
        code="NO_SPANS",
    )
