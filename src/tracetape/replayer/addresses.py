"""What an address is: loopback, a name, a proxy, the target of a gRPC channel."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Iterator
from typing import Any

from tracetape.errors import UsageError

__all__ = [
    "Allowed",
    "as_text",
    "checked_hosts",
    "is_address",
    "is_loopback",
    "own_names",
    "resolved",
    "shown",
    "split",
    "targets",
]

Allowed = frozenset[tuple[str, int | None]]
"""(host, port); None stands for every port."""


def as_text(host: Any) -> str:
    if isinstance(host, (bytes, bytearray)):
        return host.decode("latin-1")
    return host if isinstance(host, str) else ""


def is_address(host: str) -> bool:
    return _address(host) is not None


def is_loopback(host: str) -> bool:
    name = host.lower().rstrip(".")
    if not name or name == "localhost" or name.endswith(".localhost"):  # RFC 6761, section 6.3
        return True
    address = _address(host)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_loopback
    return address is not None and (address.is_loopback or address.is_unspecified)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Of IPv6 alone a zone (`fe80::1%eth0`) is a part of the address."""
    bare = host.partition("%")[0] if ":" in host else host
    try:
        return ipaddress.ip_address(bare)
    except ValueError:
        return None


def own_names() -> frozenset[str]:
    """What this machine calls itself. Looking that up tells nobody outside of anything."""
    name = socket.gethostname().lower()
    return frozenset((name, name.partition(".")[0]))


def checked_hosts(hosts: Iterable[str]) -> tuple[str, ...]:
    """Raises UsageError for what is no `host` or `host:port`."""
    given = tuple(hosts)
    for one in given:
        if not isinstance(one, str) or not one:
            raise UsageError(f"allow_hosts=[…] takes 'host' or 'host:port', not {one!r}")
    return given


def shown(host: str, port: int | None) -> str:
    """As people write it, and as `allow_hosts` takes it."""
    name = f"[{host}]" if ":" in host else host
    return name if port is None else f"{name}:{port}"


def resolved(hosts: Iterable[str]) -> Allowed:
    """Each host as given, with the addresses that it has now: connections are made to addresses."""
    found: set[tuple[str, int | None]] = set()
    for given in hosts:
        host, port = split(given)
        found.add((host.lower().rstrip("."), port))
        try:
            entries = socket.getaddrinfo(host, port)
        except OSError:
            continue  # not to be resolved now: then the name alone is let through, and fails by itself
        found |= {(str(entry[4][0]), port) for entry in entries}
    return frozenset(found)


def targets(name: str) -> Iterator[tuple[str, int | None]]:
    """The addresses that the target of a gRPC channel names; none for a Unix socket.

    Source: gRPC Name Resolution, https://github.com/grpc/grpc/blob/master/doc/naming.md
    """
    scheme, colon, rest = name.partition(":")
    if scheme in ("unix", "unix-abstract", "vsock") and colon:
        return
    if scheme in ("ipv4", "ipv6") and colon:
        yield from (split(one) for one in rest.split(","))
        return
    # `dns://server/host:port`: the server that is asked for the name is inside or outside as well.
    _, slashes, behind = name.partition("://")
    if not slashes:
        yield split(rest if scheme == "dns" and colon else name)
        return
    server, _, host = behind.partition("/")
    if server:
        yield split(server)
    yield split(host)


def split(given: str) -> tuple[str, int | None]:
    host, colon, port = given.rpartition(":")
    if colon and port.isdigit() and (":" not in host or host.startswith("[")):
        return host.strip("[]"), int(port)
    return given.strip("[]"), None
