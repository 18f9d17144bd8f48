"""All spans of a process as recordings in a folder, one file a trace.

    OTEL_TRACES_EXPORTER=otlp,tracetape opentelemetry-instrument python agent.py

`tracetape` there is `FolderExporter` (entry point group `opentelemetry_traces_exporter`). What the SDK hands it
has been under the host's sampler and limits, and comes when its batch does; `tracetape.record` has neither bound.
"""

from __future__ import annotations

import logging
import os
import stat
import time
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from tracetape.config import FolderSettings, folder_settings
from tracetape.errors import RecordingError
from tracetape.exporters import whole
from tracetape.exporters.otlp_json import encode_line
from tracetape.exporters.processor import record_of
from tracetape.exporters.retention import NAME, Kept, expired, name_of
from tracetape.exporters.runfile import RunFile, removed
from tracetape.semconv import names

__all__ = ["FolderExporter"]

_log = logging.getLogger("tracetape")

_MOST_OPEN = 64
_CHECKS = 16
_SECONDS_BETWEEN = 10.0
_SHARE = 100  # looking through a folder takes at most a hundredth of the time


class FolderExporter(SpanExporter):
    """Writes each span as a line of OTLP JSON into the file of its trace, made with mode 0600.

    folder:       default TRACETAPE_DIR, else `tracetape-runs` where the program was started. It is made (mode
                  0700) if it is not there.
    max_bytes, max_seconds:  what the files may take together, and how long after its last line one is kept;
                  default TRACETAPE_DIR_MAX_BYTES (1 GiB) and TRACETAPE_DIR_MAX_AGE (7 days). The oldest go first,
                  never one that a process is writing, and none that is not named as this exporter names them.

    A folder that cannot be written loses spans: it is said once, they are counted in `lost`, the program goes on.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        max_bytes: int | None = None,
        max_seconds: int | None = None,
    ) -> None:
        said: FolderSettings = folder_settings()
        # The program may change its directory.
        self.folder = Path(os.path.abspath(folder if folder is not None else said.path))  # noqa: PTH100
        self._max_bytes = said.max_bytes if max_bytes is None else max_bytes
        self._max_seconds = said.max_seconds if max_seconds is None else max_seconds
        self._files: dict[int, RunFile] = {}
        self._since_check = 0
        self._clean_again = 0.0
        self._known: dict[str, str] = {}
        self._seen_at = -1
        self._is_shut = False
        self._said = False
        self.lost = 0
        # A child writes files of its own, or opens these again: what it holds open would never be removed.
        clear = weakref.WeakMethod(self._forget)
        os.register_at_fork(after_in_child=lambda: (clear() or _nothing)())
        whole.keep_for(1)
        if self._is_there():
            self._clean()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Each span is in the page cache when this returns. FAILURE where one of them is not."""
        lost = self.lost
        ended = set()
        for span in spans:
            if span.context is None:
                continue
            try:
                self._write(span, span.context.trace_id)
            except Exception as error:  # noqa: BLE001 (one span, and not all that were handed on with it)
                self.lost += 1
                self._say(f"{span.name!r} could not be written: {type(error).__name__}: {error}")
            if span.parent is None or span.parent.is_remote:
                ended.add(span.context.trace_id)
        if self._max_bytes and self._since_check > self._max_bytes // _CHECKS:
            self._clean()
        for trace_id in ended:
            # The run is at its end: what comes later opens its file again.
            self._files.pop(trace_id, None)
        return SpanExportResult.SUCCESS if self.lost == lost else SpanExportResult.FAILURE

    def shutdown(self) -> None:
        self._forget()
        if not self._is_shut:
            self._is_shut = True
            whole.keep_for(-1)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Nothing is kept back."""
        return True

    def _write(self, span: ReadableSpan, trace_id: int) -> None:
        line = _line(span)
        file = self._file(trace_id, span.start_time or 0)
        if file is None or not file.write(line):
            self.lost += 1
        self._since_check += len(line)

    def _forget(self) -> None:
        self._files = {}

    def _file(self, trace_id: int, start_ns: int) -> RunFile | None:
        file = self._files.pop(trace_id, None)
        if file is None:
            file = self._opened(trace_id, start_ns)
            for longest_unused in list(self._files)[: -_MOST_OPEN + 1]:
                self._files.pop(longest_unused, None)
        if file is not None:
            self._files[trace_id] = file  # the latest used are last
        return file

    def _opened(self, trace_id: int, start_ns: int) -> RunFile | None:
        """The file that the trace has, of this process or of another one; else a new one."""
        if not self._is_there():
            return None
        name = self._found(trace_id) or name_of(trace_id, start_ns)
        try:
            is_new = not (self.folder / name).exists()
            file = RunFile(self.folder / name)
        except RecordingError as error:
            self._say(str(error))
            return None
        if is_new:
            self._known[_end_of(name)] = name
            self._seen_at = self._changed_at()
            if time.monotonic() > self._clean_again:
                self._clean()
        return file

    def _found(self, trace_id: int) -> str | None:
        """Of this process or of another one. The folder is looked through when others have changed it: it may have
        many thousands of files."""
        changed_at = self._changed_at()
        if changed_at != self._seen_at:
            self._seen_at = changed_at
            self._known = {}
            for name in sorted(self._names(), reverse=True):
                self._known[_end_of(name)] = name
        return self._known.get(_end_of(name_of(trace_id, 0)))

    def _changed_at(self) -> int:
        try:
            return self.folder.stat().st_mtime_ns
        except OSError:
            return 0

    def _names(self) -> list[str]:
        try:
            return [entry.name for entry in os.scandir(self.folder) if NAME.fullmatch(entry.name)]
        except OSError:
            return []

    def _is_there(self) -> bool:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            self._say(f"{self.folder} cannot be made: {error.strerror}. Set TRACETAPE_DIR to another folder")
            return False
        return True

    def _clean(self) -> None:
        began = time.monotonic()
        self._since_check = 0
        files = []
        for name in self._names():
            try:
                found = (self.folder / name).lstat()
            except OSError:
                continue
            if stat.S_ISREG(found.st_mode):
                files.append(Kept(name, found.st_size, found.st_mtime))
        while gone := set(expired(files, time.time(), self._max_bytes, self._max_seconds)):
            # Whether one is written is asked only of those that would go; for one that is, the next oldest goes.
            written = {name for name in gone if not removed(self.folder / name)}
            files = [
                replace(one, is_open=one.is_open or one.name in written)
                for one in files
                if one.name not in gone or one.name in written
            ]
        ended = time.monotonic()
        self._clean_again = ended + max(_SECONDS_BETWEEN, _SHARE * (ended - began))

    def _say(self, why: str) -> None:
        if not self._said:
            self._said = True
            _log.warning("tracetape: spans are lost: %s; the program goes on", why)


def _end_of(name: str) -> str:
    """What the name of a file has of its trace."""
    return name.partition("-")[2]


def _nothing() -> None:
    return None


def _line(span: ReadableSpan) -> bytes:
    """A span of ours with its payloads as our own files have them: whole, each one string."""
    record = record_of(span)
    if record.scope.name != names.SCOPE_NAME:
        return encode_line(record)
    attributes: dict[str, Any] = {
        key: "".join(value) if key in _VALUES and isinstance(value, (list, tuple)) else value
        for key, value in record.attributes.items()
    }
    if attributes.get(names.CONTENT) == "omitted" and span.context is not None:
        content = whole.take(span.context.trace_id, span.context.span_id)
        if content is not None:
            del attributes[names.CONTENT]
            attributes.update(content)
    return encode_line(replace(record, attributes=attributes))


_VALUES = (names.INPUT_VALUE, names.OUTPUT_VALUE)
