"""Servers on loopback that answer as backends do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

__all__ = ["FakeTempo", "Reply", "Request", "Served", "serving"]

_waiting = threading.Event()  # never set, and no `time.sleep`, which tests replace

CUT = 2_048
"""Bytes of a key or a string value that Tempo keeps by default (`distributor.max_attribute_bytes`)."""


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes = b""


@dataclass(frozen=True)
class Reply:
    body: bytes = b""
    status: int = 200
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    announced: int | None = None  # bytes that it says it has, where that is not so
    pause: float = 0.0  # seconds between two bytes


@dataclass
class Served:
    """A server that runs. requests: what it was asked, in order."""

    base: str
    requests: list[Request]


@contextmanager
def serving(answer: Callable[[Request], Reply]) -> Iterator[Served]:
    """An HTTP server on a free port of 127.0.0.1."""
    requests: list[Request] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

        def _answer(self, body: bytes) -> None:
            parts = urlsplit(self.path)
            headers = {key.lower(): value for key, value in self.headers.items()}
            request = Request(self.command, parts.path, parse_qs(parts.query), headers, body)
            requests.append(request)
            reply = answer(request)
            try:
                self.send_response(reply.status)
                self.send_header("Content-Type", reply.content_type)
                self.send_header("Content-Length", str(reply.announced or len(reply.body)))
                for key, value in reply.headers.items():
                    self.send_header(key, value)
                self.end_headers()
                if not reply.pause:
                    self.wfile.write(reply.body)
                    return
                for one in reply.body:
                    self.wfile.write(bytes((one,)))
                    _waiting.wait(reply.pause)
            except OSError:
                pass  # who asked has gone

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield Served(f"http://127.0.0.1:{server.server_address[1]}", requests)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class FakeTempo:
    """Tempo as its documentation and source have it: takes OTLP over HTTP, keeps traces, cuts strings to 2,048
    bytes without a mark, never arrays; gives a trace in protobuf, by API v2 in an envelope.

    cut:     bytes of a string that are kept; 0 for all.
    """

    def __init__(self, *, cut: int = CUT) -> None:
        self.cut = cut
        self.traces: dict[str, TracesData] = {}

    def __call__(self, request: Request) -> Reply:
        if request.path == "/v1/traces":
            return self._take(request)
        found = self.traces.get(request.path.rpartition("/")[2])
        if found is None:
            return Reply(b"trace not found", 404, "text/plain")
        if request.headers.get("accept") != "application/protobuf":
            return Reply(b"only protobuf here", 406, "text/plain")
        body = found.SerializeToString()
        if request.path.startswith("/api/v2/"):
            body = b"\x0a" + _varint(len(body)) + body
        return Reply(body, content_type="application/protobuf")

    def _take(self, request: Request) -> Reply:
        sent = ExportTraceServiceRequest()
        sent.ParseFromString(request.body)
        for group in sent.resource_spans:
            self._shorten(group.resource.attributes)
            for scoped in group.scope_spans:
                for span in scoped.spans:
                    self._shorten(span.attributes)
                    for event in span.events:
                        self._shorten(event.attributes)
                    kept = self.traces.setdefault(span.trace_id.hex(), TracesData()).resource_spans.add()
                    kept.resource.CopyFrom(group.resource)
                    into = kept.scope_spans.add()
                    into.scope.CopyFrom(scoped.scope)
                    into.spans.add().CopyFrom(span)
        return Reply(content_type="application/x-protobuf")

    def _shorten(self, attributes: Any) -> None:
        for one in attributes:
            if self.cut and one.value.WhichOneof("value") == "string_value":
                whole = one.value.string_value.encode()
                if len(whole) > self.cut:
                    # Go strings hold any bytes; in Python's protobuf half a character cannot stand.
                    one.value.string_value = whole[: self.cut].decode("utf-8", "ignore")


def _varint(number: int) -> bytes:
    made = b""
    while number > 0x7F:
        made += bytes((number & 0x7F | 0x80,))
        number >>= 7
    return made + bytes((number,))
