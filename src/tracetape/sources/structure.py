"""What is wrong with the tree of spans."""

from __future__ import annotations

from collections.abc import Sequence

from tracetape.errors import TraceStructureError
from tracetape.model.span import Gap, SpanRecord
from tracetape.semconv import names
from tracetape.semconv.read import is_mark, is_recording_root

__all__ = ["parents_of", "structure_gaps"]

SpanKey = tuple[str, str]

# Backends keep microseconds, or round nanoseconds through floats.
_CLOCK_PRECISION_NS = 1_000
_NAMED = 3


def parents_of(spans: Sequence[SpanRecord]) -> dict[SpanKey, SpanRecord | None]:
    """For each span (by trace and span id) its parent, None where it has none or that is absent.

    Raises TraceStructureError SPAN_CYCLE.
    """
    by_key = {(span.trace_id, span.span_id): span for span in spans}
    parents = {
        key: by_key.get((span.trace_id, span.parent_id)) if span.parent_id else None
        for key, span in by_key.items()
    }
    _refuse_cycles(by_key, parents)
    return parents


def structure_gaps(
    spans: Sequence[SpanRecord], parents: dict[SpanKey, SpanRecord | None], source: str
) -> list[Gap]:
    """Missing and superfluous roots, missing parents, spans without an end, clocks that disagree.

    spans: in start order.
    """
    gaps: list[Gap] = []
    by_trace: dict[str, list[SpanRecord]] = {}
    for span in spans:
        by_trace.setdefault(span.trace_id, []).append(span)
    for members in by_trace.values():
        gaps += _root_gaps(members, parents, source)
    gaps += [
        Gap("UNENDED_SPAN", f"{_name(span)} has no end: it was exported before it ended", span.where)
        for span in spans
        if span.end_ns is None and not is_mark(span)
    ]
    return gaps + _clock_gaps(spans, parents, source)


def _root_gaps(spans: list[SpanRecord], parents: dict[SpanKey, SpanRecord | None], source: str) -> list[Gap]:
    # A recording made inside a span of the host (an HTTP request) starts at its own root all the same.
    roots = [span for span in spans if span.parent_id is None or _starts_a_recording(span, parents)]
    orphans: dict[str, list[SpanRecord]] = {}
    for span in spans:
        if (
            span.parent_id is not None
            and parents[span.trace_id, span.span_id] is None
            and not _starts_a_recording(span, parents)
        ):
            orphans.setdefault(span.parent_id, []).append(span)
    gaps: list[Gap] = []
    if len(roots) > 1:
        text = f"{len(roots):,} spans have no parent ({_some(roots)}): the context was lost, perhaps in a thread"
        gaps.append(Gap("MULTIPLE_ROOTS", text, source))
    if not roots:
        # A recording's root is written when it ends. While it runs, or once it was killed, whatever hangs
        # right under it is where it should be.
        if len(orphans) == 1 and any(_is_ours(span) for span in next(iter(orphans.values()))):
            text = f"the root {next(iter(orphans))} never ended: the process was killed, or is still running"
            return [Gap("MISSING_ROOT", text, source)]
        text = (
            "no span without a parent: the root was not exported (killed before it ended, or in another service)"
        )
        gaps.append(Gap("MISSING_ROOT", text, source))
    gaps += [
        Gap(
            "MISSING_PARENT",
            f"span {absent} is absent, the parent of {len(children):,} (of {_some(children)}): not exported, "
            "dropped by a sampler, or in another file",
            source,
        )
        for absent, children in orphans.items()
    ]
    return gaps


def _clock_gaps(spans: Sequence[SpanRecord], parents: dict[SpanKey, SpanRecord | None], source: str) -> list[Gap]:
    early: list[tuple[int, SpanRecord]] = []
    backwards: list[tuple[int, SpanRecord]] = []
    for span in spans:
        parent = parents[span.trace_id, span.span_id]
        if parent is not None and span.start_ns + _CLOCK_PRECISION_NS < parent.start_ns:
            early.append((parent.start_ns - span.start_ns, span))
        if span.end_ns is not None and span.end_ns + _CLOCK_PRECISION_NS < span.start_ns:
            backwards.append((span.start_ns - span.end_ns, span))
    gaps = []
    for what, found in (("start before their parents", early), ("end before they start", backwards)):
        if found:
            most = max(by for by, _ in found) / 1e6
            text = (
                f"{len(found):,} spans {what}, by up to {most:.3f} ms ({_some([span for _, span in found])}): "
                "clocks disagree. The tree stays as it is; sequence numbers, where there are any, give the order"
            )
            gaps.append(Gap("CLOCK_SKEW", text, source))
    return gaps


def _refuse_cycles(by_key: dict[SpanKey, SpanRecord], parents: dict[SpanKey, SpanRecord | None]) -> None:
    safe: set[SpanKey] = set()
    for start in by_key:
        path: dict[SpanKey, None] = {}
        key: SpanKey | None = start
        while key is not None and key not in safe:
            if key in path:
                ring = list(path)[list(path).index(key) :]
                shown = " → ".join(_name(by_key[one]) for one in [*ring[:8], ring[0]])
                raise TraceStructureError(
                    f"{by_key[key].where}: {len(ring):,} spans are each other's parents ({shown}). The file was "
                    "edited, or span ids were used twice: export it again.",
                    code="SPAN_CYCLE",
                )
            path[key] = None
            parent = parents[key]
            key = None if parent is None else (parent.trace_id, parent.span_id)
        safe.update(path)


def _starts_a_recording(span: SpanRecord, parents: dict[SpanKey, SpanRecord | None]) -> bool:
    return is_recording_root(span) and parents[span.trace_id, span.span_id] is None


def _is_ours(span: SpanRecord) -> bool:
    """By scope or by attribute: some backends lose scopes."""
    return span.scope.name == names.SCOPE_NAME or names.SCHEMA_VERSION in span.attributes


def _some(spans: list[SpanRecord]) -> str:
    return ", ".join(_name(span) for span in spans[:_NAMED]) + (", …" if len(spans) > _NAMED else "")


def _name(span: SpanRecord) -> str:
    return f"{span.name[:80]!r} {span.span_id}"
