"""Chooses the spans of one run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields

from tracetape.errors import SourceError, TraceSelectionError, TraceStructureError
from tracetape.model.span import Event, Gap, LogEvent, SpanRecord
from tracetape.semconv.read import is_mark
from tracetape.sources.batches import Batch
from tracetape.sources.conversations import Conversations
from tracetape.sources.rows import Rows

__all__ = ["Selection", "select"]

_LISTED = 20


@dataclass(slots=True)
class Selection:
    """The spans of the run, and what was noticed on the way. kept: the rows, each span once. events: made of log
    records, by the ids of their spans."""

    rows: Rows = field(default_factory=Rows)
    gaps: list[Gap] = field(default_factory=list)
    kept: Sequence[int] = ()
    events: dict[tuple[str, str], list[Event]] = field(default_factory=dict)


@dataclass(slots=True)
class _Trace:
    spans: int
    name: str


def select(
    items: Iterable[SpanRecord | Gap | Batch | LogEvent], source: str, trace_id: str | None, everything: bool
) -> Selection:
    """Keep the spans of `trace_id`, of the only trace there is, of every trace where `everything` is set, or where
    all are of one conversation.

    A span that is there twice with equal content is kept once, with gap DUPLICATE_SPAN. trace_id: 32
    lower-case hex digits.

    Raises SourceError NO_SPANS, TraceSelectionError AMBIGUOUS_TRACE or TRACE_NOT_FOUND (both list what is
    there), TraceStructureError CONFLICTING_SPAN, and whatever `items` raise.
    """
    chosen = Selection()
    traces: dict[str, _Trace] = {}
    wanted = trace_id
    talk = Conversations() if trace_id is None and not everything else None
    for item in items:
        if isinstance(item, Gap):
            chosen.gaps.append(item)
            continue
        if isinstance(item, LogEvent):
            if trace_id in (None, item.trace_id):
                chosen.events.setdefault((item.trace_id, item.span_id), []).append(item.event)
            continue
        found, name, size = _told(item)
        trace = traces.get(found)
        if trace is None:
            traces[found] = _Trace(size, name)
        else:
            trace.spans += size
            if isinstance(item, SpanRecord) and item.parent_id is None:
                trace.name = name
        wanted = wanted or found
        # Spans of other traces are counted, not held: a Collector's file may hold a day of them.
        if everything or found == wanted:
            if isinstance(item, SpanRecord):
                chosen.rows.add(item)
            else:
                chosen.rows.extend(item)
        elif talk is not None:
            talk.keep(item)
        if talk is not None:
            talk.note(item)
    if not traces:
        raise SourceError(
            f"{source}: no spans in it. Was the run recorded, and had it ended? Exporters write late: flush them "
            "before the program ends.",
            code="NO_SPANS",
        )
    if trace_id is not None and not len(chosen.rows):
        raise TraceSelectionError(
            f"{source}: no trace {trace_id} in it. There {_listing(traces)}", code="TRACE_NOT_FOUND"
        )
    if talk is not None and len(traces) > 1 and (others := talk.others(traces)) is not None:
        for one in others:
            if isinstance(one, SpanRecord):
                chosen.rows.add(one)
            else:
                chosen.rows.extend(one)
        everything = True
    if trace_id is None and not everything and len(traces) > 1:
        raise TraceSelectionError(
            f"{source}: {len(traces):,} traces in it, and none was asked for. There {_listing(traces)}\n"
            'Choose one: trace_id="…" (--trace on the command line); or traces="all" (--traces all) if they are '
            "one run.",
            code="AMBIGUOUS_TRACE",
        )
    _collapse(chosen, source)
    return chosen


def _told(item: SpanRecord | Batch) -> tuple[str, str, int]:
    """The trace; the name of the first span; how many spans there are."""
    if isinstance(item, SpanRecord):
        return item.trace_id, item.name, 1
    return item.trace.decode("ascii"), item.templates[0].sample.name, len(item)


def _listing(traces: dict[str, _Trace]) -> str:
    lines = [
        f"  {trace_id}  {trace.spans:,} span{'' if trace.spans == 1 else 's'}, {trace.name[:80]!r}"
        for trace_id, trace in list(traces.items())[:_LISTED]
    ]
    if len(traces) > _LISTED:
        lines.append(f"  and {len(traces) - _LISTED:,} more")
    return ("is:" if len(traces) == 1 else "are:") + "\n" + "\n".join(lines)


def _collapse(chosen: Selection, source: str) -> None:
    rows = chosen.rows
    ids = rows.ids()
    chosen.kept = range(len(rows))
    if len(set(ids)) == len(rows):
        return
    kept: dict[int, int] = {}
    repeated: list[SpanRecord] = []
    for row, one in enumerate(ids):
        first_row = kept.setdefault(one, row)
        if first_row == row:
            continue
        first, span = rows.record(first_row), rows.record(row)
        if is_mark(span):
            continue  # the mark of a call that is there: somebody has put the files into one
        if is_mark(first):
            kept[one] = row
            continue
        if first != span:
            raise _conflict(first, span)
        repeated.append(span)
    chosen.kept = list(kept.values())
    if repeated:
        chosen.gaps.append(
            Gap(
                "DUPLICATE_SPAN",
                f"{len(repeated):,} of {len(rows):,} spans are there more than once with equal content, "
                f"such as {repeated[0].name[:80]!r} {repeated[0].span_id} (an export that was retried); each is "
                "kept once",
                source,
            )
        )


def _conflict(first: SpanRecord, second: SpanRecord) -> TraceStructureError:
    differing = [
        one.name
        for one in fields(SpanRecord)
        if one.compare and one.name != "attributes" and getattr(first, one.name) != getattr(second, one.name)
    ]
    keys = [*first.attributes, *(key for key in second.attributes if key not in first.attributes)]
    missing = object()
    differing += [
        f"attribute {key!r}"
        for key in keys
        if first.attributes.get(key, missing) != second.attributes.get(key, missing)
    ]
    return TraceStructureError(
        f"span {first.span_id} {first.name[:80]!r} is there twice with different content ({first.where}, then "
        f"{second.where}): {', '.join(differing[:5])}. A replay must not pick one: remove the wrong one.",
        code="CONFLICTING_SPAN",
    )
