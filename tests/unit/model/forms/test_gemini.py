"""Google's generate_content in the normal form, with what the form does not know made up in one way."""

from __future__ import annotations

from typing import Any

import pytest

from tracetape.model import messages as normal
from tracetape.model.forms import answer_of, gemini, request_of

SCHEMA = {"type": "object", "properties": {"symbol": {"type": "string"}}, "required": ["symbol"]}
ARGUMENTS = {"symbol": "ACME", "quantity": 1000, "side": "sell"}
CALL = {
    "type": "tool_call",
    "id": "call_ad8e2e7d47e6ba5ab585c908",
    "name": "place_order",
    "arguments": ARGUMENTS,
}

# A run of google-genai 3.6.1 against a stand-in for the provider.
REQUEST: dict[str, Any] = {
    "contents": [
        {"parts": [{"text": "Sell about $1,000 of ACME stock"}], "role": "user"},
        {
            "parts": [
                {
                    "functionCall": {
                        "id": "call_ad8e2e7d47e6ba5ab585c908",
                        "args": ARGUMENTS,
                        "name": "place_order",
                    }
                }
            ],
            "role": "model",
        },
        {
            "parts": [
                {
                    "functionResponse": {
                        "id": "call_ad8e2e7d47e6ba5ab585c908",
                        "name": "place_order",
                        "response": {"result": {"status": "filled"}},
                    }
                }
            ],
            "role": "user",
        },
    ],
    "systemInstruction": {
        "parts": [{"text": "You are a stock-broker assistant. Use the tools."}],
        "role": "user",
    },
    "tools": [
        {
            "functionDeclarations": [
                {"description": "The last price.", "name": "get_quote", "parameters_json_schema": SCHEMA}
            ]
        }
    ],
    "generationConfig": {"temperature": 0.0, "maxOutputTokens": 200},
}
NORMAL_REQUEST = {
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
                    "response": {"result": {"status": "filled"}},
                }
            ],
        },
    ],
    "tools": [{"name": "get_quote", "description": "The last price.", "parameters": SCHEMA}],
    "max_tokens": 200,
    "temperature": 0.0,
}

# A run of google-genai 3.6.1 against a stand-in for the provider.
ANSWER: dict[str, Any] = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {
                        "functionCall": {
                            "name": "place_order",
                            "args": ARGUMENTS,
                            "id": "call_ad8e2e7d47e6ba5ab585c908",
                        }
                    }
                ],
            },
            "index": 0,
            "finishReason": "STOP",
        }
    ],
    "modelVersion": "gemini-3-flash-001",
    "responseId": "2459256ed6cfc1eb20fa2cab",
    "usageMetadata": {"promptTokenCount": 18, "candidatesTokenCount": 28, "totalTokenCount": 46},
}
NORMAL_ANSWER = {
    "messages": [{"role": "assistant", "parts": [CALL], "finish_reason": "tool_call"}],
    "model": "gemini-3-flash-001",
    "id": "2459256ed6cfc1eb20fa2cab",
    "usage": {"input_tokens": 18, "output_tokens": 28},
}


def test_a_request_is_read() -> None:
    assert gemini.request(REQUEST) == request_of(REQUEST) == NORMAL_REQUEST


def test_an_answer_is_read() -> None:
    assert gemini.answer(ANSWER) == answer_of(ANSWER) == NORMAL_ANSWER


def test_a_request_is_written_as_the_sdk_takes_it() -> None:
    called = {"id": "call_ad8e2e7d47e6ba5ab585c908", "name": "place_order", "args": ARGUMENTS}
    gave = {
        "id": "call_ad8e2e7d47e6ba5ab585c908",
        "name": "place_order",
        "response": {"result": {"status": "filled"}},
    }
    assert gemini.raw_request({"model": "gemini-3-flash", **NORMAL_REQUEST}) == {
        "model": "gemini-3-flash",
        "contents": [
            {"role": "user", "parts": [{"text": "Sell about $1,000 of ACME stock"}]},
            {"role": "model", "parts": [{"function_call": called}]},
            {"role": "user", "parts": [{"function_response": gave}]},
        ],
        "config": {
            "system_instruction": {"parts": [{"text": "You are a stock-broker assistant. Use the tools."}]},
            "tools": [
                {
                    "function_declarations": [
                        {
                            "name": "get_quote",
                            "description": "The last price.",
                            "parameters_json_schema": SCHEMA,
                        }
                    ]
                }
            ],
            "max_output_tokens": 200,
            "temperature": 0.0,
        },
    }


def test_an_answer_is_written_as_the_provider_sends_it() -> None:
    assert gemini.raw_answer(NORMAL_ANSWER) == ANSWER


def test_what_is_not_known_of_an_answer_is_left_out() -> None:
    assert gemini.raw_answer({"messages": []}) == {"candidates": []}


@pytest.mark.parametrize(
    ("reason", "word"),
    [("stop", "STOP"), ("length", "MAX_TOKENS"), ("content_filter", "SAFETY"), ("error", "OTHER"), ("X", "X")],
)
def test_why_it_ended_is_in_google_s_word(reason: str, word: str) -> None:
    raw = gemini.raw_answer(normal.answer([normal.message("assistant", [normal.text("Hi")])], [reason]))
    assert raw["candidates"][0]["finishReason"] == word
    assert gemini.answer(raw)["messages"][0]["finish_reason"] == reason


def test_both_spellings_are_one_request() -> None:
    body = {
        "contents": [{"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "-_8="}}]}],
        "generationConfig": {"candidateCount": 2, "topK": 3, "responseMimeType": "text/plain"},
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        "tools": [{"googleSearch": {}}],
    }
    arguments = {
        "contents": [{"role": "user", "parts": [{"inline_data": {"mime_type": "image/png", "data": "+/8="}}]}],
        "config": {
            "candidate_count": 2,
            "top_k": 3,
            "response_mime_type": "text/plain",
            "tool_config": {"functionCallingConfig": {"mode": "ANY"}},
            "tools": [{"google_search": {}, "function_declarations": None}],
        },
    }
    assert gemini.request(body) == gemini.request(arguments)
    assert gemini.request(body)["tools"] == [{"name": "google_search"}]


def test_bare_parts_together_are_one_message_as_the_sdk_makes_them() -> None:
    call = {"functionCall": {"name": "get_quote", "args": {}}}
    contents = ["Hi", {"text": "there"}, None, {}, call, "So?", 5, {"parts": [{"text": "Well?"}]}]
    found = gemini.request({"contents": contents})
    assert found["messages"] == [
        normal.message("user", [normal.text("Hi"), normal.text("there")]),
        normal.message("assistant", [normal.tool_call(None, "get_quote", {})]),
        normal.message("user", [normal.text("So?"), {"type": "unknown", "value": 5}]),
        normal.message("user", [normal.text("Well?")]),
    ]


def test_a_result_without_an_id_is_told_by_the_tool_s_name() -> None:
    given = {"functionResponse": {"name": "get_quote", "response": {"price": 190}}}
    request = gemini.request({"contents": [{"role": "function", "parts": [given]}]})
    result = {"type": "tool_call_response", "id": None, "response": {"price": 190}, "name": "get_quote"}
    assert request["messages"] == [{"role": "tool", "parts": [result]}]
    assert gemini.raw_request(request)["contents"] == [
        {"role": "user", "parts": [{"function_response": given["functionResponse"]}]}
    ]


def test_a_result_that_is_no_object_is_written_under_result() -> None:
    results = [normal.message("tool", [normal.tool_response(one, one)]) for one in ("a", "b")]
    assert gemini.raw_request({"messages": results})["contents"] == [
        {
            "role": "user",
            "parts": [
                {"function_response": {"id": one, "name": "", "response": {"result": one}}} for one in ("a", "b")
            ],
        }
    ]


def test_a_digest_is_the_address_of_a_file() -> None:
    digest = f"sha256:{'0' * 64}"
    message = normal.message("user", [normal.media(None, "image/png", data=digest)])
    raw = gemini.raw_request({"messages": [message]})
    assert raw["contents"][0]["parts"] == [{"file_data": {"mime_type": "image/png", "file_uri": digest}}]
    assert gemini.request(raw)["messages"] == [message]


def test_thoughts_are_reasoning() -> None:
    message = normal.message("assistant", [normal.reasoning("Hm."), normal.text("So.")])
    raw = gemini.raw_answer({"messages": [message]})
    assert raw["candidates"][0]["content"]["parts"] == [{"text": "Hm.", "thought": True}, {"text": "So."}]


def test_parts_without_a_word_are_kept() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    request = gemini.request({"contents": [{"role": "model", "parts": [code, 5]}]})
    assert request["messages"][0]["parts"] == [{"type": "unknown", "value": value} for value in (code, 5)]
    assert gemini.raw_request(request)["contents"] == [{"role": "model", "parts": [code, 5]}]


def test_google_s_own_tools_stand_beside_functions() -> None:
    tools = [{"name": "get_quote"}, {"name": "google_search"}, {"name": "place_order"}]
    assert gemini.raw_request({"messages": [], "tools": tools})["config"]["tools"] == [
        {"function_declarations": [{"name": "get_quote"}]},
        {"google_search": {}},
        {"function_declarations": [{"name": "place_order"}]},
    ]


def test_a_parameter_under_the_name_of_an_argument_of_ours_is_no_trap() -> None:
    assert gemini.request({"contents": [], "config": {"messages": 1}}) == {"messages": []}
