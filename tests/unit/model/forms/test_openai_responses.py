"""OpenAI's Responses in the normal form, with what the form does not know made up in one way."""

from __future__ import annotations

from typing import Any

import pytest

from tracetape.model import messages as normal
from tracetape.model.forms import answer_of, openai_responses, request_of

SCHEMA = {"type": "object", "properties": {"symbol": {"type": "string"}}, "required": ["symbol"]}
CALL = {
    "type": "tool_call",
    "id": "call_ad8e2e7d47e6ba5ab585c908",
    "name": "place_order",
    "arguments": {"symbol": "ACME", "quantity": 1000, "side": "sell"},
}

# A run of openai 3.57.0 against a stand-in for the provider.
REQUEST: dict[str, Any] = {
    "model": "gpt-5-mini",
    "input": [
        {"role": "user", "content": "Sell about $1,000 of ACME stock"},
        {
            "type": "function_call",
            "call_id": "call_ad8e2e7d47e6ba5ab585c908",
            "name": "place_order",
            "arguments": '{"symbol":"ACME","quantity":1000,"side":"sell"}',
        },
        {
            "type": "function_call_output",
            "call_id": "call_ad8e2e7d47e6ba5ab585c908",
            "output": '{"status": "filled", "quantity": 1000}',
        },
    ],
    "instructions": "You are a stock-broker assistant. Use the tools.",
    "max_output_tokens": 200,
    "stream": True,
    "tools": [
        {
            "type": "function",
            "name": "get_quote",
            "description": "The last price.",
            "parameters": SCHEMA,
            "strict": True,
        },
        {"type": "web_search"},
    ],
}
NORMAL_REQUEST = {
    "model": "gpt-5-mini",
    "messages": [
        {
            "role": "system",
            "parts": [{"type": "text", "content": "You are a stock-broker assistant. Use the tools."}],
        },
        {"role": "user", "parts": [{"type": "text", "content": "Sell about $1,000 of ACME stock"}]},
        {"role": "assistant", "parts": [CALL]},
        {
            "role": "tool",
            "parts": [
                {
                    "type": "tool_call_response",
                    "id": "call_ad8e2e7d47e6ba5ab585c908",
                    "response": {"status": "filled", "quantity": 1000},
                }
            ],
        },
    ],
    "tools": [
        {"name": "get_quote", "description": "The last price.", "parameters": SCHEMA},
        {"name": "web_search"},
    ],
    "max_tokens": 200,
}

# A run of openai 3.57.0 against a stand-in for the provider.
ANSWER: dict[str, Any] = {
    "id": "resp_0976130d6b67fdd787979dea",
    "object": "response",
    "created_at": 1790000000,
    "status": "completed",
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "max_output_tokens": None,
    "model": "gpt-5-mini-2026-09-01",
    "output": [
        {
            "id": "msg_fce32764dc03990eda8d6a8a",
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Done.", "annotations": [], "logprobs": []}],
        }
    ],
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
    "usage": {
        "input_tokens": 130,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 65,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 195,
    },
    "metadata": {},
}
NORMAL_ANSWER = {
    "messages": [{"role": "assistant", "parts": [{"type": "text", "content": "Done."}], "finish_reason": "stop"}],
    "model": "gpt-5-mini-2026-09-01",
    "id": "resp_0976130d6b67fdd787979dea",
    "usage": {"input_tokens": 130, "output_tokens": 65},
}
# What no answer in the normal form knows, of the request or of OpenAI's own.
UNKNOWN = ("max_output_tokens", "previous_response_id", "reasoning", "store", "temperature", "text", "top_p")


def written(*parts: normal.Part, **about: Any) -> dict[str, Any]:
    return openai_responses.raw_answer(normal.answer([normal.message("assistant", parts)], **about))


def read(*items: Any) -> list[normal.Message]:
    found: list[normal.Message] = openai_responses.request({"input": list(items)})["messages"]
    return found


def test_a_request_is_read() -> None:
    assert openai_responses.request(REQUEST) == request_of(REQUEST) == NORMAL_REQUEST


def test_an_answer_is_read() -> None:
    assert openai_responses.answer(ANSWER) == answer_of(ANSWER) == NORMAL_ANSWER


def test_a_request_is_written_as_the_sdk_takes_it() -> None:
    said, called, gave = REQUEST["input"]
    assert openai_responses.raw_request(NORMAL_REQUEST) == {
        "model": "gpt-5-mini",
        "instructions": "You are a stock-broker assistant. Use the tools.",
        "input": [
            said,
            {**called, "status": "completed"},
            {**gave, "output": '{"status":"filled","quantity":1000}'},
        ],
        "max_output_tokens": 200,
        "tools": [{**REQUEST["tools"][0], "strict": None}, {"type": "web_search"}],
    }


def test_an_answer_is_written_as_the_provider_sends_it() -> None:
    known = {key: value for key, value in ANSWER.items() if key not in (*UNKNOWN, "truncation")}
    item = {**ANSWER["output"][0], "id": "msg_0976130d6b67fdd787979dea_0"}
    made_up = {"created_at": 0, "output": [item]}
    assert openai_responses.raw_answer(NORMAL_ANSWER) == {**known, **made_up}


def test_items_of_a_turn_have_ids_made_of_the_answer_s() -> None:
    parts = [normal.reasoning("Hm."), normal.text("Well:"), CALL, normal.text("So.")]
    raw = written(*parts, response_id="resp_1")
    assert [(item["type"], item["id"]) for item in raw["output"]] == [
        ("reasoning", "rs_1_0"),
        ("message", "msg_1_1"),
        ("function_call", "fc_1_2"),
        ("message", "msg_1_3"),
    ]
    assert [item["id"] for item in written(*parts)["output"]] == ["rs_0", "msg_1", "fc_2", "msg_3"]


def test_a_call_without_an_id_does_not_get_that_of_its_item() -> None:
    raw = written(normal.tool_call(None, "get_quote", {}), response_id="resp_1")
    assert raw["output"][0]["id"] == "fc_1_0"
    assert openai_responses.answer(raw)["messages"][0]["parts"] == [normal.tool_call(None, "get_quote", {})]


@pytest.mark.parametrize(
    ("reason", "status", "details"),
    [
        (None, "completed", None),
        ("stop", "completed", None),
        ("length", "incomplete", {"reason": "max_output_tokens"}),
        ("content_filter", "incomplete", {"reason": "content_filter"}),
        ("error", "failed", None),
        ("cancelled", "cancelled", None),
        ("a_word_of_tomorrow", "incomplete", {"reason": "a_word_of_tomorrow"}),
    ],
)
def test_why_it_ended_is_a_status(reason: str | None, status: str, details: Any) -> None:
    raw = written(normal.text("Hi"), reasons=[reason])
    assert (raw["status"], raw["incomplete_details"]) == (status, details)
    assert openai_responses.answer(raw)["messages"][0]["finish_reason"] == (reason or "stop")


def test_an_answer_of_which_nothing_is_known_has_what_the_sdk_demands() -> None:
    raw = openai_responses.raw_answer({"messages": []})
    assert {"id": "", "created_at": 0, "model": "", "output": [], "usage": None}.items() <= raw.items()
    assert {"object": "response", "parallel_tool_calls": True, "tool_choice": "auto"}.items() <= raw.items()


def test_items_of_one_turn_of_the_model_are_one_message() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So."}]}
    assert read({"role": "user", "content": "Hi"}, thought, search, said) == [
        normal.message("user", [normal.text("Hi")]),
        normal.message("assistant", [normal.reasoning("Hm."), search, normal.text("So.")]),
    ]


def test_a_turn_is_written_in_its_order_and_its_texts_need_no_ids() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    parts = [normal.reasoning("Hm."), search, normal.text("So."), normal.text("Yes."), normal.refusal("No.")]
    assert openai_responses.raw_request({"messages": [normal.message("assistant", parts)]})["input"] == [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "id": ""},
        search,
        {"role": "assistant", "content": "So."},
        {"role": "assistant", "content": "Yes."},
        {
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "refusal", "refusal": "No."}],
        },
    ]


def test_media_of_each_kind() -> None:
    digest = f"sha256:{'0' * 64}"
    parts = [
        normal.media("image", "image/png", data=digest),
        normal.media("image", None, file_id="file-1"),
        normal.media("document", "application/pdf", data=digest),
        normal.media("document", None, uri="https://example.com/a.pdf"),
        normal.media("document", None, file_id="file-2"),
    ]
    request = {"messages": [normal.message("user", parts)]}
    raw = openai_responses.raw_request(request)
    assert raw["input"][0]["content"] == [
        {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{digest}"},
        {"type": "input_image", "detail": "auto", "file_id": "file-1"},
        {"type": "input_file", "file_data": f"data:application/pdf;base64,{digest}"},
        {"type": "input_file", "file_url": "https://example.com/a.pdf"},
        {"type": "input_file", "file_id": "file-2"},
    ]
    assert openai_responses.request(raw) == request


def test_a_result_of_pictures_stays_one_and_one_of_objects_is_text() -> None:
    pictures = [{"type": "input_image", "image_url": "https://example.com/a.png"}]
    results = [normal.tool_response("call_1", pictures), normal.tool_response("call_2", [{"price": 190}])]
    raw = openai_responses.raw_request({"messages": [normal.message("tool", [one]) for one in results]})
    assert [item["output"] for item in raw["input"]] == [pictures, '[{"price":190}]']


def test_what_is_no_item_is_kept() -> None:
    assert read(5, {"new": 1}, {"type": ["x"]}) == [
        normal.message("user", [{"type": "unknown", "value": 5}]),
        normal.message(
            "assistant", [{"type": "unknown", "value": {"new": 1}}, {"type": "unknown", "value": {"type": ["x"]}}]
        ),
    ]


def test_an_input_may_be_a_text() -> None:
    assert openai_responses.request({"input": "Hi"})["messages"] == [normal.message("user", [normal.text("Hi")])]


def test_the_call_of_a_custom_tool_has_a_text() -> None:
    item = {"type": "custom_tool_call", "call_id": "call_1", "name": "run", "input": "print(1)"}
    assert read(item)[0]["parts"] == [normal.tool_call("call_1", "run", "print(1)")]
