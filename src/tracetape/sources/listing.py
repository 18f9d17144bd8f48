"""What traces a source has, without keeping any."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tracetape.errors import FormatError, SourceError
from tracetape.model.span import Gap, SpanRecord
from tracetape.sources.batches import Batch
from tracetape.sources.blobs import Blob
from tracetape.sources.detect import HEAD, TEXT, framing_of
from tracetape.sources.fetch import Stream, opened
from tracetape.sources.formats import otlp_json
from tracetape.sources.formats.otlp_span import enum_of, field
from tracetape.sources.formats.registry import format_of
from tracetape.sources.formats.span_rules import STATUS_CODES
from tracetape.sources.framed_records import read_binary
from tracetape.sources.ids import TRACE_ID_BYTES, id_from_text
from tracetape.sources.json_records import read_text
from tracetape.sources.reading import spans_of
from tracetape.sources.records import SKIPPED, Record
from tracetape.sources.trace_index import IndexedTrace, index_beside

__all__ = ["list_traces"]

Advance = Callable[[int], None]
"""Told how many bytes of the file that is being read were read, now and then."""

Brief = tuple[str, bool, str, int, int, bool]
"""Of one span: its trace, whether it is a root, its name, start, end, whether it failed."""

_OFTEN = 2**22


def list_traces(
    files: Iterable[Path | Blob],
    advance: Advance = lambda _: None,
    *,
    by_index: bool = True,
    damage: list[Gap] | None = None,
) -> dict[str, IndexedTrace]:
    """The traces of the files, in the order in which they were met. What cannot be read is left out.

    by_index:  a file's index tells it where there is one that fits.
    damage:    takes what was left out.

    Raises SourceError CANNOT_READ; FormatError for a file that is in no form that is read.
    """
    traces: dict[str, IndexedTrace] = {}
    for one in files:
        known = index_beside(one) if by_index and isinstance(one, Path) else None
        if known is not None:
            for trace_id, trace in known.items():
                other = traces.get(trace_id)
                traces[trace_id] = trace if other is None else other.together(trace)
            continue
        with opened(one) as stream:
            _list(stream, traces, advance, [] if damage is None else damage)
    return traces


def _list(stream: Stream, traces: dict[str, IndexedTrace], advance: Advance, damage: list[Gap]) -> None:
    head = stream.reader.peek(HEAD)[:HEAD]
    if not head:
        return
    framing = framing_of(head, stream.name)
    records: Iterable[Record | Gap | Batch] = (
        read_text(stream.reader, stream.name)
        if framing == TEXT
        else read_binary(framing, stream.reader, stream.budget)
    )
    told = 0
    likely = None
    for record in records:
        if stream.budget.packed - told > _OFTEN:
            told = stream.budget.packed
            advance(told)
        if not isinstance(record, Record):
            if isinstance(record, Gap):
                damage.append(record)
            continue
        likely = format_of(record.content, likely)
        if likely is None:
            damage.append(Gap(SKIPPED, "is in no form that is read", record.where))
            continue
        brief = _brief(record.content) if likely is otlp_json else _read(spans_of(record, likely))
        last: IndexedTrace | None = None
        try:
            for trace_id, is_root, name, started, ended, failed in brief:
                trace = traces.get(trace_id)
                if trace is None:
                    trace = traces[trace_id] = IndexedTrace(started=started)
                trace.spans += 1
                trace.started = min(trace.started, started)
                trace.ended = max(trace.ended, ended)
                trace.failed = trace.failed or failed
                if is_root or not trace.name:
                    trace.name = name
                if trace is not last:
                    if record.place is None or not stream.plain:
                        trace.is_placed = False
                    else:
                        _add_line(trace.lines, record.place)
                last = trace
        except FormatError as error:
            damage.append(Gap(error.code, str(error), record.where))
    advance(stream.budget.packed)


def _add_line(lines: array[int], place: tuple[int, int]) -> None:
    begin, size = place
    if not lines or lines[-2] != begin:
        lines.extend((begin, begin + size))


def _read(items: Iterable[SpanRecord | Gap]) -> Iterator[Brief]:
    try:
        for one in items:
            if isinstance(one, SpanRecord):
                failed = one.status.code == "ERROR"
                ended = one.end_ns or one.start_ns
                yield one.trace_id, one.parent_id is None, one.name, one.start_ns, ended, failed
    except SourceError:
        return


def _brief(content: Any) -> Iterator[Brief]:
    """As `otlp_json.read`, without what nobody looks at here. Raises FormatError."""
    for group in _objects(field(content, "resourceSpans")):
        old = field(group, "instrumentationLibrarySpans")
        for scoped in (*_objects(field(group, "scopeSpans")), *_objects(old)):
            for span in _objects(scoped.get("spans")):
                trace_id = id_from_text(field(span, "traceId"), TRACE_ID_BYTES, "a span")
                started = _number(field(span, "startTimeUnixNano"))
                status = span.get("status")
                code = enum_of(status.get("code"), STATUS_CODES) if isinstance(status, dict) else ""
                ended = _number(field(span, "endTimeUnixNano")) or started
                name = span.get("name")
                if not trace_id.strip("0"):
                    raise FormatError("a span without a trace's id", code="BAD_TRACE_ID")
                parent_id = field(span, "parentSpanId")
                is_root = not (parent_id.strip("0A=") if type(parent_id) is str else parent_id)
                yield trace_id, is_root, name if type(name) is str else "", started, ended, code == "ERROR"


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    for one in value if isinstance(value, list) else ():
        if isinstance(one, dict):
            yield one


def _number(value: Any) -> int:
    try:
        return int(value or 0)
    except (TypeError, ValueError, OverflowError):
        return 0
