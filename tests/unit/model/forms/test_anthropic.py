"""Anthropic's Messages in the normal form, with what the form does not know made up in one way."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from tracetape.model import messages as normal
from tracetape.model.forms import answer_of, anthropic, request_of

SCHEMA = {"type": "object", "properties": {"symbol": {"type": "string"}}, "required": ["symbol"]}
CALL = {
    "type": "tool_call",
    "id": "toolu_ad8e2e7d47e6ba5ab585c908",
    "name": "place_order",
    "arguments": {"symbol": "ACME", "quantity": 1000, "side": "sell"},
}

# A run of anthropic 2.14.0 against a stand-in for the provider.
REQUEST: dict[str, Any] = {
    "max_tokens": 300,
    "messages": [
        {"role": "user", "content": "Sell about $1,000 of ACME stock"},
        {
            "role": "assistant",
            "content": [
                {
                    "signature": "ZmFrZS1zaWduYXR1cmU=",
                    "thinking": "The user wants an order placed.",
                    "type": "thinking",
                },
                {
                    "id": "toolu_ad8e2e7d47e6ba5ab585c908",
                    "input": {"symbol": "ACME", "quantity": 1000, "side": "sell"},
                    "name": "place_order",
                    "type": "tool_use",
                },
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_ad8e2e7d47e6ba5ab585c908",
                    "content": '{"status": "filled", "quantity": 1000}',
                }
            ],
        },
    ],
    "model": "claude-sonnet-5",
    "system": "You are a stock-broker assistant. Use the tools.",
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "tools": [{"name": "get_quote", "description": "The last price.", "input_schema": SCHEMA}],
}
NORMAL_REQUEST = {
    "model": "claude-sonnet-5",
    "messages": [
        {
            "role": "system",
            "parts": [{"type": "text", "content": "You are a stock-broker assistant. Use the tools."}],
        },
        {"role": "user", "parts": [{"type": "text", "content": "Sell about $1,000 of ACME stock"}]},
        {
            "role": "assistant",
            "parts": [{"type": "reasoning", "content": "The user wants an order placed."}, CALL],
        },
        {
            "role": "tool",
            "parts": [
                {
                    "type": "tool_call_response",
                    "id": "toolu_ad8e2e7d47e6ba5ab585c908",
                    "response": {"status": "filled", "quantity": 1000},
                }
            ],
        },
    ],
    "tools": [{"name": "get_quote", "description": "The last price.", "parameters": SCHEMA}],
    "max_tokens": 300,
    "thinking": {"type": "enabled", "budget_tokens": 1024},
}

# A run of anthropic 2.14.0 against a stand-in for the provider.
ANSWER: dict[str, Any] = {
    "id": "msg_17040f4304a7c087b7501415",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-5",
    "content": [
        {
            "type": "thinking",
            "thinking": "The user wants an order placed.",
            "signature": "ZmFrZS1zaWduYXR1cmU=",
        },
        {"type": "text", "text": "Done.", "citations": None},
    ],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 140,
        "output_tokens": 57,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "service_tier": "standard",
    },
}
NORMAL_ANSWER = {
    "messages": [
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "The user wants an order placed."},
                {"type": "text", "content": "Done."},
            ],
            "finish_reason": "stop",
        }
    ],
    "model": "claude-sonnet-5",
    "id": "msg_17040f4304a7c087b7501415",
    "usage": {"input_tokens": 140, "output_tokens": 57},
}


def written(*messages: normal.Message) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = anthropic.raw_request({"messages": list(messages)})["messages"]
    return found


def test_a_request_is_read() -> None:
    assert anthropic.request(REQUEST) == request_of(REQUEST) == NORMAL_REQUEST


def test_an_answer_is_read() -> None:
    assert anthropic.answer(ANSWER) == answer_of(ANSWER) == NORMAL_ANSWER


def test_a_request_is_written_as_the_sdk_takes_it() -> None:
    said, called, gave = REQUEST["messages"]
    thought = {**called["content"][0], "signature": ""}
    result = {**gave["content"][0], "content": '{"status":"filled","quantity":1000}'}
    assert anthropic.raw_request(NORMAL_REQUEST) == {
        **REQUEST,
        "messages": [
            said,
            {"role": "assistant", "content": [thought, called["content"][1]]},
            {"role": "user", "content": [result]},
        ],
    }


def test_an_answer_is_written_as_the_provider_sends_it() -> None:
    thought, said = ANSWER["content"]
    usage = {key: value for key, value in ANSWER["usage"].items() if key != "service_tier"}
    made_up = {"content": [{**thought, "signature": ""}, said], "usage": usage}
    assert anthropic.raw_answer(NORMAL_ANSWER) == {**ANSWER, **made_up}


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("tool_call", "tool_use"),
        ("content_filter", "refusal"),
        ("pause_turn", "pause_turn"),
        ("error", "error"),
    ],
)
def test_why_it_ended_is_in_anthropic_s_word_or_in_ours(reason: str, word: str) -> None:
    raw = anthropic.raw_answer(normal.answer([normal.message("assistant", [normal.text("Hi")])], [reason]))
    assert raw["stop_reason"] == word
    assert anthropic.answer(raw)["messages"][0]["finish_reason"] == reason


def test_a_reason_that_is_not_known_is_that_of_a_complete_answer() -> None:
    answers = [normal.answer([normal.message("assistant", parts)]) for parts in ([CALL], [normal.text("Hi")])]
    assert [anthropic.raw_answer(one)["stop_reason"] for one in answers] == ["tool_use", "end_turn"]


def test_an_answer_of_which_nothing_is_known_has_what_the_sdk_demands() -> None:
    assert anthropic.raw_answer({"messages": []}) == {
        "id": "",
        "type": "message",
        "role": "assistant",
        "model": "",
        "content": [],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 0,
            "output_tokens": 0,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }


def test_results_that_follow_each_other_are_one_message() -> None:
    results = [normal.tool_response("a", "190"), normal.tool_response("b", "no such stock", is_error=True)]
    said = normal.message("user", [normal.text("Well?")])
    assert written(*(normal.message("tool", [one]) for one in results), said) == [
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "190"},
                {
                    "type": "tool_result",
                    "tool_use_id": "b",
                    "content": "no such stock",
                    "is_error": True,
                },
            ],
        },
        {"role": "user", "content": "Well?"},
    ]


def test_a_result_of_pictures_stays_one_and_one_of_objects_is_text() -> None:
    pictures = [{"type": "text", "text": "See:"}, {"type": "image", "source": {"type": "url", "url": "https://a"}}]
    results = [normal.tool_response("a", pictures), normal.tool_response("b", [{"price": 190}])]
    raw = written(*(normal.message("tool", [one]) for one in results))
    assert [block["content"] for block in raw[0]["content"]] == [pictures, '[{"price":190}]']


def test_media_of_each_kind() -> None:
    digest = f"sha256:{'0' * 64}"
    message = normal.message(
        "user",
        [
            normal.media("image", "image/png", data=digest),
            normal.media("image", None, uri="https://example.com/a.png"),
            normal.media("document", "application/pdf", data=digest),
            normal.media("document", None, file_id="file_1"),
        ],
    )
    raw = written(message)
    assert raw[0]["content"] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": digest}},
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": digest}},
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
    ]
    assert anthropic.message(raw[0]) == message


def test_a_document_s_text_is_no_base64() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "abcd"}
    assert anthropic.part({"type": "document", "source": source})["digest"] == (
        f"sha256:{hashlib.sha256(b'abcd').hexdigest()}"
    )


def test_blocks_that_have_no_word_are_as_they_came() -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "ACME"}}
    blocks = {"type": "document", "source": {"type": "content", "content": []}}
    message = anthropic.message({"role": "assistant", "content": [search, blocks, "Hi", 5]})
    assert message["parts"] == [search, blocks, normal.text("Hi"), {"type": "unknown", "value": 5}]
    assert written(message)[0]["content"] == [search, blocks, {"type": "text", "text": "Hi"}, 5]


def test_a_type_that_is_no_text_is_nobody_s() -> None:
    raw = {"messages": [{"role": "user", "content": [{"type": ["tool_use"]}]}]}
    assert not anthropic.is_request(raw)
    assert anthropic.request(raw)["messages"][0]["parts"] == [{"type": "unknown", "value": {"type": ["tool_use"]}}]


def test_a_role_without_a_word_is_written_as_it_is() -> None:
    message = normal.message("developer", [normal.text("Be brief.")])
    assert written(message) == [{"role": "developer", "content": "Be brief."}]
    assert anthropic.message(written(message)[0]) == message
