"""One run into one file."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.trace import StatusCode

from tracetape import __version__, _processes, _sessions
from tracetape._collecting import is_collecting
from tracetape._processes import OpenRun
from tracetape.config import settings
from tracetape.errors import RecordingError, UsageError
from tracetape.exporters import otlp_json
from tracetape.exporters.file import Lookout, SpanFile
from tracetape.exporters.marks import MarksFile, remove_finished_marks, remove_marks
from tracetape.model.span import Scope, SpanRecord, Status
from tracetape.recorder import host
from tracetape.recorder.storing import guard
from tracetape.semconv import names

if TYPE_CHECKING:  # a program that is recorded never needs it
    from tracetape.model.recording import Recording

__all__ = ["Run", "listeners"]

_SCOPE = Scope(names.SCOPE_NAME, __version__)


class Run:
    """One run being recorded, or recorded: what `with tracetape.record(path) as run` gives.

    trace_id:   32 hex digits, from when the block is entered.
    path:       the file.
    recording:  the run read back; complete once the block is left.
    """

    joined = False  # whether it is a part of another process's run
    root: host.HostSpan  # from when the block is entered

    def __init__(
        self,
        path: Path,
        mode: str,
        name: str,
        attributes: Mapping[str, Any],
        *,
        named: bool,
        marks: bool,
        fsync: bool,
        inert: bool,
    ) -> None:
        self.path = path
        self.trace_id = ""
        self._is_open = False
        self._ended_elsewhere: Lookout | None = None  # where the root is another process's to end
        self.opener = threading.current_thread()
        self._mode, self._name, self._fsync, self._inert = mode, name, fsync, inert
        self._with_marks, self._named = marks, named
        self._attributes = {str(key): value for key, value in attributes.items()}
        self._unplaced = self._lost = 0
        self._file: SpanFile | None = None
        self._marks: MarksFile | None = None
        self._open_calls: set[int] = set()
        self._unseen = ""
        self._origin: otlp_json.Origin | None = None

    @property
    def is_open(self) -> bool:
        """Whether calls are recorded. In a process that was started inside the run: until the run ends."""
        lookout = self._ended_elsewhere
        return self._is_open and (lookout is None or not lookout.sees())

    @property
    def root_id(self) -> str:
        """The run's root span, 16 hex digits."""
        return self.root.span_id

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
        self._join_first()
        self._file = SpanFile(self.path, self._mode, fsync=self._fsync)
        if self._named and self._mode != "a":
            remove_marks(self.path, quietly=self._mode == "w")
        if self._with_marks:
            self._marks = MarksFile(self.path, fsync=self._fsync)
        self._process = os.getpid()
        self.settings = settings()
        self._resource = host.resource(self.settings.service_name)
        self._started = time.time_ns()
        marked = {names.SCHEMA_VERSION: names.SCHEMA_VERSION_NOW, **self._attributes}
        self._before = otel_context.get_current()
        self._around = next((run for run in _open_runs() if run.root.context is self._before), None)
        self.root = host.start_span(self._name, marked, self._started, self._before)
        self.trace_id = self.root.trace_id
        self.opener = threading.current_thread()
        self._is_open = True
        self._told = self._tell()
        self._enclosing = _sessions.recordings_around()
        self._mark_root({**marked, names.MARK: True})
        _sessions.open_recording(self)
        self._unseen = host.sees_foreign_spans(listeners)
        otel_context.attach(self.root.context)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._inert:
            return
        self._is_open = False
        _sessions.close(self)
        if os.getpid() != self._process:
            self._leave()  # a forked child leaves the block too: the root is the parent's to end
            return
        is_current = otel_context.get_current() is self.root.context or host.nearest_in(self.trace_id) is not None
        if is_current and not is_collecting():
            # By attaching what was before, not by a token: the block may be left in another context; and an
            # exception out of a signal handler may have left a call of it current.
            otel_context.attach(self._still_before())
        try:
            self._end(error)
        finally:
            self._leave()
        if self._with_marks:
            remove_finished_marks(Path(self._told.path))

    def _still_before(self) -> Context:
        """What was current before this run, past the runs around it that have been left meanwhile."""
        before, around = self._before, self._around
        while around is not None and not around._is_open:
            before, around = around._before, around._around
        return before

    def _join_first(self) -> None:
        """A run of a process that was itself started inside one is a part of that one too."""
        word = _processes.inherited()
        if word is not None and word.kind == "record" and not _sessions.has_looked():
            from tracetape.recorder import joining

            joining.join(word)

    def _leave(self) -> None:
        self._file = None
        if self._marks is not None:
            self._marks.close()

    def append(self, span: otlp_json.Body) -> None:
        """Write one span of ours, with the resource of this run."""
        self._append(span["spanId"], self._line(span))

    def write(self, span: SpanRecord) -> None:
        """Write one span of whomever, with the resource of this run where it brings none of its own."""
        if span.trace_id != self.trace_id:
            span = replace(span, trace_id=self.trace_id)  # see _line
        self._append(span.span_id, otlp_json.encode_line(span, self._resource))

    def _append(self, span_id: str, line: bytes) -> None:
        file = self._file
        if file is not None:
            file.write(line)
        if self._marks is not None:
            self._marks.end(span_id)  # not earlier: until then the mark is all that there is of the call

    def mark(self, span: otlp_json.Body) -> None:
        """Note a span that has begun, in case that the process dies in it; `append` takes it back."""
        if self._marks is not None:
            self._marks.start(span["spanId"], self._line(span))

    def unmark(self, span_id: str) -> None:
        """A span that was noted will never be written."""
        if self._marks is not None:
            self._marks.end(span_id)

    @property
    def marks(self) -> bool:
        """Whether this run notes what has begun."""
        return self._marks is not None

    def _line(self, span: otlp_json.Body) -> bytes:
        if span["traceId"] != self.trace_id:
            # A request's own trace inside this run: in this file it is a part of the run.
            span = {**span, "traceId": self.trace_id}
        if self._origin is None:
            self._origin = otlp_json.origin_of(self._resource, _SCOPE)
        return otlp_json.line_of(span, self._origin)

    def opened(self, seq: int) -> None:
        """A call has begun; `ended` takes it back. What is left at the end was never finished."""
        self._open_calls.add(seq)

    def ended(self, seq: int) -> None:
        self._open_calls.discard(seq)

    def handed_on(self, *, here: bool) -> OpenRun | None:
        """For a process that is started now: what it needs to add to this run. None where it has been left."""
        if self._file is None:
            return None
        found = host.nearest_in(self.trace_id) if here else None
        return self._told if found is None else replace(self._told, span_id=found[0], flags=found[1])

    def _tell(self) -> OpenRun:
        return OpenRun(
            path=os.path.abspath(self.path),  # noqa: PTH100 (Path.absolute keeps `..`)
            file=self._file.identity if self._file else "",
            trace_id=self.trace_id,
            root_id=self.root_id,
            span_id=self.root_id,
            flags=int(self.root.span.get_span_context().trace_flags),
            marks=self._with_marks,
            fsync=self._fsync,
        )

    def look_out(self) -> None:
        """From now on it is another process that ends this run, by the line of its root."""
        if self._file is not None:
            self._ended_elsewhere = Lookout(self._file, f'"spanId":"{self._told.root_id}"'.encode())

    def count_unplaced(self) -> None:
        """A crossing in a thread with no context, while several recordings are open."""
        self._unplaced += 1

    def count_lost(self) -> None:
        """A crossing that could not be stored."""
        self._lost += 1

    def note_unseen_foreign_spans(self) -> None:
        """Spans of others between ours exist and the host's sampler dropped them."""
        self._unseen = self._unseen or "spans of other instrumentations were dropped by the host's sampler"

    def _root_head(self, run: Run) -> otlp_json.Body:
        """The head of this run's root, for its own file or for that of a recording around it, where it is a span
        like others."""
        root = self.root
        parent_id = root.parent_id if run.trace_id == self.trace_id else run.root_id
        return otlp_json.begun(root.trace_id, root.span_id, parent_id, self._name, self._started)

    def _files(self) -> list[Run]:
        """The recordings whose files this run's root is written into: its own and those around it."""
        return [self, *(run for run in self._enclosing if isinstance(run, Run))]

    def _mark_root(self, attributes: Mapping[str, Any]) -> None:
        for run in self._files():
            run.mark(otlp_json.body(self._root_head(run), None, otlp_json.entries(attributes)))

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
        message = guard("an exception's text", lambda: f"{type(error).__qualname__}: {error}"[:1000])
        message = message or type(error).__qualname__ if failed else ""
        status = Status("ERROR", message) if failed else Status()
        for run in self._files():
            run.append(otlp_json.body(self._root_head(run), ended, otlp_json.entries(told), status))
        guard("the root on the host's provider", self._end_host_span, told, status, ended)

    def _end_host_span(self, told: Mapping[str, Any], status: Status, ended: int) -> None:
        span = self.root.span
        if span.is_recording():
            span.set_attributes(told)
            if status.code == "ERROR":
                span.set_status(StatusCode.ERROR, status.message if self.settings.host_content else None)
        span.end(ended)


def listeners(trace_id: str) -> list[Any]:
    """Who wants another instrumentation's span of this trace."""
    return [run.write for run in _open_runs() if run.trace_id == trace_id]


def _open_runs() -> list[Run]:
    return [run for run in _sessions.opened_recordings() if isinstance(run, Run)]


def _after_fork() -> None:
    for run in _open_runs():
        run.look_out()


os.register_at_fork(after_in_child=_after_fork)
