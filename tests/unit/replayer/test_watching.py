"""`Watch` and what other processes report to it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracetape import _starting
from tracetape.replayer.reporting import Halted, Reports, send
from tracetape.replayer.watching import Watch

STEP = Halted("step", 7, "agent.py")


@pytest.fixture(autouse=True)
def interrupts() -> Iterator[None]:
    """As Python has them, also where the tests run in the background of a script, with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def watching() -> int:
    """How many threads of ours there are; other tests may have left some of their libraries'."""
    return sum(thread.name == "tracetape-watch" for thread in threading.enumerate())


def test_reports_come_whole_and_what_is_none_is_left_out(tmp_path: Path) -> None:
    reports = Reports()
    try:
        send(reports.path, STEP)
        with Path(reports.path).open("wb", buffering=0) as pipe:
            pipe.write(b'nonsense\n{"name": 1}\n[]\n')
        send(reports.path, Halted("é" * 5_000, 8))
        assert list(reports.read()) == [STEP, Halted("é" * 200, 8)]
        assert list(reports.read()) == []
    finally:
        reports.close()
    send(reports.path, STEP)  # nobody is there any more
    other = tmp_path / "file"
    other.write_bytes(b"untouched")
    send(str(other), STEP)
    assert other.read_bytes() == b"untouched"


def test_a_full_pipe_keeps_nobody_waiting() -> None:
    reports = Reports()
    try:
        for _ in range(10_000):
            send(reports.path, STEP)
        assert next(reports.read()) == STEP
    finally:
        reports.close()


def test_what_was_reported_is_heard_at_the_latest_on_closing() -> None:
    heard: list[Halted] = []
    watch = Watch(heard.append)
    watch.open()
    send(watch.path, STEP)
    watch.close()
    assert (heard, watch.woke) == ([STEP], False)
    assert watch not in _starting.listeners


def test_a_main_thread_that_waits_is_woken() -> None:
    heard: list[Halted] = []
    watch = Watch(heard.append, grace=0.01)
    watch.open()
    watch.resume()
    with pytest.raises(KeyboardInterrupt):
        send(watch.path, STEP)
        threading.Event().wait(60)
    send(watch.path, STEP)
    watch.wake_soon()
    watch.close()
    assert (heard, watch.woke) == ([STEP, STEP], True)
    assert watching() == 0


def test_who_leaves_within_the_grace_is_left_alone() -> None:
    watch = Watch(lambda halted: None, grace=60)
    watch.open()
    watch.wake_soon()
    watch.close()
    assert not watch.woke
    assert watching() == 0


def test_a_pause_keeps_the_time_and_ends_the_thread() -> None:
    watch = Watch(lambda halted: None, grace=60)
    watch.open()
    watch.wake_soon()
    due = watch._wake_at
    watch.pause()
    assert (watching(), watch._wake_at) == (0, due)
    watch.pause()
    watch.resume()
    watch.resume()
    assert (watching(), watch._wake_at) == (1, due)
    watch.close()
    assert watching() == 0


def test_a_replay_of_another_thread_wakes_nobody() -> None:
    watch = Watch(lambda halted: None, grace=0)

    def open_and_close() -> None:
        watch.open()
        watch.wake_soon()
        watch.close()

    thread = threading.Thread(target=open_and_close)
    thread.start()
    thread.join()
    assert not watch.woke


def test_without_a_handler_of_python_no_signal_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()

    def getsignal(number: int) -> signal.Handlers:
        asked.set()
        return signal.SIG_DFL

    watch = Watch(lambda halted: None, grace=0)
    monkeypatch.setattr(signal, "getsignal", getsignal)
    watch.open()
    watch.wake_soon()
    assert asked.wait(60)
    watch.close()
    assert not watch.woke


def test_a_signal_that_is_still_on_its_way_does_not_reach_what_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = threading.Event()
    real = signal.pthread_kill
    monkeypatch.setattr(signal, "pthread_kill", lambda *arguments: sent.set())
    watch = Watch(lambda halted: None, grace=0)
    watch.open()
    watch.wake_soon()
    assert sent.wait(60)
    monkeypatch.setattr(os, "getppid", lambda: real(threading.main_thread().ident or 0, signal.SIGINT))
    watch.close()
    assert watch.woke


def test_where_interrupts_are_ignored_ours_is_not_and_they_are_again_afterwards() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        watch = Watch(lambda halted: None, grace=0.01)
        watch.open()
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            watch.wake_soon()
            threading.Event().wait(60)
        signal.raise_signal(signal.SIGINT)
        watch.close()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
