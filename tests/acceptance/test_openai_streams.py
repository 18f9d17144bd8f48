"""Streams of the real `openai` SDK, sync or async, are recorded as they are consumed, replayed offline."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import tracetape

pytestmark = pytest.mark.optional
WORDS = ["The ", "order ", "is ", "filled."]


class Server(BaseHTTPRequestHandler):
    requests = 0

    def do_POST(self) -> None:
        type(self).requests += 1
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for word in WORDS:
            chunk = {
                "id": "chatcmpl-1",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "some-model",
                "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}],
            }
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def url() -> Iterator[str]:
    Server.requests = 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()
    thread.join()


def text_of(chunk: Any) -> str:
    return str(chunk.choices[0].delta.content)


def read_all(stream: Any) -> list[str]:
    return [text_of(chunk) for chunk in stream]


def read_one_in_a_with_block(stream: Any) -> list[str]:
    with stream:
        for chunk in stream:
            return [text_of(chunk)]
    return []


def read_two_and_close(stream: Any) -> list[str]:
    got = [text_of(next(stream)), text_of(next(stream))]
    stream.close()
    return got


async def aread_all(stream: Any) -> list[str]:
    return [text_of(chunk) async for chunk in stream]


async def aread_one_in_a_with_block(stream: Any) -> list[str]:
    async with stream:
        async for chunk in stream:
            return [text_of(chunk)]
    return []


async def aread_two_and_close(stream: Any) -> list[str]:
    got = [text_of(await anext(stream)), text_of(await anext(stream))]
    await stream.close()
    return got


EXPECTED = {"all": (WORDS, "finished"), "with": (WORDS[:1], "abandoned"), "close": (WORDS[:2], "abandoned")}
READERS: dict[str, Callable[[Any], Any]] = {
    "all": read_all,
    "with": read_one_in_a_with_block,
    "close": read_two_and_close,
}
AREADERS: dict[str, Callable[[Any], Any]] = {
    "all": aread_all,
    "with": aread_one_in_a_with_block,
    "close": aread_two_and_close,
}
ASK: dict[str, Any] = {"model": "some-model", "messages": [{"role": "user", "content": "hi"}], "stream": True}


@pytest.mark.parametrize("how", READERS)
def test_a_stream_is_recorded_and_replayed(how: str, url: str, tmp_path: Path) -> None:
    import openai

    client = openai.OpenAI(api_key="none", base_url=url, max_retries=0)

    @tracetape.boundary("ask", kind="llm", input=lambda: {"question": "hi"})
    def ask() -> Any:
        return client.chat.completions.create(**ASK)

    with tracetape.record(tmp_path / "run.jsonl") as run:
        stream = ask()
        assert isinstance(stream, openai.Stream)
        assert stream.response.status_code == 200
        assert READERS[how](stream) == EXPECTED[how][0]
    client.close()
    check(run, how, "iterator")
    with tracetape.replay(run.path, strict=True, network="deny-all") as tape:
        served = ask()
        assert READERS[how](served) == EXPECTED[how][0]
        with pytest.raises(AttributeError, match="'response' of what ask returned is not in the recording"):
            served.response  # noqa: B018
    assert tape.report.verdict == "same"
    assert Server.requests == 1


@pytest.mark.parametrize("by", ["coroutine function", "function that returns a coroutine"])
@pytest.mark.parametrize("how", AREADERS)
def test_an_async_stream_is_recorded_and_replayed(how: str, by: str, url: str, tmp_path: Path) -> None:
    import openai

    clients: list[openai.AsyncOpenAI] = []

    async def ask_the_model() -> Any:
        clients.append(openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0))
        return await clients[0].chat.completions.create(**ASK)

    function = ask_the_model if by == "coroutine function" else lambda: ask_the_model()
    ask = tracetape.boundary("ask", kind="llm")(function)

    async def program(*, live: bool) -> Any:
        stream = await ask()
        if live:
            assert isinstance(stream, openai.AsyncStream)
            assert stream.response.status_code == 200
        got = await AREADERS[how](stream)
        if live:
            await clients[0].close()
        return got

    with tracetape.record(tmp_path / "run.jsonl") as run:
        assert asyncio.run(program(live=True)) == EXPECTED[how][0]
    check(run, how, "async_iterator" if by == "coroutine function" else "awaitable_async_iterator")
    with tracetape.replay(run.path, strict=True) as tape:
        assert asyncio.run(program(live=False)) == EXPECTED[how][0]
    assert tape.report.verdict == "same"
    assert Server.requests == 1


def check(run: Any, how: str, shape: str) -> None:
    crossing = run.recording["ask", 1]
    words, end = EXPECTED[how]
    assert (crossing.outcome, crossing.stream_end, crossing.shape) == ("streamed", end, shape)
    assert [text_of(chunk) for chunk in crossing.items] == words
    assert crossing.grade == "exact"
