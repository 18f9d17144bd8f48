"""The start order of spans: by sequence numbers first, by clocks second."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from tracetape.model.span import SpanRecord

__all__ = ["SequenceKey", "sequence_of", "start_order"]

SequenceKey = tuple[str, str, str | None]


def start_order(
    rows: Sequence[int],
    *,
    starts: Sequence[int],
    ends: Sequence[int],
    ids: Sequence[int],
    groups: Sequence[int],
    numbers: Sequence[int],
) -> list[int]:
    """The rows in the order in which their spans started, whatever their order in the file.

    Spans with an attribute that ends in `.seq` (an int) are in its order among those of the same trace and
    process (`….process.id` beside it): clocks are set back, and lose their last digits in some backends.
    Across processes, and for spans without one, the recorded start decides; of two with the same start
    the one that ends later is first, since it may hold the other.

    starts, ends:  by row; an end of 0 is none. ids: any that differ.
    groups:   one number for a trace, process and attribute; 0 where there is none. numbers: by that attribute.
    """
    by_time = sorted(rows, key=starts.__getitem__)
    if len(set(map(starts.__getitem__, by_time))) < len(by_time):
        by_time.sort(key=lambda row: (starts[row], -ends[row] if ends[row] else float("-inf"), ids[row]))
    members: dict[int, list[int]] = {}
    for row in by_time:
        members.setdefault(groups[row], []).append(row)
    found = members.pop(0, [])
    latest = list(starts)
    for group in members.values():
        if len(set(map(numbers.__getitem__, group))) < len(group):
            # Numbers that repeat count something else than this trace's spans.
            found += group
            continue
        by_number = sorted(group, key=numbers.__getitem__)
        for row, start in zip(by_number, accumulate(map(starts.__getitem__, by_number), max), strict=True):
            latest[row] = start
        found += by_number
    found.sort(key=latest.__getitem__)
    return found


def sequence_of(span: SpanRecord) -> tuple[SequenceKey, int] | None:
    """What a span is counted by (trace, attribute, process), and its number there."""
    for key, value in span.attributes.items():
        if key.endswith(".seq") and type(value) is int:
            process = span.attributes.get(f"{key.removesuffix('.seq')}.process.id")
            return (span.trace_id, key, process if isinstance(process, str) else None), value
    return None
