"""OTLP protobuf: a TracesData message, which is an ExportTraceServiceRequest byte for byte, or Tempo's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tracetape.errors import FormatError
from tracetape.model.span import NOTHING, Event, Gap, Link, Scope, SpanRecord, Status
from tracetape.sources.formats.quick_span import usual_span
from tracetape.sources.formats.span_rules import (
    KINDS,
    NAN,
    STATUS_CODES,
    add_attribute,
    finished_span,
)
from tracetape.sources.formats.tempo_json import partial
from tracetape.sources.formats.tempo_proto import trace_by_id
from tracetape.sources.ids import SPAN_ID_BYTES, TRACE_ID_BYTES, id_from_bytes
from tracetape.sources.records import SKIPPED, Record

if TYPE_CHECKING:
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
    from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

__all__ = ["claims", "name", "read"]

name = "OTLP protobuf"

_UNSET = Status()


def claims(content: dict[str, Any] | bytes) -> bool:
    """Any message: protobuf does not say what it holds."""
    return type(content) is bytes


def read(record: Record) -> Iterator[SpanRecord | Gap]:
    """The spans of a message (opentelemetry/proto/trace/v1/trace.proto). Bytes that are none give gap
    SKIPPED_LINE.

    Raises FormatError BAD_TRACE_ID, BAD_SPAN_ID, WRONG_SIGNAL or UNKNOWN_FORMAT.
    """
    content, where = record.content, record.where
    data = _parsed(content) if isinstance(content, bytes) else None
    if isinstance(content, bytes) and (data is None or not _has_spans(data)):
        data, said = _unwrapped(content, data, where)
        yield from said
    if data is None:
        size = len(content)
        yield Gap(SKIPPED, f"{size:,} bytes that are not an OTLP protobuf message: damaged, or cut off", where)
        return
    for group in data.resource_spans:
        gaps: list[Gap] = []
        resource = _attributes(group.resource.attributes, f"the resource ({where})", gaps)
        yield from gaps
        for scoped in group.scope_spans:
            scope = Scope(scoped.scope.name, scoped.scope.version)
            for span in scoped.spans:
                yield _span(span, resource, scope, where)


def _parsed(content: Any) -> TracesData | None:
    # Imported on first use: the generated classes cost more time than all the rest of reading a JSON file.
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    data = TracesData()
    try:
        data.ParseFromString(content)
    except DecodeError:
        return None
    return data


def _has_spans(data: TracesData) -> bool:
    return any(scoped.spans for group in data.resource_spans for scoped in group.scope_spans)


def _unwrapped(content: bytes, data: TracesData | None, where: str) -> tuple[TracesData | None, list[Gap]]:
    """Tempo's v2 answer has the trace in its field 1: as a TracesData it has no spans, or is none."""
    answer = trace_by_id(content)
    inner = _parsed(answer.trace) if answer is not None else None
    if answer is None or inner is None or not _has_spans(inner):
        return data, []
    return inner, [partial(answer.message, where)] if answer.is_partial else []


def _span(span: Span, resource: dict[str, Any], scope: Scope, where: str) -> SpanRecord:
    return _quick(span, resource, scope, where) or _careful(span, resource, scope, where)


def _quick(span: Span, resource: dict[str, Any], scope: Scope, where: str) -> SpanRecord | None:
    """What `_careful` gives, for the span as nearly every exporter writes it; None for any other one."""
    trace_id, span_id, parent_id = span.trace_id, span.span_id, span.parent_span_id
    if (
        len(trace_id) != TRACE_ID_BYTES
        or len(span_id) != SPAN_ID_BYTES
        or len(parent_id) not in (0, SPAN_ID_BYTES)
    ):
        return None
    if not (any(trace_id) and any(span_id)) or span.events or span.links or span.dropped_attributes_count:
        return None
    attributes: dict[str, Any] = {}
    for pair in span.attributes:
        holder = pair.value
        kind = holder.WhichOneof("value")
        if kind == "string_value":
            attributes[pair.key] = holder.string_value
        elif kind == "int_value":
            attributes[pair.key] = holder.int_value
        elif kind == "bool_value":
            attributes[pair.key] = holder.bool_value
        else:
            return None
    if len(attributes) != len(span.attributes) or not 0 <= span.kind < len(KINDS):
        return None
    status = Status(_code(span.status.code), span.status.message) if span.HasField("status") else _UNSET
    return usual_span(
        trace_id.hex(),
        span_id.hex(),
        parent_id.hex() if any(parent_id) else None,
        span.name,
        KINDS[span.kind],
        span.start_time_unix_nano,
        span.end_time_unix_nano or None,
        status,
        attributes or NOTHING,
        resource,
        scope,
        where,
    )


def _careful(span: Span, resource: dict[str, Any], scope: Scope, where: str) -> SpanRecord:
    if not span.trace_id and not span.span_id:
        raise FormatError(
            f"{where}: a span without ids. It looks like an OTLP export of logs or metrics; give "
            "the one of traces.",
            code="WRONG_SIGNAL",
        )
    what = f"span {span.name[:80]!r} ({where})"
    gaps: list[Gap] = []
    return finished_span(
        trace_id=id_from_bytes(span.trace_id, TRACE_ID_BYTES, what),
        span_id=id_from_bytes(span.span_id, SPAN_ID_BYTES, what),
        parent_id=id_from_bytes(span.parent_span_id, SPAN_ID_BYTES, f"the parent of {what}"),
        name=span.name,
        kind=KINDS[span.kind] if 0 <= span.kind < len(KINDS) else KINDS[0],
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano or None,
        status=Status(_code(span.status.code), span.status.message),
        attributes=_attributes(span.attributes, what, gaps) if span.attributes else NOTHING,
        events=tuple(
            Event(one.name, one.time_unix_nano, _attributes(one.attributes, f"an event of {what}", gaps))
            for one in span.events
        ),
        links=tuple(
            Link(
                id_from_bytes(one.trace_id, TRACE_ID_BYTES, f"a link of {what}"),
                id_from_bytes(one.span_id, SPAN_ID_BYTES, f"a link of {what}"),
                _attributes(one.attributes, f"a link of {what}", gaps),
            )
            for one in span.links
        ),
        resource=resource,
        scope=scope,
        dropped_attributes=span.dropped_attributes_count,
        gaps=tuple(gaps),
        where=where,
    )


def _code(number: int) -> str:
    return STATUS_CODES[number] if 0 <= number < len(STATUS_CODES) else STATUS_CODES[0]


def _attributes(pairs: Iterable[KeyValue], what: str, gaps: list[Gap]) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    for pair in pairs:
        add_attribute(attributes, pair.key, _value(pair.value, what, gaps), what, gaps)
    return attributes


def _value(value: AnyValue, what: str, gaps: list[Gap]) -> Any:
    """Nesting is bounded by the parser, at 100 messages."""
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    content = getattr(value, kind)
    if kind == "array_value":
        return [_value(one, what, gaps) for one in content.values]
    if kind == "kvlist_value":
        return _attributes(content.values, what, gaps)
    return NAN if content != content else content
