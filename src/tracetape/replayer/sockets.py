"""The interpreter's own sockets: what they connect to, what is sent over those that are open.

One audit hook (PEP 578), installed at the first replay, sees `socket.connect`, `sendto`, `getaddrinfo` and kin
before they happen. What is sent over a connection that was open before is no audit event: for that `send` and
`sendall` of the class are wrapped, which sees the clients that are written in Python, asyncio's too.
"""

from __future__ import annotations

import functools
import os
import socket
import ssl
import stat
import sys
from collections.abc import Callable, Iterator
from typing import Any

from tracetape._wrapping import wrap
from tracetape.replayer.addresses import as_text
from tracetape.replayer.asking import CONNECTION, LOOKUP, REVERSE_LOOKUP, SENDING, ask, judges, note_started

__all__ = ["connected", "install", "sending_over", "was_accepted"]

_FAMILIES = (socket.AF_INET, socket.AF_INET6)
# Each event with the position of the address among its arguments.
_CONNECTIONS = {"socket.connect": 1, "socket.sendto": 1, "socket.sendmsg": 1}
_LOOKUPS = {
    "socket.getaddrinfo": LOOKUP,
    "socket.gethostbyname": LOOKUP,
    "socket.gethostbyaddr": REVERSE_LOOKUP,
    "socket.getnameinfo": REVERSE_LOOKUP,
}
_DESCRIPTORS = "/dev/fd"


@functools.cache
def install() -> None:
    """Once, for ever: an audit hook cannot be taken away. Without an open replay all of it lets through."""
    sys.addaudithook(_hook)
    for owner, name in (
        (socket.socket, "send"),
        (socket.socket, "sendall"),
        (socket.socket, "sendfile"),
        (ssl.SSLSocket, "send"),
        (ssl.SSLSocket, "write"),
    ):
        setattr(owner, name, wrap(getattr(owner, name), _sending))


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    """Runs at every audit event of the process: so the first test is the cheapest one."""
    if not judges:
        return
    position = _CONNECTIONS.get(event)
    if position is not None:
        connecting, address = arguments[0], arguments[position]
        if connecting.family not in _FAMILIES:
            return
        if address is None:
            sending_over(connecting)
        elif isinstance(address, tuple) and len(address) >= 2:
            _ask_to_connect(connecting, address)
    elif event in _LOOKUPS and arguments:
        asked = arguments[0]
        host = as_text(asked[0] if isinstance(asked, tuple) else asked)
        port = arguments[1] if event == "socket.getaddrinfo" and isinstance(arguments[1], int) else None
        if host:
            ask(_LOOKUPS[event], host, port)
    elif event == "os.system":
        note_started(os.fsdecode(arguments[0]).split(" ", 1)[0])


def _ask_to_connect(connecting: socket.socket, address: tuple[Any, ...]) -> None:
    try:
        ask(CONNECTION, as_text(address[0]), address[1])
    except Exception:
        raise
    except BaseException:
        connecting.close()  # clients do so at an OSError, and would leave a warning to whoever collects it
        raise


def _sending(send: Callable[..., Any], instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    sending_over(instance)
    return send(*args, **kwargs)


def sending_over(connection: Any) -> None:
    """Something is to be sent over a connection that is open. What is no socket is passed over."""
    if not judges or getattr(connection, "family", None) not in _FAMILIES:
        return
    peer = _peer(connection)
    if peer is not None:
        ask(SENDING, as_text(peer[0]), peer[1], connection)


def _peer(connection: socket.socket) -> tuple[Any, ...] | None:
    try:
        peer = connection.getpeername()
    except OSError:
        return None
    return peer if isinstance(peer, tuple) and len(peer) >= 2 else None


def connected() -> dict[int, tuple[str, int]]:
    """(host, port) of each connection that this process has open, by the socket's number on this machine.

    Seen by their descriptors, so those of C libraries are among them; what listens or was accepted is not, and
    no Unix socket.
    """
    found: dict[int, tuple[str, int]] = {}
    ports: dict[int, int] = {}
    for number, one in _open_sockets():
        with one:
            peer = _peer(one)
            if peer is not None:
                found[number], ports[number] = (as_text(peer[0]), peer[1]), _port(one)
    serving = _serving() if found else set()
    return {number: peer for number, peer in found.items() if ports[number] not in serving}


def was_accepted(connection: socket.socket) -> bool:
    """Whether it was made by the other side, to a port that this process serves."""
    return _port(connection) in _serving()


def _serving() -> set[int]:
    """The ports that this process listens on."""
    ports = set()
    for _, one in _open_sockets():
        with one:
            try:
                if one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    ports.add(_port(one))
            except OSError:
                continue  # a kind of socket that does not listen
    return ports


def _port(one: socket.socket) -> int:
    try:
        return int(one.getsockname()[1])
    except (OSError, IndexError):
        return 0


def _open_sockets() -> Iterator[tuple[int, socket.socket]]:
    """Each with its number, as a copy to be closed."""
    try:
        descriptors = os.listdir(_DESCRIPTORS)  # noqa: PTH208 (names, of which one is gone by now)
    except OSError:
        return
    for name in descriptors:
        try:
            status = os.fstat(int(name))
            if not stat.S_ISSOCK(status.st_mode):
                continue
            one = socket.socket(fileno=os.dup(int(name)))
        except (OSError, ValueError):
            continue
        if one.family in _FAMILIES:
            yield status.st_ino, one
        else:
            one.close()
