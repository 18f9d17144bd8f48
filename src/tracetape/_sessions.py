"""Which open sessions a call belongs to.

The context decides (a ContextVar, hence tasks and copied contexts inherit). Where it says nothing, as in
a bare thread, a session that is the only one open in the process is meant. Leaving never resets a token:
fixtures and dependencies enter in one context and leave in another.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Collection, Mapping
from concurrent.futures.thread import _worker as _pool_worker
from dataclasses import replace
from pathlib import Path

from tracetape import _processes, _starting
from tracetape._collecting import is_collecting
from tracetape._frames import EMPTY, Frame, RecordingSession, ReplaySession, current_frame, set_frame
from tracetape._processes import Word

__all__ = [
    "close",
    "has_looked",
    "idle",
    "is_ambiguous",
    "join",
    "leave_behind",
    "mark",
    "marked",
    "only_replay",
    "open_recording",
    "open_replay",
    "opened_recordings",
    "recordings",
    "recordings_alone",
    "recordings_around",
    "records_nothing",
    "replay",
    "replay_alone",
    "seal",
    "unseal",
]


_marked: dict[str, frozenset[str]] = {}  # the kinds of each name
_left_behind: weakref.WeakKeyDictionary[threading.Thread, ReplaySession] = weakref.WeakKeyDictionary()
_has_left = False
_sealed: ReplaySession | None = None
_outer: dict[int, Frame] = {}  # by the replay that was opened inside it
_open_recordings: list[RecordingSession] = []
_open_replays: list[ReplaySession] = []
_joined: tuple[RecordingSession, ...] = ()  # of the process that started this one
_telling = threading.RLock()
_has_looked = False  # for what that process has left
_has_replayed = False  # contexts outlive replays, and what is called in them must not be real
quiet = False  # nothing is open here, nor ever was what outlives its end: no call needs to look further


def mark(name: str, kind: str) -> None:
    """Note that this process has a boundary of that name: a plan may name it, and a recorded crossing of
    it that is never asked for is missing, not merely foreign."""
    _marked[name] = _marked.get(name, frozenset()) | {kind}


def marked() -> Mapping[str, frozenset[str]]:
    """The names, with the kinds of each."""
    return dict(_marked)


def idle() -> bool:
    """Cheap: nothing is open in this process, and nobody here belongs to a replay, not even to an ended one."""
    return quiet or (
        _has_looked
        and not _open_recordings
        and not _open_replays
        and not (_has_left and _left_behind)  # whose length is counted by Python code
        and _sealed is None
        and not _joined
        and current_frame().replay is None
    )


def _note_quiet() -> None:
    """Looked at again once it is noted: another thread may have opened something in between, or a signal handler.
    Whoever opens has added it before he comes here."""
    global quiet
    quiet = _is_quiet()
    if quiet and not _is_quiet():
        quiet = False


def _is_quiet() -> bool:
    return _has_looked and not (
        _open_recordings or _open_replays or _joined or _has_replayed or _sealed is not None
    )


def has_looked() -> bool:
    """Whether this process knows what the one that started it has left for it."""
    return _has_looked


def join(sessions: tuple[RecordingSession, ...] = (), replay: ReplaySession | None = None) -> None:
    """What this process does belongs to these sessions of the one that started it, if to any."""
    global _has_looked, _joined
    _has_looked = True
    _joined = sessions
    if replay is not None:
        seal(replay)
    _tell()


def recordings() -> tuple[RecordingSession, ...]:
    """The open recordings that a call made here goes to.

    A context without any, in a thread that opened none, is taken for a bare thread: it belongs to the
    only recording open; else the crossing is counted as unplaced on each.
    """
    if not _open_recordings and not _joined:
        return ()
    found = _placed()
    if found is None:
        for session in _open_recordings:
            session.count_unplaced()
        return _open(_joined)
    return found


def recordings_alone() -> tuple[RecordingSession, ...]:
    """`recordings()` where that is easily told: the context names them, they are open, nothing is replayed; else
    ()."""
    if _has_replayed or _joined or _sealed is not None:
        return ()
    here = current_frame().recordings
    return here if here and here[-1].is_open and (len(here) == 1 or _open(here) is here) else ()


def _open(sessions: tuple[RecordingSession, ...]) -> tuple[RecordingSession, ...]:
    for session in sessions:
        if not session.is_open:
            return tuple(one for one in sessions if one.is_open)
    return sessions


def _placed() -> tuple[RecordingSession, ...] | None:
    """None where the context names none of several. What was joined is the whole process's."""
    here = current_frame().recordings
    if here:
        return _open(here) if not _joined else _open((*_joined, *(one for one in here if one not in _joined)))
    opened = tuple(_open_recordings)
    if len(opened) == 1 and opened[0].opener is not threading.current_thread():
        return _open((*_joined, *opened))
    return None if opened else _open(_joined)


def replay() -> ReplaySession | None:
    """The replay that answers a call made here: the context's, else the only one open, else the first
    of several (its mode halts, since nobody can know which is meant). A context's replay that has ended
    still answers, by halting."""
    here = current_frame().replay
    if here is not None:
        return here
    if _open_replays:
        return _open_replays[0]
    if not _has_replayed:
        return _sealed
    return _sealed or _left_behind.get(threading.current_thread())


def replay_alone() -> ReplaySession | None:
    """`replay()` where that is easily told: the context names one, and nothing is recorded; else None."""
    return None if _open_recordings or _joined or not _has_looked else current_frame().replay


def only_replay() -> ReplaySession | None:
    """The replay of the process, where exactly one is open."""
    return _open_replays[0] if len(_open_replays) == 1 else None


def leave_behind(session: ReplaySession, before: Collection[threading.Thread]) -> None:
    """The threads that were started while `session` was open and still run belong to it for good: what they
    call must not be real because the replay is over. Workers of pools are left out, for others use them too: there
    the jobs belong to it."""
    global _has_left
    for thread in threading.enumerate():
        if thread not in before and getattr(thread, "_target", None) is not _pool_worker:
            _left_behind[thread] = session
            _has_left = True


def seal(session: ReplaySession) -> None:
    """From now on no boundary of this process runs for real: it was started for this replay alone."""
    global _sealed
    _sealed = session
    _note_quiet()


def unseal(session: ReplaySession) -> None:
    """The process goes on with something else."""
    global _sealed
    if _sealed is session:
        _sealed = None
        _tell()


def is_ambiguous() -> bool:
    """Several replays are open and the context names none."""
    return len(_open_replays) > 1 and current_frame().replay is None


def records_nothing(path: Path) -> bool:
    """Whether a `record(path)` made here is inert: the program records itself, and this is its replay."""
    session = replay()
    if session is None:
        word = _processes.inherited()
        return word is not None and word.kind == "replay"
    return session.is_open and (session.runs_program or session.reads_from(path))


def opened_recordings() -> tuple[RecordingSession, ...]:
    return (*_joined, *_open_recordings)


def recordings_around() -> tuple[RecordingSession, ...]:
    """Those that a recording which is opened here is inside of."""
    return (*_joined, *(one for one in current_frame().recordings if one not in _joined))


def open_recording(session: RecordingSession) -> None:
    _open_recordings.append(session)
    _note_quiet()
    frame = current_frame()
    set_frame(replace(frame, recordings=(*frame.recordings, session)))
    _tell()


def open_replay(session: ReplaySession) -> None:
    global _has_replayed
    _has_replayed = True
    _open_replays.append(session)
    _note_quiet()
    frame = current_frame()
    _outer[id(session)] = frame
    set_frame(replace(frame, replay=session, step=None))
    _tell()


def close(session: RecordingSession | ReplaySession) -> None:
    """Forget a session: in the process, and in this context if it is still there."""
    for opened in (_open_recordings, _open_replays):
        if session in opened:
            opened.remove(session)  # type: ignore[arg-type]
    frame = current_frame()
    if frame.replay is session:
        outer = _outer.pop(id(session), EMPTY)
        still = outer.replay is not None and outer.replay.is_open
        frame = replace(frame, replay=outer.replay if still else None, step=outer.step if still else None)
    _outer.pop(id(session), None)
    if not is_collecting():
        set_frame(replace(frame, recordings=tuple(one for one in frame.recordings if one is not session)))
    _tell()


def _tell() -> None:
    """Tell the processes that are started from now on: each by where it is started, and those whose start
    is not seen by the environment."""
    _note_quiet()
    with _telling:
        _processes.leave(_word_for_all())
        if _open_recordings or _open_replays or _joined or _sealed is not None:
            _starting.install(_word_here)
        elif not _left_behind:
            _starting.uninstall()


def _word_for_all() -> Word | None:
    if _open_replays:
        return _open_replays[-1].handed_on()
    if _sealed is not None:
        return _sealed.handed_on()
    return _word_of((_open_recordings or _joined)[-1:], here=False)


def _word_here() -> Word | None:
    """For a process that is started here: it belongs to what a call made here would belong to."""
    session = replay()
    if session is not None:
        return session.handed_on()
    return _word_of(_placed() or (), here=True)


def _word_of(sessions: Collection[RecordingSession], *, here: bool) -> Word | None:
    """A word without recordings for a process that belongs to none of those open."""
    if not _open_recordings and not _joined:
        return None
    runs = [session.handed_on(here=here) for session in sessions]
    return Word("record", os.getpid(), tuple(run for run in runs if run is not None))


def _after_fork() -> None:
    """A forked child goes on in the sessions of its parent, which it has with all the rest; otherwise it
    looks for itself: it may be a fork server's, and be told only now."""
    global _has_looked, _telling
    _telling = threading.RLock()
    if not (_open_recordings or _open_replays or _joined or _sealed is not None):
        _has_looked = False
        _processes.forget()
    _note_quiet()


os.register_at_fork(after_in_child=_after_fork)
