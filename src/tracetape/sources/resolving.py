"""Sources as they were given → what is read."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from tracetape.errors import SourceError
from tracetape.model.span import Gap, SpanRecord
from tracetape.sources.addresses import is_url, meant
from tracetape.sources.blobs import Blob
from tracetape.sources.fetch import files_of
from tracetape.sources.reading import read_files

__all__ = ["asked_for", "resolved"]

# A trace is fresh for so many nanoseconds: what it lacks may still come.
_FRESH = 120 * 10**9
# Elasticsearch and OpenSearch give Jaeger no more of one trace (`max_doc_count`).
_MOST_OF_JAEGER = 10_000


def asked_for(sources: Sequence[str | os.PathLike[str]]) -> str | None:
    """The trace that the only source says, where that is an address in a backend."""
    if len(sources) != 1 or not is_url(os.fspath(sources[0])):
        return None
    address = meant(os.fspath(sources[0]))
    return (address.trace_id or None) if address is not None else None


def resolved(
    sources: Sequence[str | os.PathLike[str]], trace_id: str | None
) -> tuple[list[Path | Blob], list[Gap]]:
    """What the sources are, and what is known to be lacking of it.

    trace_id:  32 hex digits, for an address of a backend that says none.

    Raises SourceError, TraceSelectionError as `files_of` and `remote.blobs_of` do.
    """
    found: list[Path | Blob] = []
    gaps: list[Gap] = []
    for one in files_of(sources):
        if isinstance(one, Path):
            found.append(one)
            continue
        # Imported on first use: HTTP takes longer to import than all else.
        from tracetape.sources.remote import blobs_of

        blobs = blobs_of(one, trace_id, is_settled)
        address = meant(one)
        if address is not None and address.backend == "jaeger" and len(_spans(blobs)) == _MOST_OF_JAEGER:
            gaps.append(
                Gap(
                    "PARTIAL_TRACE",
                    f"Jaeger has given {_MOST_OF_JAEGER:,} spans, the most that it gives of one trace from "
                    "Elasticsearch or OpenSearch: raise max_doc_count of its storage",
                    str(address),
                )
            )
        found += blobs
    return found, gaps


def is_settled(blobs: list[Blob]) -> bool:
    """Whether a trace is whole, or so old that nothing more will come."""
    spans = _spans(blobs)
    if not spans:
        return True
    newest = max(one.end_ns or one.start_ns for one in spans)
    if newest < time.time_ns() - _FRESH:
        return True
    ids = {(one.trace_id, one.span_id) for one in spans}
    return all(
        one.end_ns is not None and (one.parent_id is None or (one.trace_id, one.parent_id) in ids) for one in spans
    )


def _spans(blobs: list[Blob]) -> list[SpanRecord]:
    """Nothing where they cannot be read: that is said when they are read for good."""
    try:
        return [item for item in read_files(blobs) if isinstance(item, SpanRecord)]
    except SourceError:
        return []
