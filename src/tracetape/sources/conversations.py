"""Tells whether several traces are one run: where they are of one conversation."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tracetape.model.span import SpanRecord
from tracetape.semconv.names import BOUNDARY_NAME
from tracetape.semconv.read import is_recording_root
from tracetape.sources.batches import Batch
from tracetape.sources.conventions import names

__all__ = ["Conversations"]

# A conversation or session, as the families name it.
_KEYS = (
    names.CONVERSATION_ID,
    "session.id",
    "traceloop.association.properties.thread_id",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.conversation_id",
    "mlflow.trace.session",
    "langfuse.session.id",
)
# Spans of other traces that are held until it is known: a Collector's file may hold a day of them.
_MOST = 10_000


class Conversations:
    """The conversations of a source's traces, and the spans besides those of its first trace."""

    def __init__(self) -> None:
        self._told: dict[str, set[str]] = {}
        self._others: list[SpanRecord | Batch] = []
        self._size = 0
        self._has_own = False

    def note(self, item: SpanRecord | Batch) -> None:
        if not isinstance(item, SpanRecord) or _is_own(item):
            self._has_own = True  # each run of ours is one trace
            return
        attributes = item.attributes
        for key in _KEYS:
            if attributes.get(key) not in (None, ""):
                self._told.setdefault(item.trace_id, set()).add(str(attributes[key]))
                return

    def keep(self, item: SpanRecord | Batch) -> None:
        self._size += 1 if isinstance(item, SpanRecord) else len(item)
        if self._size <= _MOST:
            self._others.append(item)
        else:
            self._others.clear()

    def others(self, traces: Collection[str]) -> Sequence[SpanRecord | Batch] | None:
        """What was kept, where every trace is of the same one conversation; else None."""
        said = [self._told.get(trace, set()) for trace in traces]
        is_one = len(said[0]) == 1 and all(one == said[0] for one in said)
        return self._others if is_one and self._size <= _MOST and not self._has_own else None


def _is_own(span: SpanRecord) -> bool:
    return BOUNDARY_NAME in span.attributes or is_recording_root(span)
