"""A chat that streams: tools are called by name, their errors go back to the model as messages."""

from __future__ import annotations

import json
import sys
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import tracetape

CALLS: Counter[str] = Counter()  # what really ran; a replay must leave it as it is
RATES = {"EUR": Decimal("1.10"), "GBP": Decimal("1.30")}
Message = dict[str, Any]

# What the model asks for, turn by turn: the second currency is unknown to the tool, the third tool to everybody.
ASKED: list[tuple[str, dict[str, str]]] = [
    ("convert", {"amount": "80", "currency": "EUR"}),
    ("convert", {"amount": "80", "currency": "JPY"}),
    ("book_table", {"guests": "2"}),
    ("convert", {"amount": "1,250.50", "currency": "GBP"}),
]


@dataclass(frozen=True)
class Chunk:
    text: str = ""
    tool: str = ""
    arguments: str = ""
    ends_call: bool = False


@tracetape.boundary("ask", kind="llm", model=lambda messages, model: model)
def ask(messages: list[Message], model: str) -> Iterator[Chunk]:
    """The model. Behind a tool call it would stream its usage, which nobody reads."""
    CALLS["model"] += 1
    results = [message["content"] for message in messages if message["role"] == "tool"]
    if len(results) == len(ASKED):
        for word in ("In dollars: ", results[0], " for the first, ", results[3], " for the last."):
            yield Chunk(text=word)
        return
    tool, arguments = ASKED[len(results)]
    text = json.dumps(arguments)
    yield Chunk(text="One moment. ")
    yield Chunk(tool=tool, arguments=text[:9])
    yield Chunk(arguments=text[9:], ends_call=True)
    yield Chunk(text="(42 tokens)")


@tracetape.boundary("convert", kind="tool")
def convert(amount: Decimal, currency: str) -> Decimal:
    CALLS["rates"] += 1
    if currency not in RATES:
        raise LookupError(f"no rate for {currency}")
    return (amount * RATES[currency]).quantize(Decimal("0.01"))


TOOLS: dict[str, Callable[..., Any]] = {"convert": convert}


def amount_of(text: str) -> Decimal:
    return Decimal(text.replace(",", ""))


def call_tool(name: str, arguments: str) -> str:
    """What the tool says, an error included: the model is to make the best of it."""
    try:
        given: dict[str, Any] = json.loads(arguments)
        if "amount" in given:
            given["amount"] = amount_of(given["amount"])
        return str(TOOLS[name](**given))
    except Exception as error:
        return f"error: {type(error).__name__}: {error}"


def read_turn(stream: Iterator[Chunk]) -> tuple[str, str, str]:
    """Text, tool, its arguments; not read further than to the end of a tool call."""
    text = tool = arguments = ""
    for chunk in stream:
        text, tool, arguments = text + chunk.text, tool or chunk.tool, arguments + chunk.arguments
        if chunk.ends_call:
            break
    return text, tool, arguments


def run(request: str = "What are 80 euros, 80 yen and 1,250.50 pounds?", model: str = "scripted-1") -> str:
    messages: list[Message] = [{"role": "user", "content": request}]
    for _ in range(8):
        text, tool, arguments = read_turn(ask(messages, model))
        if not tool:
            return text
        call_id = f"call_{uuid.uuid4().hex}"  # this model sends none, and the protocol wants one
        call = {"id": call_id, "function": {"name": tool, "arguments": arguments}}
        messages.append({"role": "assistant", "content": text, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call_id, "content": call_tool(tool, arguments)})
    return "I give up."


if __name__ == "__main__":
    print(run())
    print(f"real calls: {CALLS.total()}", file=sys.stderr)
