"""OTLP receivers for the tests: each a process on loopback, which keeps what it gets as a Collector would.

    python otlp_receivers.py grpc|http FILE

Prints its endpoint, and appends every request to FILE before it answers: a 4-byte big-endian length, then
the message, as the Collector's file exporter does with `format: proto`. Ends when its input is closed. It
is a process of its own so that no thread of gRPC's stays behind in the one that runs the tests.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

__all__ = ["PROTOCOLS", "Receiver", "otlp_json", "receiving"]

PROTOCOLS = ("grpc", "http")


@dataclass(frozen=True)
class Receiver:
    """A running receiver. `endpoint` is for OTEL_EXPORTER_OTLP_ENDPOINT; `file` holds what came."""

    protocol: str
    endpoint: str
    file: Path

    @property
    def requests(self) -> list[ExportTraceServiceRequest]:
        data, found = self.file.read_bytes(), []
        while data:
            size = int.from_bytes(data[:4], "big")
            found.append(ExportTraceServiceRequest.FromString(data[4 : 4 + size]))
            data = data[4 + size :]
        return found

    @property
    def spans(self) -> list[Any]:
        """Every span, as its protobuf message."""
        return [
            span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def write_json_lines(self, path: Path) -> Path:
        """What the Collector's file exporter would have written with `format: json`."""
        path.write_text("".join(otlp_json(request) + "\n" for request in self.requests), encoding="utf-8")
        return path


@contextmanager
def receiving(protocol: str, folder: Path) -> Iterator[Receiver]:
    """Serve one OTLP receiver in a process of its own while the block runs."""
    file = folder / f"received-{protocol}.pb"
    command = [sys.executable, str(Path(__file__)), protocol, str(file)]
    # Leaving Popen's block closes the receiver's input and waits for its end.
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        endpoint = process.stdout.readline().strip()
        assert endpoint, "the receiver did not start"
        yield Receiver(protocol, endpoint, file)
    assert process.returncode == 0


def otlp_json(request: ExportTraceServiceRequest) -> str:
    """The message in OTLP's JSON encoding: protobuf's, but for ids in hex and enums as integers."""
    written = MessageToDict(request, use_integers_for_enums=True)
    for resource in written.get("resourceSpans", ()):
        for scope in resource.get("scopeSpans", ()):
            for span in scope.get("spans", ()):
                for holder in (span, *span.get("links", ())):
                    for key in ("traceId", "spanId", "parentSpanId"):
                        if key in holder:
                            holder[key] = base64.b64decode(holder[key]).hex()
    return json.dumps(written, ensure_ascii=False, separators=(",", ":"))


class _Kept:
    """The file, to which one request at a time is appended."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        path.touch()

    def append(self, message: bytes) -> None:
        with self._lock, self._path.open("ab") as file:
            file.write(len(message).to_bytes(4, "big") + message)


@contextmanager
def _serve_grpc(kept: _Kept) -> Iterator[int]:
    import grpc
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
        TraceServiceServicer,
        add_TraceServiceServicer_to_server,
    )

    class Service(TraceServiceServicer):
        def Export(self, request: ExportTraceServiceRequest, context: Any) -> ExportTraceServiceResponse:
            kept.append(request.SerializeToString())
            return ExportTraceServiceResponse()

    with ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool)
        add_TraceServiceServicer_to_server(Service(), server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        yield port
        server.stop(None).wait()


@contextmanager
def _serve_http(kept: _Kept) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            known = self.path == "/v1/traces" and self.headers["content-type"] == "application/x-protobuf"
            if known:
                kept.append(ExportTraceServiceRequest.FromString(body).SerializeToString())
            self.send_response(200 if known else 404)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def main(protocol: str, path: str) -> None:
    serve = {"grpc": _serve_grpc, "http": _serve_http}[protocol]
    with serve(_Kept(Path(path))) as port:
        print(f"http://127.0.0.1:{port}", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
