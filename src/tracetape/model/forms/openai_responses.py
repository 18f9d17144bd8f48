"""OpenAI's Responses.

What it has no word for is written in the normal form's own, which is read back: a role, a tool's result that is a
number. It does not say a message's or a result's name, whether a result is an error, where one message of the
model ends if another follows, a MIME type beside a URL, the URL of a sound, or the modality of a file. An answer
is one message, and the call of a custom tool is a function's. The bytes of media are not known: their digest
stands where they did.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracetape.model import messages as normal
from tracetape.model.forms import openai_chat
from tracetape.model.forms.openai_responses_writing import raw_answer, raw_request
from tracetape.model.forms.shapes import (
    OPTIONS,
    counts_of,
    listed,
    mapped,
    mapping,
    parameters_of,
    parts_of,
    string,
)

__all__ = [
    "answer",
    "input_messages",
    "is_answer",
    "is_request",
    "name",
    "part",
    "raw_answer",
    "raw_request",
    "request",
]

name = "OpenAI responses"

_PARAMETERS = {"max_output_tokens": "max_tokens"}
_APART = OPTIONS | {"model", "input", "instructions", "tools"}
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_RESULTS = ("function_call_output", "custom_tool_call_output")


def is_request(raw: Any) -> bool:
    return isinstance(raw, Mapping) and "input" in raw and "messages" not in raw and "encoding_format" not in raw


def is_answer(raw: Any) -> bool:
    return isinstance(raw, Mapping) and isinstance(raw.get("output"), list) and "choices" not in raw


def request(raw: Mapping[str, Any]) -> normal.Request:
    """Of the arguments of `responses.create`, or the body that it sends."""
    instructions = raw.get("instructions")
    head = [normal.message("system", [normal.text(instructions)])] if isinstance(instructions, str) else []
    return normal.request(
        raw.get("model"),
        head + input_messages(raw.get("input")),
        openai_chat.tools(raw.get("tools")),
        **parameters_of(raw, _PARAMETERS, _APART),
    )


def answer(raw: Mapping[str, Any]) -> normal.Answer:
    """Of a response body: all its items are one choice."""
    parts = [part for one in input_messages(raw.get("output")) for part in one["parts"]]
    reason = raw.get("status")
    if reason == "incomplete":
        reason = mapping(raw.get("incomplete_details")).get("reason") or reason
    return normal.answer(
        [normal.message("assistant", parts)],
        [reason],
        model=raw.get("model"),
        response_id=raw.get("id"),
        usage=counts_of(mapping(raw.get("usage")), "input_tokens", "output_tokens"),
    )


def input_messages(raw: Any) -> list[normal.Message]:
    """Of an `input`: a text, or a list of messages and items. Items of one turn of the model are one message."""
    if isinstance(raw, str):
        return [normal.message("user", [normal.text(raw)])]
    made: list[normal.Message] = []
    turn: list[normal.Part] | None = None
    for one in listed(raw):
        role, parts = _item(one) if isinstance(one, Mapping) else ("user", [part(one)])
        if role != "assistant":
            made.append(normal.message(role, parts))
            turn = None
        elif turn is None:
            turn = list(parts)
            made.append({"role": "assistant", "parts": turn})
        else:
            turn += parts
    return made


def _item(one: Mapping[str, Any]) -> tuple[str, list[normal.Part]]:
    kind = string(one.get("type"))
    if kind in _CALLS:
        return "assistant", [normal.tool_call(_call_id(one), one.get("name"), one.get(_CALLS[kind]))]
    if kind in _RESULTS:
        return "tool", [normal.tool_response(_call_id(one), one.get("output"))]
    if kind == "reasoning":
        texts = [string(part.get("text")) for part in mapped(one.get("summary")) + mapped(one.get("content"))]
        return "assistant", [normal.reasoning(found) for found in texts if found]
    if one.get("type") in (None, "message") and "role" in one:
        role = string(one.get("role")) or "user"
        return role, parts_of(one.get("content"), part)
    return "assistant", [normal.other(one)]


def _call_id(one: Mapping[str, Any]) -> Any:
    """An item has an id of its own, which is the call's where some servers know no other."""
    return one.get("call_id", one.get("id"))


def part(one: Any) -> normal.Part:
    if isinstance(one, Mapping):
        kind = one.get("type")
        if kind == "input_image":
            return normal.media("image", None, uri=one.get("image_url"), file_id=one.get("file_id"))
        if kind == "input_file":
            url = one.get("file_data") or one.get("file_url")
            return normal.media("document", None, uri=url, file_id=one.get("file_id"))
    return openai_chat.part(one)
