"""There is one way to say each thing in the normal form."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest

from tracetape.model import messages as normal

BYTES = bytes(range(256))
DIGEST = f"sha256:{hashlib.sha256(BYTES).hexdigest()}"


@pytest.mark.parametrize(
    "data",
    [
        BYTES,
        base64.b64encode(BYTES).decode(),
        base64.urlsafe_b64encode(BYTES).decode(),
        DIGEST,
    ],
    ids=["bytes", "Base64", "Base64 of URLs", "digest"],
)
def test_media_are_known_by_the_digest_of_their_bytes(data: Any) -> None:
    assert normal.media("image", "image/png", data=data)["digest"] == DIGEST


def test_a_data_url_holds_bytes_whatever_it_is_written_in() -> None:
    text = f"sha256:{hashlib.sha256(b'a b').hexdigest()}"
    for url in ("data:text/plain;base64,YSBi", "data:text/plain,a%20b", "data:text/plain;charset=utf-8,a b"):
        assert normal.media(None, None, uri=url) == {
            "type": "media",
            "modality": "document",
            "mime_type": "text/plain",
            "digest": text,
        }


@pytest.mark.parametrize(
    ("given", "mime_type", "modality"),
    [
        ("document", "image/png", "image"),
        (None, "application/pdf", "document"),
        (None, "video/mp4", "video"),
        ("image", None, "image"),
        (None, None, None),
        (["image"], 7, None),
    ],
)
def test_a_modality_is_that_of_the_mime_type(given: Any, mime_type: Any, modality: str | None) -> None:
    assert normal.media(given, mime_type)["modality"] == modality


@pytest.mark.parametrize("given", [None, "", " ", "{}", {}])
def test_no_arguments_are_an_empty_object(given: Any) -> None:
    assert normal.arguments_of(given) == {}


def test_a_result_in_blocks_of_text_is_the_text_also_where_the_blocks_are_text() -> None:
    blocks = '[{"type": "text", "text": "{\\"price\\": "}, {"type": "text", "text": "190}"}]'
    assert normal.response_of(blocks) == {"price": 190}
    assert normal.response_of([{"type": "output_text", "text": blocks}]) == {"price": 190}


@pytest.mark.parametrize("given", ["190", "{no json", [], [1], {"type": "text"}, 5, None, True])
def test_any_other_result_is_as_it_came(given: Any) -> None:
    assert normal.response_of(given) == given


def test_texts_in_a_tool_s_message_are_its_result() -> None:
    found = normal.messages_of([normal.message("tool", [normal.text('{"price":'), normal.text("190}")])])
    assert found == [
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": None, "response": {"price": 190}}]}
    ]


def test_results_stand_alone_and_what_says_nothing_is_left_out() -> None:
    mixed = [normal.text("Here:"), normal.tool_response("call_1", "190"), normal.reasoning(""), normal.text("")]
    assert normal.messages_of([normal.message("user", mixed), normal.message("user", [normal.text("")])]) == [
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": "190"}]},
        {"role": "user", "parts": [{"type": "text", "content": "Here:"}]},
    ]


def test_ids_and_names_are_texts_or_none() -> None:
    assert normal.tool_call(5, "", {}) == {"type": "tool_call", "id": None, "name": None, "arguments": {}}
    assert normal.tool_response("", "190", name="get_quote")["name"] == "get_quote"
    assert "name" not in normal.tool_response("call_1", "190", name="get_quote")


def test_parameters_cannot_take_the_place_of_what_is_asked() -> None:
    assert normal.request("m", [], [], messages=1, model=2, tools=3, seed=4) == {
        "model": "m",
        "messages": [],
        "seed": 4,
    }


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("end_turn", "stop"),
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("model_context_window_exceeded", "length"),
        ("IMAGE_SAFETY", "content_filter"),
        ("failed", "error"),
        ("OTHER", "error"),
        ("pause_turn", "pause_turn"),
        (None, None),
        (["stop"], None),
    ],
)
def test_reasons_are_in_one_word(said: Any, reason: str | None) -> None:
    assert normal.finish_reason(said) == reason


def test_an_answer_that_stopped_to_call_says_so() -> None:
    assert normal.finish_reason("STOP", [normal.tool_call(None, "quote", {})]) == "tool_call"


def test_an_answer_counts_in_numbers() -> None:
    counted = {"input_tokens": 0, "output_tokens": None, "other": True}
    assert normal.answer([], usage=counted, model=5, response_id="") == {
        "messages": [],
        "usage": {"input_tokens": 0},
    }
