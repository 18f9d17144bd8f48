"""A broker agent that had OpenInference's spans and no tracetape when it sold too much.

`incident.otlp.jsonl` is that run, as OpenInference's instrumentation of the OpenAI SDK wrote it. Since then two
marks have been put on functions that were there before: `plan` and `place_order`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import tracetape
from tracetape.model.forms import openai_chat

MODEL = "gpt-5-mini"
INSTRUCTIONS = "You are a stock-broker assistant. Use the tools."
PRICES = {"ACME": 190.0}
PLACE_ORDER = {
    "type": "function",
    "function": {
        "name": "place_order",
        "description": "Place a market order. quantity is a number of shares.",
        "parameters": {
            "type": "object",
            "properties": {
                "symbol": {"type": "string"},
                "quantity": {"type": "integer", "description": "number of shares"},
                "side": {"type": "string", "enum": ["buy", "sell"]},
            },
            "required": ["symbol", "quantity", "side"],
        },
    },
}


def as_message(answer: dict[str, Any]) -> dict[str, Any]:
    """What `plan` makes of a model's answer: the message of its first choice."""
    message: dict[str, Any] = openai_chat.raw_answer(answer)["choices"][0]["message"]
    return message


@tracetape.boundary("plan", kind="llm", answer=as_message)
def plan(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """One turn of the model, as a message."""
    from openai import OpenAI

    response = OpenAI().chat.completions.create(
        model=MODEL,
        messages=messages,  # type: ignore[arg-type]
        tools=[PLACE_ORDER],  # type: ignore[list-item]
    )
    return response.choices[0].message.model_dump()


@tracetape.boundary("place_order", kind="tool")
def place_order(symbol: str, quantity: int, side: str, limit: float = 10_000.0) -> dict[str, Any]:
    """Repaired: an order over the limit is not placed."""
    notional = quantity * PRICES[symbol]
    if notional > limit:
        return {"status": "blocked", "reason": f"{notional:,.0f} USD is over the limit of {limit:,.0f} USD"}
    return {"status": "filled", "quantity": quantity, "price": PRICES[symbol], "notional": notional}


TOOLS: dict[str, Callable[..., dict[str, Any]]] = {"place_order": place_order}


def run(request: str) -> str | None:
    """Until the model answers in words, do what it asks for."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": INSTRUCTIONS},
        {"role": "user", "content": request},
    ]
    for _ in range(5):
        message = plan(messages)
        messages.append(message)
        if not message.get("tool_calls"):
            return str(message["content"])
        for call in message["tool_calls"]:
            result = TOOLS[call["function"]["name"]](**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})
    return None
