"""A file of a folder in which several processes write, while others may clean up."""

from __future__ import annotations

import fcntl
import os
import weakref
from pathlib import Path

from tracetape.exporters.file import SpanFile

__all__ = ["RunFile", "removed"]

_TRIES = 8


class RunFile:
    """Lines added to a file, which is made if it is not there. While one of these has it open, in whatever
    process, `removed` leaves it alone: a shared lock says so. Closed with its last reference.

    Raises RecordingError where the file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        for _ in range(_TRIES):
            self._file = SpanFile(path, "a")
            if self._is_locked(path):
                return
            # Another process has removed it in between: what would be written now would be gone.

    def write(self, line: bytes) -> bool:
        return self._file.write(line)

    def _is_locked(self, path: Path) -> bool:
        """Whether the file is kept from being removed, and is still there. On a file system without locks it is
        not kept, and nothing is removed either."""
        try:
            lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        weakref.finalize(self, os.close, lock)
        try:
            fcntl.flock(lock, fcntl.LOCK_SH)
        except OSError:
            return True
        return self._file.identity == _identity(os.fstat(lock)) == _identity_at(path)


def removed(path: Path) -> bool:
    """Remove a file that nobody writes; False where it stays."""
    try:
        lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _identity(os.fstat(lock)) == _identity_at(path):
            path.unlink()
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


def _identity(found: os.stat_result) -> str:
    """As `SpanFile.identity` has it."""
    return f"{found.st_dev}:{found.st_ino}"


def _identity_at(path: Path) -> str:
    try:
        return _identity(path.stat())
    except OSError:
        return ""
