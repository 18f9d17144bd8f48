"""Servers on loopback that count what they were asked."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Counting:
    """`address` is `host:port`; `asked` counts the requests."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.asked = 0

    @property
    def url(self) -> str:
        return f"http://{self.address}/"

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])


@contextlib.contextmanager
def http_server() -> Iterator[Counting]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # keeps connections alive

        def do_GET(self) -> None:
            counting.asked += 1
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *arguments: object) -> None: ...

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *arguments: object) -> None:
            """A client that halts leaves without a word."""

    server = Server(("127.0.0.1", 0), Handler)
    counting = Counting(f"127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield counting
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def grpc_server() -> Iterator[Counting]:
    """Echoes on /echo/Once (one to one) and on /echo/Stream (one to many)."""
    from concurrent.futures import ThreadPoolExecutor

    import grpc

    def once(request: bytes, context: object) -> bytes:
        counting.asked += 1
        return request

    def stream(request: bytes, context: object) -> Iterator[bytes]:
        counting.asked += 1
        yield request

    server = grpc.server(ThreadPoolExecutor(2))
    handlers = {
        "Once": grpc.unary_unary_rpc_method_handler(once),
        "Stream": grpc.unary_stream_rpc_method_handler(stream),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("echo", handlers),))
    counting = Counting(f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}")
    server.start()
    try:
        yield counting
    finally:
        server.stop(None)
