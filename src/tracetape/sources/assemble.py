"""Spans → Recording."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracetape.model.crossing import Crossing, ValueReader
from tracetape.model.recording import Recording
from tracetape.model.span import Event, Gap, LogEvent, SpanRecord
from tracetape.semconv import names
from tracetape.semconv.read import is_recording_root, run_gaps, source_gaps
from tracetape.sources.batches import Batch
from tracetape.sources.conventions.foreign import is_foreign, seen
from tracetape.sources.conventions.joining import SpanKey, key_of
from tracetape.sources.conventions.registry import CONVENTIONS
from tracetape.sources.ordering import start_order
from tracetape.sources.payload_checks import content_gaps
from tracetape.sources.row_crossings import Claimed, RowCrossings
from tracetape.sources.rows import Rows, SpanRows
from tracetape.sources.selection import select
from tracetape.sources.structure import parents_of, structure_gaps
from tracetape.sources.uploads import addresses_in

__all__ = ["assemble"]

Uploads = Callable[[Iterable[str]], Mapping[str, Any]]
"""Gives the content that is stored under addresses, of those that are found."""


def assemble(
    items: Iterable[SpanRecord | Gap | Batch | LogEvent],
    *,
    source: str,
    trace_id: str | None = None,
    everything: bool = False,
    values: ValueReader | None = None,
    uploads: Uploads | None = None,
) -> Recording:
    """One run: its crossings in start order, numbered and hung into a tree, with what it lacks.

    items:       what a reader yields, in any order.
    source:      what it was read from, for messages.
    trace_id:    the trace to take, 32 lower-case hex digits; None where there is only one.
    everything:  all traces are one run. The recording has the id of the one that started first.
    values:      turns payloads into values, for the crossings.
    uploads:     asked for content that spans name instead of having it.

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
    claims = _Claims(rows, order, parents, lost)
    claims.take_own()
    gaps += claims.take_foreign(chosen.events, uploads)
    crossings = RowCrossings(rows, claims.order, claims.parents, claims.made, values)
    return Recording(rows.traces[rows.trace_of[order[0]]], crossings, tuple(gaps), SpanRows(rows, order), source)


class _Claims:
    """What conventions make of the spans.

    made:            crossings in whole spans, by the rows of their main spans. The convention asked first has a
                     span.
    order, parents:  of the rows, and of those behind them for crossings that no span shows.
    """

    def __init__(
        self, rows: Rows, order: Sequence[int], parents: Sequence[int], lost: Mapping[int, Sequence[Gap]]
    ) -> None:
        self._rows, self._lost = rows, lost
        self.order, self.parents = list(order), list(parents)
        self.made: dict[int, Claimed] = {}
        self._at = dict(zip(map(self._key, self.order), self.order, strict=True)) if rows.whole else {}

    def _key(self, row: int) -> SpanKey:
        return self._rows.traces[self._rows.trace_of[row]], f"{self._rows.span_ids[row]:016x}"

    def take_own(self) -> None:
        """By our own convention, which has seen the others when they were read; by Chronicle's."""
        whole = [row for row in self.order if row in self._rows.whole]
        for convention in CONVENTIONS:
            for crossing in convention.crossings(SpanRows(self._rows, whole)):
                found = tuple(self._at[crossing.trace_id, one] for one in crossing.span_ids)
                self.made.setdefault(found[0], Claimed(self._with_lost(crossing, found), found))

    def take_foreign(self, events: Mapping[SpanKey, Sequence[Event]], uploads: Uploads | None) -> list[Gap]:
        """By what instrumentations write; gives what the run lacks by them. Where a program has marked boundaries,
        those are its calls, and the spans of others around and inside them are structure."""
        if self.made or len(self._rows.whole) < len(self._rows):
            return []
        spans = [self._rows.whole[row] for row in self.order]
        if not any(map(is_foreign, spans)):
            return []
        named = addresses_in(spans) if uploads is not None else []
        content = uploads(named) if uploads is not None and named else {}
        found, gaps = seen(spans, events=events, uploads=content)
        apart: list[tuple[Crossing, int, tuple[int, ...]]] = []
        for crossing, shown, beside in found:
            rows = tuple(self._at[key_of(span)] for span in shown)
            crossing = self._with_lost(crossing, rows)
            if beside is None:
                self.made.setdefault(rows[0], Claimed(crossing, rows))
            else:
                apart.append((crossing, self._at[key_of(beside)], rows))
        self._add(apart)
        return gaps

    def _add(self, apart: Sequence[tuple[Crossing, int, tuple[int, ...]]]) -> None:
        """Give rows of their own to those that no span shows by itself: behind what began before them."""
        first = len(self.parents)
        starts = self._rows.starts
        by_start = sorted(range(len(apart)), key=lambda number: apart[number][0].started)
        for number, (crossing, beside, rows) in enumerate(apart):
            self.parents.append(self.parents[beside])
            self.made[first + number] = Claimed(crossing, rows)
        waiting = iter(by_start)
        following = next(waiting, None)
        order: list[int] = []
        for row in self.order:
            while (
                following is not None and apart[following][0].started <= starts[row] and apart[following][1] != row
            ):
                order.append(first + following)
                following = next(waiting, None)
            order.append(row)
        while following is not None:
            order.append(first + following)
            following = next(waiting, None)
        self.order = order

    def _with_lost(self, crossing: Crossing, rows: Sequence[int]) -> Crossing:
        """The crossing with those gaps of its spans that its convention does not speak of."""
        said = {gap.code for gap in crossing.gaps}
        more = [gap for row in rows for gap in self._lost.get(row, ()) if gap.code not in said]
        return replace(crossing, gaps=(*crossing.gaps, *more)) if more else crossing
