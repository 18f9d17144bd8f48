"""OpenAI's Chat Completions in the normal form, with what the form does not know made up in one way."""

from __future__ import annotations

import json
from typing import Any

from tracetape.model import messages as normal
from tracetape.model.forms import answer_of, openai_chat, request_of

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PICTURE_DIGEST = "sha256:6b7fa434f92a8b80aab02d9bf1a12e49ffcae424e4013a1c4f68b67e3d2bbcd0"
ARGUMENTS = {"symbol": "ACME", "quantity": 1000, "side": "sell"}
SCHEMA = {"type": "object", "properties": {"symbol": {"type": "string"}}, "required": ["symbol"]}

# A run of openai 3.57.0 against a stand-in for the provider.
REQUEST: dict[str, Any] = {
    "model": "gpt-5-mini",
    "messages": [
        {"role": "system", "content": "You are a stock-broker assistant. Use the tools."},
        {"role": "user", "content": "Sell about $1,000 of ACME stock"},
        {
            "role": "assistant",
            "tool_calls": [
                {
                    "id": "call_ad8e2e7d47e6ba5ab585c908",
                    "function": {
                        "arguments": '{"symbol":"ACME","quantity":1000,"side":"sell"}',
                        "name": "place_order",
                    },
                    "type": "function",
                }
            ],
        },
        {
            "role": "tool",
            "tool_call_id": "call_ad8e2e7d47e6ba5ab585c908",
            "content": '{"status": "filled", "quantity": 1000}',
        },
    ],
    "max_tokens": 200,
    "seed": 7,
    "stop": "END",
    "stream": False,
    "temperature": 0.0,
    "tools": [
        {
            "type": "function",
            "function": {"name": "get_quote", "description": "The last price.", "parameters": SCHEMA},
        }
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
        {
            "role": "assistant",
            "parts": [
                {
                    "type": "tool_call",
                    "id": "call_ad8e2e7d47e6ba5ab585c908",
                    "name": "place_order",
                    "arguments": ARGUMENTS,
                }
            ],
        },
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
    "tools": [{"name": "get_quote", "description": "The last price.", "parameters": SCHEMA}],
    "max_tokens": 200,
    "seed": 7,
    "stop_sequences": ["END"],
    "temperature": 0.0,
}

# A run of openai 3.57.0 against a stand-in for the provider.
ANSWER: dict[str, Any] = {
    "id": "chatcmpl-8840c816da487c39915c06d3",
    "created": 1790000000,
    "model": "gpt-5-mini-2026-09-01",
    "service_tier": "default",
    "system_fingerprint": "fp_fake",
    "object": "chat.completion",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": None,
                "refusal": None,
                "annotations": [],
                "tool_calls": [
                    {
                        "id": "call_ad8e2e7d47e6ba5ab585c908",
                        "type": "function",
                        "function": {
                            "name": "place_order",
                            "arguments": '{"symbol":"ACME","quantity":1000,"side":"sell"}',
                        },
                    }
                ],
            },
            "logprobs": None,
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {
        "prompt_tokens": 36,
        "completion_tokens": 28,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
        "total_tokens": 64,
    },
}
NORMAL_ANSWER = {
    "messages": [
        {
            "role": "assistant",
            "parts": [
                {
                    "type": "tool_call",
                    "id": "call_ad8e2e7d47e6ba5ab585c908",
                    "name": "place_order",
                    "arguments": ARGUMENTS,
                }
            ],
            "finish_reason": "tool_call",
        }
    ],
    "model": "gpt-5-mini-2026-09-01",
    "id": "chatcmpl-8840c816da487c39915c06d3",
    "usage": {"input_tokens": 36, "output_tokens": 28},
}


def one_message(raw: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = openai_chat.request({"messages": [raw]})["messages"][0]
    return found


def written(*parts: normal.Part, **about: Any) -> dict[str, Any]:
    found: dict[str, Any] = openai_chat.raw_answer(normal.answer([normal.message("assistant", parts)], **about))
    return found


def test_a_request_is_read() -> None:
    assert openai_chat.request(REQUEST) == request_of(REQUEST) == NORMAL_REQUEST


def test_an_answer_is_read() -> None:
    assert openai_chat.answer(ANSWER) == answer_of(ANSWER) == NORMAL_ANSWER


def test_a_request_is_written_as_the_sdk_takes_it() -> None:
    raw = openai_chat.raw_request(NORMAL_REQUEST)
    assert raw == {
        "model": "gpt-5-mini",
        "messages": [
            REQUEST["messages"][0],
            REQUEST["messages"][1],
            {"content": None, **REQUEST["messages"][2]},
            {**REQUEST["messages"][3], "content": '{"status":"filled","quantity":1000}'},
        ],
        "tools": REQUEST["tools"],
        "max_completion_tokens": 200,
        "seed": 7,
        "stop": ["END"],
        "temperature": 0.0,
    }


def test_an_answer_is_written_as_the_provider_sends_it() -> None:
    unknown = {"created": 0}
    known = {key: value for key, value in ANSWER.items() if key not in ("service_tier", "system_fingerprint")}
    assert openai_chat.raw_answer(NORMAL_ANSWER) == {**known, **unknown}


def test_writing_makes_up_the_same_each_time() -> None:
    assert json.dumps(openai_chat.raw_answer(NORMAL_ANSWER)) == json.dumps(openai_chat.raw_answer(NORMAL_ANSWER))


def test_a_reason_that_is_not_known_is_that_of_a_complete_answer() -> None:
    assert written(normal.text("Hi"))["choices"][0]["finish_reason"] == "stop"
    assert written(normal.tool_call("call_1", "quote", {}))["choices"][0]["finish_reason"] == "tool_calls"


def test_a_reason_without_a_word_is_written_in_ours() -> None:
    raw = written(normal.text("Hi"), reasons=["error"])
    assert raw["choices"][0]["finish_reason"] == "error"
    assert openai_chat.answer(raw)["messages"][0]["finish_reason"] == "error"


def test_an_answer_of_which_nothing_is_known_has_what_the_sdk_demands() -> None:
    assert openai_chat.raw_answer({"messages": []}) == {
        "id": "",
        "object": "chat.completion",
        "created": 0,
        "model": "",
        "choices": [],
        "usage": None,
    }


def test_texts_of_an_answer_are_one_and_refusals_and_reasoning_stand_apart() -> None:
    raw = written(
        normal.reasoning("Hm."), normal.text("I "), normal.text("will not."), normal.refusal("Not allowed.")
    )
    assert raw["choices"][0]["message"] == {
        "role": "assistant",
        "content": "I will not.",
        "reasoning_content": "Hm.",
        "refusal": "Not allowed.",
        "annotations": [],
    }


def test_what_an_answer_has_beside_texts_is_not_lost() -> None:
    thing = {"type": "thing_of_tomorrow", "held": 1}
    raw = written(normal.text("Look:"), thing)
    assert raw["choices"][0]["message"]["content"] == [{"type": "text", "text": "Look:"}, thing]
    assert openai_chat.answer(raw)["messages"][0]["parts"] == [normal.text("Look:"), thing]


def test_bytes_are_their_digest_which_is_written_where_they_were() -> None:
    url = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}
    read = one_message({"role": "user", "content": [{"type": "text", "text": "What is this?"}, url]})
    picture = {"type": "media", "modality": "image", "mime_type": "image/png", "digest": PICTURE_DIGEST}
    assert read == {"role": "user", "parts": [{"type": "text", "content": "What is this?"}, picture]}
    raw = openai_chat.raw_request({"messages": [read]})["messages"][0]
    assert raw["content"][1]["image_url"] == {"url": f"data:image/png;base64,{PICTURE_DIGEST}"}
    assert one_message(raw) == read


def test_sounds_and_files() -> None:
    sound = {"type": "input_audio", "input_audio": {"data": PICTURE, "format": "wav"}}
    paper = {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PICTURE}", "filename": "a.pdf"}}
    stored = {"type": "file", "file": {"file_id": "file-1"}}
    assert one_message({"role": "user", "content": [sound, paper, stored]})["parts"] == [
        {"type": "media", "modality": "audio", "mime_type": "audio/wav", "digest": PICTURE_DIGEST},
        {"type": "media", "modality": "document", "mime_type": "application/pdf", "digest": PICTURE_DIGEST},
        {"type": "media", "modality": "document", "mime_type": None, "file_id": "file-1"},
    ]


def test_what_has_no_type_or_only_the_name_of_one_of_ours_is_kept_whole() -> None:
    stranger = {"type": "tool_call_response", "of": "another server"}
    read = one_message({"role": "user", "content": [stranger, {"new": 1}, 5]})
    assert read["parts"] == [{"type": "unknown", "value": value} for value in (stranger, {"new": 1}, 5)]
    assert openai_chat.raw_request({"messages": [read]})["messages"][0]["content"] == [stranger, {"new": 1}, 5]


def test_refusals_are_one_thing_wherever_they_stand() -> None:
    inline = one_message({"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]})
    assert inline == one_message({"role": "assistant", "content": None, "refusal": "No."})
    assert inline["parts"] == [{"type": "refusal", "content": "No."}]


def test_a_function_s_result_of_old_says_the_name_of_the_function() -> None:
    read = one_message({"role": "function", "name": "get_quote", "content": "190"})
    assert read["parts"] == [{"type": "tool_call_response", "id": None, "response": "190", "name": "get_quote"}]
    raw = openai_chat.raw_request({"messages": [read]})["messages"]
    assert raw == [{"role": "tool", "tool_call_id": "", "name": "get_quote", "content": "190"}]


def test_a_custom_tool_is_known_by_its_name() -> None:
    assert openai_chat.tools([{"type": "custom", "custom": {"name": "run", "description": "Runs."}}]) == [
        {"name": "run", "description": "Runs."}
    ]


def test_an_extra_body_is_part_of_what_is_asked_and_the_sdk_s_options_are_not() -> None:
    raw = {"messages": [], "extra_body": {"top_k": 5}, "timeout": 3, "extra_headers": {"a": "b"}, "stream": True}
    assert openai_chat.request(raw) == {"messages": [], "top_k": 5}


def test_arguments_that_are_no_json_are_written_as_they_came() -> None:
    raw = written(normal.tool_call("call_1", "quote", '{"symbol": "AC'))
    assert raw["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == '{"symbol": "AC'


def test_arguments_keep_the_letters_of_every_language() -> None:
    raw = written(normal.tool_call("call_1", "quote", {"city": "Zürich"}))
    assert raw["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == '{"city":"Zürich"}'
