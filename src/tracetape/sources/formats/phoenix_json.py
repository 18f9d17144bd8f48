"""Phoenix's spans in JSON: its REST API, its client, its data frames, its GraphQL API, its downloads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from tracetape.errors import FormatError, SourceError, TraceSelectionError
from tracetape.model.span import NOTHING, Event, Gap, Scope, SpanRecord, Status
from tracetape.sources.formats.json_fields import flattened, objects, time_of
from tracetape.sources.formats.otlp_span import enum_of, list_of, map_of, refuse, text_of
from tracetape.sources.formats.phoenix_pages import page_gap
from tracetape.sources.formats.span_rules import STATUS_CODES, finished_span
from tracetape.sources.ids import SPAN_ID_BYTES, TRACE_ID_BYTES, id_from_text
from tracetape.sources.records import Record

__all__ = ["claims", "name", "read"]

name = "Phoenix JSON"

_OF_FRAME = "attributes."
_QUERY = "getTraceByOtelId"


def claims(content: dict[str, Any] | bytes) -> bool:
    """A span by its `context`, a row of a data frame, a page of spans or traces, an answer of GraphQL."""
    if type(content) is not dict:
        return False
    if _is_span(content) or "context.span_id" in content:
        return True
    data = content.get("data")
    if type(data) is dict:
        return _QUERY in data
    found = objects(data)
    if found is None or "next_cursor" not in content:
        return False
    return not found or _is_span(found[0]) or "project_id" in found[0]


def _is_span(content: dict[str, Any]) -> bool:
    context = content.get("context")
    return type(context) is dict and "span_id" in context and not text_of(context.get("trace_id")).startswith("0x")


def read(record: Record) -> Iterator[SpanRecord | Gap]:
    """The spans (arize-phoenix, `/v1/projects/{project}/spans`, `getTraceByOtelId`). Phoenix keeps no kind, links,
    resource and scope, and times in microseconds. Gap INCOMPLETE_PAGE.

    Raises FormatError BAD_TRACE_ID, BAD_SPAN_ID, BAD_FIELD, TOO_DEEP; SourceError PAYLOAD_MISSING for a list of
    traces, which has spans without attributes; TraceSelectionError TRACE_NOT_FOUND.
    """
    where = record.where
    content = map_of(record.content, "the record", where)
    data = content.get("data")
    if type(data) is dict:
        yield from _answer(data, where)
    elif data is None:
        yield _span(content, where)
    else:
        for one in list_of(data, "data", where):
            if "context" not in one:
                raise _no_payloads(where)
            yield _span(one, where)
        yield page_gap(content.get("next_cursor"), where)


def _no_payloads(where: str) -> SourceError:
    return SourceError(
        f"{where}: is Phoenix's list of traces, whose spans have no attributes, hence no inputs and outputs. "
        "Fetch the spans: /v1/projects/PROJECT/spans?trace_id=ID, or phoenix+http://HOST:6006/PROJECT/TRACE_ID.",
        code="PAYLOAD_MISSING",
    )


def _answer(data: dict[str, Any], where: str) -> Iterator[SpanRecord | Gap]:
    if data[_QUERY] is None:
        raise TraceSelectionError(
            f"{where}: Phoenix has not found the trace. Ids are in lower case there; is it of this project?",
            code="TRACE_NOT_FOUND",
        )
    trace = map_of(data[_QUERY], _QUERY, where)
    spans = map_of(trace.get("spans"), "spans", where)
    for edge in list_of(spans.get("edges"), "edges", where):
        node = map_of(edge.get("node"), "node", where)
        yield _node(node, trace.get("traceId"), where)
    page = map_of(spans.get("pageInfo"), "pageInfo", where)
    if page.get("hasNextPage"):
        yield page_gap(page.get("endCursor") or "?", where)


def _span(span: dict[str, Any], where: str) -> SpanRecord:
    if "context.span_id" in span:
        span = _of_frame(span)
    context = map_of(span.get("context"), "context", where)
    return _made(
        span.get("name"),
        (context.get("trace_id"), context.get("span_id"), span.get("parent_id")),
        (span.get("start_time"), span.get("end_time")),
        (span.get("status_code"), span.get("status_message")),
        map_of(span.get("attributes"), "attributes", where),
        list_of(span.get("events"), "events", where),
        where,
    )


def _of_frame(row: dict[str, Any]) -> dict[str, Any]:
    """A row of `get_spans_dataframe()`: columns of the first part of a key, null where a span has none."""
    attributes = {
        key.removeprefix(_OF_FRAME): value
        for key, value in row.items()
        if key.startswith(_OF_FRAME) and value is not None
    }
    context = {"trace_id": row.get("context.trace_id"), "span_id": row["context.span_id"]}
    return {**row, "context": context, "attributes": attributes}


def _node(node: dict[str, Any], trace_id: Any, where: str) -> SpanRecord:
    attributes = node.get("attributes")
    if type(attributes) is str:
        try:
            attributes = orjson.loads(attributes)
        except orjson.JSONDecodeError as error:
            raise FormatError(
                f"{where}: the attributes of span {text_of(node.get('name'))[:80]!r} are no JSON text: {error}",
                code="BAD_FIELD",
            ) from None
    context = map_of(node.get("context"), "context", where)
    return _made(
        node.get("name"),
        (trace_id or context.get("traceId"), node.get("spanId") or context.get("spanId"), node.get("parentId")),
        (node.get("startTime"), node.get("endTime")),
        (node.get("statusCode"), node.get("statusMessage")),
        map_of(attributes, "attributes", where),
        list_of(node.get("events"), "events", where),
        where,
    )


def _made(
    title: Any,
    ids: tuple[Any, Any, Any],
    times: tuple[Any, Any],
    status: tuple[Any, Any],
    attributes: dict[str, Any],
    events: list[dict[str, Any]],
    where: str,
) -> SpanRecord:
    what = f"span {text_of(title)[:80]!r} ({where})"
    start = time_of(times[0], "start_time", what)
    if start is None:
        refuse("start_time", "a time such as 2025-12-01T10:00:00Z", times[0], what)
    return finished_span(
        trace_id=id_from_text(ids[0], TRACE_ID_BYTES, what),
        span_id=id_from_text(ids[1], SPAN_ID_BYTES, what),
        parent_id=id_from_text(ids[2], SPAN_ID_BYTES, f"the parent of {what}"),
        name=text_of(title),
        kind="INTERNAL",
        start_ns=start,
        end_ns=time_of(times[1], "end_time", what),
        status=Status(enum_of(status[0], STATUS_CODES), text_of(status[1])),
        attributes=flattened(attributes, what),
        events=tuple(_event(one, f"an event of {what}") for one in events),
        links=(),
        resource=NOTHING,
        scope=Scope(),
        dropped_attributes=0,
        gaps=(),
        where=where,
    )


def _event(event: dict[str, Any], what: str) -> Event:
    attributes = flattened(map_of(event.get("attributes"), "attributes", what), what)
    message = text_of(event.get("message"))
    if message:  # all that GraphQL has of an exception
        attributes.setdefault("exception.message", message)
    return Event(text_of(event.get("name")), time_of(event.get("timestamp"), "timestamp", what) or 0, attributes)
