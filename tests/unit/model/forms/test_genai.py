"""OpenTelemetry's GenAI messages in the normal form, which is narrower."""

from __future__ import annotations

from typing import Any

from tracetape.model import messages as normal
from tracetape.model.forms import answer_of, genai, request_of

DIGEST = f"sha256:{'0' * 64}"
SCHEMA = {"type": "object", "properties": {"symbol": {"type": "string"}}, "required": ["symbol"]}
CALL = {"type": "tool_call", "id": "call_1", "name": "place_order", "arguments": {"symbol": "ACME"}}
RESULT = {"type": "tool_call_response", "id": "call_1", "response": {"status": "filled"}}
REQUEST: dict[str, Any] = {
    "model": "gpt-5-mini",
    "system_instructions": [{"type": "text", "content": "You are a stock-broker assistant."}],
    "messages": [
        {
            "role": "user",
            "parts": [
                {"type": "text", "content": "Sell ACME, which this chart is of."},
                {"type": "blob", "modality": "image", "mime_type": "image/png", "content": DIGEST},
                {
                    "type": "uri",
                    "modality": "video",
                    "mime_type": "video/mp4",
                    "uri": "https://example.com/a",
                },
                {"type": "file", "modality": "document", "mime_type": None, "file_id": "file-1"},
            ],
        },
        {"role": "assistant", "parts": [{"type": "reasoning", "content": "Hm."}, CALL]},
        {"role": "tool", "parts": [RESULT]},
    ],
    "tools": [{"type": "function", "name": "get_quote", "description": "The last price.", "parameters": SCHEMA}],
    "max_tokens": 200,
}
NORMAL_REQUEST = {
    "model": "gpt-5-mini",
    "messages": [
        {"role": "system", "parts": [{"type": "text", "content": "You are a stock-broker assistant."}]},
        {
            "role": "user",
            "parts": [
                {"type": "text", "content": "Sell ACME, which this chart is of."},
                {"type": "media", "modality": "image", "mime_type": "image/png", "digest": DIGEST},
                {
                    "type": "media",
                    "modality": "video",
                    "mime_type": "video/mp4",
                    "uri": "https://example.com/a",
                },
                {"type": "media", "modality": "document", "mime_type": None, "file_id": "file-1"},
            ],
        },
        {"role": "assistant", "parts": [{"type": "reasoning", "content": "Hm."}, CALL]},
        {"role": "tool", "parts": [RESULT]},
    ],
    "tools": [{"name": "get_quote", "description": "The last price.", "parameters": SCHEMA}],
    "max_tokens": 200,
}
NORMAL_ANSWER: dict[str, Any] = {
    "messages": [{"role": "assistant", "parts": [CALL], "finish_reason": "tool_call"}],
    "model": "gpt-5-mini-2026-09-01",
    "id": "chatcmpl-1",
    "usage": {"input_tokens": 36, "output_tokens": 28},
}


def test_a_request_is_read() -> None:
    assert genai.request(REQUEST) == request_of(REQUEST) == NORMAL_REQUEST


def test_a_request_is_written_as_a_span_has_it() -> None:
    assert genai.raw_request(NORMAL_REQUEST) == REQUEST


def test_an_answer_is_its_messages_and_the_rest_is_told_beside_them() -> None:
    raw = genai.raw_answer(NORMAL_ANSWER)
    assert raw == NORMAL_ANSWER["messages"]
    told = {"model": "gpt-5-mini-2026-09-01", "response_id": "chatcmpl-1", "usage": NORMAL_ANSWER["usage"]}
    assert genai.answer(raw, **told) == NORMAL_ANSWER


def test_what_is_told_beside_an_answer_wins_where_it_is_known() -> None:
    assert genai.answer(NORMAL_ANSWER, model=None, response_id="chatcmpl-2")["model"] == "gpt-5-mini-2026-09-01"
    assert genai.answer(NORMAL_ANSWER, model=None, response_id="chatcmpl-2")["id"] == "chatcmpl-2"


def test_an_answer_in_the_normal_form_is_one() -> None:
    assert answer_of(NORMAL_ANSWER) == NORMAL_ANSWER


def test_parts_of_the_normal_form_are_read_as_they_are() -> None:
    parts = [
        normal.media("image", "image/png", data=DIGEST),
        normal.media("image", None, uri="https://example.com/a"),
        normal.refusal("No."),
        {"type": "unknown", "value": 5},
    ]
    assert genai.parts(parts) == parts


def test_the_results_of_all_instrumentations_are_one_thing() -> None:
    spellings: list[dict[str, Any]] = [
        {"type": "tool_call_response", "id": "call_1", "response": '{"status": "filled"}'},
        {"type": "tool_call_response", "id": "call_1", "name": "place_order", "result": {"status": "filled"}},
        {"type": "tool_result", "tool_use_id": "call_1", "content": '{"status": "filled"}'},
    ]
    for one in spellings:
        assert genai.messages([{"role": "user", "parts": [one]}]) == [{"role": "tool", "parts": [RESULT]}]


def test_parts_that_are_no_objects_are_kept() -> None:
    assert genai.parts(["Hi", 5, {"new": 1}]) == [
        normal.text("Hi"),
        {"type": "unknown", "value": 5},
        {"type": "unknown", "value": {"new": 1}},
    ]
