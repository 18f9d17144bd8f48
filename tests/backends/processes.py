"""A server of the tests as a process: started, waited for, stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["Server", "StartError", "free_ports"]

TAIL = 40


class StartError(Exception):
    """A server did not become ready; holds the end of its log."""


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on, all different."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Server:
    """One process, its output in `folder`. As a context manager it is ready inside and gone after."""

    # False for a server of which nothing is kept, so that it need not be waited for.
    must_stop = True

    def __init__(self, name: str, folder: Path, *, ready_within: float, stops_within: float = 30) -> None:
        self.name = name
        self.folder = folder
        self.log = folder / f"{name}.log"
        self._ready_within = ready_within
        self._stops_within = stops_within
        self._process: subprocess.Popen[bytes] | None = None
        self._said_before = 0
        folder.mkdir(parents=True, exist_ok=True)

    def command(self) -> Sequence[str]:
        raise NotImplementedError

    def environment(self) -> Mapping[str, str]:
        """What its environment has besides PATH and HOME: nothing of the caller's reaches it."""
        return {}

    def ready(self) -> bool:
        """Whether it does its work by now; asked again until it does."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} is not running"
        return self._process.pid

    def start(self) -> None:
        """Start it, or start it again. Returns when it is ready."""
        assert self._process is None, f"{self.name} is running"
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
        with self.log.open("ab") as log:
            self._said_before = log.tell()
            self._process = subprocess.Popen(
                list(self.command()),
                cwd=self.folder,
                env=kept | dict(self.environment()),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + self._ready_within
        try:
            while not self.ready():
                ended = self._process.poll()
                if ended is not None:
                    raise StartError(f"{self.name} ended with {ended} before it was ready{self._tail()}")
                if time.monotonic() > deadline:
                    raise StartError(f"{self.name} was not ready within {self._ready_within} s{self._tail()}")
                time.sleep(0.05)
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """End it in order. A server that does not end is killed, which is an error where it must stop."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(self._stops_within)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            if self.must_stop:
                raise StartError(f"{self.name} did not stop within {self._stops_within} s{self._tail()}") from None

    def kill(self) -> None:
        """End it as a power cut would."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGKILL)
            process.wait()

    def said(self) -> str:
        """What it has written since it was last started."""
        with self.log.open("rb") as log:
            log.seek(self._said_before)
            return log.read().decode(errors="replace")

    def wait_until(self, done: Callable[[], bool], within: float, what: str) -> None:
        """Wait for something that this server brings about; its log is in the error."""
        deadline = time.monotonic() + within
        while not done():
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.name}: not within {within} s: {what}{self._tail()}")
            time.sleep(0.1)

    def _tail(self) -> str:
        lines = self.said().splitlines()[-TAIL:]
        return f"\nthe end of {self.log}:\n" + "\n".join(lines)
