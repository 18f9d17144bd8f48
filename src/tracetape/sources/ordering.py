"""The start order of spans: by sequence numbers first, by clocks second."""

from __future__ import annotations

from collections.abc import Iterable

from tracetape.model.span import SpanRecord

__all__ = ["start_order"]


def start_order(spans: Iterable[SpanRecord]) -> list[SpanRecord]:
    """The spans in the order in which they started, whatever their order in the file.

    Spans with an attribute that ends in `.seq` (an int) are in its order among those of the same trace and
    process (`….process.id` beside it): clocks are set back, and lose their last digits in some backends.
    Across processes, and for spans without one, the recorded start decides; of two with the same start
    the one that ends later is first, since it may hold the other.
    """
    groups: dict[tuple[str, str, object], list[tuple[int, SpanRecord]]] = {}
    timed: list[tuple[int, SpanRecord]] = []
    for span in sorted(spans, key=_by_time):
        sequence = _sequence_of(span)
        if sequence is None:
            timed.append((span.start_ns, span))
        else:
            groups.setdefault(sequence[0], []).append((sequence[1], span))
    for members in groups.values():
        if len({number for number, _ in members}) < len(members):
            # Numbers that repeat count something else than this trace's spans.
            timed += [(span.start_ns, span) for _, span in members]
            continue
        members.sort(key=_by_number)
        latest = 0
        for _, span in members:
            latest = max(latest, span.start_ns)
            timed.append((latest, span))
    timed.sort(key=_by_number)
    return [span for _, span in timed]


def _by_time(span: SpanRecord) -> tuple[int, float, str]:
    return span.start_ns, float("-inf") if span.end_ns is None else -span.end_ns, span.span_id


def _by_number(pair: tuple[int, SpanRecord]) -> int:
    return pair[0]


def _sequence_of(span: SpanRecord) -> tuple[tuple[str, str, object], int] | None:
    for key, value in span.attributes.items():
        if key.endswith(".seq") and type(value) is int:
            process = span.attributes.get(f"{key.removesuffix('.seq')}.process.id")
            return (span.trace_id, key, process if isinstance(process, str) else None), value
    return None
