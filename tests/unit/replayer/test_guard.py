"""The guard: nothing leaves this machine while a replay is open."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tracetape
from tracetape.errors import DivergenceError, UsageError

OUTSIDE = ("192.0.2.1", 443)  # TEST-NET-1 (RFC 5737): nobody is there


@tracetape.boundary("fetch", kind="tool")
def fetch(address: Any) -> str:
    announce(address)
    return "let through"


def announce(address: Any) -> None:
    """What the interpreter announces before a connection is made; none is made."""
    with socket.socket() as client:
        sys.audit("socket.connect", client, address)


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    with tracetape.record(path):
        fetch(("127.0.0.1", 9))
    return path


@pytest.fixture
def listening() -> Iterator[tuple[str, int]]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()


def attempt(address: Any) -> None:
    with socket.socket() as client:
        client.connect(address)


@pytest.mark.parametrize(
    "reach",
    [
        lambda: attempt(OUTSIDE),
        lambda: socket.getaddrinfo("example.com", 443),
        lambda: socket.gethostbyname("example.com"),
        lambda: socket.gethostbyaddr("192.0.2.1"),
        lambda: socket.getnameinfo(("192.0.2.1", 443), 0),
        lambda: socket.getaddrinfo("127.0.0.1%x.example.invalid", 80),
        lambda: sendto(OUTSIDE),
        lambda: asyncio.run(open_connection()),
        lambda: attempt6(("2001:db8::1", 443)),
    ],
    ids=[
        "connect",
        "getaddrinfo",
        "gethostbyname",
        "gethostbyaddr",
        "getnameinfo",
        "zone",
        "sendto",
        "asyncio",
        "ipv6",
    ],
)
def test_what_reaches_out_is_a_halt_in_the_replay_s_context(recorded: Path, reach: Any) -> None:
    with (
        pytest.raises(DivergenceError, match="was refused: a replay lets nothing out"),
        tracetape.replay(recorded) as tape,
    ):
        try:
            reach()
        except Exception:  # an agent that swallows what its tools raise
            pass
    assert len(tape.report.network_attempts) == 1


def sendto(address: Any) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as client:
        client.sendto(b"x", address)


def attempt6(address: Any) -> None:
    with socket.socket(socket.AF_INET6) as client:
        client.connect(address)


async def open_connection() -> None:
    loop = asyncio.get_running_loop()
    with socket.socket() as client:
        client.setblocking(False)
        await loop.sock_connect(client, OUTSIDE)


def test_in_another_thread_it_is_a_refused_connection_that_is_counted(recorded: Path) -> None:
    caught: list[BaseException] = []

    def elsewhere() -> None:
        try:
            attempt(OUTSIDE)
        except OSError as error:
            caught.append(error)

    with tracetape.replay(recorded) as tape:
        fetch(("127.0.0.1", 9))
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert isinstance(caught[0], ConnectionRefusedError)
    assert tape.report.network_attempts == ["192.0.2.1:443"]
    assert tape.report.verdict == "same"


def test_loopback_and_unix_sockets_are_let_through_and_listed(
    recorded: Path, listening: tuple[str, int], tmp_path: Path
) -> None:
    with tracetape.replay(recorded) as tape:
        fetch(("127.0.0.1", 9))
        attempt(listening)
        socket.getaddrinfo("localhost", 80)
        with socket.socket(socket.AF_UNIX) as client, pytest.raises(FileNotFoundError):
            client.connect(str(tmp_path / "nobody.sock"))
    assert tape.report.loopback == [f"127.0.0.1:{listening[1]}"]


def test_deny_all_refuses_loopback_too(recorded: Path, listening: tuple[str, int]) -> None:
    with pytest.raises(DivergenceError), tracetape.replay(recorded, network="deny-all"):
        attempt(listening)


def test_a_live_boundary_may_reach_out_and_so_may_allowed_hosts(recorded: Path) -> None:
    with tracetape.replay(recorded, live=["fetch"]) as tape:
        assert fetch(OUTSIDE) == "let through"
    assert tape.report.network_attempts == []
    with tracetape.replay(recorded, allow_hosts=["192.0.2.1:443"]) as tape:
        fetch(("127.0.0.1", 9))
        announce(OUTSIDE)
    assert tape.report.network_attempts == []
    with pytest.raises(DivergenceError), tracetape.replay(recorded, allow_hosts=["192.0.2.1:443"]):
        announce((OUTSIDE[0], 80))


def test_allow_refuses_nothing_and_the_guard_is_gone_after_the_replay(recorded: Path) -> None:
    with tracetape.replay(recorded, network="allow") as tape:
        fetch(("127.0.0.1", 9))
        announce(OUTSIDE)
    assert tape.report.network_attempts == []
    announce(OUTSIDE)


def test_wrong_settings_are_refused_in_one_line(recorded: Path) -> None:
    with pytest.raises(UsageError) as caught:
        tracetape.replay(recorded, network="maybe")
    assert str(caught.value) == "network='maybe' is not one of 'deny', 'deny-all', 'allow'"
    with pytest.raises(UsageError) as caught:
        tracetape.replay(recorded, allow_hosts=[""])
    assert str(caught.value) == "allow_hosts=[…] takes 'host' or 'host:port', not ''"


def test_the_cure_that_is_offered_for_an_address_is_one(recorded: Path) -> None:
    for host in ("192.0.2.1", "2001:db8::1"):
        with pytest.raises(DivergenceError) as caught, tracetape.replay(recorded):
            attempt6((host, 443)) if ":" in host else attempt((host, 443))
        offered = str(caught.value).partition('allow_hosts=["')[2].partition('"]')[0]
        assert offered
        with tracetape.replay(recorded, allow_hosts=[offered]) as tape:
            fetch(("127.0.0.1", 9))
            with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as client:
                sys.audit("socket.connect", client, (host, 443))
        assert tape.report.network_attempts == []


def test_a_name_is_allowed_however_it_is_written(recorded: Path) -> None:
    with tracetape.replay(recorded, allow_hosts=["Model.Example.COM:443"]) as tape:
        fetch(("127.0.0.1", 9))
        sys.audit("socket.getaddrinfo", "model.example.com.", 443, 0, 0, 0)
    assert tape.report.network_attempts == []


def test_what_tries_again_and_again_is_told_once(recorded: Path) -> None:
    def elsewhere() -> None:
        for _ in range(50):
            with pytest.raises(ConnectionRefusedError):
                attempt(OUTSIDE)

    with tracetape.replay(recorded) as tape:
        fetch(("127.0.0.1", 9))
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert tape.report.network_attempts == ["192.0.2.1:443"]
