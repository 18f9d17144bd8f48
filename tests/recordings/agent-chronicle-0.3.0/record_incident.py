"""Records `incident-0001/` with agent-chronicle: see PROVENANCE.md."""

from __future__ import annotations

import json
import sys
from typing import Any

import chronicle  # type: ignore[import-not-found]
from chronicle import boundary


@boundary("agent", kind="llm")  # type: ignore[untyped-decorator]
def agent(messages: list[dict[str, Any]], turn: int) -> dict[str, Any]:
    if turn == 1:
        arguments = {"symbol": "ACME", "quantity": 1000, "side": "sell"}
        return {
            "tool_calls": [{"id": "call_1", "name": "place_order", "arguments": arguments}],
            "completion": None,
            "finish_reason": "tool_calls",
            "model": "gpt-5-mini",
            "usage": {"input_tokens": 31, "output_tokens": 24},
        }
    return {
        "tool_calls": [],
        "completion": "Done: sold 1,000 shares of ACME.",
        "finish_reason": "stop",
        "model": "gpt-5-mini",
        "usage": {"input_tokens": 60, "output_tokens": 12},
    }


@boundary("lookup_price", kind="retrieval")  # type: ignore[untyped-decorator]
def lookup_price(symbol: str) -> float:
    return 190.0


@boundary("place_order", kind="tool")  # type: ignore[untyped-decorator]
def place_order(symbol: str, quantity: int, side: str) -> dict[str, Any]:
    return {"status": "filled", "quantity": quantity, "price": lookup_price(symbol), "notional": quantity * 190.0}


@boundary("notify", kind="tool")  # type: ignore[untyped-decorator]
def notify(text: str) -> None:
    raise TimeoutError("mail server down")


@boundary("confirm", kind="custom")  # type: ignore[untyped-decorator]
def confirm(a: str, b: int) -> str:
    return f"{a} ok"


with chronicle.record(
    "incident-0001", model_version="gpt-5-mini-2026-03", build_id="2026.11.1", export=sys.argv[1]
):
    asked: list[dict[str, Any]] = [{"role": "user", "content": "sell $1,000 of ACME"}]
    order = place_order(**agent(asked, 1)["tool_calls"][0]["arguments"])
    try:
        notify("order filled")
    except TimeoutError:
        pass
    agent([*asked, {"role": "tool", "content": json.dumps(order)}], 2)
    confirm("x", 3)
