"""What is wrong with the tree of spans."""

from __future__ import annotations

from collections.abc import Sequence

from tracetape.errors import TraceStructureError
from tracetape.model.span import Gap, SpanRecord
from tracetape.semconv import names
from tracetape.semconv.read import is_mark, is_recording_root
from tracetape.sources.rows import Rows

__all__ = ["parents_of", "structure_gaps"]

# Backends keep microseconds, or round nanoseconds through floats.
_CLOCK_PRECISION_NS = 1_000
_NAMED = 3


def parents_of(rows: Rows, order: Sequence[int]) -> list[int]:
    """By row, that of its parent; -1 where it has none or that is absent. order: the rows that count.

    Raises TraceStructureError SPAN_CYCLE.
    """
    ids = rows.ids()
    by_id = dict(zip(map(ids.__getitem__, order), order, strict=True))
    parents = [by_id.get(one, -1) for one in rows.ids_of_parents()]
    _refuse_cycles(rows, order, parents)
    return parents


def structure_gaps(rows: Rows, order: Sequence[int], parents: Sequence[int], source: str) -> list[Gap]:
    """Missing and superfluous roots, missing parents, spans without an end, clocks that disagree.

    order: the rows in start order. parents: by row.
    """
    gaps: list[Gap] = []
    for traced in rows.by_trace(order):
        gaps += _root_gaps(rows, [row for row in traced if parents[row] < 0], source)
    unended = ((row, rows.whole[row]) for row in order if not rows.ends[row])
    gaps += [
        Gap("UNENDED_SPAN", f"{_name(span)} has no end: it was exported before it ended", span.where)
        for _, span in unended
        if not is_mark(span)
    ]
    return gaps + _clock_gaps(rows, order, parents, source)


def _root_gaps(rows: Rows, tops: Sequence[int], source: str) -> list[Gap]:
    """`tops`: those rows of one trace whose parent is not there."""
    # A recording made inside a span of the host (an HTTP request) starts at its own root all the same.
    roots: list[int] = []
    orphans: dict[int, list[int]] = {}
    for row in tops:
        span = rows.whole.get(row)
        if not rows.parent_ids[row] or (span is not None and is_recording_root(span)):
            roots.append(row)
        else:
            orphans.setdefault(rows.parent_ids[row], []).append(row)
    gaps: list[Gap] = []
    if len(roots) > 1:
        some = _some(rows, roots)
        text = f"{len(roots):,} spans have no parent ({some}): the context was lost, perhaps in a thread"
        gaps.append(Gap("MULTIPLE_ROOTS", text, source))
    if not roots:
        # A recording's root is written when it ends. While it runs, or once it was killed, whatever hangs
        # right under it is where it should be.
        if len(orphans) == 1 and any(_is_ours(rows, row) for row in next(iter(orphans.values()))):
            absent = next(iter(orphans))
            text = f"the root {absent:016x} never ended: the process was killed, or is still running"
            return [Gap("MISSING_ROOT", text, source)]
        text = (
            "no span without a parent: the root was not exported (killed before it ended, or in another service)"
        )
        gaps.append(Gap("MISSING_ROOT", text, source))
    gaps += [
        Gap(
            "MISSING_PARENT",
            f"span {absent:016x} is absent, the parent of {len(children):,} (of {_some(rows, children)}): not "
            "exported, dropped by a sampler, or in another file",
            source,
        )
        for absent, children in orphans.items()
    ]
    return gaps


def _clock_gaps(rows: Rows, order: Sequence[int], parents: Sequence[int], source: str) -> list[Gap]:
    starts, ends = rows.starts, rows.ends
    early = [
        (starts[above] - starts[row], row)
        for row in order
        if (above := parents[row]) >= 0 and starts[row] + _CLOCK_PRECISION_NS < starts[above]
    ]
    backwards = [
        (starts[row] - ends[row], row) for row in order if 0 < ends[row] < starts[row] - _CLOCK_PRECISION_NS
    ]
    gaps = []
    for what, found in (("start before their parents", early), ("end before they start", backwards)):
        if found:
            most = max(by for by, _ in found) / 1e6
            text = (
                f"{len(found):,} spans {what}, by up to {most:.3f} ms ({_some(rows, [row for _, row in found])}): "
                "clocks disagree. The tree stays as it is; sequence numbers, where there are any, give the order"
            )
            gaps.append(Gap("CLOCK_SKEW", text, source))
    return gaps


def _refuse_cycles(rows: Rows, order: Sequence[int], parents: Sequence[int]) -> None:
    safe = bytearray(len(rows))
    for start in order:
        above = parents[start]
        if above < 0 or safe[above]:
            # As it is nearly always: parents start first.
            safe[start] = True
            continue
        path: dict[int, None] = {}
        row = start
        while row >= 0 and not safe[row]:
            if row in path:
                ring = list(path)[list(path).index(row) :]
                shown = " → ".join(_name(rows.record(one)) for one in [*ring[:8], ring[0]])
                raise TraceStructureError(
                    f"{rows.record(row).where}: {len(ring):,} spans are each other's parents ({shown}). The file "
                    "was edited, or span ids were used twice: export it again.",
                    code="SPAN_CYCLE",
                )
            path[row] = None
            row = parents[row]
        for row in path:
            safe[row] = True


def _is_ours(rows: Rows, row: int) -> bool:
    """By scope or by attribute: some backends lose scopes."""
    span = rows.whole.get(row)
    return span is None or span.scope.name == names.SCOPE_NAME or names.SCHEMA_VERSION in span.attributes


def _some(rows: Rows, found: Sequence[int]) -> str:
    shown = ", ".join(_name(rows.record(row)) for row in found[:_NAMED])
    return shown + (", …" if len(found) > _NAMED else "")


def _name(span: SpanRecord) -> str:
    return f"{span.name[:80]!r} {span.span_id}"
