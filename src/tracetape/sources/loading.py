"""The public ways to read: one run as a Recording, or every span there is."""

from __future__ import annotations

import os
import string
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from tracetape.errors import FormatError, SourceError, UsageError
from tracetape.model.recording import Recording
from tracetape.model.span import Gap, SpanRecord
from tracetape.sources.addresses import shown
from tracetape.sources.assemble import assemble
from tracetape.sources.blobs import Blob
from tracetape.sources.large_files import part_of
from tracetape.sources.logs_beside import read_logs_beside
from tracetape.sources.marks import read_recordings
from tracetape.sources.reading import TRUNCATED_FILE
from tracetape.sources.records import SKIPPED, TRUNCATED
from tracetape.sources.resolving import asked_for, resolved
from tracetape.sources.uploads import fetched

__all__ = ["load", "read_spans"]

_STRICT_CODES = {TRUNCATED: TRUNCATED_FILE, SKIPPED: "NOT_JSON"}


def load(
    *sources: str | os.PathLike[str],
    trace_id: str | None = None,
    traces: str = "one",
    types: Sequence[type] = (),
    strict: bool = False,
) -> Recording:
    """Read one run from files and directories, as one source.

    A recording that is still running, or was killed, can be read: the calls that had begun are in it as
    `unfinished`, from what is noted beside its file (`<file>.open.<pid>`).

    sources:   paths and URLs. A directory is all files in it. A URL is a trace of a backend
               (jaeger+http://HOST:16686/TRACE_ID, tempo+http://HOST:3200/TRACE_ID,
               phoenix+http://HOST:6006/PROJECT/TRACE_ID, mlflow+http://HOST:5000/TRACE_ID; what logs in is in
               variables, see `config.Access`), the page that a browser shows of one, a file (http, https), or an
               object of a store (s3://, gs://, az://: extra `remote`).
               The format is told by content, never by name: OTLP JSON (lines, documents, arrays, bare spans, log
               lines between) and OTLP protobuf (one message, framed, delimited); what Jaeger, Tempo, Grafana,
               Zipkin, Phoenix and MLflow answer or download; what the SDK's console exporter prints; Chronicle's
               trace folders. Each also inside gzip or zstd.
    trace_id:  the trace to take where there are several: hex in any case, leading zeros optional.
    traces:    "one", or "all": the whole source is one run.
    types:     classes that values may be rebuilt as although no loaded module has them by name.
    strict:    the first gap of the recording is an error, with the gap's code (TRUNCATED_FILE for a cut
               record, NOT_JSON for a skipped line).

    Returns the Recording; its `gaps` say what it lacks.

    Raises UsageError for wrong arguments; SourceError (FILE_NOT_FOUND, CANNOT_READ, UNKNOWN_SOURCE,
    NO_SPANS, PAYLOAD_MISSING; of servers UNREACHABLE, TIMED_OUT, NOT_AUTHORIZED, WEB_PAGE, BACKEND_ERROR);
    FormatError (NOT_JSON, NOT_PROTOBUF, UNKNOWN_FORMAT, WRONG_SIGNAL, BAD_ENCODING, BAD_COMPRESSION,
    BAD_TRACE_ID, BAD_SPAN_ID, BAD_FIELD, TRUNCATED_FILE, TOO_LARGE, TOO_DEEP, NEWER_RECORDING);
    TraceSelectionError (AMBIGUOUS_TRACE, TRACE_NOT_FOUND); TraceStructureError (CONFLICTING_SPAN, SPAN_CYCLE).
    """
    # Imported on first use: whoever only reads spans needs no codec.
    from tracetape.codec.reader import Reader

    _check_sources(sources)
    if traces not in ("one", "all"):
        raise UsageError(f'traces={traces!r} is not one of "one" (a single trace), "all" (every trace is one run)')
    wanted = None if trace_id is None else _trace_id(trace_id)
    if wanted is not None and traces == "all":
        raise UsageError('trace_id picks one trace and traces="all" takes every one: give only one of them')
    files, gaps = resolved(sources, wanted)
    if wanted is None and traces == "one":
        wanted = asked_for(sources)  # a server may answer with another one

    local = [one for one in files if isinstance(one, Path)]

    def assembled(parts: Sequence[Path | Blob]) -> Recording:
        return assemble(
            chain(gaps, read_recordings(parts, hold=True), read_logs_beside(local)),
            source=_shown(sources),
            trace_id=wanted,
            everything=traces == "all",
            values=Reader(types),
            uploads=lambda addresses: fetched(addresses, local),
        )

    # What is damaged in other lines counts under `strict`, so all are read.
    recording = None if wanted is None or strict else _of_parts(files, wanted, assembled)
    recording = recording or assembled(files)
    if strict and recording.gaps:
        raise _strict_error(recording.gaps[0], recording.source)
    return recording


def _of_parts(
    files: Sequence[Path | Blob], trace_id: str, assembled: Callable[[Sequence[Path | Blob]], Recording]
) -> Recording | None:
    """From the lines of the trace alone, where the files are large; None where all must be read: it says what
    there is instead."""
    parts = [part_of(one, trace_id) or one if isinstance(one, Path) else one for one in files]
    if parts == files:
        return None
    try:
        return assembled(parts)
    except SourceError as error:
        if error.code in ("TRACE_NOT_FOUND", "NO_SPANS"):
            return None
        raise


def read_spans(*sources: str | os.PathLike[str]) -> Iterator[SpanRecord]:
    """Every span of every trace, in the order of the files, duplicates included; then the spans that had begun
    and not ended when a recording of ours was killed, or that run still: their `end_ns` is None.

    Knows no traces: what is ambiguous, conflicting or missing is for `load` to say, and so are gaps.
    Spans come as they are read; the errors of reading (see `load`) come where they are met, NO_SPANS at
    the end.
    """
    _check_sources(sources)
    return _every_span(sources)


def _every_span(sources: tuple[str | os.PathLike[str], ...]) -> Iterator[SpanRecord]:
    empty = True
    files, _ = resolved(sources, None)
    for item in read_recordings(files):
        if isinstance(item, SpanRecord):
            empty = False
            yield item
    if empty:
        raise SourceError(f"{_shown(sources)}: no spans in it", code="NO_SPANS")


def _shown(sources: tuple[str | os.PathLike[str], ...]) -> str:
    """For messages. Links may hold keys."""
    return ", ".join(shown(os.fspath(source)) for source in sources)


def _check_sources(sources: tuple[Any, ...]) -> None:
    if not sources:
        raise UsageError('no source was given: load("run.otlp.jsonl"), or a directory of such files')
    for source in sources:
        path = source if isinstance(source, (str, os.PathLike)) else None
        text = os.fspath(path) if path is not None else None
        if not isinstance(text, str):
            raise UsageError(
                f"a source is a path (a str or path-like), one argument each, not {repr(source)[:60]}"
            )
        if not text:
            raise UsageError("a source is a path, and this one is empty")


def _trace_id(given: Any) -> str:
    text = given.strip().lower() if isinstance(given, str) else ""
    if not text or len(text) > 32 or not all(digit in string.hexdigits for digit in text):
        raise UsageError(f"trace_id={given!r} is not a trace id: 32 hex digits, leading zeros optional")
    return text.zfill(32)


def _strict_error(gap: Gap, source: str) -> SourceError:
    kind = FormatError if gap.code in _STRICT_CODES else SourceError
    place = f" ({gap.where})" if gap.where and gap.where != source else ""
    return kind(f"{source}: {gap.text}{place}", code=_STRICT_CODES.get(gap.code, gap.code))
