"""Chooses the spans of one run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields

from tracetape.errors import SourceError, TraceSelectionError, TraceStructureError
from tracetape.model.span import Gap, SpanRecord
from tracetape.semconv.read import is_mark

__all__ = ["Selection", "select"]

_LISTED = 20


@dataclass(slots=True)
class Selection:
    """The spans of the run, each once, and what was noticed on the way."""

    spans: list[SpanRecord] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)


@dataclass(slots=True)
class _Trace:
    spans: int
    name: str


def select(items: Iterable[SpanRecord | Gap], source: str, trace_id: str | None, everything: bool) -> Selection:
    """Keep the spans of `trace_id`, of the only trace there is, or of every trace where `everything` is set.

    A span that is there twice with equal content is kept once, with gap DUPLICATE_SPAN. trace_id: 32
    lower-case hex digits.

    Raises SourceError NO_SPANS, TraceSelectionError AMBIGUOUS_TRACE or TRACE_NOT_FOUND (both list what is
    there), TraceStructureError CONFLICTING_SPAN, and whatever `items` raise.
    """
    chosen = Selection()
    traces: dict[str, _Trace] = {}
    wanted = trace_id
    for item in items:
        if isinstance(item, Gap):
            chosen.gaps.append(item)
            continue
        trace = traces.get(item.trace_id)
        if trace is None:
            traces[item.trace_id] = _Trace(1, item.name)
        else:
            trace.spans += 1
            if item.parent_id is None:
                trace.name = item.name
        wanted = wanted or item.trace_id
        # Spans of other traces are counted, not held: a Collector's file may hold a day of them.
        if everything or item.trace_id == wanted:
            chosen.spans.append(item)
    if not traces:
        raise SourceError(
            f"{source}: no spans in it. Was the run recorded, and had it ended? Exporters write late: flush them "
            "before the program ends.",
            code="NO_SPANS",
        )
    if trace_id is not None and not chosen.spans:
        raise TraceSelectionError(
            f"{source}: no trace {trace_id} in it. There {_listing(traces)}", code="TRACE_NOT_FOUND"
        )
    if trace_id is None and not everything and len(traces) > 1:
        raise TraceSelectionError(
            f"{source}: {len(traces):,} traces in it, and none was asked for. There {_listing(traces)}\n"
            'Choose one: trace_id="…" (--trace on the command line); or traces="all" (--traces all) if they are '
            "one run.",
            code="AMBIGUOUS_TRACE",
        )
    _collapse(chosen, source)
    return chosen


def _listing(traces: dict[str, _Trace]) -> str:
    lines = [
        f"  {trace_id}  {trace.spans:,} span{'' if trace.spans == 1 else 's'}, {trace.name[:80]!r}"
        for trace_id, trace in list(traces.items())[:_LISTED]
    ]
    if len(traces) > _LISTED:
        lines.append(f"  and {len(traces) - _LISTED:,} more")
    return ("is:" if len(traces) == 1 else "are:") + "\n" + "\n".join(lines)


def _collapse(chosen: Selection, source: str) -> None:
    kept: dict[tuple[str, str], SpanRecord] = {}
    repeated: list[SpanRecord] = []
    for span in chosen.spans:
        first = kept.setdefault((span.trace_id, span.span_id), span)
        if first is span or is_mark(span):
            continue  # the mark of a call that is there: somebody has put the files into one
        if is_mark(first):
            kept[span.trace_id, span.span_id] = span
            continue
        if first != span:
            raise _conflict(first, span)
        repeated.append(span)
    total = len(chosen.spans)
    chosen.spans = list(kept.values())
    if repeated:
        chosen.gaps.append(
            Gap(
                "DUPLICATE_SPAN",
                f"{len(repeated):,} of {total:,} spans are there more than once with equal content, "
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
