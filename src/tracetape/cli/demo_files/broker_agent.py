"""A broker agent: model → tool → model. Its model is a script, so it needs no account and no network."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import tracetape

PRICES = {"ACME": 190.0}
model_requests = 0


@dataclass(frozen=True)
class Decision:
    """What one turn came to: an answer for the user, or a tool to call."""

    answer: str | None = None
    tool: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)


@tracetape.boundary("call_model", kind="llm", model="scripted-1")
def call_model(messages: list[dict[str, str]]) -> dict[str, Any]:
    """Stands in for a model that takes a dollar amount for a number of shares."""
    global model_requests
    model_requests += 1
    last = messages[-1]
    if last["role"] == "tool":
        result = json.loads(last["content"])
        if result.get("blocked"):
            return {"text": f"I did not place the order: {result['reason']}."}
        return {"text": f"Done: sold {result['quantity']:,} shares for ${result['notional']:,.2f}."}
    amount = re.search(r"\$([\d,]+)", last["content"])
    quantity = int(amount[1].replace(",", "")) if amount else 1
    return {"tool": "place_order", "arguments": {"symbol": "ACME", "quantity": quantity, "side": "sell"}}


@tracetape.boundary("agent", kind="agent")
def agent(messages: list[dict[str, str]]) -> Decision:
    """One turn: ask the model, read what it decided."""
    reply = call_model(messages)
    return Decision(reply.get("text"), reply.get("tool"), reply.get("arguments", {}))


@tracetape.boundary("place_order", kind="tool")
def place_order(symbol: str, quantity: int, side: str) -> dict[str, Any]:
    """The broker's API says 200 to any number of shares."""
    notional = quantity * PRICES[symbol]
    return {"status": "filled", "quantity": quantity, "notional": notional}


def run_agent(user_message: str) -> str | None:
    """Until the model answers in words, do what it asks for."""
    messages = [{"role": "user", "content": user_message}]
    while True:
        decision = agent(messages)
        if decision.tool is None:
            return decision.answer
        result = place_order(**decision.arguments)
        messages.append({"role": "tool", "content": json.dumps(result)})


if __name__ == "__main__":
    print(run_agent("Sell about $1,000 of ACME stock"))
