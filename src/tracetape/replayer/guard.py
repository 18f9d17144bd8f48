"""The guard: while a replay is open, nothing connects to anything outside this machine.

One audit hook (PEP 578), installed at the first replay, sees `socket.connect`, `sendto`, `getaddrinfo` and
kin before they happen. It does not see C libraries with sockets of their own (gRPC's core, libcurl),
connections that were open before the replay, or processes that the program starts.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import Iterable
from typing import Any

from tracetape import _sessions
from tracetape.errors import UsageError
from tracetape.model.report import Report
from tracetape.replayer import messages
from tracetape.replayer.player import Player

__all__ = ["NETWORKS", "Guard"]

NETWORKS = ("deny", "deny-all", "allow")

_CONNECTS = {"socket.connect": 1, "socket.sendto": 1, "socket.sendmsg": 1}
_LOOKUPS = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"})
_FORWARD = frozenset({"socket.getaddrinfo", "socket.gethostbyname"})  # the others ask who an address is
_FAMILIES = (socket.AF_INET, socket.AF_INET6)


class Guard:
    """Refuses connections while one replay is open.

    network:      "deny" lets loopback and Unix sockets through, "deny-all" refuses loopback too,
                  "allow" refuses nothing.
    allow_hosts:  `host` or `host:port`, resolved when the guard is entered; OTLP endpoints come on top.

    Inside a live boundary all is allowed. In the replay's context a refusal is a halt; in any other thread
    it is a ConnectionRefusedError. Both are in the report.

    Raises UsageError for another `network`.
    """

    def __init__(
        self, session: Any, player: Player, report: Report, network: str, allow_hosts: Iterable[str]
    ) -> None:
        if network not in NETWORKS:
            raise UsageError(f"network={network!r} is not one of " + ", ".join(repr(one) for one in NETWORKS))
        self._session, self._player, self._report, self._network = session, player, report, network
        self._hosts = _checked(allow_hosts)
        self._allowed: frozenset[tuple[str, int | None]] = frozenset()

    def enter(self) -> None:
        if self._network != "allow":
            self._allowed = _resolved(self._hosts)
            _install()
            _guards.append(self)

    def leave(self) -> None:
        if self in _guards:
            _guards.remove(self)

    def check(self, event: str, host: str, port: int | None) -> None:
        """Let an address through, or refuse it."""
        if self._inside_live() or self._lets_through(event, host, port):
            return
        address = f"{host}:{port}" if port is not None else host
        what = "looking up" if event in _LOOKUPS else "a connection to"
        mine = _sessions.current_frame().replay is self._session
        self._report.network_attempts.append(address if what == "a connection to" else f"{address} (its name)")
        if not mine:
            raise ConnectionRefusedError(f"tracetape: {what} {address} was refused: a replay is open")
        self._player.halt("refused", address, messages.refused(what, address))

    def _inside_live(self) -> bool:
        """By context; where there is none (a thread that looks names up for asyncio), while one runs. After a
        halt the guard stays shut."""
        if self._player.halted is not None:
            return False
        frame = _sessions.current_frame()
        if frame.replay is self._session:
            return frame.step is not None
        return frame.replay is None and self._player.live_now > 0

    def _lets_through(self, event: str, host: str, port: int | None) -> bool:
        if (host, None) in self._allowed or (host, port) in self._allowed:
            return True
        if event in _FORWARD and (_is_address(host) or any(host == name for name, _ in self._allowed)):
            return True  # whether it may be reached, and on which port, is asked at the connection
        if not _is_loopback(host):
            return False
        if self._network == "deny-all":
            return event in _LOOKUPS
        if event not in _LOOKUPS:
            self._note_loopback(f"{host}:{port}")
        return True

    def _note_loopback(self, address: str) -> None:
        if address not in self._report.loopback:
            self._report.loopback.append(address)


_guards: list[Guard] = []
_installed = False


def _install() -> None:
    global _installed
    if not _installed:
        _installed = True
        sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    """Runs at every audit event of the process, for ever: so the first test is the cheapest one."""
    if not _guards or not event.startswith("socket."):
        return
    position = _CONNECTS.get(event)
    if position is not None:
        connecting, address = arguments[0], arguments[position]
        if connecting.family in _FAMILIES and isinstance(address, tuple) and len(address) >= 2:
            _check(event, _as_text(address[0]), address[1])
    elif event in _LOOKUPS and arguments:
        asked = arguments[0]
        host = _as_text(asked[0] if isinstance(asked, tuple) else asked)
        port = arguments[1] if event == "socket.getaddrinfo" and isinstance(arguments[1], int) else None
        if host:
            _check(event, host, port)


def _check(event: str, host: str, port: int | None) -> None:
    for guard in tuple(_guards):
        guard.check(event, host, port)


def _as_text(host: Any) -> str:
    if isinstance(host, (bytes, bytearray)):
        return host.decode("latin-1")
    return host if isinstance(host, str) else ""


def _is_address(host: str) -> bool:
    return _address(host) is not None


def _is_loopback(host: str) -> bool:
    if host.lower().rstrip(".") == "localhost" or not host:
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Of IPv6 alone a zone (`fe80::1%eth0`) is a part of the address."""
    bare = host.partition("%")[0] if ":" in host else host
    try:
        return ipaddress.ip_address(bare)
    except ValueError:
        return None


def _checked(hosts: Iterable[str]) -> tuple[str, ...]:
    given = tuple(hosts)
    for one in given:
        if not isinstance(one, str) or not one:
            raise UsageError(f"allow_hosts=[…] takes 'host' or 'host:port', not {one!r}")
    return given


def _resolved(hosts: Iterable[str]) -> frozenset[tuple[str, int | None]]:
    """Each host as given, with the addresses that it has now: connections are made to addresses."""
    allowed: set[tuple[str, int | None]] = set()
    for given in hosts:
        host, port = _split(given)
        allowed.add((host, port))
        try:
            found = socket.getaddrinfo(host, port)
        except OSError:
            continue  # not to be resolved now: then the name alone is let through, and fails by itself
        allowed |= {(str(entry[4][0]), port) for entry in found}
    return frozenset(allowed)


def _split(given: str) -> tuple[str, int | None]:
    host, colon, port = given.rpartition(":")
    if colon and port.isdigit() and (":" not in host or host.startswith("[")):
        return host.strip("[]"), int(port)
    return given.strip("[]"), None
