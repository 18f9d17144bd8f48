"""The part of a run that a process records which was started inside it."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from pathlib import Path
from typing import Any

from tracetape import _sessions
from tracetape._processes import OpenRun, Word
from tracetape.config import settings
from tracetape.errors import RecordingError
from tracetape.exporters.file import SpanFile
from tracetape.exporters.marks import MarksFile
from tracetape.recorder import host
from tracetape.recorder.run import Run, listeners

__all__ = ["JoinedRun", "join"]


class JoinedRun(Run):
    """A run of another process, as this one adds to it: under the crossing in which it was started, until it
    ends. The root span is the other one's to end.

    Its opener is no thread of this process, so that every thread without a context belongs to it.
    """

    joined = True

    def __init__(self, told: OpenRun, file: SpanFile) -> None:
        super().__init__(
            Path(told.path),
            "a",
            "",
            {},
            named=True,
            marks=told.marks,
            fsync=told.fsync,
            inert=False,
        )
        self.trace_id = told.trace_id
        self._is_open = True
        self.settings = settings()
        self.opener = threading.Thread()
        self._told, self._file = told, file
        self.look_out()
        self.root = host.remote_span(told.trace_id, told.span_id, told.flags)
        self._resource = host.resource(self.settings.service_name)
        if told.marks:
            self._marks = MarksFile(self.path, fsync=told.fsync)
            _at_exit(self._marks.close)


def join(word: Word | None) -> None:
    """Have this process add to the runs that are named in the word. One that has ended, or whose file is
    gone, is left alone: then nothing is recorded, and the program goes on."""
    runs = word.runs if word is not None and word.kind == "record" else ()
    joined = tuple(run for run in map(_joined, runs) if run is not None)
    _sessions.join(joined)
    if joined:
        host.sees_foreign_spans(listeners)


def _joined(told: OpenRun) -> JoinedRun | None:
    try:
        file = SpanFile(Path(told.path), "a", fsync=told.fsync, must_exist=True)
    except RecordingError:
        return None
    if file.identity != told.file:
        return None
    run = JoinedRun(told, file)
    return run if run.is_open else None


def _at_exit(function: Any) -> None:
    """Processes of `multiprocessing` leave by `os._exit`, and call what that module was told to."""
    process = os.getpid()

    def leave() -> None:
        if os.getpid() == process:
            function()

    atexit.register(leave)
    util: Any = sys.modules.get("multiprocessing.util")
    if util is not None:
        util.Finalize(None, leave, exitpriority=0)
