"""Nothing goes out while a replay is open, with real clients of every kind.

No machine outside can be asked here. So a server on loopback is made one that counts as outside: the environment
names it as a proxy, for a scheme that no client here uses.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tracetape
from tests.acceptance.network.clients import CLIENTS, Client, uvloop_loop
from tests.acceptance.network.servers import Counting, grpc_server, http_server
from tracetape.errors import DivergenceError, UsageError

pytestmark = pytest.mark.optional

LOOPS = {"asyncio": None, "uvloop": uvloop_loop}


@tracetape.boundary("ask", kind="tool")
def ask(client: str, how: Any = None) -> str:
    return str(how()) if how is not None else "recorded"


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    with tracetape.record(path):
        ask("x")
    return path


@pytest.fixture
def inside() -> Iterator[Counting]:
    with http_server() as server:
        yield server


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counting]:
    with http_server() as server:
        monkeypatch.setenv("FTP_PROXY", server.url)
        yield server


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> Client:
    return CLIENTS[request.param]()


def attempt(reach: Callable[[], Any]) -> None:
    """As an agent does it, which goes on whatever its tools raise."""
    try:
        reach()
    except Exception:
        pass


class TestEachClient:
    def test_a_new_connection_to_the_outside_halts_and_never_arrives(
        self, client: Client, recorded: Path, outside: Counting
    ) -> None:
        session = client.open()
        with pytest.raises(DivergenceError) as caught, tracetape.replay(recorded) as tape:
            attempt(lambda: client.ask(session, outside.url))
        client.close(session)
        assert outside.asked == 0
        assert [one.kind for one in tape.report.divergences] == ["refused"]
        assert f"DIVERGED: a connection to {outside.address} was refused: it is a proxy" in str(caught.value)

    def test_the_name_of_a_machine_outside_is_not_even_looked_up(self, client: Client, recorded: Path) -> None:
        session = client.open()
        with pytest.raises(DivergenceError), tracetape.replay(recorded) as tape:
            attempt(lambda: client.ask(session, "http://model.example.com:80/"))
        client.close(session)
        [divergence] = tape.report.divergences
        assert divergence.kind == "refused"
        assert divergence.name.startswith("model.example.com")

    def test_inside_a_live_boundary_it_is_allowed(self, client: Client, recorded: Path, outside: Counting) -> None:
        session = client.open()
        with tracetape.replay(recorded, live=["ask"], ignore=["$.how"]) as tape:
            assert ask("x", lambda: client.ask(session, outside.url)) == "ok"
        assert outside.asked == 1
        assert tape.report.network_attempts == []
        client.close(session)

    def test_what_a_live_boundary_leaves_open_is_listed(
        self, client: Client, recorded: Path, outside: Counting
    ) -> None:
        session = client.open()
        with tracetape.replay(recorded, live=["ask"], ignore=["$.how"]) as tape:
            ask("x", lambda: client.ask(session, outside.url))
        client.close(session)
        assert tape.report.open_connections == [f"{outside.address} (left open by ask@1)"]
        assert f"  connections that were open: {outside.address} (left open by ask@1)" in str(tape.report)

    def test_this_machine_is_let_through_and_listed(
        self, client: Client, recorded: Path, inside: Counting
    ) -> None:
        session = client.open()
        with tracetape.replay(recorded) as tape:
            ask("x")
            assert client.ask(session, inside.url) == "ok"
        client.close(session)
        assert tape.report.loopback == [inside.address]
        assert f"  reached on this machine: {inside.address}" in str(tape.report)

    def test_deny_all_lets_nothing_through_at_all(self, client: Client, recorded: Path, inside: Counting) -> None:
        session = client.open()
        with pytest.raises(DivergenceError) as caught, tracetape.replay(recorded, network="deny-all"):
            attempt(lambda: client.ask(session, inside.url))
        client.close(session)
        assert inside.asked == 0
        assert (
            f'a connection to {inside.address} was refused: network="deny-all" lets nothing out of this process'
        ) in str(caught.value)

    def test_a_kept_alive_connection_is_listed_and_deny_all_refuses_to_begin(
        self, client: Client, recorded: Path, inside: Counting
    ) -> None:
        session = client.open()
        client.ask(session, inside.url)
        with tracetape.replay(recorded) as tape:
            ask("x")
            assert client.ask(session, inside.url) == "ok"
        assert inside.address in tape.report.open_connections
        with pytest.raises(UsageError) as caught, tracetape.replay(recorded, network="deny-all"):
            raise AssertionError("the block must not be entered")
        client.close(session)
        assert str(caught.value) == (
            f"network='deny-all' and open connections already: {inside.address}. What is sent over them is not "
            "all seen: close them before the replay (a client's pool is closed with the client), or name them in "
            "allow_hosts=[…]"
        )
        assert ask("x") == "recorded", "the replay that was not entered is not open"

    def test_over_a_kept_alive_connection_to_the_outside_nothing_is_sent_where_python_sends(
        self, request: pytest.FixtureRequest, client: Client, recorded: Path, outside: Counting
    ) -> None:
        """uvloop sends in C: there the connection is listed."""
        session = client.open()
        client.ask(session, outside.url)
        if "uvloop" in request.node.name:
            with tracetape.replay(recorded) as tape:
                ask("x")
                client.ask(session, outside.url)
        else:
            with pytest.raises(DivergenceError) as caught, tracetape.replay(recorded) as tape:
                attempt(lambda: client.ask(session, outside.url))
            assert outside.asked == 1, "before the replay"
            assert f"sending over an open connection to {outside.address} was refused" in str(caught.value)
        client.close(session)
        assert tape.report.open_connections == [outside.address]

    def test_allowed_hosts_and_an_open_network_let_it_through(
        self, client: Client, recorded: Path, outside: Counting
    ) -> None:
        session = client.open()
        for options in ({"allow_hosts": [outside.address]}, {"network": "allow"}):
            with tracetape.replay(recorded, **options) as tape:
                ask("x")
                assert client.ask(session, outside.url) == "ok"
            assert tape.report.network_attempts == []
        client.close(session)

    def test_in_a_thread_of_nobody_it_is_a_refused_connection_that_is_counted(
        self, client: Client, recorded: Path, outside: Counting
    ) -> None:
        caught: list[BaseException] = []

        def elsewhere() -> None:
            try:
                session = client.open()
                client.ask(session, outside.url)
            except BaseException as error:
                caught.append(error)
            client.close(session)

        with tracetape.replay(recorded) as tape:
            ask("x")
            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
        assert outside.asked == 0
        assert isinstance(caught[0], Exception), "no halt: that thread is not the program's"
        assert set(tape.report.network_attempts) == {outside.address}
        assert tape.report.verdict == "same"
        assert f"  refused: a connection to {outside.address}" in str(tape.report)


@pytest.mark.parametrize("loop", LOOPS)
class TestEachLoop:
    def run(self, loop: str, program: Callable[[], Any]) -> None:
        with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
            attempt(lambda: runner.run(program()))

    @pytest.mark.parametrize("what", ["lookup", "reverse lookup", "udp", "connected udp", "sock_connect"])
    def test_lookups_and_datagrams_are_refused_as_well(self, loop: str, what: str, recorded: Path) -> None:
        async def reach() -> None:
            here = asyncio.get_running_loop()
            if what == "lookup":
                await here.getaddrinfo("model.example.com", 443)
            elif what == "reverse lookup":
                await here.getnameinfo(("192.0.2.1", 443))
            elif what == "sock_connect":
                with socket.socket() as plain:
                    plain.setblocking(False)
                    await here.sock_connect(plain, ("192.0.2.1", 443))
            else:
                connected: dict[str, Any] = {"remote_addr": ("192.0.2.1", 53)} if what == "connected udp" else {}
                local: dict[str, Any] = {} if connected else {"local_addr": ("127.0.0.1", 0)}
                transport, _ = await here.create_datagram_endpoint(
                    asyncio.DatagramProtocol,
                    **connected,
                    **local,
                )
                try:
                    transport.sendto(b"x", None if connected else ("192.0.2.1", 53))
                finally:
                    transport.close()

        with pytest.raises(DivergenceError), tracetape.replay(recorded) as tape:
            self.run(loop, reach)
        assert [one.kind for one in tape.report.divergences] == ["refused"]

    def test_datagrams_to_this_machine_arrive(self, loop: str, recorded: Path) -> None:
        told: list[bytes] = []

        class Protocol(asyncio.DatagramProtocol):
            def connection_made(self, transport: Any) -> None:
                transport.sendto(b"made", address)

        async def reach() -> None:
            here = asyncio.get_running_loop()
            transport, protocol = await here.create_datagram_endpoint(Protocol, local_addr=("127.0.0.1", 0))
            assert type(protocol) is Protocol
            transport.sendto(b"after", address)
            await asyncio.sleep(0)
            transport.close()

        with socket.socket(type=socket.SOCK_DGRAM) as receiver:
            receiver.bind(("127.0.0.1", 0))
            address = receiver.getsockname()
            receiver.settimeout(5)
            with tracetape.replay(recorded) as tape:
                ask("x")
                self.run(loop, reach)
            told += [receiver.recv(16), receiver.recv(16)]
        assert told == [b"made", b"after"]
        assert tape.report.loopback == [f"127.0.0.1:{address[1]}"]

    def test_a_started_process_is_listed(self, loop: str, recorded: Path) -> None:
        async def start() -> None:
            process = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
            await process.wait()

        with tracetape.replay(recorded) as tape:
            ask("x")
            self.run(loop, start)
        assert tape.report.started == [os.path.basename(sys.executable)]  # noqa: PTH119


class TestGrpc:
    @pytest.fixture
    def server(self) -> Iterator[Counting]:
        with grpc_server() as server:
            yield server

    def once(self, channel: Any) -> bytes:
        return bytes(channel.unary_unary("/echo/Once")(b"hello", timeout=5))

    @pytest.mark.parametrize("how", ["call", "with_call", "future", "stream", "subscribe", "made before"])
    def test_a_call_through_a_channel_to_the_outside_halts_and_never_arrives(
        self, how: str, server: Counting, recorded: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import grpc

        monkeypatch.setenv("FTP_PROXY", server.url)
        before: Any = grpc.insecure_channel(server.address)
        method = before.unary_unary("/echo/Once")
        asked = {
            "call": lambda: self.once(grpc.insecure_channel(server.address)),
            "with_call": lambda: method.with_call(b"x", timeout=5),
            "future": lambda: method.future(b"x", timeout=5).result(),
            "stream": lambda: list(before.unary_stream("/echo/Stream")(b"x", timeout=5)),
            "subscribe": lambda: before.subscribe(lambda state: None, try_to_connect=True),
            "made before": lambda: method(b"x", timeout=5),
        }[how]
        with pytest.raises(DivergenceError) as caught, tracetape.replay(recorded):
            attempt(asked)
        before.close()
        assert f"a connection to {server.address} was refused" in str(caught.value)
        assert server.asked == 0

    def test_this_machine_and_live_boundaries_are_let_through(
        self, server: Counting, recorded: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import grpc

        with grpc.insecure_channel(server.address) as channel:
            with tracetape.replay(recorded) as tape:
                ask("x")
                assert self.once(channel) == b"hello"
            assert tape.report.loopback == [server.address]
            monkeypatch.setenv("FTP_PROXY", server.url)
            with tracetape.replay(recorded, live=["ask"], ignore=["$.how"]) as tape:
                ask("x", lambda: self.once(channel))
            assert tape.report.network_attempts == []
        assert server.asked == 2

    @pytest.mark.parametrize("how", ["call", "stream", "get_state"])
    def test_asyncio_s_channels_are_guarded_too(
        self, how: str, server: Counting, recorded: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import grpc.aio

        async def reach(expected: bool) -> None:
            made: Any = grpc.aio.insecure_channel(server.address)
            async with made as channel:
                if how == "call":
                    assert await channel.unary_unary("/echo/Once")(b"x", timeout=5) == b"x"
                elif how == "stream":
                    assert [one async for one in channel.unary_stream("/echo/Stream")(b"x", timeout=5)] == [b"x"]
                else:
                    channel.get_state(try_to_connect=True)

        with tracetape.replay(recorded) as tape:
            ask("x")
            asyncio.run(reach(True))
        assert tape.report.loopback == [server.address]
        asked = server.asked
        monkeypatch.setenv("FTP_PROXY", server.url)
        with pytest.raises(DivergenceError) as caught, tracetape.replay(recorded):
            attempt(lambda: asyncio.run(reach(False)))
        assert f"a connection to {server.address} was refused" in str(caught.value)
        assert server.asked == asked


def asked_over(session: Any, url: str) -> str:
    return str(session.get(url, timeout=5).text)


def test_what_a_pool_does_for_the_program_is_the_program_s_and_stays_so_after_the_replay(
    recorded: Path, outside: Counting
) -> None:
    """A job has no context of its own; the worker has done jobs for others before."""
    import requests

    ran: list[str] = []
    session, over = requests.Session(), threading.Event()
    asked_over(session, outside.url)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(ran.append, "before").result()
        with pytest.raises(DivergenceError, match="sending over an open connection"):
            with tracetape.replay(recorded):
                pool.submit(asked_over, session, outside.url).exception()
        with tracetape.replay(recorded):
            ask("x")
            late = pool.submit(lambda: (over.wait(60), ask("later", lambda: ran.append("real"))))
        over.set()
        assert type(late.exception(60)).__name__ == "Halt"
        pool.submit(ask, "x", lambda: ran.append("after")).result()
    session.close()
    assert ran == ["before", "after"]
    assert outside.asked == 1


@pytest.mark.parametrize("strict", [False, True])
def test_what_a_live_call_leaves_running_is_listed_and_under_strict_refused(
    recorded: Path, outside: Counting, strict: bool
) -> None:
    async def program() -> str:
        jobs: asyncio.Queue[str] = asyncio.Queue()
        answers: asyncio.Queue[str] = asyncio.Queue()

        async def worker() -> None:
            client, url = CLIENTS["requests"](), await jobs.get()
            session = client.open()
            try:
                answers.put_nowait(client.ask(session, url))
            finally:
                client.close(session)

        tasks = []
        ask("x", lambda: tasks.append(asyncio.get_running_loop().create_task(worker())))
        jobs.put_nowait(outside.url)
        done, _ = await asyncio.wait([*tasks, asyncio.ensure_future(answers.get())], return_when="FIRST_COMPLETED")
        return str(next(iter(done)).exception() or "ok")

    def run(**options: Any) -> Any:
        with tracetape.replay(recorded, live=["ask"], ignore=["$.how"], **options) as tape:
            asyncio.run(program())
        return tape.report

    if strict:
        with pytest.raises(DivergenceError):
            run(strict=True)
        assert outside.asked == 0
    else:
        assert run().notes == [f"{outside.address} was reached by what ask@1 left running"]
        assert outside.asked == 1


def test_a_live_stream_that_waits_for_its_consumer_opens_nothing_to_others(
    tmp_path: Path, outside: Counting
) -> None:
    @tracetape.boundary("tokens", kind="llm")
    def tokens() -> Iterator[str]:
        yield "a"
        yield "b"

    with tracetape.record(tmp_path / "run.jsonl"):
        list(tokens())
    with tracetape.replay(tmp_path / "run.jsonl", live=["tokens"]) as tape:
        stream = tokens()
        next(stream)
        thread = threading.Thread(target=lambda: attempt(lambda: connect(outside.port)))
        thread.start()
        thread.join()
        list(stream)
    assert tape.report.network_attempts == [outside.address]


def connect(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)):
        pass


def test_trio_sends_nothing_over_a_kept_alive_connection_either(recorded: Path, outside: Counting) -> None:
    import trio

    async def program() -> None:
        stream = await trio.open_tcp_stream("127.0.0.1", outside.port)
        with pytest.raises(DivergenceError, match="sending over an open connection"):
            with tracetape.replay(recorded):
                try:
                    await stream.send_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                except BaseException as error:
                    assert type(error).__name__ == "Halt"
        await stream.aclose()

    trio.run(program)
    assert outside.asked == 0


def test_a_file_is_not_sent_over_a_kept_alive_connection_either(recorded: Path, outside: Counting) -> None:
    with socket.create_connection(("127.0.0.1", outside.port)) as connection, recorded.open("rb") as file:
        with pytest.raises(DivergenceError, match="sending over an open connection"):
            with tracetape.replay(recorded):
                attempt(lambda: connection.sendfile(file))


@pytest.mark.parametrize(
    "ask_for",
    [
        lambda: socket.gethostbyname(socket.gethostname()),
        socket.getfqdn,
        lambda: socket.getaddrinfo("app.localhost", 80),
    ],
    ids=["its address", "its full name", "a name below localhost"],
)
def test_this_machine_may_ask_for_its_own_name(recorded: Path, ask_for: Callable[[], Any]) -> None:
    with tracetape.replay(recorded) as tape:
        ask("x")
        try:
            ask_for()
        except OSError:  # where its name is not in the tables of this machine
            pass
    assert tape.report.network_attempts == []


def test_the_answers_of_a_server_are_not_sent_to_the_outside(
    recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has accepted the connection; the port of its client is made one that counts as outside."""
    with socket.socket() as listening, socket.socket() as client:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        client.connect(listening.getsockname())
        accepted, address = listening.accept()
        monkeypatch.setenv("FTP_PROXY", f"http://127.0.0.1:{address[1]}")
        with accepted, tracetape.replay(recorded) as tape:
            ask("x")
            accepted.sendall(b"progress")
        assert client.recv(16) == b"progress"
    assert tape.report.verdict == "same"


def test_a_proxy_is_one_under_each_of_its_names(recorded: Path, outside: Counting) -> None:
    async def program() -> None:
        await asyncio.open_connection("localhost", outside.port)

    with pytest.raises(DivergenceError, match="it is a proxy that the environment names"):
        with tracetape.replay(recorded):
            with asyncio.Runner(loop_factory=uvloop_loop) as runner:
                attempt(lambda: runner.run(program()))


def test_a_proxy_on_this_machine_counts_as_outside(
    recorded: Path, inside: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    import requests

    monkeypatch.setenv("http_proxy", inside.url)
    with pytest.raises(DivergenceError) as caught, tracetape.replay(recorded):
        attempt(lambda: requests.get("http://model.example.com/", timeout=5))
    assert inside.asked == 0
    assert (
        f"DIVERGED: a connection to {inside.address} was refused: it is a proxy that the environment names, and "
        "what it is sent leaves this machine"
    ) in str(caught.value)


@pytest.mark.parametrize(
    "start",
    [
        lambda: subprocess.run([sys.executable, "-c", ""], check=True),
        lambda: os.posix_spawn(sys.executable, [sys.executable, "-c", ""], dict(os.environ)),
        lambda: os.system(f"{sys.executable} -c ''"),
    ],
    ids=["subprocess", "posix_spawn", "os.system"],
)
def test_a_started_process_is_listed_for_nobody_sees_what_it_sends(recorded: Path, start: Any) -> None:
    with tracetape.replay(recorded) as tape:
        ask("x")
        start()
    [started] = tape.report.started
    assert started.endswith(os.path.basename(sys.executable))  # noqa: PTH119
    assert f"  started, and not seen what they send: {started}" in str(tape.report)


def test_loaded_libraries_with_sockets_of_their_own_are_named(
    recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pycurl", sys)
    with tracetape.replay(recorded) as tape:
        ask("x")
    assert "  not seen, for their sockets are their own: pycurl" in str(tape.report)


def test_of_two_replays_the_one_of_the_context_judges(recorded: Path, outside: Counting) -> None:
    """The live call of one is no connection of the other."""
    import requests

    with tracetape.replay(recorded) as around:
        ask("x")
        with tracetape.replay(recorded, live=["ask"], ignore=["$.how"]) as within:
            assert ask("x", lambda: requests.get(outside.url, timeout=5).text) == "ok"
    assert around.report.network_attempts == within.report.network_attempts == []


def test_libraries_that_are_loaded_during_a_replay_are_guarded_too(tmp_path: Path) -> None:
    """In a process of its own, where they are not loaded yet."""
    program = tmp_path / "late.py"
    program.write_text(
        "import tracetape, sys, asyncio\n"
        "@tracetape.boundary('ask')\n"
        "def ask(): return 1\n"
        "with tracetape.record('run.jsonl'): ask()\n"
        "assert not {'uvloop', 'grpc'} & set(sys.modules)\n"
        "for reach in ('uvloop', 'grpc', 'grpc.aio'):\n"
        "    try:\n"
        "        with tracetape.replay('run.jsonl'):\n"
        "            ask()\n"
        "            try:\n"
        "                if reach == 'uvloop':\n"
        "                    import uvloop\n"
        "                    async def go(): await asyncio.open_connection('192.0.2.1', 443)\n"
        "                    uvloop.run(go())\n"
        "                elif reach == 'grpc':\n"
        "                    import grpc\n"
        "                    grpc.insecure_channel('192.0.2.1:443').unary_unary('/a/b')(b'', timeout=1)\n"
        "                else:\n"
        "                    import grpc.aio\n"
        "                    async def go():\n"
        "                        channel = grpc.aio.insecure_channel('192.0.2.1:443')\n"
        "                        await channel.unary_unary('/a/b')(b'', timeout=1)\n"
        "                    asyncio.run(go())\n"
        "            except Exception as error: print(repr(error))\n"
        "    except tracetape.errors.DivergenceError as error: print(reach, error.report.divergences[0].name)\n"
    )
    done = subprocess.run(
        [sys.executable, program.name], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "uvloop 192.0.2.1:443\ngrpc 192.0.2.1:443\ngrpc.aio 192.0.2.1:443\n", done.stderr
