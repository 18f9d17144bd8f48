"""Adds the calls in flight to what a file has: those noted beside it that it has not finished."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tracetape.errors import SourceError
from tracetape.model.span import Gap, SpanRecord
from tracetape.semconv.read import is_mark
from tracetape.sources.batches import Batch
from tracetape.sources.blobs import Blob
from tracetape.sources.fetch import marks_beside
from tracetape.sources.reading import TRUNCATED_FILE, Item, read_files
from tracetape.sources.records import TRUNCATED

__all__ = ["read_recordings"]

SpanKey = tuple[str, str]


def read_recordings(paths: Sequence[Path | Blob], *, hold: bool = False) -> Iterator[Item]:
    """What `read_files` yields, then the marks beside the files whose spans are in none of them.

    A damaged file of marks is gap MARKS_UNREADABLE: it never keeps the recording from being read. That its
    last line is torn is no gap, for the process died in writing it.

    Raises as `read_files` does.
    """
    # Before the files: a call that ends meanwhile is in them then. The other way round it would be in neither.
    open_calls: dict[SpanKey, SpanRecord] = {}
    gaps: list[Gap] = []
    files = [one if isinstance(one, Path) else one.path for one in paths]
    for path in marks_beside([one for one in files if one is not None]):
        gaps += _read_marks(path, open_calls)
    for item in read_files(paths, hold=hold):
        if open_calls and isinstance(item, SpanRecord):
            open_calls.pop((item.trace_id, item.span_id), None)
        elif open_calls and isinstance(item, Batch):
            for key in item.keys_of_spans():
                open_calls.pop(key, None)
        yield item
    yield from gaps
    yield from open_calls.values()


def _read_marks(path: Path, open_calls: dict[SpanKey, SpanRecord]) -> list[Gap]:
    gaps: list[Gap] = []
    others = 0
    try:
        # Never held: the file is gone as soon as the run has ended.
        for item in read_files([path]):
            if isinstance(item, Gap):
                gaps += [] if item.code == TRUNCATED else [item]
            elif isinstance(item, SpanRecord) and is_mark(item):
                open_calls.setdefault((item.trace_id, item.span_id), item)
            else:
                others += 1
    except SourceError as error:
        if error.code != TRUNCATED_FILE and path.exists():
            return [_unreadable(str(error), path)]
    if others:
        gaps.append(_unreadable(f"{others:,} spans in it are no marks of calls in flight, and are left out", path))
    return gaps


def _unreadable(why: str, path: Path) -> Gap:
    return Gap("MARKS_UNREADABLE", f"what was in flight is not known in full: {why}", str(path))
