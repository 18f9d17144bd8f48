"""Spans → Recording."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tracetape.model.crossing import Crossing, ValueReader
from tracetape.model.recording import Recording
from tracetape.model.span import Gap, SpanRecord
from tracetape.semconv import names
from tracetape.semconv.read import is_recording_root, run_gaps, source_gaps
from tracetape.sources.batches import Batch
from tracetape.sources.conventions import native
from tracetape.sources.conventions.registry import CONVENTIONS
from tracetape.sources.ordering import start_order
from tracetape.sources.payload_checks import content_gaps
from tracetape.sources.row_crossings import Claimed, RowCrossings
from tracetape.sources.rows import Rows, SpanRows
from tracetape.sources.selection import select
from tracetape.sources.structure import parents_of, structure_gaps

__all__ = ["assemble"]


def assemble(
    items: Iterable[SpanRecord | Gap | Batch],
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
    rows = chosen.rows
    order = start_order(
        chosen.kept,
        starts=rows.starts,
        ends=rows.ends,
        ids=rows.span_ids,
        groups=rows.groups,
        numbers=rows.numbers,
    )
    parents = parents_of(rows, order)
    gaps = chosen.gaps + structure_gaps(rows, order, parents, source)
    lost: dict[int, list[Gap]] = {}
    for row in order:
        span = rows.whole.get(row)
        if span is None:
            continue
        gaps += span.gaps
        if names.SOURCE_GAPS in span.resource:
            gaps += source_gaps(span)
        if is_recording_root(span):
            gaps += run_gaps(span)
        found = content_gaps(span)
        if found:
            lost[row] = found
            gaps += found
    claimed = _claimed(rows, order, lost)
    crossings = RowCrossings(rows, order, parents, claimed, values)
    return Recording(rows.traces[rows.trace_of[order[0]]], crossings, tuple(gaps), SpanRows(rows, order), source)


def _claimed(rows: Rows, order: Sequence[int], lost: dict[int, list[Gap]]) -> dict[int, Claimed]:
    """By the rows of their main spans, the crossings in whole spans; with those gaps of their spans that their
    convention does not speak of. The convention asked first has a span."""
    claimed: dict[int, Claimed] = {}
    for traced in rows.by_trace(order):
        whole = [row for row in traced if row in rows.whole]
        for convention in CONVENTIONS:
            # Ours has seen the others when they were read.
            seen = whole if convention is native else traced
            at = {f"{rows.span_ids[row]:016x}": row for row in seen}
            for crossing in convention.crossings(SpanRows(rows, seen)):
                found = tuple(at[one] for one in crossing.span_ids)
                if found[0] in rows.whole:
                    claimed.setdefault(found[0], Claimed(_with_lost(crossing, found, lost), found))
    return claimed


def _with_lost(crossing: Crossing, rows: Sequence[int], lost: dict[int, list[Gap]]) -> Crossing:
    """The crossing with those gaps of its spans that its convention does not speak of."""
    said = {gap.code for gap in crossing.gaps}
    more = [gap for row in rows for gap in lost.get(row, ()) if gap.code not in said]
    return replace(crossing, gaps=(*crossing.gaps, *more)) if more else crossing
