"""Columns for spans that were read by a template, in place of an object for each."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracetape.sources.line_templates import Template

__all__ = ["DIGESTS", "PLACES", "ROWS", "Batch"]

# Bytes a row: SHA-256 of the input, of the output.
DIGESTS = 64
# Numbers a row: where the input's JSON string begins in its line, how long it is there, the size of its text,
# whether that may lack parts; the first three of the output.
PLACES = 7
# The most of a batch.
ROWS = 4_096


class Batch:
    """Spans of one trace, one after another in one file; a row each. No row lacks anything.

    trace:      the trace's id, 32 hex digits.
    templates:  what the row's span is, but for what is in the columns.
    ids:        8 bytes of the span's id, 8 of its parent's.
    starts, ends:  nanoseconds since the epoch.
    sequence:   the number that the template says that its process counts by.
    counts:     whole numbers, as many as the template says.
    lines:      where the line begins in the file, in bytes; its number, from 1.
    places, digests:  see PLACES, DIGESTS.
    """

    __slots__ = (
        "adders",
        "counts",
        "digests",
        "ends",
        "ids",
        "lines",
        "places",
        "sequence",
        "starts",
        "templates",
        "trace",
    )

    def __init__(self, trace: bytes) -> None:
        self.trace = trace
        self.templates: list[Template] = []
        self.ids = bytearray()
        self.starts, self.ends = array("Q"), array("Q")
        self.sequence = array("q")
        self.counts = array("q")
        self.lines = array("Q")
        self.places = array("I")
        self.digests = bytearray()

        # Bound once, for they are called for every line.
        self.adders = (
            self.templates.append,
            self.starts.append,
            self.ends.append,
            self.sequence.append,
            self.counts.extend,
            self.lines.extend,
            self.places.extend,
        )

    def __len__(self) -> int:
        return len(self.templates)

    def keys_of_spans(self) -> Iterator[tuple[str, str]]:
        """The ids of the trace and of the span, in hex."""
        trace_id, ids = self.trace.decode("ascii"), self.ids.hex()
        return ((trace_id, ids[at : at + 16]) for at in range(0, len(ids), 32))
