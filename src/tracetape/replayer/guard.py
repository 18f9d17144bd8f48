"""The guard: while a replay is open, nothing connects to anything outside this machine.

What it decides is here; what tells it of a connection is in `sockets` (the interpreter's own sockets) and in
`clients` (libraries with sockets of their own).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from typing import Any

from tracetape import _sessions
from tracetape.config import proxies
from tracetape.errors import UsageError
from tracetape.model.report import Report
from tracetape.replayer import asking, clients, messages, sockets
from tracetape.replayer.addresses import Allowed, checked_hosts, is_address, is_loopback, resolved
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

    Inside a live boundary all is allowed. In the run's context a refusal is a halt; in any other thread it is a
    ConnectionRefusedError. Both are in the report. A proxy that the environment names is outside, wherever it
    listens.

    Raises UsageError for another `network`.
    """

    def __init__(
        self, session: Any, player: Player, report: Report, network: str, allow_hosts: Iterable[str]
    ) -> None:
        if network not in NETWORKS:
            raise UsageError(f"network={network!r} is not one of " + ", ".join(repr(one) for one in NETWORKS))
        self.session = session
        self._player, self._report, self._network = player, report, network
        self._hosts = checked_hosts(allow_hosts)
        self._allowed: Allowed = frozenset()
        self._proxies: Allowed = frozenset()
        self._open: set[int] = set()

    def enter(self) -> None:
        """Raises UsageError where connections are open that `deny-all` cannot let be."""
        self._opener = threading.current_thread()
        if self._network != "allow":
            self._allowed = resolved(self._hosts)
            # Of those elsewhere the name need not be known: elsewhere is outside.
            self._proxies = resolved(one for one in proxies() if is_loopback(one.rpartition(":")[0] or one))
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

    def check(self, what: str, host: str, port: int | None) -> None:
        """Let an address through, or refuse it.

        Sending over what is open already is refused in the run's context alone: in other threads it is a
        debugger's connection, or the answer of a server.
        """
        if self._network == "allow" or self._inside_live():
            return
        is_mine = self._is_mine()
        if what == SENDING and not is_mine:
            return
        why = self._refusal(what, host, port)
        if not why:
            return
        address = f"{host}:{port}" if port is not None else host
        self._report.network_attempts.append(address if what in (CONNECTION, SENDING) else f"{address} (its name)")
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
        replay = _sessions.current_frame().replay
        return replay is self.session or (replay is None and threading.current_thread() is self._opener)

    def _inside_live(self) -> bool:
        """By context; where there is none (a thread that looks names up for asyncio), while one runs. After a
        halt the guard stays shut."""
        if self._player.halted is not None:
            return False
        frame = _sessions.current_frame()
        if frame.replay is self.session:
            return frame.step is not None
        return frame.replay is None and self._player.live_now > 0

    def _refusal(self, what: str, host: str, port: int | None) -> str:
        """Why this address is refused; "" where it is let through."""
        if (host, None) in self._allowed or (host, port) in self._allowed:
            return ""
        if what == LOOKUP and (is_address(host) or any(host == name for name, _ in self._allowed)):
            return ""  # whether it may be reached, and on which port, is asked at the connection
        if what in (LOOKUP, REVERSE_LOOKUP):
            return "" if is_loopback(host) else messages.OUTSIDE
        if (host, port) in self._proxies:
            return messages.PROXY
        if not is_loopback(host):
            return messages.OUTSIDE
        if self._network == "deny-all":
            return messages.DENY_ALL
        note = f"{host}:{port}" if port is not None else host
        if note not in self._report.loopback:
            self._report.loopback.append(note)
        return ""

    def _note_open(self, how: str) -> None:
        """Connections that were not open when this was last asked."""
        now = sockets.connected()
        for number, (host, port) in now.items():
            known = (host, port) in self._allowed or (host, None) in self._allowed
            if number not in self._open and not known:
                self._report.open_connections.append(f"{host}:{port}{how}")
        self._open = set(now)
