"""Payloads that a host's span has no room for, kept until a file of ours takes them.

TRACETAPE_EXPORT_LIMIT bounds what goes over a network: above it a span carries digest and size alone. A file in a
folder of this machine needs no such bound, but its exporter is handed the host's span. So while there is one, what
was left out waits here for it, by the ids of its span.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from tracetape.semconv import names

__all__ = ["is_wanted", "keep", "keep_for", "take"]

MOST_BYTES = 2**28
"""How much waits at most; of what is over, the oldest goes, and its span says `omitted` in the file too. Spans
that a sampler or a full queue takes away are never asked for, and would stay for ever."""

is_wanted = False
_kept: dict[tuple[int, int], tuple[Mapping[str, Any], list[None]]] = {}  # each with who has not taken it yet
_bytes = 0
_exporters = 0


def keep_for(exporters: int) -> None:
    """So many more (or fewer) exporters will take it."""
    global is_wanted, _exporters
    _exporters += exporters
    is_wanted = _exporters > 0
    if not is_wanted:
        _forget()


def keep(span: Any, content: Mapping[str, Any]) -> None:
    """content: the payload attributes, whole."""
    global _bytes
    context = span.get_span_context()
    size = _size(content)  # nothing is called between reading the sum and writing it: threads do not part there
    _kept[context.trace_id, context.span_id] = content, [None] * _exporters
    _bytes += size
    while _bytes > MOST_BYTES and _kept:
        try:
            _drop(next(iter(_kept)))
        except (RuntimeError, StopIteration):  # another thread did
            break


def take(trace_id: int, span_id: int) -> Mapping[str, Any] | None:
    """What was left out of a span, for each exporter once; None where nothing was, or where it has gone."""
    found = _kept.get((trace_id, span_id))
    if found is None:
        return None
    content, takers = found
    try:
        takers.pop()
    except IndexError:
        return None
    if not takers:
        _drop((trace_id, span_id))
    return content


def _drop(key: tuple[int, int]) -> None:
    global _bytes
    found = _kept.pop(key, None)
    if found is not None:
        size = _size(found[0])
        _bytes -= size


def _forget() -> None:
    global _bytes
    _kept.clear()
    _bytes = 0


os.register_at_fork(after_in_child=_forget)  # what waits is the parent's


def _size(content: Mapping[str, Any]) -> int:
    """Bytes of its payloads."""
    return sum(content.get(key, 0) for key in (names.INPUT_SIZE, names.OUTPUT_SIZE))
