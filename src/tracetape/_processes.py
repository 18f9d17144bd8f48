"""The word that an open session leaves in the environment for the processes that the program starts.

A process that finds the word of another one belongs to that one's sessions: its crossings go into the
parent's files, or, where the parent replays, every boundary halts. The word holds paths and ids only.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from tracetape import config

__all__ = ["CONFIG_KEY", "OpenRun", "Word", "forget", "inherited", "leave", "parse"]

_VERSION = 1
_ID = re.compile(r"[0-9a-f]{32} [0-9a-f]{16} [0-9a-f]{16}")
# Where `multiprocessing` hands plain settings of a process on, whatever its start method is.
CONFIG_KEY = "tracetape_session"


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A recording that another process may add to.

    path, file:  the file, and which one it was (device and inode): another may have its name by then.
    root_id:     the run's root span: once that is in the file, the run has ended.
    span_id:     the crossing in which the process is started, else the root.
    """

    path: str
    file: str
    trace_id: str
    root_id: str
    span_id: str
    flags: int = 1
    marks: bool = True
    fsync: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    """kind: `record` or `replay`. runs: of a recording process. reports: where a process that was started
    by a replay says that it has halted. pid: of the process that left the word, which ignores it."""

    kind: str
    pid: int
    runs: tuple[OpenRun, ...] = ()
    reports: str = ""
    source: str = ""

    @property
    def text(self) -> str:
        return json.dumps({"v": _VERSION, **asdict(self)}, separators=(",", ":"))

    def for_successor(self) -> Word:
        """For the program that takes this process over (`exec`): it has the same pid, and is another one."""
        return replace(self, pid=0)


def parse(text: str | None) -> Word | None:
    """The word; None where there is none, or none that this version understands."""
    if not text:
        return None
    try:
        told = json.loads(text)
        if told.pop("v") != _VERSION or told["kind"] not in ("record", "replay"):
            return None
        runs = tuple(OpenRun(**one) for one in told.pop("runs"))
        word = Word(**told, runs=runs)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    texts = (word.reports, word.source, *(text for run in runs for text in (run.path, run.file)))
    numbers = (word.pid, *(run.flags for run in runs))
    ids = all(_ID.fullmatch(f"{run.trace_id} {run.root_id} {run.span_id}") for run in runs)
    plain = all(type(one) is str for one in texts) and all(type(one) is int for one in numbers)
    return word if ids and plain else None


def inherited() -> Word | None:
    """What the process that started this one has left for it. Read once: later this process may leave a
    word of its own."""
    global _inherited
    if _inherited is None:
        word = parse(_configured() or config.session())
        _inherited = (None if word is None or word.pid == os.getpid() else word,)
    return _inherited[0]


def forget() -> None:
    """After a fork: what the parent has inherited may not be what the child does."""
    global _inherited
    _inherited = None


def leave(word: Word | None) -> None:
    """Put the word into the environment; None puts back what was there before."""
    global _left
    if word is not None:
        inherited()
        if _left is None:
            _left = (config.session(),)
        config.leave_session(word.text)
    elif _left is not None:
        before, _left = _left[0], None
        config.leave_session(before)


def _configured() -> str | None:
    """The word in the settings of a `multiprocessing` process: a fork server is older than the session."""
    module: Any = sys.modules.get("multiprocessing.process")
    try:
        settings: Mapping[str, Any] = module.current_process()._config
        found = settings.get(CONFIG_KEY)
    except AttributeError:
        return None
    return found if isinstance(found, str) else None


_inherited: tuple[Word | None] | None = None
_left: tuple[str | None] | None = None
