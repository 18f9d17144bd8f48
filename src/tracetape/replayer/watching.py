"""Wakes a main thread that waits for what has halted, in another thread, process or task.

A pool would start its dead worker anew for ever, and `queue.get()` waits for what nobody will put. So some
time after a halt the main thread gets SIGINT, which wakes it from any lock, and again for as long as it waits
on its way out; what it raises leaves the replay as the halt. There is a thread for that only where there is
something to wait for: from the first process that is started, or from a halt on.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable

from tracetape import _starting
from tracetape.replayer.reporting import Halted, Reports

__all__ = ["GRACE_S", "Watch"]

# What the program has for dealing with it by itself: a pool hands the error of a worker on, a queue is closed.
GRACE_S = 1.0
# A halt of the main thread itself leaves it by itself, unless a loop or the program has swallowed it.
_GRACES_OF_ITS_OWN = 3


class Watch:
    """Of one open replay.

    heard:    told of each process that has halted, before the main thread is woken.
    started:  told of each program that is being started.
    woke:     the main thread was sent the signal.
    """

    def __init__(
        self,
        heard: Callable[[Halted], None],
        started: Callable[[str], None] = lambda program: None,
        *,
        grace: float = GRACE_S,
    ) -> None:
        self._heard, self.started, self._grace = heard, started, grace
        self.woke = False
        self._ignored = False
        self._sent = self._taken = 0
        self._is_calm = False
        self._is_open = False
        self._reports: Reports | None = None
        self._thread: threading.Thread | None = None
        self._wake_at: float | None = None
        self._starting = threading.RLock()  # a signal handler may halt too
        self._gate = threading.Lock()  # no signal is sent once the replay is closed

    @property
    def path(self) -> str:
        """Where other processes report."""
        return self._reports.path if self._reports is not None else ""

    def open(self) -> None:
        self._process = os.getpid()
        self._opener = threading.current_thread()
        self._reports = Reports()
        self._stop, self._stopper = os.pipe()
        os.set_blocking(self._stop, False)
        self._is_open = True
        self._ignored = self._opener is threading.main_thread() and _ignores_interrupts()
        if self._ignored:
            signal.signal(signal.SIGINT, self._on_signal)
        _starting.listeners.append(self)

    def close(self) -> None:
        """Hear what was reported until now. Afterwards no signal is under way, and no thread is left. May be
        called again where the signal has cut it off. In a forked child everything is the parent's."""
        if self in _starting.listeners:
            _starting.listeners.remove(self)
        if self._reports is None or os.getpid() != self._process:
            return
        self.pause()
        with self._gate:
            self._is_open = False
        if self.woke:
            self._take_the_signal()
        in_main = threading.current_thread() is threading.main_thread()
        if self._ignored and in_main and signal.getsignal(signal.SIGINT) == self._on_signal:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._hear()
        self._reports.close()
        self._reports = None
        for end in (self._stop, self._stopper):
            os.close(end)

    def wake_soon(self) -> None:
        """The replay has been ended: wake the main thread after the grace, if it has not left by then."""
        if self._can_wake() and self._wake_at is None:
            graces = _GRACES_OF_ITS_OWN if threading.current_thread() is self._opener else 1
            self._wake_at = time.monotonic() + graces * self._grace
            self.pause()
            self.resume()

    def calm(self) -> None:
        """Wake nobody any more for what has been told by now."""
        with self._gate:
            self._is_calm = True
            self._wake_at = None
        if self.woke:
            self._take_the_signal()

    def pause(self) -> None:
        """No thread of ours runs from now on: the program is about to fork."""
        if os.getpid() != self._process:
            return
        with self._starting:
            thread = self._thread
            if thread is None:
                return
            os.write(self._stopper, b".")
            thread.join()
            with contextlib.suppress(BlockingIOError):
                os.read(self._stop, 64)
            if self._thread is thread:
                self._thread = None

    def resume(self) -> None:
        """There may be something to wait for."""
        if os.getpid() != self._process:
            return
        with self._starting:
            if self._is_open and self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="tracetape-watch", daemon=True)
                self._thread.start()

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._stop, select.POLLIN)
        if self._reports is not None and self._reports.path:
            poll.register(self._reports.pipe, select.POLLIN)
        while True:
            left = None if self._wake_at is None else max(0.0, self._wake_at - time.monotonic())
            ready = [one for one, _ in poll.poll(None if left is None else left * 1_000 + 1)]
            if self._stop in ready:
                return
            self._hear()
            wake_at = self._wake_at
            if wake_at is not None and time.monotonic() >= wake_at:
                self._wake()
                self._wake_at = None if self._is_calm else time.monotonic() + self._grace

    def _hear(self) -> None:
        for halted in self._reports.read() if self._reports is not None else ():
            self._heard(halted)
            if self._wake_at is None and self._can_wake():
                self._wake_at = time.monotonic() + self._grace

    def _can_wake(self) -> bool:
        return self._is_open and not self._is_calm and self._opener is threading.main_thread()

    def _wake(self) -> None:
        with self._gate:
            # Without a handler of Python's the signal would end the process, or do nothing.
            if self._can_wake() and callable(signal.getsignal(signal.SIGINT)):
                self.woke = True
                self._sent += 1
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def _on_signal(self, number: int, frame: object) -> None:
        """Where SIGINT is ignored, as in what a shell script runs in the background: ours alone is not."""
        if self._sent > self._taken:
            self._taken += 1
            raise KeyboardInterrupt

    def _take_the_signal(self) -> None:
        """The main thread may have come here by itself, with the signal on its way: it must not hit the
        program after the replay. With a system call the signal has arrived, and Python looks at the next
        turn of a loop."""
        try:
            for _ in range(100):
                os.getppid()
        except KeyboardInterrupt:
            pass


def _ignores_interrupts() -> bool:
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN
