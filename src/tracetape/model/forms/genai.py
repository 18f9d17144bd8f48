"""OpenTelemetry's own GenAI messages, which instrumentations write with liberties.

A request here is what its span says of it: `messages`, `system_instructions`, `tools`, beside the parameters. An
answer is its messages alone: a span says the rest apart (`answer` takes it so), and whatever the normal form has,
these have. The bytes of media are not known: their digest stands where they did.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracetape.model import messages as normal
from tracetape.model.forms import anthropic, gemini, openai_chat, openai_responses, writing
from tracetape.model.forms.shapes import OPTIONS, mapped, mapping, parameters_of, parts_of, string

__all__ = [
    "answer",
    "is_answer",
    "is_request",
    "messages",
    "name",
    "parts",
    "raw_answer",
    "raw_request",
    "request",
    "tools",
]

name = "GenAI"


_APART = OPTIONS | {"model", "messages", "system_instructions", "tools"}


def is_request(raw: Any) -> bool:
    """Messages that all have parts, or instructions under the conventions' word."""
    return isinstance(raw, Mapping) and ("system_instructions" in raw or _are_messages(raw.get("messages")))


def is_answer(raw: Any) -> bool:
    """A list of output messages, or an answer in the normal form."""
    found = raw.get("messages") if isinstance(raw, Mapping) else raw
    return _are_messages(found)


def _are_messages(raw: Any) -> bool:
    return isinstance(raw, list) and bool(raw) and all(isinstance(mapping(one).get("parts"), list) for one in raw)


def request(raw: Mapping[str, Any]) -> normal.Request:
    """Of input messages, with what is told beside them."""
    system = parts(raw.get("system_instructions"))
    head = [normal.message("system", system)] if system else []
    return normal.request(
        raw.get("model"),
        head + messages(raw.get("messages"), split=False),
        tools(raw.get("tools")),
        **parameters_of(raw, {}, _APART),
    )


def answer(raw: Any, **about: Any) -> normal.Answer:
    """Of output messages. about: `model`, `response_id`, `usage`, `reasons`, where they are told beside them."""
    found = raw.get("messages") if isinstance(raw, Mapping) else raw
    reasons = about.pop("reasons", None) or []
    listed = mapped(found)
    if isinstance(raw, Mapping):
        told = {"model": raw.get("model"), "response_id": raw.get("id"), "usage": raw.get("usage")}
        about = told | {key: one for key, one in about.items() if one is not None}
    said = [
        one.get("finish_reason") or (reasons[at] if at < len(reasons) else None) for at, one in enumerate(listed)
    ]
    return normal.answer(messages(listed, split=False), said, **about)


def messages(raw: Any, *, split: bool = True) -> list[normal.Message]:
    """Of input or output messages. split: each tool's result is a message of its own."""
    made = []
    for one in mapped(raw):
        if "parts" not in one and "content" in one:
            made.append(openai_chat.message(one))
        else:
            made.append(normal.message(one.get("role"), parts(one.get("parts")), name=one.get("name")))
    return normal.messages_of(made) if split else made


def parts(raw: Any) -> list[normal.Part]:
    return parts_of(raw, _part)


def _part(one: Any) -> normal.Part:
    if isinstance(one, str):
        return normal.text(one)
    if type(one) is not dict and not isinstance(one, Mapping):
        return normal.other(one)
    kind, content = one.get("type"), one.get("content")
    if kind == "text":
        found = content if content is not None else one.get("text")
        return normal.text(found)
    if kind == "tool_call":
        return normal.tool_call(one.get("id"), one.get("name"), one.get("arguments"))
    if kind == "tool_call_response":
        given = one.get("response", one.get("result"))
        return normal.tool_response(one.get("id"), given, name=one.get("name"), is_error=one.get("is_error"))
    if kind in ("reasoning", "thinking"):
        found = content if content is not None else one.get("thinking")
        return normal.reasoning(found)
    if kind == "blob":
        return normal.media(one.get("modality"), one.get("mime_type"), data=content or one.get("data"))
    if kind == "refusal":
        return normal.refusal(content)
    if kind == "unknown" and "value" in one:
        return {"type": "unknown", "value": one["value"]}
    if kind == "media":
        digest, uri = one.get("digest"), one.get("uri")
        return normal.media(
            one.get("modality"), one.get("mime_type"), data=digest, uri=uri, file_id=one.get("file_id")
        )
    if kind in ("uri", "file"):
        uri = one.get("uri") or (content if kind == "uri" else None)
        return normal.media(one.get("modality"), one.get("mime_type"), uri=uri, file_id=one.get("file_id"))
    if kind in ("tool_use", "tool_result"):
        return anthropic.part(one)
    if kind in ("input_image", "input_file"):
        return openai_responses.part(one)
    if kind in ("image_url", "input_audio"):
        return openai_chat.part(one)
    return normal.other(one)


def tools(raw: Any) -> list[dict[str, Any]]:
    """Definitions in the shape of the conventions, or of a provider."""
    made: list[dict[str, Any]] = []
    for one in mapped(raw):
        if "input_schema" in one:
            made += anthropic.tools([one])
        elif "functionDeclarations" in one or "function_declarations" in one:
            made += gemini.tools([one])
        elif string(one.get("name")) and "function" not in one:
            made.append(normal.tool(one.get("name"), one.get("description"), one.get("parameters")))
        else:
            made += openai_chat.tools([one])
    return made


def raw_request(request: normal.Request) -> dict[str, Any]:
    """`messages`, `system_instructions` and `tools` as a span has them, with the parameters."""
    system, found = writing.instructions(request)
    raw: dict[str, Any] = {"model": request["model"]} if "model" in request else {}
    if system:
        raw["system_instructions"] = _raw_parts(system)
    raw["messages"] = [{**one, "parts": _raw_parts(one["parts"])} for one in found]
    if "tools" in request:
        raw["tools"] = [{"type": "function", **one} for one in request["tools"]]
    return raw | writing.parameters(request, {})


def raw_answer(answer: normal.Answer) -> list[dict[str, Any]]:
    """The output messages."""
    return [{**one, "parts": _raw_parts(one["parts"])} for one in answer["messages"]]


def _raw_parts(found: list[normal.Part]) -> list[Any]:
    return [_raw_media(one) if one["type"] == "media" else dict(one) for one in found]


def _raw_media(one: normal.Part) -> normal.Part:
    about = {"modality": one["modality"], "mime_type": one["mime_type"]}
    if "uri" in one:
        return {"type": "uri", **about, "uri": one["uri"]}
    if "file_id" in one:
        return {"type": "file", **about, "file_id": one["file_id"]}
    return {"type": "blob", **about, **({"content": one["digest"]} if "digest" in one else {})}
