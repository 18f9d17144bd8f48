"""A broker agent on the OpenAI SDK: model → tool → model, driven by the model's own tool call.

Three functions are marked: `agent` (one turn), `call_model` inside it, and the tool `place_order`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from openai import OpenAI
from openai.types.chat import ChatCompletion

import tracetape

MODEL = "gpt-5-mini"
INSTRUCTIONS = "You are a broker's assistant. Use place_order to trade. quantity is a number of shares."
PLACE_ORDER = {
    "type": "function",
    "function": {
        "name": "place_order",
        "description": "Place a market order.",
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


@dataclass(frozen=True)
class Decision:
    """What one turn of the agent came to: an answer for the user, or a tool to call."""

    answer: str | None = None
    tool: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    call_id: str | None = None


@tracetape.boundary("call_model", kind="llm")
def call_model(model: str, messages: list[dict[str, Any]]) -> ChatCompletion:
    client = OpenAI(
        base_url=os.environ.get("OPENAI_BASE_URL"),
        api_key=os.environ.get("OPENAI_API_KEY", "not-needed-on-loopback"),
        max_retries=0,
    )
    with client:
        completion: ChatCompletion = client.chat.completions.create(
            model=model,
            messages=messages,  # type: ignore[arg-type]
            tools=[PLACE_ORDER],  # type: ignore[list-item]
        )
    return completion


@tracetape.boundary("agent", kind="agent")
def agent(messages: list[dict[str, Any]]) -> Decision:
    """One turn: ask the model, read what it decided."""
    message = call_model(MODEL, messages).choices[0].message
    for call in message.tool_calls or []:
        if call.type == "function":
            arguments = json.loads(call.function.arguments)
            return Decision(tool=call.function.name, arguments=arguments, call_id=call.id)
    return Decision(answer=message.content)


def run_agent(user_message: str, place_order: Callable[..., dict[str, Any]]) -> str | None:
    """The loop: until the model answers in words, do what it asks for."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": INSTRUCTIONS},
        {"role": "user", "content": user_message},
    ]
    for _ in range(5):
        decision = agent(messages)
        if decision.tool is None:
            return decision.answer
        result = place_order(**decision.arguments)
        call = {"name": decision.tool, "arguments": json.dumps(decision.arguments)}
        messages.append(
            {
                "role": "assistant",
                "tool_calls": [{"id": decision.call_id, "type": "function", "function": call}],
            }
        )
        messages.append({"role": "tool", "tool_call_id": decision.call_id, "content": json.dumps(result)})
    return None
