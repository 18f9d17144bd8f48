"""The spans of one run in columns; an object for each is made when somebody asks for it."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import accumulate
from typing import Any, overload

from tracetape.model.crossing import Crossing
from tracetape.model.crossings import Moment
from tracetape.model.payload import Payload
from tracetape.model.span import SpanRecord
from tracetape.sources.batches import DIGESTS, PLACES, Batch
from tracetape.sources.holding import HeldString
from tracetape.sources.line_templates import Filling, Template
from tracetape.sources.ordering import SequenceKey, sequence_of

__all__ = ["Rows", "SpanRows"]

_LITTLE = sys.byteorder == "little"
_NO_PLACES, _NO_DIGESTS = array("I", bytes(4 * PLACES)), bytes(DIGESTS)


class Rows:
    """Spans in the order in which they were read; a row each, from 0.

    whole:      by row, the spans that were read as such. Of all others it is known that they are crossings of
                ours, have ended and lack nothing: what they are is in the columns.
    templates:  by row; None for a whole span.
    span_ids, parent_ids:  the ids as numbers; 0 for no parent.
    traces:     the ids of the traces. trace_of: by row, the trace's place among them.
    starts, ends:     nanoseconds since the epoch; 0 for no end.
    groups, numbers:  what `start_order` takes.
    """

    def __init__(self) -> None:
        self.whole: dict[int, SpanRecord] = {}
        self.templates: list[Template | None] = []
        self.span_ids, self.parent_ids = array("Q"), array("Q")
        self.traces: list[str] = []
        self.trace_of = array("I")
        self.starts, self.ends = array("Q"), array("Q")
        self.groups = array("I")
        self.numbers = array("q")
        self._counts = array("q")
        self._lines = array("Q")
        self._places = array("I")
        self._digests = bytearray()
        self._first_count: array[int] = array("Q")
        self._groups: dict[SequenceKey, int] = {}
        self._trace_numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.templates)

    def add(self, span: SpanRecord) -> None:
        self.whole[len(self)] = span
        self.templates.append(None)
        self.span_ids.append(int(span.span_id, 16))
        self.parent_ids.append(int(span.parent_id, 16) if span.parent_id else 0)
        self.trace_of.append(self._trace(span.trace_id))
        self.starts.append(span.start_ns)
        self.ends.append(span.end_ns or 0)
        counted = sequence_of(span)
        self.groups.append(0 if counted is None else self._group(counted[0]))
        self.numbers.append(0 if counted is None else counted[1])
        self._lines.extend((0, 0))
        self._places.extend(_NO_PLACES)
        self._digests += _NO_DIGESTS

    def extend(self, batch: Batch) -> None:
        trace_id = batch.trace.decode("ascii")
        self.templates += batch.templates
        ids = array("Q", bytes(batch.ids))
        if _LITTLE:
            ids.byteswap()
        self.span_ids += ids[::2]
        self.parent_ids += ids[1::2]
        self.trace_of += array("I", [self._trace(trace_id)]) * len(batch)
        self.starts += batch.starts
        self.ends += batch.ends
        groups = {
            template: self._group((trace_id, *template.sequence)) if template.sequence is not None else 0
            for template in set(batch.templates)
        }
        self.groups.extend(map(groups.__getitem__, batch.templates))
        self.numbers += batch.sequence
        self._counts += batch.counts
        self._lines += batch.lines
        self._places += batch.places
        self._digests += batch.digests

    def _trace(self, trace_id: str) -> int:
        number = self._trace_numbers.setdefault(trace_id, len(self.traces))
        if number == len(self.traces):
            self.traces.append(trace_id)
        return number

    def _group(self, key: SequenceKey) -> int:
        return self._groups.setdefault(key, len(self._groups) + 1)

    def ids(self) -> Sequence[int]:
        """By row, one number for trace and span."""
        return self._in_trace(self.span_ids)

    def ids_of_parents(self) -> Sequence[int]:
        """The same for the parent; a number that is in no `ids` where there is none."""
        return self._in_trace(self.parent_ids)

    def _in_trace(self, ids: array[int]) -> Sequence[int]:
        if len(self.traces) == 1:
            return ids
        return [trace << 64 | one for trace, one in zip(self.trace_of, ids, strict=True)]

    def by_trace(self, rows: Sequence[int]) -> Iterable[Sequence[int]]:
        """Those of each trace, the traces in the order of their first rows."""
        if len(self.traces) == 1:
            return (rows,)
        traces: dict[int, list[int]] = {}
        for row in rows:
            traces.setdefault(self.trace_of[row], []).append(row)
        return traces.values()

    def counts(self, row: int) -> Sequence[int]:
        """The numbers that a row's template speaks of."""
        if len(self._first_count) != len(self) + 1:
            self.count()
        return self._counts[self._first_count[row] : self._first_count[row + 1]]

    def count(self) -> None:
        """Make what `counts` needs, for the rows that there are."""
        each = (0 if template is None else len(template.counts) for template in self.templates)
        self._first_count = array("Q", accumulate(each, initial=0))

    def moment(self, row: int, template: Template) -> Moment:
        """Of a row that is no whole span, once they have been counted."""
        return Moment(
            self.starts[row],
            self.ends[row],
            self.count_of(row, template.seq_at),
            template.crossing["process_id"],
            self.count_of(row, template.before_at),
        )

    def predecessors(self, order: Sequence[int], whole: Mapping[int, int | None]) -> Sequence[int | None]:
        """What `Crossings.predecessors` gives for these rows, once they have been counted.

        whole:  of whole spans, the number of the call before. What is no row has none.
        """
        counts, first, groups, templates = self._counts, self._first_count, self.groups, self.templates
        found: list[int | None] = []
        for row in order:
            template = templates[row] if row < len(templates) else None
            if template is None:
                before = whole.get(row)
            else:
                before = None if template.before_at < 0 else counts[first[row] + template.before_at]
            # Spans of one group are of one process.
            found.append(None if before is None else groups[row] << 64 | before)
        return found

    def count_of(self, row: int, at: int) -> int | None:
        """One of the numbers that a row's template speaks of, once they have been counted; None for -1."""
        return None if at < 0 else self._counts[self._first_count[row] + at]

    def record(self, row: int) -> SpanRecord:
        template = self.templates[row]
        return self.whole[row] if template is None else template.span_of(self._filling(row, template))

    def crossing(self, row: int, template: Template, **place: Any) -> Crossing:
        """Of a row that is no whole span. place: its occurrence, values and kin."""
        return template.crossing_of(self._filling(row, template), **place)

    def result(self, row: int, template: Template) -> Payload:
        """The output of a row that is no whole span."""
        begin, number = self._lines[2 * row : 2 * row + 2]
        at, long, size = self._places[PLACES * row + 4 : PLACES * row + 7]
        digest = f"sha256:{self._digest_of_result(row).hex()}"
        return Payload(self._held(digest, size, template, number, (begin + at, long)), digest, size)

    def text_of_result(self, row: int, template: Template) -> str:
        """The text of that output, from its place in the file. Raises SourceError SOURCE_CHANGED."""
        text = self._text(row, template, PLACES * row + 4, DIGESTS * row + 32)
        # Which looks once more, and says what is wrong.
        return self.result(row, template).text if text is None else text

    def text_of_input(self, row: int, template: Template) -> str:
        """The same of the input."""
        text = self._text(row, template, PLACES * row, DIGESTS * row)
        return self._filling(row, template).given.text if text is None else text

    def _text(self, row: int, template: Template, at: int, digest_at: int) -> str | None:
        begin, size, strings = self._lines[2 * row] + self._places[at], self._places[at + 1], template.strings
        text = strings.text(begin, size)
        if text is None or strings.whole:  # which was looked at when it was read, and nobody can have changed it
            return text
        digest = sha256(text.encode("utf-8", "replace")).digest()
        return text if digest == self._digests[digest_at : digest_at + 32] else None

    def digest_of_input(self, row: int) -> bytes:
        """The SHA-256 of the input of a row that is no whole span."""
        return bytes(self._digests[DIGESTS * row : DIGESTS * row + 32])

    def _digest_of_result(self, row: int) -> bytearray:
        return self._digests[DIGESTS * row + 32 : DIGESTS * (row + 1)]

    @staticmethod
    def _held(digest: str, size: int, template: Template, number: int, place: tuple[int, int]) -> HeldString:
        return HeldString(digest, size, template.strings, place, template.source, number)

    def _filling(self, row: int, template: Template) -> Filling:
        begin, number = self._lines[2 * row : 2 * row + 2]
        given_at, given_long, given_size, marked = self._places[PLACES * row : PLACES * row + 4]
        digest = f"sha256:{self._digests[DIGESTS * row : DIGESTS * row + 32].hex()}"
        given = self._held(digest, given_size, template, number, (begin + given_at, given_long))
        given.marked = marked != 0
        return Filling(
            self.traces[self.trace_of[row]],
            f"{self.span_ids[row]:016x}",
            f"{self.parent_ids[row]:016x}",
            self.starts[row],
            self.ends[row],
            self.counts(row),
            Payload(given, digest, given_size),
            self.result(row, template),
            number,
        )


class SpanRows(Sequence[SpanRecord]):
    """Rows in another order. order: the rows."""

    def __init__(self, rows: Rows, order: Sequence[int]) -> None:
        self._rows, self._order = rows, order

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, index: int) -> SpanRecord: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[SpanRecord]: ...
    def __getitem__(self, index: int | slice) -> SpanRecord | Sequence[SpanRecord]:
        if isinstance(index, slice):
            return SpanRows(self._rows, self._order[index])
        return self._rows.record(self._order[index])

    def __iter__(self) -> Iterator[SpanRecord]:
        return map(self._rows.record, self._order)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (SpanRows, tuple, list)):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]
