"""Which open sessions a call belongs to.

The context decides (a ContextVar, hence tasks and copied contexts inherit). Where it says nothing, as in
a bare thread, a session that is the only one open in the process is meant. Leaving never resets a token:
fixtures and dependencies enter in one context and leave in another.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Collection
from concurrent.futures.thread import _worker as _pool_worker
from contextvars import ContextVar, Token
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from tracetape.model.call import Mode
from tracetape.model.report import Step

__all__ = [
    "EMPTY",
    "Frame",
    "FrameScope",
    "RecordingSession",
    "ReplaySession",
    "close",
    "current_frame",
    "idle",
    "is_ambiguous",
    "leave_behind",
    "mark",
    "marked",
    "open_recording",
    "open_replay",
    "opened_recordings",
    "recordings",
    "records_nothing",
    "replay",
    "seal",
]


class RecordingSession(Protocol):
    """One open `record`. `opener` is the thread that opened it (idents are used again)."""

    @property
    def is_open(self) -> bool: ...

    @property
    def opener(self) -> threading.Thread: ...

    def count_unplaced(self) -> None: ...


class ReplaySession(Protocol):
    """One open `replay`.

    emits:         its calls are traced too.
    runs_program:  it is running the program itself (`tape.run`, the command line), not a block of a test.
    """

    @property
    def is_open(self) -> bool: ...

    @property
    def mode(self) -> Mode: ...

    @property
    def emits(self) -> bool: ...

    @property
    def runs_program(self) -> bool: ...

    def reads_from(self, path: Path) -> bool: ...


@dataclass(frozen=True, slots=True)
class Frame:
    """What a context knows. `step` is the live call of a replay that we are inside of."""

    recordings: tuple[RecordingSession, ...] = ()
    replay: ReplaySession | None = None
    step: Step | None = None


EMPTY = Frame()
_frame: ContextVar[Frame] = ContextVar("tracetape_frame", default=EMPTY)
_marked: set[str] = set()
_left_behind: weakref.WeakKeyDictionary[threading.Thread, ReplaySession] = weakref.WeakKeyDictionary()
_sealed: ReplaySession | None = None
_outer: dict[int, Frame] = {}  # by the replay that was opened inside it
_open_recordings: list[RecordingSession] = []
_open_replays: list[ReplaySession] = []


class FrameScope:
    """Makes a frame current while a function's own code runs."""

    __slots__ = ("frame",)

    def __init__(self, frame: Frame) -> None:
        self.frame = frame

    def attach(self) -> Token[Frame]:
        return _frame.set(self.frame)

    def detach(self, token: Any) -> None:
        try:
            _frame.reset(token)
        except ValueError:
            pass  # this step goes on in another context (a coroutine driven by hand): nothing of ours is there


def mark(name: str) -> None:
    """Note that this process has a boundary of that name: a plan may name it, and a recorded crossing of
    it that is never asked for is missing, not merely foreign."""
    _marked.add(name)


def marked() -> frozenset[str]:
    return frozenset(_marked)


def current_frame() -> Frame:
    return _frame.get()


def idle() -> bool:
    """Cheap: nothing is open in this process, and nobody here belongs to a replay, not even to an ended one."""
    return (
        not _open_recordings
        and not _open_replays
        and not _left_behind
        and _sealed is None
        and _frame.get().replay is None
    )


def recordings() -> tuple[RecordingSession, ...]:
    """The open recordings that a call made here goes to.

    A context without any, in a thread that opened none, is taken for a bare thread: it belongs to the
    only recording open; else the crossing is counted as unplaced on each.
    """
    if not _open_recordings:
        return ()
    here = _frame.get().recordings
    if here:
        return tuple(session for session in here if session.is_open)
    opened = tuple(_open_recordings)
    thread = threading.current_thread()
    if len(opened) == 1 and opened[0].opener is not thread:
        return opened
    for session in opened:
        session.count_unplaced()
    return ()


def replay() -> ReplaySession | None:
    """The replay that answers a call made here: the context's, else the only one open, else the first
    of several (its mode halts, since nobody can know which is meant). A context's replay that has ended
    still answers, by halting."""
    here = _frame.get().replay
    if here is not None:
        return here
    if _open_replays:
        return _open_replays[0]
    return _sealed or _left_behind.get(threading.current_thread())


def leave_behind(session: ReplaySession, before: Collection[threading.Thread]) -> None:
    """The threads that were started while `session` was open and still run belong to it for good: what they
    call must not be real because the replay is over. Workers of pools are left out, for others use them too."""
    for thread in threading.enumerate():
        if thread not in before and getattr(thread, "_target", None) is not _pool_worker:
            _left_behind[thread] = session


def seal(session: ReplaySession) -> None:
    """From now on no boundary of this process runs for real: it was started for this replay alone."""
    global _sealed
    _sealed = session


def is_ambiguous() -> bool:
    """Several replays are open and the context names none."""
    return len(_open_replays) > 1 and _frame.get().replay is None


def records_nothing(path: Path) -> bool:
    """Whether a `record(path)` made here is inert: the program records itself, and this is its replay."""
    session = replay()
    return session is not None and session.is_open and (session.runs_program or session.reads_from(path))


def opened_recordings() -> tuple[RecordingSession, ...]:
    return tuple(_open_recordings)


def open_recording(session: RecordingSession) -> None:
    _open_recordings.append(session)
    frame = _frame.get()
    _frame.set(replace(frame, recordings=(*frame.recordings, session)))


def open_replay(session: ReplaySession) -> None:
    _open_replays.append(session)
    frame = _frame.get()
    _outer[id(session)] = frame
    _frame.set(replace(frame, replay=session, step=None))


def close(session: RecordingSession | ReplaySession) -> None:
    """Forget a session: in the process, and in this context if it is still there."""
    for opened in (_open_recordings, _open_replays):
        if session in opened:
            opened.remove(session)  # type: ignore[arg-type]
    frame = _frame.get()
    if frame.replay is session:
        outer = _outer.pop(id(session), EMPTY)
        still = outer.replay is not None and outer.replay.is_open
        frame = replace(frame, replay=outer.replay if still else None, step=outer.step if still else None)
    _outer.pop(id(session), None)
    _frame.set(replace(frame, recordings=tuple(one for one in frame.recordings if one is not session)))
