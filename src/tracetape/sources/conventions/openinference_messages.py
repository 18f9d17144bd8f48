"""OpenInference's flattened attributes: `llm.input_messages.0.message.role`, …"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracetape.model import messages as normal
from tracetape.model.forms.shapes import listed, mapped, mapping
from tracetape.sources.conventions.contents import Missing, by_index, is_whole_call
from tracetape.sources.conventions.langchain import fields_of
from tracetape.sources.conventions.observed import CUT, text_value

__all__ = ["documents", "keys_of", "messages", "response_of"]


def keys_of(attributes: Mapping[str, Any], prefix: str, suffix: str) -> list[str]:
    """The keys `prefix N suffix`, by N."""
    found = []
    for key in attributes:
        if key.startswith(prefix) and key.endswith(suffix):
            number = key[len(prefix) : -len(suffix)]
            if number.isdecimal() and len(number) < 6:
                found.append((int(number), key))
    return [key for _, key in sorted(found)]


def messages(attributes: Mapping[str, Any], prefix: str, *, empty: bool = False, first: int = 0) -> Any:
    """The messages under `prefix` in the normal form; [] where there are none; CUT where attributes are missing
    that each of them has. empty: one may be without content. first: where they may begin, beside 0."""
    try:
        return normal.messages_of([_message(fields, empty) for fields in by_index(attributes, prefix, first)])
    except Missing:
        return CUT


def documents(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """The documents under `prefix`: id, content, score, metadata; [] where some are missing."""
    try:
        listed = by_index(attributes, prefix)
    except Missing:
        return []
    return [{key.removeprefix("document."): one for key, one in fields.items()} for fields in listed]


def response_of(raw: Any) -> tuple[str | None, str | None]:
    """The id of the model's answer and the model, where a framework's dump of it has them (LangChain's)."""
    for generations in listed(mapping(raw).get("generations")):
        for one in mapped(generations):
            fields = mapping(fields_of(one.get("message")))
            told = mapping(fields.get("response_metadata"))
            found = told.get("id") or fields.get("id")
            model = told.get("model_name") or told.get("model")
            return (
                found if isinstance(found, str) and not found.startswith(("run-", "lc_run-")) else None,
                model if isinstance(model, str) else None,
            )
    return None, None


def _message(fields: Mapping[str, Any], empty: bool) -> normal.Message:
    inner = {key.removeprefix("message."): value for key, value in fields.items()}
    get = inner.get
    role = text_value(get("role"))
    content = text_value(get("content"))
    if role is None:
        raise Missing
    if role in ("tool", "function"):
        if content is None:
            raise Missing
        response = normal.tool_response(text_value(get("tool_call_id")), content, name=text_value(get("name")))
        return normal.message("tool", [response])
    blocks = [_block(one) for one in by_index(inner, "contents.")]
    parts = [one for one in blocks if one is not None]
    called = text_value(get("tool_call_id"))  # of LiteLLM's Responses, whose calls have the ids of items
    if content is not None and not any(part["type"] == "text" for part in parts):
        parts.append(normal.text(content))
    known = {part["id"] for part in parts if part["type"] == "tool_call"}
    for one in by_index(inner, "tool_calls."):
        call = _call(one)
        if called is not None and sum(key.endswith("function.name") for key in inner) == 1:
            call["id"] = called
        if call["id"] is None or call["id"] not in known:
            parts.append(call)
    if (function := text_value(get("function_call_name"))) is not None:
        parts.append(normal.tool_call(None, function, text_value(get("function_call_arguments_json"))))
    if not parts and not empty:
        raise Missing
    return normal.message(role, parts, name=text_value(get("name")))


def _call(fields: Mapping[str, Any]) -> normal.Part:
    called = text_value(fields.get("tool_call.function.name"))
    arguments = text_value(fields.get("tool_call.function.arguments"))
    if not is_whole_call(called, arguments):
        raise Missing
    return normal.tool_call(text_value(fields.get("tool_call.id")), called, arguments)


def _block(fields: Mapping[str, Any]) -> normal.Part | None:
    kind = text_value(fields.get("message_content.type"))
    if kind == "tool_use" or "tool_call.function.name" in fields:
        return _call(fields)
    if kind in ("reasoning", "thinking"):
        return normal.reasoning(text_value(fields.get("message_content.text")))
    text = text_value(fields.get("message_content.text"))
    if text is not None:
        return normal.text(text)
    url = text_value(fields.get("message_content.image.image.url"))
    if url is not None:
        return normal.media("image", None, uri=url)
    audio = text_value(fields.get("message_content.audio.audio.url"))
    if audio is not None:
        return normal.media("audio", text_value(fields.get("message_content.audio.audio.mime_type")), uri=audio)
    if kind == "text":
        return normal.text("")
    return {"type": kind or "unknown"}
