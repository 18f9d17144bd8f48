"""Where whoever sees a connection asks whether it may be made."""

from __future__ import annotations

import posixpath
import socket
from typing import Any, Protocol

from tracetape._frames import current_frame

__all__ = ["CONNECTION", "LOOKUP", "REVERSE_LOOKUP", "SENDING", "Judge", "ask", "judges", "note_started"]

CONNECTION = "connection"
LOOKUP = "lookup"
REVERSE_LOOKUP = "reverse lookup"
SENDING = "sending"  # over a connection that is open


class Judge(Protocol):
    """The guard of one open replay."""

    @property
    def session(self) -> Any: ...

    def check(self, what: str, host: str, port: int | None, over: socket.socket | None) -> None: ...

    def note_started(self, program: str) -> None: ...


judges: list[Judge] = []


def ask(what: str, host: str, port: int | None, over: socket.socket | None = None) -> None:
    """Return where every guard concerned lets it through; else raise what the refusal is there.

    over:  the connection that something is sent over.
    """
    for judge in _concerned():
        judge.check(what, host, port, over)


def note_started(program: str) -> None:
    """A process is being started. Told on is the name of the program alone: its arguments may hold secrets."""
    for judge in _concerned():
        judge.note_started(posixpath.basename(program))


def _concerned() -> list[Judge]:
    """The guard of the replay that the context names; where it names none, every one."""
    replay = current_frame().replay
    own = [judge for judge in judges if judge.session is replay] if replay is not None else []
    return own or list(judges)
