"""The guard: while a replay is open, nothing connects to anything outside this machine.

What it decides is here; what tells it of a connection is in `sockets` (the interpreter's own sockets) and in
`clients` (libraries with sockets of their own).
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from tracetape._frames import current_frame
from tracetape.config import proxies
from tracetape.errors import UsageError
from tracetape.model.report import Report, Step
from tracetape.replayer import asking, clients, messages, sockets
from tracetape.replayer.addresses import (
    Allowed,
    checked_hosts,
    is_address,
    is_loopback,
    own_names,
    resolved,
    shown,
    split,
)
from tracetape.replayer.asking import CONNECTION, LOOKUP, REVERSE_LOOKUP, SENDING
from tracetape.replayer.player import Player

__all__ = ["NETWORKS", "Guard"]

NETWORKS = ("deny", "deny-all", "allow")

_SAID = {
    CONNECTION: "a connection to",
    SENDING: "sending over an open connection to",
    LOOKUP: "looking up",
    REVERSE_LOOKUP: "looking up",
}
# Compiled libraries that open sockets where the interpreter does not see them, by the module that is loaded.
_UNSEEN = {
    "pycurl": "pycurl",
    "curl_cffi": "curl_cffi",
    "primp": "primp",
    "pycares": "pycares (DNS)",
    "awscrt": "awscrt",
    "hf_xet": "hf_xet",
    "psycopg2._psycopg": "psycopg2",
    "psycopg_binary": "psycopg",
    "psycopg_c": "psycopg",
    "MySQLdb._mysql": "mysqlclient",
    "oracledb.thick_impl": "oracledb",
    "pyodbc": "pyodbc",
    "pymssql": "pymssql",
    "confluent_kafka.cimpl": "confluent_kafka",
    "zmq": "pyzmq",
    "pyarrow._s3fs": "pyarrow (S3)",
    "ray._raylet": "ray",
}


class Guard:
    """Refuses connections while one replay is open.

    network:      "deny" lets loopback and Unix sockets through, "deny-all" refuses loopback too,
                  "allow" refuses nothing.
    allow_hosts:  `host` or `host:port`, resolved when the guard is entered; OTLP endpoints come on top.

    Inside a live boundary all is allowed; what it leaves running is listed. In the run's context a refusal is a
    halt; in any other thread it is a ConnectionRefusedError. Both are in the report. A proxy that the environment
    names is outside, wherever it listens.

    Raises UsageError for another `network`.
    """

    def __init__(
        self,
        session: Any,
        player: Player,
        report: Report,
        network: str,
        allow_hosts: Iterable[str],
        *,
        strict: bool = False,
    ) -> None:
        if network not in NETWORKS:
            raise UsageError(f"network={network!r} is not one of " + ", ".join(repr(one) for one in NETWORKS))
        self.session = session
        self._player, self._report, self._network, self._strict = player, report, network, strict
        self._hosts = checked_hosts(allow_hosts)
        self._allowed: Allowed = frozenset()
        self._proxies: frozenset[int | None] = frozenset()
        self._own_names: frozenset[str] = frozenset()
        self._open: set[int] = set()

    def enter(self) -> None:
        """Raises UsageError where connections are open that `deny-all` cannot let be."""
        self._opener = threading.current_thread()
        self._threads = frozenset(threading.enumerate())
        if self._network != "allow":
            self._allowed = resolved(self._hosts)
            # Those elsewhere are outside as it is.
            self._proxies = frozenset(port for host, port in map(split, proxies()) if is_loopback(host))
            self._own_names = own_names()
            self._note_open("")
            if self._network == "deny-all" and self._report.open_connections:
                raise UsageError(
                    "network='deny-all' and open connections already: "
                    f"{', '.join(self._report.open_connections)}. What is sent over them is not all seen: close "
                    "them before the replay (a client's pool is closed with the client), or name them in "
                    "allow_hosts=[…]"
                )
        sockets.install()
        clients.install()
        asking.judges.append(self)

    def leave(self) -> None:
        if self not in asking.judges:
            return
        asking.judges.remove(self)
        if self._network != "allow":
            self._report.unseen += [said for name, said in _UNSEEN.items() if name in sys.modules]

    def after_live(self, name: str) -> None:
        """A call that ran live may have left connections open."""
        if self._network != "allow":
            self._note_open(f" (left open by {name})")

    def check(self, what: str, host: str, port: int | None, over: socket.socket | None) -> None:
        """Let an address through, or refuse it. `over`: the connection that is open already."""
        if self._network == "allow" or self._inside_live():
            return
        is_mine = self._is_mine()
        if over is not None and not is_mine and threading.current_thread() in self._threads:
            return  # a debugger's, an exporter's: it was there before
        why = self._refusal(what, host, port)
        if not why or (over is not None and sockets.was_accepted(over)):
            return
        address = shown(host, port)
        left_by = self._left_running()
        if left_by is not None and not self._strict:
            self._note(f"{address} was reached by what {left_by.name} left running")
            return
        attempt = address if what in (CONNECTION, SENDING) else f"{address} (its name)"
        if attempt not in self._report.network_attempts:
            self._report.network_attempts.append(attempt)
        if is_mine:
            self._player.halt("refused", address, messages.refused(_SAID[what], address, why))
        raise ConnectionRefusedError(f"tracetape: {_SAID[what]} {address} was refused: a replay is open")

    def note_started(self, program: str) -> None:
        """A process was started: nobody sees what it does."""
        if self._network != "allow" and not self._inside_live() and program not in self._report.started:
            self._report.started.append(program)

    def _is_mine(self) -> bool:
        """The replay's context. Runners of async tests make theirs before the replay is opened: what the
        opening thread does without one is meant too."""
        replay = current_frame().replay
        return replay is self.session or (replay is None and threading.current_thread() is self._opener)

    def _inside_live(self) -> bool:
        """By context; where there is none (a thread that looks names up for asyncio), while one runs. After a
        halt the guard stays shut."""
        if self._player.halted is not None:
            return False
        frame = current_frame()
        if frame.replay is None:
            return bool(self._player.running)
        return frame.replay is self.session and any(step in self._player.going_on for step in _up(frame.step))

    def _left_running(self) -> Step | None:
        """The live call that has started what runs here and has ended: a client's own task or thread."""
        frame = current_frame()
        if self._player.halted is not None or frame.replay is not self.session:
            return None
        return frame.step

    def _note(self, text: str) -> None:
        if text not in self._report.notes:
            self._report.notes.append(text)

    def _refusal(self, what: str, host: str, port: int | None) -> str:
        """Why this address is refused; "" where it is let through."""
        host = host.lower().rstrip(".")
        if self._is_allowed(host, port):
            return ""
        if what == LOOKUP and (is_address(host) or any(host == name for name, _ in self._allowed)):
            return ""  # whether it may be reached, and on which port, is asked at the connection
        if what in (LOOKUP, REVERSE_LOOKUP):
            return "" if is_loopback(host) or host in self._own_names else messages.OUTSIDE
        if not is_loopback(host):
            return messages.OUTSIDE
        if port in self._proxies:
            return messages.PROXY
        if self._network == "deny-all":
            return messages.DENY_ALL
        note = shown(host, port)
        if what == CONNECTION and note not in self._report.loopback:
            self._report.loopback.append(note)
        return ""

    def _is_allowed(self, host: str, port: int | None) -> bool:
        return (host, None) in self._allowed or (host, port) in self._allowed

    def _note_open(self, how: str) -> None:
        """Connections that were not open when this was last asked."""
        now = sockets.connected()
        for number, (host, port) in now.items():
            if number not in self._open and not self._is_allowed(host, port):
                self._report.open_connections.append(f"{shown(host, port)}{how}")
        self._open = set(now)


def _up(step: Step | None) -> Iterator[Step]:
    while step is not None:
        yield step
        step = step.parent
