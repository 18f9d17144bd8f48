"""A file of the calls that have begun, left behind where the process dies in them."""

from __future__ import annotations

import logging
import mmap
import os
import re
import threading
import weakref
from pathlib import Path

from tracetape.semconv import names

__all__ = ["MarksFile", "remove_finished_marks", "remove_marks"]

_log = logging.getLogger("tracetape")

COMPACT_ABOVE = 2**20
_MOST_NAMES = 100


class MarksFile:
    """One line for each call that begins, appended by one `os.write` before the call runs, in a file of this
    process beside the recording: `<file>.open.<pid>`. It is made with the first call and removed by `close`;
    whoever reads it takes away the calls that the recording has finished.

    When it holds mostly finished calls it is written anew with the open ones, without a lock around what
    others do: a call is among the open marks *before* its line is written, and whoever compacts first turns
    all later lines to a new file, then copies the open marks into it, then renames it over the old. So a
    line that still went to the old file is copied, whatever threads and signal handlers do in between;
    twice does no harm; and a process that dies half-way leaves both files, which together have everything.

    After a fork the child has a file of its own. A failure is counted in `lost`, said once, not raised.

    beside: the recording's file. fsync: wait for the disk after each line, as the recording does.
    """

    def __init__(self, beside: Path, *, fsync: bool = False, compact_above: int = COMPACT_ABOVE) -> None:
        # The program may change its directory during the run.
        self._beside = os.path.realpath(beside)  # one place, by whatever link the file is written
        self._fsync = fsync
        self._least = compact_above
        self._closed = False
        self.begin()
        _here.add(self)

    def begin(self) -> None:
        """Start with nothing: what a forked child has of its parent is the parent's."""
        if self._closed:
            return
        self.lost = 0
        self._open: dict[str, bytes] = {}
        self._file: _Appended | None = None
        self._made: list[str] = []
        self._turned: str | None = None  # the file that a compaction under way will replace
        self._limit = self._least
        self._compacting = threading.Lock()
        self._broken = False

    def start(self, span_id: str, line: bytes) -> None:
        """Note that a call has begun (line feed included)."""
        if self._closed:
            return
        if self._broken:
            self.lost += 1
            return
        self._open[span_id] = line
        file = self._file or self._make()
        if file is None:
            return
        failed = file.write(line, self._fsync)
        if failed:
            self._count(failed)
        if file.size > self._limit:
            self._compact()

    def end(self, span_id: str) -> None:
        """Note that a call is in the recording now."""
        self._open.pop(span_id, None)

    def close(self) -> None:
        """Remove the file: the run has ended, or this process has left it. What comes later is not noted."""
        self._closed = True
        _here.discard(self)
        self._file = None
        self._tidy()
        self._open.clear()

    def _tidy(self) -> None:
        for path in self._made:
            _remove(path)
            _remove(path + names.MARKS_NEXT)

    def _make(self) -> _Appended | None:
        """A file under the first free name: a killed process of the same number may have left one, and a
        recording may be open twice here. Two threads that come at once make two, which does no harm."""
        plain = f"{self._beside}.open.{os.getpid()}"
        path, number = plain, 1
        while True:
            try:
                file = _Appended(path, os.O_EXCL)
                break
            except OSError as error:
                if not isinstance(error, FileExistsError) or number == _MOST_NAMES:
                    self._broken = True
                    self._open.clear()
                    self._count(error.strerror or str(error))
                    return None
            number += 1
            path = f"{plain}.{number}"
        self._made.append(path)
        self._file = file
        if self._closed:  # by another thread, which did not know of the file
            self._tidy()
        return file

    def _compact(self) -> None:
        if not self._compacting.acquire(blocking=False):
            return  # somebody is at it: another thread, or the code that a signal handler has interrupted
        try:
            self._write_anew()
            if self._closed:  # by another thread, which did not know of the new file
                self._tidy()
        finally:
            self._compacting.release()

    def _write_anew(self) -> None:
        file = self._file
        if file is None or file.size <= self._limit:
            return
        # A copy of a dict is made in one step, whatever other threads do.
        worth = sum(map(len, self._open.copy().values()))
        if file.size <= 2 * worth and self._turned is None:
            self._limit = 2 * worth
            return
        # One that was interrupted here (no space left, Ctrl-C) goes on where it was.
        if self._turned is None:
            try:
                fresh = _Appended(file.path + names.MARKS_NEXT, os.O_TRUNC)
            except OSError:
                self._limit = 2 * file.size
                return
            self._turned = file.path
            self._file = file = fresh
        self._limit = max(self._least, 2 * file.size)  # for when it fails below
        if file.write(b"".join(self._open.copy().values()), self._fsync):
            return
        try:
            Path(file.path).replace(self._turned)
        except FileNotFoundError:
            pass  # renamed already, before it was interrupted; or the run has ended
        except OSError:
            return
        file.path, self._turned = self._turned, None
        self._limit = max(self._least, 2 * worth)

    def _count(self, why: str) -> None:
        self.lost += 1
        if self.lost == 1:
            _log.warning(
                "tracetape: %s: that a call has begun could not be noted beside it (%s); the program goes on, and "
                "calls in flight are lost if it is killed",
                self._beside,
                why,
            )


class _Appended:
    """An append descriptor, closed with its last reference (see `SpanFile`)."""

    def __init__(self, path: str, flag: int) -> None:
        self.path = path
        self.size = 0
        self._torn = False
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | flag, 0o600)
        weakref.finalize(self, os.close, self._descriptor)

    def write(self, data: bytes, fsync: bool) -> str:
        """Append whole lines; why not, or ""."""
        if self._torn:
            data = b"\n" + data
        try:
            written = os.write(self._descriptor, data)
            if fsync:
                os.fsync(self._descriptor)
        except OSError as error:
            return error.strerror or str(error)
        self.size += written
        self._torn = written < len(data)
        return f"only {written:,} of {len(data):,} bytes were written" if self._torn else ""


def _after_fork() -> None:
    for one in list(_here):
        one.begin()


_here: set[MarksFile] = set()  # not closed yet
os.register_at_fork(after_in_child=_after_fork)


def remove_marks(beside: Path, *, quietly: bool) -> None:
    """Remove what killed runs have left beside a file that is new or emptied: they are in it no more."""
    found = []
    beside = Path(os.path.realpath(beside))
    try:
        with os.scandir(beside.parent) as entries:
            for entry in entries:
                belongs_to = names.MARKS_NAME.fullmatch(entry.name)
                if belongs_to is not None and belongs_to["file"] == beside.name:
                    found.append(entry.name)
                    _remove(entry.path)
    except OSError:
        pass  # the recording itself says what is wrong with the folder
    if found and not quietly:
        _log.warning(
            "tracetape: %s is new; the marks that an earlier run has left beside it were removed: %s",
            beside,
            ", ".join(sorted(found)),
        )


def remove_finished_marks(beside: Path) -> None:
    """Remove what processes have left that ended without a last word (`os._exit`, SIGTERM), as those of a pool
    do, where the recording has every call that is noted in it."""
    beside = Path(os.path.realpath(beside))
    try:
        with os.scandir(beside.parent) as entries:
            found = [(entry.path, names.MARKS_NAME.fullmatch(entry.name)) for entry in entries]
        left = [path for path, one in found if one and one["file"] == beside.name and _is_gone(int(one["pid"]))]
        if not left:
            return
        with beside.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as recording:
            written = set(_SPAN_ID.findall(recording))
        for path in left:
            if written.issuperset(_SPAN_ID.findall(Path(path).read_bytes())):
                _remove(path)
    except (OSError, ValueError):
        pass  # what is left does no harm


def _is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    return False


_SPAN_ID = re.compile(rb'"spanId":"([0-9a-f]{16})"')


def _remove(path: str) -> None:
    try:
        Path(path).unlink()
    except OSError:
        pass
