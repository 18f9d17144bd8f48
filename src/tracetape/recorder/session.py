"""`record`: one run into one file."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.trace import StatusCode

from tracetape import __version__, _sessions
from tracetape.config import settings
from tracetape.errors import RecordingError, UsageError
from tracetape.exporters.file import SpanFile
from tracetape.exporters.otlp_json import encode_line
from tracetape.model.recording import Recording
from tracetape.model.span import Scope, SpanRecord, Status
from tracetape.recorder import host
from tracetape.semconv import names

__all__ = ["Run", "record"]


class Run:
    """One run being recorded, or recorded: what `with tracetape.record(path) as run` gives.

    trace_id:   32 hex digits, from when the block is entered.
    path:       the file.
    recording:  the run read back; complete once the block is left.
    """

    def __init__(
        self, path: Path, mode: str, name: str, attributes: Mapping[str, Any], fsync: bool, inert: bool
    ) -> None:
        self.path = path
        self.trace_id = ""
        self.is_open = False
        self.opener = threading.current_thread()
        self._mode, self._name, self._fsync, self._inert = mode, name, fsync, inert
        self._attributes = {str(key): value for key, value in attributes.items()}
        self._unplaced = self._lost = 0
        self._file: SpanFile | None = None
        self._open_calls: set[int] = set()
        self._unseen = ""

    @property
    def context(self) -> Context:
        """The context in which the run's root span is current."""
        return self._root.context

    @property
    def root_id(self) -> str:
        """The run's root span, 16 hex digits."""
        return self._root.span_id

    @property
    def recording(self) -> Recording:
        """The run read back from its file."""
        from tracetape.sources.loading import load

        if self._inert:
            raise RecordingError(f"{self.path}: nothing is recorded inside a replay")
        return load(self.path, trace_id=self.trace_id)

    def __enter__(self) -> Run:
        if self.trace_id:
            raise UsageError(f"{self.path}: a recording is made once; call tracetape.record again for another")
        if self._inert:
            return self
        self._file = SpanFile(self.path, self._mode, fsync=self._fsync)
        self._process = os.getpid()
        self.settings = settings()
        self._resource = host.resource(self.settings.service_name)
        self._started = time.time_ns()
        marked = {names.SCHEMA_VERSION: names.SCHEMA_VERSION_NOW, **self._attributes}
        self._before = otel_context.get_current()
        self._root = host.start_span(self._name, marked, self._started)
        self.trace_id = self._root.trace_id
        self.opener = threading.current_thread()
        self.is_open = True
        self._enclosing = _sessions.current_frame().recordings
        _sessions.open_recording(self)
        self._unseen = host.sees_foreign_spans(_listeners)
        otel_context.attach(self._root.context)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._inert:
            return
        self.is_open = False
        _sessions.close(self)
        if os.getpid() != self._process:
            self._file = None  # a forked child leaves the block too: the root is the parent's to end
            return
        if otel_context.get_current() is self._root.context:
            # By attaching what was before, not by a token: the block may be left in another context.
            otel_context.attach(self._before)
        self._end(error)
        self._file = None

    def write(self, span: SpanRecord) -> None:
        """Append one span, with the resource of this run where it brings none of its own."""
        if span.trace_id != self.trace_id:
            # A request's own trace inside this run: in this file it is a part of the run.
            span = replace(span, trace_id=self.trace_id)
        file = self._file
        if file is not None:
            file.write(encode_line(span if span.resource else replace(span, resource=self._resource)))

    def opened(self, seq: int) -> None:
        """A call has begun; `ended` takes it back. What is left at the end was never finished."""
        self._open_calls.add(seq)

    def ended(self, seq: int) -> None:
        self._open_calls.discard(seq)

    def count_unplaced(self) -> None:
        """A crossing in a thread with no context, while several recordings are open."""
        self._unplaced += 1

    def count_lost(self) -> None:
        """A crossing that could not be stored."""
        self._lost += 1

    def note_unseen_foreign_spans(self) -> None:
        """Spans of others between ours exist and the host's sampler dropped them."""
        self._unseen = self._unseen or "spans of other instrumentations were dropped by the host's sampler"

    def _end(self, error: BaseException | None) -> None:
        ended = time.time_ns()
        lost = self._lost + (self._file.lost if self._file else 0)
        told: dict[str, Any] = {names.SCHEMA_VERSION: names.SCHEMA_VERSION_NOW, **self._attributes}
        if self._unplaced:
            told[names.UNPLACED] = self._unplaced
        if lost:
            told[names.LOST] = lost
        if self._open_calls:
            told[names.IN_FLIGHT] = len(self._open_calls)
        if self._unseen:
            told[names.FOREIGN_UNSEEN] = self._unseen
        failed = isinstance(error, Exception)
        message = f"{type(error).__qualname__}: {error}"[:1000] if failed else ""
        record = SpanRecord(
            trace_id=self._root.trace_id,
            span_id=self._root.span_id,
            parent_id=self._root.parent_id,
            name=self._name,
            start_ns=self._started,
            end_ns=ended,
            status=Status("ERROR", message) if failed else Status(),
            attributes=told,
            resource=self._resource,
            scope=Scope(names.SCOPE_NAME, __version__),
        )
        self.write(record)
        for run in self._enclosing:
            if isinstance(run, Run):
                other = run.trace_id != self.trace_id
                run.write(replace(record, parent_id=run.root_id) if other else record)
        span = self._root.span
        if span.is_recording():
            span.set_attributes(told)
            if failed:
                span.set_status(StatusCode.ERROR, message if self.settings.host_content else None)
        span.end(ended)


def record(
    path: str | os.PathLike[str],
    *,
    mode: str = "x",
    name: str | None = None,
    attributes: Mapping[str, Any] | None = None,
    fsync: bool = False,
) -> Run:
    """Record one run: every call through a boundary inside the block becomes a line of the file.

    path:        a file; a folder gets one file a run, named by time and process.
    mode:        "x" refuses an existing file, "a" adds this run to it, "w" replaces it.
    name:        the root span's name (default `recording`).
    attributes:  more attributes of the root span.
    fsync:       wait for the disk after each span; only a power loss needs it.

    Returns a context manager that gives a `Run`. Inside a replay that runs the program (`tape.run`, the
    command line), or for the replay's own source, it records nothing and harms nothing.

    Raises RecordingError (FILE_EXISTS, CANNOT_RECORD) on entering, UsageError for wrong arguments.

        with tracetape.record("run.otlp.jsonl") as run:
            agent("Sell about $1,000 of ACME")
        print(run.recording["place_order", 1].inputs)
    """
    try:
        target = Path(path)
    except TypeError:
        raise UsageError(f"record(path) takes the path of a file or folder, not {path!r}") from None
    if not os.fspath(path):
        raise UsageError("record(path) takes the path of a file or folder, and this one is empty")
    if name is not None and not isinstance(name, str):
        raise UsageError(f"record(name=…) takes a str, not {name!r}")
    if target.is_dir():
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        target = target / f"run-{stamp}-{os.getpid()}-{os.urandom(3).hex()}.otlp.jsonl"
    inert = _sessions.records_nothing(target)
    return Run(target, mode, name or "recording", attributes or {}, fsync, inert)


def _listeners(trace_id: str) -> list[Any]:
    """Who wants another instrumentation's span of this trace."""
    return [
        run.write for run in _sessions.opened_recordings() if isinstance(run, Run) and run.trace_id == trace_id
    ]
