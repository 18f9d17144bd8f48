"""The runs of a source that has many."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from tracetape.cli import render
from tracetape.cli.finding import moment
from tracetape.cli.tree import duration
from tracetape.errors import SourceError
from tracetape.model.printing import escaped
from tracetape.model.span import Gap
from tracetape.sources.addresses import is_url, shown
from tracetape.sources.blobs import Blob
from tracetape.sources.fetch import files_of
from tracetape.sources.listing import Advance, list_traces
from tracetape.sources.resolving import resolved
from tracetape.sources.trace_index import ENDING, IndexedTrace, stamp_of, write_index

__all__ = ["as_json", "indexed", "is_large", "lines", "runs"]

_LARGE = 16 * 2**20
_SHOWN = 5


def is_large(source: str) -> bool:
    """Whether a source takes so long to read that its runs are counted first."""
    if is_url(source):
        return False
    return sum(one.stat().st_size for one in files_of([source]) if isinstance(one, Path)) > _LARGE


def runs(source: str) -> dict[str, IndexedTrace]:
    """The traces of a source, with a progress bar where somebody sees it."""
    traces: dict[str, IndexedTrace] = {}
    for one in resolved([source], None)[0]:
        with _progress(one) as advance:
            for trace_id, trace in list_traces([one], advance).items():
                known = traces.get(trace_id)
                traces[trace_id] = trace if known is None else known.together(trace)
    return traces


@contextmanager
def _progress(path: Path | Blob) -> Iterator[Advance]:
    if not isinstance(path, Path):
        yield lambda _: None
        return
    size = path.stat().st_size
    if size < _LARGE or not sys.stderr.isatty():
        yield lambda _: None
        return
    parts = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*parts, console=render.console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"reading {path.name}", total=size)
        yield lambda done: bar.update(task, completed=done)


def indexed(given: str) -> Iterator[Text]:
    """Write the index of a file. Raises SourceError for what has none: a folder, packed data, no lines."""
    if is_url(given):
        raise SourceError(f"{shown(given)}: an index stands beside a file of this machine", code="CANNOT_READ")
    source = Path(given)
    if source.name.endswith(ENDING):
        raise SourceError(f"{source} is an index itself", code="CANNOT_READ")
    if source.is_dir():
        raise SourceError(f"{source} is a folder: give its files one by one", code="CANNOT_READ")
    files_of([source])  # or says what is wrong with it
    before = stamp_of(source)
    damage: list[Gap] = []
    with _progress(source) as advance:
        traces = list_traces([source], advance, by_index=False, damage=damage)
    if stamp_of(source) != before:
        raise SourceError(
            f"{source} was written to while it was read: index it once it is complete, as rotated files are",
            code="SOURCE_CHANGED",
        )
    if not traces:
        raise SourceError(f"{source}: no spans in it", code="NO_SPANS")
    if not any(one.lines for one in traces.values()):
        raise SourceError(
            f"{source}: is not a plain file of OTLP JSON lines, so there is no place in it to point to. Unpack "
            "it, or write it as lines (tracetape fetch does).",
            code="CANNOT_READ",
        )
    written = write_index(source, traces, before, damaged=bool(damage))
    yield Text(f"{escaped(str(written))}  {render.counted(len(traces), 'trace')}")
    for gap in damage[:_SHOWN]:
        yield Text(escaped(str(gap)), style="yellow")
    if damage:
        yield Text(
            "Some of it could not be read, so single runs are looked for as without an index.", style="yellow"
        )


def lines(source: str, traces: dict[str, IndexedTrace]) -> Iterator[Text]:
    """A line a trace, in the order of their starts."""
    source = shown(source)
    yield Text(f"{escaped(source)}  {render.counted(len(traces), 'trace')}")
    for trace_id, one in sorted(traces.items(), key=lambda item: item[1].started):
        line = Text(f"{trace_id}  {moment(one.started)}  {duration(max(0, one.ended - one.started)):>8}  ")
        line.append(f"{render.counted(one.spans, 'span'):>9}")
        line.append("  failed" if one.failed else "        ", style="red")
        line.append(f"  {escaped(one.name[:200])}")
        yield line
    yield Text(f"One of them: tracetape show {escaped(source)} --trace ID", style="dim")


def as_json(traces: dict[str, IndexedTrace]) -> dict[str, Any]:
    """`{traces: [{trace_id, name, started, duration, spans, failed}]}`; times in nanoseconds."""
    return {
        "traces": [
            {
                "trace_id": trace_id,
                "name": one.name,
                "started": one.started,
                "duration": max(0, one.ended - one.started),
                "spans": one.spans,
                "failed": one.failed,
            }
            for trace_id, one in sorted(traces.items(), key=lambda item: item[1].started)
        ]
    }
