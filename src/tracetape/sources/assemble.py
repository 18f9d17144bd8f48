"""Spans → Recording."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tracetape.model.crossing import Crossing, Kin, ValueReader
from tracetape.model.recording import Recording
from tracetape.model.span import Gap, SpanRecord
from tracetape.semconv.read import is_recording_root, run_gaps
from tracetape.sources.conventions.registry import CONVENTIONS
from tracetape.sources.ordering import start_order
from tracetape.sources.payload_checks import content_gaps
from tracetape.sources.selection import select
from tracetape.sources.structure import SpanKey, parents_of, structure_gaps

__all__ = ["assemble"]


def assemble(
    items: Iterable[SpanRecord | Gap],
    *,
    source: str,
    trace_id: str | None = None,
    everything: bool = False,
    values: ValueReader | None = None,
) -> Recording:
    """One run: its crossings in start order, numbered and hung into a tree, with what it lacks.

    items:       what a reader yields, in any order.
    source:      what it was read from, for messages.
    trace_id:    the trace to take, 32 lower-case hex digits; None where there is only one.
    everything:  all traces are one run. The recording has the id of the one that started first.
    values:      turns payloads into values, for the crossings.

    Gaps: those of the items, then those of the run, then those of its spans.

    Raises SourceError NO_SPANS; TraceSelectionError AMBIGUOUS_TRACE, TRACE_NOT_FOUND; TraceStructureError
    CONFLICTING_SPAN, SPAN_CYCLE; whatever the items or a convention raise.
    """
    chosen = select(items, source, trace_id, everything)
    spans = start_order(chosen.spans)
    parents = parents_of(spans)
    gaps = chosen.gaps + structure_gaps(spans, parents, source)
    lost: dict[SpanKey, list[Gap]] = {}
    for span in spans:
        gaps += span.gaps
        if is_recording_root(span):
            gaps += run_gaps(span)
        found = content_gaps(span)
        if found:
            lost[span.trace_id, span.span_id] = found
            gaps += found
    crossings = _crossings(spans, lost, values)
    _hang(spans, parents, crossings)
    return Recording(
        spans[0].trace_id, tuple(dict.fromkeys(crossings.values())), tuple(gaps), tuple(spans), source
    )


def _crossings(
    spans: list[SpanRecord],
    lost: dict[SpanKey, list[Gap]],
    values: ValueReader | None,
) -> dict[SpanKey, Crossing]:
    """By each of their spans, in start order of the main ones. The convention asked first has a span."""
    by_trace: dict[str, list[SpanRecord]] = {}
    for span in spans:
        by_trace.setdefault(span.trace_id, []).append(span)
    claimed: dict[SpanKey, Crossing] = {}
    for trace_id, members in by_trace.items():
        for convention in CONVENTIONS:
            for crossing in convention.crossings(members):
                claimed.setdefault((trace_id, crossing.span_ids[0]), crossing)
    counts: dict[str, int] = {}
    numbered: dict[SpanKey, Crossing] = {}
    for span in spans:
        main = claimed.get((span.trace_id, span.span_id))
        if main is None:
            continue
        counts[main.boundary] = counts.get(main.boundary, 0) + 1
        crossing = replace(
            main,
            occurrence=counts[main.boundary],
            values=values,
            gaps=_with_lost(main, lost) if lost else main.gaps,
            kin=Kin(),
        )
        for span_id in main.span_ids:
            numbered.setdefault((main.trace_id, span_id), crossing)
    return numbered


def _with_lost(crossing: Crossing, lost: dict[SpanKey, list[Gap]]) -> tuple[Gap, ...]:
    """The crossing's gaps, and those of its spans that its convention does not speak of."""
    said = {gap.code for gap in crossing.gaps}
    more = [
        gap for one in crossing.span_ids for gap in lost.get((crossing.trace_id, one), ()) if gap.code not in said
    ]
    return (*crossing.gaps, *more)


def _hang(
    spans: list[SpanRecord], parents: dict[SpanKey, SpanRecord | None], crossings: dict[SpanKey, Crossing]
) -> None:
    """Set each crossing's parent, the nearest ancestor that is a crossing, through structure spans."""
    above: dict[SpanKey, Crossing | None] = {}
    children: dict[Crossing, list[Crossing]] = {}
    for span in spans:
        key = (span.trace_id, span.span_id)
        crossing = crossings.get(key)
        # The main span alone hangs a crossing; its others hang inside it.
        if crossing is None or crossing.span_ids[0] != span.span_id:
            continue
        parent = _nearest(key, parents, crossings, above)
        if parent is not None and parent is not crossing:
            crossing.kin.parent = parent
            children.setdefault(parent, []).append(crossing)
    for parent, inside in children.items():
        parent.kin.children = tuple(inside)


def _nearest(
    key: SpanKey,
    parents: dict[SpanKey, SpanRecord | None],
    crossings: dict[SpanKey, Crossing],
    above: dict[SpanKey, Crossing | None],
) -> Crossing | None:
    """The crossing over a span. What is found is kept in `above`, so that deep trees are walked once."""
    path: list[SpanKey] = []
    found: Crossing | None = None
    at = key
    while True:
        if at in above:
            found = above[at]
            break
        path.append(at)
        parent = parents[at]
        if parent is None:
            break
        at = (parent.trace_id, parent.span_id)
        if at in crossings:
            found = crossings[at]
            break
    for one in path:
        above[one] = found
    return found
