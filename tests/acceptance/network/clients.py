"""Clients of every kind, each with one way to be used: opened, asked, closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Client:
    """open() → a session that keeps its connections; ask(session, url) → the text that came; close(session)."""

    open: Callable[[], Any]
    ask: Callable[[Any, str], str]
    close: Callable[[Any], None]


def requests_() -> Client:
    import requests

    return Client(requests.Session, lambda session, url: session.get(url, timeout=5).text, lambda one: one.close())


def urllib3_() -> Client:
    import urllib3

    def ask(pool: Any, url: str) -> str:
        return str(pool.request("GET", url, timeout=5, retries=False).data, "ascii")

    return Client(urllib3.PoolManager, ask, lambda pool: pool.clear())


def httpx_() -> Client:
    import httpx

    return Client(httpx.Client, lambda session, url: session.get(url).text, lambda session: session.close())


def httpx2_() -> Client:
    import httpx2

    return Client(httpx2.Client, lambda session, url: session.get(url).text, lambda session: session.close())


def _on(loop_factory: Any, make: Callable[[], Any], ask: Any, close: Any) -> Client:
    """An async client on a loop that lives as long as the session."""

    def opened() -> Any:
        runner = asyncio.Runner(loop_factory=loop_factory)

        async def session() -> Any:
            return make()

        return runner, runner.run(session())

    def closed(pair: Any) -> None:
        pair[0].run(close(pair[1]))
        pair[0].close()

    return Client(opened, lambda pair, url: pair[0].run(ask(pair[1], url)), closed)


async def _ask(session: Any, url: str) -> str:
    return str((await session.get(url)).text)


async def _close(session: Any) -> None:
    await session.aclose()


def httpx_async(loop_factory: Any) -> Client:
    import httpx

    return _on(loop_factory, httpx.AsyncClient, _ask, _close)


def httpx2_async(loop_factory: Any) -> Client:
    import httpx2

    return _on(loop_factory, httpx2.AsyncClient, _ask, _close)


def aiohttp_(loop_factory: Any) -> Client:
    import aiohttp

    async def ask(session: Any, url: str) -> str:
        async with session.get(url) as response:
            return str(await response.text())

    async def close(session: Any) -> None:
        await session.close()

    return _on(loop_factory, aiohttp.ClientSession, ask, close)


def asyncio_streams(loop_factory: Any) -> Client:
    """No library: what all of them are made of."""

    async def ask(session: Any, url: str) -> str:
        host, _, port = url.removeprefix("http://").rstrip("/").rpartition(":")
        if session.get("to") != url:
            session["pair"] = await asyncio.open_connection(host, int(port))
            session["to"] = url
        reader, writer = session["pair"]
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await writer.drain()
        head = await reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in head
        return str(await reader.readexactly(2), "ascii")

    async def close(session: Any) -> None:
        if "pair" in session:
            session["pair"][1].close()

    return _on(loop_factory, dict, ask, close)


def uvloop_loop() -> Any:
    import uvloop

    return uvloop.new_event_loop()


CLIENTS: dict[str, Callable[[], Client]] = {
    "requests": requests_,
    "urllib3": urllib3_,
    "httpx": httpx_,
    "httpx2": httpx2_,
    "httpx, asyncio": lambda: httpx_async(None),
    "httpx2, asyncio": lambda: httpx2_async(None),
    "aiohttp, asyncio": lambda: aiohttp_(None),
    "streams, asyncio": lambda: asyncio_streams(None),
    "httpx, uvloop": lambda: httpx_async(uvloop_loop),
    "httpx2, uvloop": lambda: httpx2_async(uvloop_loop),
    "aiohttp, uvloop": lambda: aiohttp_(uvloop_loop),
    "streams, uvloop": lambda: asyncio_streams(uvloop_loop),
}
