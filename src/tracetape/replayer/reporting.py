"""How a process that was started by a replayed program says that it has halted.

The way is a named pipe in a private folder: a line is written whole, without waiting, and a process whose
replay is over finds nobody at the other end.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["Halted", "Reports", "send"]

_LONGEST = 200
_READ = 65_536


@dataclass(frozen=True, slots=True)
class Halted:
    """name: of the boundary that was called. program: its script, or its name in a pool."""

    name: str
    pid: int
    program: str = ""


def send(path: str, halted: Halted) -> None:
    """Write one report; nothing, where nobody can be told."""
    told = {key: value[:_LONGEST] if isinstance(value, str) else value for key, value in asdict(halted).items()}
    try:
        pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if stat.S_ISFIFO(os.fstat(pipe).st_mode):
            os.write(pipe, json.dumps(told).encode("ascii") + b"\n")
    except OSError:
        pass  # full of reports that say the same
    finally:
        os.close(pipe)


class Reports:
    """The end that reads. `path` is "" where no pipe could be made: then no process can report."""

    def __init__(self) -> None:
        self.path = ""
        self.pipe = -1
        self._rest = b""
        try:
            folder = tempfile.mkdtemp(prefix="tracetape-")  # made with mode 0700
            path = str(Path(folder, "reports"))
            os.mkfifo(path, 0o600)
            # For writing too: a pipe without a writer is at its end, and would be read in circles.
            self.pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return
        self.path = path

    def read(self) -> Iterator[Halted]:
        """Those that have come, without waiting. What is no report is left out."""
        if self.pipe < 0:
            return
        try:
            while data := os.read(self.pipe, _READ):
                self._rest += data
        except BlockingIOError:
            pass
        *lines, self._rest = self._rest.split(b"\n")
        for line in lines:
            try:
                told = json.loads(line)
                yield Halted(str(told["name"]), int(told["pid"]), str(told["program"]))
            except (ValueError, TypeError, KeyError):
                continue

    def close(self) -> None:
        if self.pipe < 0:
            return
        os.close(self.pipe)
        self.pipe = -1
        path = Path(self.path)
        try:
            path.unlink()
            path.parent.rmdir()
        except OSError:
            pass
