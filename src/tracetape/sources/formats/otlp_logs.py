"""OTLP JSON of logs: the events of the GenAI conventions in it, which hold what some spans leave out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracetape.model.span import Event, Gap, LogEvent
from tracetape.sources.formats.otlp_span import attributes_of, list_of, map_of, number_of, text_of, value_of
from tracetape.sources.ids import SPAN_ID_BYTES, TRACE_ID_BYTES, id_from_text
from tracetape.sources.records import Record

__all__ = ["BODY", "claims", "read"]

BODY = "body"
"""The attribute under which an event made of a log record has the record's body."""

_PREFIX = "gen_ai."


def claims(content: dict[str, Any] | bytes) -> bool:
    return type(content) is dict and ("resourceLogs" in content or "resource_logs" in content)


def read(record: Record) -> Iterator[LogEvent | Gap]:
    """The log records (opentelemetry/proto/logs/v1/logs.proto) that are named `gen_ai.…` and belong to a span; all
    others are passed over: nothing in them is a call.

    Raises FormatError BAD_FIELD, BAD_TRACE_ID, BAD_SPAN_ID or TOO_DEEP.
    """
    where = record.where
    content = map_of(record.content, "the record", where)
    for group in list_of(_either(content, "resourceLogs", "resource_logs"), "resourceLogs", where):
        for scoped in list_of(_either(group, "scopeLogs", "scope_logs"), "scopeLogs", where):
            for one in list_of(_either(scoped, "logRecords", "log_records"), "logRecords", where):
                yield from _event(one, where)


def _event(one: dict[str, Any], where: str) -> Iterator[LogEvent | Gap]:
    gaps: list[Gap] = []
    attributes = dict(attributes_of(one.get("attributes"), f"a log record ({where})", gaps))
    called = text_of(_either(one, "eventName", "event_name") or attributes.get("event.name"))
    if not called.startswith(_PREFIX):
        return
    trace_id, span_id = _either(one, "traceId", "trace_id"), _either(one, "spanId", "span_id")
    if not trace_id or not span_id:
        return
    body = one.get("body")
    if body:
        attributes[BODY] = value_of(body, BODY, f"a log record ({where})", gaps)
    moment = number_of(_either(one, "timeUnixNano", "time_unix_nano"), "timeUnixNano", where)
    seen = _either(one, "observedTimeUnixNano", "observed_time_unix_nano")
    moment = moment or number_of(seen, "observedTimeUnixNano", where)
    yield from gaps
    what = f"a log record ({where})"
    yield LogEvent(
        id_from_text(trace_id, TRACE_ID_BYTES, what),
        id_from_text(span_id, SPAN_ID_BYTES, what),
        Event(called, moment, attributes),
    )


def _either(holder: dict[str, Any], one: str, other: str) -> Any:
    found = holder.get(one)
    return holder.get(other) if found is None else found
