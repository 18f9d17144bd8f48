"""A model server on loopback that says what it is scripted to say, and counts what it is asked.

It speaks the OpenAI chat completions API well enough for the real SDK. Its one mistake is the incident:
asked to sell about $1,000 of ACME, it calls place_order with quantity 1000, a number of shares.
"""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


class ModelServer:
    """`with ModelServer() as server:` serves on `server.url`; `server.requests` counts the calls."""

    def __init__(self) -> None:
        self.requests = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                server.requests += 1
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                answer = json.dumps(completion(body, server.requests)).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *args: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def completion(body: dict[str, Any], number: int) -> dict[str, Any]:
    """The answer to a chat completions request: a tool call, or a summary of the tool's result."""
    last = body["messages"][-1]
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None, "annotations": []}
    if last["role"] == "tool":
        message["content"] = summary(json.loads(last["content"]))
        finish = "stop"
    else:
        message["tool_calls"] = [
            {
                "id": f"call_{number:024d}",
                "type": "function",
                "function": {"name": "place_order", "arguments": json.dumps(decision(last["content"]))},
            }
        ]
        finish = "tool_calls"
    words = len(json.dumps(body["messages"]).split())
    return {
        "id": f"chatcmpl-{number:029d}",
        "object": "chat.completion",
        "created": 1_796_000_000,
        "model": f"{body['model']}-2026-09-01",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {"prompt_tokens": words, "completion_tokens": 24, "total_tokens": words + 24},
    }


def decision(user_message: str) -> dict[str, Any]:
    """The bad one: the dollar amount becomes a number of shares."""
    amount = re.search(r"\$([\d,]+)", user_message)
    quantity = int(amount[1].replace(",", "")) if amount else 1
    return {"symbol": "ACME", "quantity": quantity, "side": "sell"}


def summary(result: dict[str, Any]) -> str:
    if result.get("blocked"):
        return f"I did not place the order: {result['reason']}."
    return f"Done: sold {result['quantity']:,} shares of ACME for ${result['notional']:,.2f}."
