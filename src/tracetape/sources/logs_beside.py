"""Log events beside the files of spans, which nobody has asked for by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tracetape.errors import SourceError
from tracetape.model.span import Gap, LogEvent
from tracetape.sources.fetch import logs_beside
from tracetape.sources.formats.unread import WRONG_SIGNAL
from tracetape.sources.reading import read_files

__all__ = ["read_logs_beside"]


def read_logs_beside(paths: Sequence[Path]) -> Iterator[LogEvent | Gap]:
    """The events in `run.logs.jsonl` beside `run.jsonl`. One that cannot be read is gap LOGS_UNREADABLE: it never
    keeps the spans from being read."""
    for path in logs_beside(paths):
        gaps: list[Gap] = []
        try:
            for item in read_files([path]):
                if isinstance(item, LogEvent):
                    yield item
                elif isinstance(item, Gap):
                    gaps.append(item)
        except SourceError as error:
            if error.code != WRONG_SIGNAL:  # that there are no spans in it is as it should be
                text = f"the log events beside the spans are not read: {error}"
                gaps = [Gap("LOGS_UNREADABLE", text, str(path))]
        yield from gaps
