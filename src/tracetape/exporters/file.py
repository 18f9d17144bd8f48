"""A file of spans that loses no finished one when the process dies."""

from __future__ import annotations

import logging
import os
import weakref
from pathlib import Path

from tracetape.errors import RecordingError, UsageError

__all__ = ["Lookout", "SpanFile"]

_log = logging.getLogger("tracetape")

_CHUNK = 2**20
_FLAGS = {"x": os.O_EXCL, "a": 0, "w": os.O_TRUNC}


class SpanFile:
    """Each line is one `os.write` on an append descriptor, so that a line is in the page cache before the
    call returns, and several processes may write into one file. No lock is held: a signal handler that
    ends a call during a write cannot deadlock.

    path: the file. mode: "x" refuses an existing one, "a" adds to it, "w" empties it. Files are made with
    mode 0600, since they hold everything that the program said. fsync: wait for the disk after each line
    (only a power loss needs it; a killed process does not). must_exist: it is another process's file.

    Raises UsageError for another mode, RecordingError where the file cannot be opened.
    """

    def __init__(self, path: Path, mode: str = "x", *, fsync: bool = False, must_exist: bool = False) -> None:
        if mode not in _FLAGS:
            raise UsageError(
                f'mode={mode!r} is not one of "x" (a new file), "a" (add to it), "w" (empty it first)'
            )
        self.path = path
        self.lost = 0
        self._fsync = fsync
        try:
            made = 0 if must_exist else os.O_CREAT
            self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND | made | os.O_CLOEXEC | _FLAGS[mode], 0o600)
        except FileExistsError:
            raise RecordingError(
                f"{path} exists, and a recording is never overwritten by accident: give another path, "
                'mode="a" to add this run to it, or mode="w" to replace it',
                code="FILE_EXISTS",
            ) from None
        except ValueError as error:
            raise RecordingError(f"{str(path)!r} cannot be written: {error}. Give another path.") from None
        except OSError as error:
            raise RecordingError(f"{path} cannot be written: {error.strerror}. {_advice(path)}") from None
        # Closed with the last reference, not by a call: a thread that is still about to write holds one, and
        # the number may belong to somebody else's socket a moment after the descriptor was closed.
        weakref.finalize(self, os.close, self._descriptor)
        self._torn = mode == "a" and self._ends_in_half_a_line()

    def write(self, line: bytes) -> bool:
        """Append one line (line feed included). A failure is counted in `lost`, said once, not raised:
        the program that is being recorded goes on."""
        data = b"\n" + line if self._torn else line
        try:
            written = os.write(self._descriptor, data)
            if self._fsync:
                os.fsync(self._descriptor)
        except OSError as error:
            self._count(error.strerror or str(error))
            return False
        self._torn = written < len(data)
        if self._torn:
            self._count(f"only {written:,} of {len(data):,} bytes were written")
        return not self._torn

    @property
    def identity(self) -> str:
        """Which file it is: another may get its name later."""
        found = os.fstat(self._descriptor)
        return f"{found.st_dev}:{found.st_ino}"

    @property
    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def has(self, text: bytes, since: int = 0) -> bool:
        """Whether these bytes stand somewhere in the file, from that position on."""
        position, rest = since, b""
        while chunk := os.pread(self._descriptor, _CHUNK, position):
            if text in rest + chunk:
                return True
            position += len(chunk)
            rest = chunk[-len(text) :]
        return False

    def _ends_in_half_a_line(self) -> bool:
        size = os.fstat(self._descriptor).st_size
        return size > 0 and os.pread(self._descriptor, 1, size - 1) != b"\n"

    def _count(self, why: str) -> None:
        self.lost += 1
        if self.lost == 1:
            _log.warning("tracetape: %s: a span was lost (%s); the program goes on", self.path, why)


class Lookout:
    """Looks whether some text has come into a file that other processes write. Each byte is read once."""

    def __init__(self, file: SpanFile, text: bytes) -> None:
        self._file, self._text = file, text
        self._read = 0
        self._seen = False

    def sees(self) -> bool:
        """Also once the file was emptied: what we knew of it is gone."""
        if not self._seen:
            size = self._file.size
            if size < self._read:
                self._seen = True
            elif size > self._read:
                self._seen = self._file.has(self._text, max(0, self._read - len(self._text)))
                self._read = size
        return self._seen


def _advice(path: Path) -> str:
    parent = path.parent
    if path.is_dir():
        return "It is a folder."
    if not parent.exists():
        return f"Its folder does not exist; make it with: mkdir -p {parent}"
    return "Choose a folder that this user may write to."
