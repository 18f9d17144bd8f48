"""Functions marked today are answered from traces of others: tools by name, model calls by what was said."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

import tracetape
from tests.corpus import FOLDER
from tracetape.errors import DivergenceError, PlanError
from tracetape.model.forms import anthropic, openai_chat
from tracetape.replayer.saying import conversation

ASKED = "Sell about $1,000 of ACME stock"
ARGUMENTS: dict[str, Any] = {"symbol": "ACME", "quantity": 1000, "side": "sell"}
FILLED = {"status": "filled", "quantity": 1000, "price": 190.0, "notional": 190000.0}
DONE = "Done. I sold 1,000 shares of ACME at $190.00, for a total of $190,000.00."
USER: list[dict[str, Any]] = [{"role": "user", "content": ASKED}]

SELLS = [
    "openai-official/sell-chat",
    "openai-openinference/sell-chat",
    "openai-openinference/sell-responses-stream",
    "openai-traceloop/sell-responses",
    "anthropic-official/thinking",
    "anthropic-openinference/sell-stream-helper",
    "google-genai-openinference/sell",
    "google-genai-official/sell-stream",
    "langchain-official/agent-sell",
    "langchain-openinference/agent-sell-async",
    "langchain-traceloop/agent-sell",
    "logfire-anthropic/sell",
    "litellm-openinference/sell",
    "openai-agents-openinference/sell-chat",
    "pydantic-ai/sell-chat-v2",
    "stacked/langchain+openai-traceloop",
]


def of(case: str, **more: Any) -> Any:
    return tracetape.replay(FOLDER / f"{case}.otlp.jsonl", traces="all", **more)


def never(*_: Any) -> Any:
    raise AssertionError("the real function ran")


def chat_turn(call: dict[str, Any], result: Any) -> list[dict[str, Any]]:
    function = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "x", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "x", "content": json.dumps(result)},
    ]


CALL: dict[str, Any] = {"name": "place_order", "arguments": ARGUMENTS}

# The second request, as programs of several kinds have it.
SHAPES: dict[str, Any] = {
    "chat": {"messages": [{"role": "system", "content": "any"}, *USER, *chat_turn(CALL, FILLED)]},
    "Anthropic": {
        "history": [
            *USER,
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t", "name": "place_order", "input": ARGUMENTS}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t", "content": json.dumps(FILLED)}],
            },
        ]
    },
    "Responses": {
        "items": [
            *USER,
            {"type": "function_call", "call_id": "c", "name": "place_order", "arguments": json.dumps(ARGUMENTS)},
            {"type": "function_call_output", "call_id": "c", "output": json.dumps(FILLED)},
        ]
    },
    "a request": {"request": {"model": "other", "messages": [*USER, *chat_turn(CALL, FILLED)]}},
    "the normal form": {
        "messages": [
            {"role": "user", "parts": [{"type": "text", "content": ASKED}]},
            {"role": "assistant", "parts": [{"type": "tool_call", "id": None, **CALL}]},
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": None, "response": FILLED}]},
        ]
    },
}


@tracetape.boundary(
    "plan", kind="llm", answer=lambda answer: openai_chat.raw_answer(answer)["choices"][0]["message"]
)
def plan(messages: list[dict[str, Any]], client: object = None) -> dict[str, Any]:
    found: dict[str, Any] = never()
    return found


@tracetape.boundary("place_order", kind="tool")
def place_order(symbol: str, quantity: int, side: str, note: str = "", client: object = None) -> dict[str, Any]:
    return {"status": "blocked", "quantity": quantity}


@pytest.mark.parametrize("case", SELLS)
def test_the_run_of_any_family(case: str) -> None:
    with of(case) as tape:
        first = plan(USER, client=object())
        [call] = first["tool_calls"]
        assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == ("place_order", ARGUMENTS)
        result = place_order(**ARGUMENTS, note="mine", client=object())
        assert result == FILLED
        assert (
            plan([*USER, first, {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)}])[
                "content"
            ]
            == DONE
        )
    assert [step.name for step in tape.report.steps] == ["plan@1", "place_order@1", "plan@2"]
    assert tape.report.divergences == []
    assert tape.report.untouched == []


@pytest.mark.parametrize("shape", SHAPES)
def test_what_was_said_is_found_in_any_shape(shape: str) -> None:
    @tracetape.boundary("answer", kind="llm")
    def answer(**arguments: Any) -> str:
        return str(never())

    with of("openai-openinference/sell-chat") as tape:
        plan(USER)
        place_order(**ARGUMENTS)
        assert answer(**SHAPES[shape]) == DONE
    assert tape.report.divergences == []


def test_what_else_was_said_diverges_with_its_place() -> None:
    with pytest.raises(DivergenceError) as caught, of("openai-official/sell-chat"):
        plan([{"role": "user", "content": "Sell 5 shares"}])
    assert f'$.messages[0].text: recorded "{ASKED}", now "Sell 5 shares"' in str(caught.value)


def test_a_prompt_is_what_the_user_said() -> None:
    @tracetape.boundary("ask", kind="llm")
    def ask(prompt: str, model: str) -> str:
        return str(never())

    with of("openai-openinference/stream-helper"):
        assert ask("Tell me about ACME", "any") == "ACME is a company whose shares last traded at 190.00."


def test_without_a_conversation_calls_are_answered_in_their_order() -> None:
    @tracetape.boundary("step", kind="llm")
    def step(number: int) -> Any:
        return never()

    with of("openai-official/sell-chat"):
        assert step(1)["messages"][0]["parts"][0]["name"] == "place_order"
        place_order(**ARGUMENTS)
        assert step(2)["messages"][0]["parts"] == [{"type": "text", "content": DONE}]


def test_the_providers_response_is_given_where_the_trace_has_it() -> None:
    @tracetape.boundary("ask", kind="llm")
    def ask(messages: list[dict[str, Any]]) -> Any:
        return never()

    with of("openai-openinference/parse-json-schema"):
        raw = ask([{"role": "user", "content": "Extract the order: Sell about $1,000 of ACME stock"}])
    assert raw["object"] == "chat.completion"
    assert raw["choices"][0]["message"]["role"] == "assistant"


def test_a_function_that_gives_a_text_and_an_answer_without_one_is_told() -> None:
    @tracetape.boundary("ask", kind="llm")
    def ask(messages: list[dict[str, Any]]) -> str:
        return str(never())

    with pytest.raises(DivergenceError, match="ask gives a str, and the recorded answer has no text"):
        with of("openai-official/sell-chat"):
            ask(USER)


def test_an_answer_that_cannot_be_made_is_told() -> None:
    @tracetape.boundary("ask", kind="llm", answer=lambda answer: answer["no such key"])
    def ask(messages: list[dict[str, Any]]) -> Any:
        return never()

    with pytest.raises(DivergenceError, match="answer= of ask raised KeyError: 'no such key'"):
        with of("openai-official/sell-chat"):
            ask(USER)


def test_coroutines_and_streams_hand_out_what_they_do() -> None:
    @tracetape.boundary("ask", kind="llm", answer=lambda answer: answer["messages"][0]["parts"][0]["content"])
    async def ask(prompt: str) -> Any:
        return never()

    @tracetape.boundary("stream", kind="llm", answer=lambda answer: answer["messages"][0]["parts"][0]["content"])
    def stream(prompt: str) -> Iterator[str]:
        yield str(never())

    @tracetape.boundary("astream", kind="llm", answer=lambda answer: answer["messages"][0]["parts"][0]["content"])
    async def astream(prompt: str) -> AsyncIterator[str]:
        yield str(never())

    async def all_of(prompt: str) -> list[str]:
        return [one async for one in astream(prompt)]

    said = "ACME is a company whose shares last traded at 190.00."
    for case in ("openai-openinference/stream-helper", "openai-traceloop/raw-response"):
        prompt = "Tell me about ACME" if "stream" in case else "Tell me about BETA"
        expected = said if "stream" in case else "BETA is a company whose shares last traded at 12.50."
        with of(case):
            assert asyncio.run(ask(prompt)) == expected
        with of(case):
            assert list(stream(prompt)) == [expected]
        with of(case):
            assert asyncio.run(all_of(prompt)) == [expected]


def test_plans_mean_a_call_by_either_name() -> None:
    for name in ("plan", "chat"):
        with of("openai-official/sell-chat", plan=None) as tape:
            plan(USER)
            place_order(**ARGUMENTS)
            plan(SHAPES["chat"]["messages"])
        assert tape.report.divergences == []
        patched = tracetape.ReplayPlan().patch(name, 1, {"content": "no"})
        with of("openai-official/sell-chat", plan=patched):
            assert plan(USER) == {"content": "no"}
    with pytest.raises(PlanError, match="the plan names paln"):
        of("openai-official/sell-chat", live=["paln"])


def test_a_live_tool_is_the_cut_as_ever() -> None:
    with of("openai-official/sell-chat", live=["place_order"]) as tape:
        plan(USER)
        blocked = place_order(**ARGUMENTS)
        assert plan([*USER, *chat_turn(CALL, blocked)])["content"] == DONE
    assert tape["plan", 2].stale
    assert tape.report.divergences == []


def test_errors_come_back() -> None:
    with of("openai-openinference/error-500"), pytest.raises(Exception, match="Error code: 500"):
        plan([{"role": "user", "content": "please fail [[500]]"}])
    with of("anthropic-openinference/tool-raises"):
        plan([{"role": "user", "content": "Sell 5 shares of HALTED"}])
        with pytest.raises(Exception, match="trading in HALTED is suspended"):
            place_order("HALTED", 5, "sell")
        told = {
            "role": "user",
            "content": [{"type": "tool_result", "content": "Error: trading in HALTED is suspended"}],
        }
        call = {
            "type": "tool_use",
            "name": "place_order",
            "input": {"symbol": "HALTED", "quantity": 5, "side": "sell"},
        }
        plan(
            [
                {"role": "user", "content": "Sell 5 shares of HALTED"},
                {"role": "assistant", "content": [call]},
                told,
            ]
        )


def test_embeddings_are_found_by_their_texts() -> None:
    @tracetape.boundary("embed", kind="embedding")
    def embed(texts: list[str]) -> Any:
        return never()

    with of("openai-openinference/embeddings"):
        assert len(embed(["ACME stock", "BETA stock"])["data"]) == 2
        assert len(embed(["GAMMA stock"])["data"]) == 1


def test_objects_of_sdks_among_messages_are_read_by_their_fields() -> None:
    @dataclass
    class Function:
        name: str
        arguments: str

    @dataclass
    class ToolCall:
        id: str
        function: Function
        type: str = "function"

    @dataclass
    class Message:
        role: str
        content: str | None = None
        tool_calls: list[ToolCall] = field(default_factory=list)

    asked = Message("assistant", tool_calls=[ToolCall("c", Function("place_order", json.dumps(ARGUMENTS)))])
    with of("openai-official/sell-chat") as tape:
        plan(USER)
        place_order(**ARGUMENTS)
        messages: list[Any] = [*USER, asked, {"role": "tool", "tool_call_id": "c", "content": json.dumps(FILLED)}]
        assert plan(messages)["content"] == DONE
    assert tape.report.divergences == []


def test_a_tool_that_gives_a_text_gets_one() -> None:
    @tracetape.boundary("place_order", kind="tool")
    def as_text(symbol: str, quantity: int, side: str) -> str:
        return str(never())

    with of("openai-official/sell-chat"):
        plan(USER)
        assert json.loads(as_text(**ARGUMENTS)) == FILLED
        plan(SHAPES["chat"]["messages"])


def test_a_recorded_call_that_nobody_makes_is_missing() -> None:
    with pytest.raises(DivergenceError, match="place_order@1"):
        with of("openai-official/sell-chat"):
            plan(USER)
            plan(SHAPES["chat"]["messages"])


def test_a_conversation_is_compared_without_what_sources_lose() -> None:
    block = anthropic.request(
        {
            "system": "be brief",
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
                {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]},
            ],
        }
    )
    assert conversation(block["messages"]) == [{"role": "user", "text": "ab"}, {"role": "assistant"}]
    assert conversation(None) == []
