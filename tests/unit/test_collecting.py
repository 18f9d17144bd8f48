"""`_collecting`: what the collector ends leaves the context of whom it interrupted as it was."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from pathlib import Path

from tracetape._collecting import is_collecting

INTERRUPTED = """
import contextvars, gc, sys
from pathlib import Path
import tracetape
from tracetape import _sessions

@tracetape.boundary("talk")
def talk():
    try:
        yield 1
        yield 2
    finally:
        tidy()

@tracetape.boundary("tidy")
def tidy():
    return None

@tracetape.boundary("ask")
def ask():
    return 1

def leave_behind(folder):
    class Holder: pass
    one = Holder()
    one.self, one.stream = one, talk()
    next(one.stream)

def interrupted(frame):
    gc.set_threshold(gc.get_count()[0] + after, 10**6, 10**6)
    gc.enable()
    plain(frame)
    gc.disable()

folder, plain = Path(sys.argv[1]), _sessions.set_frame
others = [contextvars.ContextVar(str(number)) for number in range(int(sys.argv[2]))]
for one in others:
    one.set(None)
gc.collect()
gc.disable()
for after in [*range(-2, 10)] * 10:
    with tracetape.record(folder / "abandoned.jsonl", mode="w"):
        leave_behind(folder)
    _sessions.set_frame = interrupted
    with tracetape.record(folder / "run.jsonl", mode="w") as run:
        _sessions.set_frame = plain
        contextvars.copy_context().run(ask)
    found = [one.boundary for one in run.recording.crossings]
    if sys.version_info >= (3, 12):  # there the collector works between steps: a call like any other
        found = [one for one in found if one != "tidy"]
    assert found == ["ask"], (found, run.recording.gaps)
    gc.collect()
"""


def test_it_is_at_work_in_what_it_finalizes_and_nowhere_else() -> None:
    class Seen:
        def __del__(self) -> None:
            seen.append(is_collecting())

    seen: list[bool] = []
    gc.collect()
    one = Seen()
    one.itself = one  # type: ignore[attr-defined]
    del one
    gc.collect()
    two = Seen()
    del two
    assert seen == [sys.version_info < (3, 12), False]
    assert not is_collecting()


def test_streams_that_the_collector_closes_in_the_middle_of_a_set_harm_nothing(tmp_path: Path) -> None:
    for others in (0, 2, 3):
        done = subprocess.run(
            [sys.executable, "-c", INTERRUPTED, str(tmp_path), str(others)], capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, ""), (others, done.stderr)


def test_a_collector_in_another_thread_is_no_reason_to_raise() -> None:
    ended = threading.Event()

    def collect() -> None:
        while not ended.is_set():
            gc.collect(0)

    interval = sys.getswitchinterval()
    collecting = threading.Thread(target=collect)
    collecting.start()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(1_000_000):
            is_collecting()
    finally:
        sys.setswitchinterval(interval)
        ended.set()
        collecting.join()


def test_while_a_finalizer_waits_other_threads_are_not_held_to_be_in_the_collector() -> None:
    entered, leave = threading.Event(), threading.Event()
    seen: list[bool] = []

    class Waiting:
        def __del__(self) -> None:
            seen.append(is_collecting())
            entered.set()
            leave.wait(10)
            seen.append(is_collecting())

    def collect() -> None:
        one = Waiting()
        one.itself = one  # type: ignore[attr-defined]
        del one
        gc.collect()
        seen.append(is_collecting())

    thread = threading.Thread(target=collect)
    thread.start()
    assert entered.wait(10)
    here = is_collecting()
    leave.set()
    thread.join()
    early = sys.version_info < (3, 12)
    assert (here, seen) == (False, [early, early, False])
