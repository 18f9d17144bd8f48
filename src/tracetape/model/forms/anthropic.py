"""Anthropic's Messages.

What it has no word for is written in the normal form's own, which is read back: a role (`developer`), a finish
reason (`error`), arguments that are no object. It does not say a message's name, a result's name, a MIME type
beside a URL, or a modality other than `image` or `document`; a refusal is a text, an answer is one message. The
bytes of media are not known: their digest stands where they did.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracetape.model import messages as normal
from tracetape.model.forms import writing
from tracetape.model.forms.shapes import OPTIONS, counts_of, mapped, mapping, parameters_of, parts_of, string

__all__ = [
    "answer",
    "is_answer",
    "is_request",
    "message",
    "name",
    "part",
    "raw_answer",
    "raw_request",
    "request",
    "tools",
]

name = "Anthropic"

_APART = OPTIONS | {"model", "messages", "system", "tools"}
_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_call": "tool_use", "content_filter": "refusal"}
_IN_RESULTS = ("text", "image", "document", "search_result", "tool_reference")
_SOURCES = ("base64", "text", "url", "file", None)
_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})


def is_request(raw: Any) -> bool:
    """`system` apart, blocks of Anthropic's, or tools with an `input_schema`; else it may be any provider's."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get("messages"), list):
        return False
    if (
        "system" in raw
        or "anthropic_version" in raw
        or any("input_schema" in one for one in mapped(raw.get("tools")))
    ):
        return True
    blocks = [block for one in mapped(raw["messages"]) for block in mapped(one.get("content"))]
    return any(string(block.get("type")) in _BLOCKS or "source" in block for block in blocks)


def is_answer(raw: Any) -> bool:
    return isinstance(raw, Mapping) and isinstance(raw.get("content"), list) and raw.get("type") == "message"


def request(raw: Mapping[str, Any]) -> normal.Request:
    """Of the arguments of `messages.create`, or the body that it sends."""
    system = parts_of(raw.get("system"), part)
    head = [normal.message("system", system)] if system else []
    return normal.request(
        raw.get("model"),
        [*head, *(message(one) for one in mapped(raw.get("messages")))],
        tools(raw.get("tools")),
        **parameters_of(raw, {}, _APART),
    )


def answer(raw: Mapping[str, Any]) -> normal.Answer:
    """Of a response body."""
    return normal.answer(
        [message({"role": "assistant", "content": raw.get("content")})],
        [raw.get("stop_reason")],
        model=raw.get("model"),
        response_id=raw.get("id"),
        usage=counts_of(mapping(raw.get("usage")), "input_tokens", "output_tokens"),
    )


def message(raw: Mapping[str, Any]) -> normal.Message:
    """One message: content as text or as blocks."""
    return normal.message(raw.get("role"), parts_of(raw.get("content"), part))


def part(one: Any) -> normal.Part:
    if isinstance(one, str):
        return normal.text(one)
    if not isinstance(one, Mapping):
        return normal.other(one)
    kind = one.get("type")
    if kind == "text":
        return normal.text(one.get("text"))
    if kind == "tool_use":
        return normal.tool_call(one.get("id"), one.get("name"), one.get("input"))
    if kind == "tool_result":
        return normal.tool_response(one.get("tool_use_id"), one.get("content"), is_error=one.get("is_error"))
    if kind == "thinking":
        return normal.reasoning(one.get("thinking"))
    if kind in ("image", "document"):
        source = mapping(one.get("source"))
        if source and source.get("type") in _SOURCES:
            return _media(kind, source)
    return normal.other(one)


def _media(kind: str, source: Mapping[str, Any]) -> normal.Part:
    data = source.get("data")
    if source.get("type") == "text" and isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    return normal.media(
        kind, source.get("media_type"), data=data, uri=source.get("url"), file_id=source.get("file_id")
    )


def tools(raw: Any) -> list[dict[str, Any]]:
    """Definitions."""
    return [
        normal.tool(one.get("name"), one.get("description"), one.get("input_schema", one.get("parameters")))
        for one in mapped(raw)
    ]


def raw_request(request: normal.Request) -> dict[str, Any]:
    """The arguments of `messages.create`.

    Results of tools that follow each other are one message of the user's: Anthropic takes them in no other way.
    `max_tokens`, which the SDK demands, is not made up.
    """
    system, messages = writing.instructions(request)
    raw: dict[str, Any] = {"model": request["model"]} if "model" in request else {}
    if system:
        raw["system"] = _raw_content(system)
    raw["messages"] = []
    results: list[Any] | None = None
    for one in messages:
        if one["role"] != "tool":
            raw["messages"].append({"role": one["role"], "content": _raw_content(one["parts"])})
            results = None
        elif results is None:
            results = _raw_parts(one["parts"])
            raw["messages"].append({"role": "user", "content": results})
        else:
            results += _raw_parts(one["parts"])
    if "tools" in request:
        raw["tools"] = [_raw_tool(one) for one in request["tools"]]
    return raw | writing.parameters(request, {})


def raw_answer(answer: normal.Answer) -> dict[str, Any]:
    """A response body, of the first choice. A usage that is not known is one of zeros: the SDK demands one."""
    message = answer["messages"][0] if answer["messages"] else normal.message("assistant", [])
    given, made = writing.counts(answer)
    return {
        "id": answer.get("id", ""),
        "type": "message",
        "role": "assistant",
        "model": answer.get("model", ""),
        "content": [
            block | {"citations": None} if one["type"] in ("text", "refusal") else block
            for one, block in zip(message["parts"], _raw_parts(message["parts"]), strict=True)
        ],
        "stop_reason": writing.reason(message, _REASONS),
        "stop_sequence": None,
        "usage": {
            "input_tokens": given,
            "output_tokens": made,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }


def _raw_content(parts: list[normal.Part]) -> str | list[Any]:
    text = writing.only_text(parts)
    return _raw_parts(parts) if text is None else text


def _raw_parts(parts: list[normal.Part]) -> list[Any]:
    return [_raw_part(one) for one in parts]


def _raw_part(one: normal.Part) -> Any:
    kind = one["type"]
    if kind in ("text", "refusal"):
        return {"type": "text", "text": one["content"]}
    if kind == "reasoning":
        return {"type": "thinking", "thinking": one["content"], "signature": ""}
    if kind == "tool_call":
        return {"type": "tool_use", "id": one["id"] or "", "name": one["name"] or "", "input": one["arguments"]}
    if kind == "tool_call_response":
        result = {"type": "tool_result", "tool_use_id": one["id"] or ""}
        if one["response"] is not None:
            result["content"] = writing.response_text(one["response"], _IN_RESULTS)
        return result | ({"is_error": True} if "is_error" in one else {})
    if kind == "media":
        return {"type": "image" if one["modality"] == "image" else "document", "source": _raw_source(one)}
    return writing.raw_part(one)


def _raw_source(one: normal.Part) -> dict[str, Any]:
    if "uri" in one:
        return {"type": "url", "url": one["uri"]}
    if "file_id" in one:
        return {"type": "file", "file_id": one["file_id"]}
    held = {"data": one["digest"]} if "digest" in one else {}
    return {"type": "base64", "media_type": one["mime_type"], **held}


def _raw_tool(one: dict[str, Any]) -> dict[str, Any]:
    words = {"parameters": "input_schema"}
    return {words.get(key, key): value for key, value in one.items()}
