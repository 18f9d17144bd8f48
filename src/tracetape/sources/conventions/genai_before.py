"""How the GenAI conventions had messages before 2025: an event for each, or flattened attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracetape.model import messages as normal
from tracetape.model.forms import openai_chat
from tracetape.model.span import Event
from tracetape.sources.conventions import names
from tracetape.sources.conventions.contents import Missing, by_index, is_whole_call
from tracetape.sources.conventions.observed import CUT, loaded_parameter, text_value
from tracetape.sources.formats.otlp_logs import BODY

__all__ = ["choices_in", "flattened", "messages_in"]

_EVENTS = {
    names.SYSTEM_MESSAGE: "system",
    names.USER_MESSAGE: "user",
    names.ASSISTANT_MESSAGE: "assistant",
    names.TOOL_MESSAGE: "tool",
}


def messages_in(events: Sequence[Event]) -> list[normal.Message] | None:
    """Of the events of before 2025: `gen_ai.user.message` and kin, in the provider's shape."""
    found = []
    for event in events:
        role = _EVENTS.get(event.name)
        if role is not None:
            body = _body(event)
            found.append(openai_chat.message({"role": role, "tool_call_id": body.get("id"), **body}))
    return normal.messages_of(found) if found else None


def choices_in(events: Sequence[Event]) -> tuple[list[normal.Message], list[Any]] | None:
    found = [_body(event) for event in events if event.name == names.CHOICE_EVENT]
    if not found:
        return None
    messages = []
    for one in found:
        inner = one.get("message")
        messages.append(
            openai_chat.message({"role": "assistant", **(inner if isinstance(inner, Mapping) else {})})
        )
    return messages, [one.get("finish_reason") for one in found]


def _body(event: Event) -> Mapping[str, Any]:
    """What an event says: the body of a log record; of a span's event its attributes, JSON texts read."""
    body = event.attributes.get(BODY)
    if isinstance(body, Mapping):
        return body
    told = {key.removeprefix(names.EVENT): loaded_parameter(value) for key, value in event.attributes.items()}
    content = told.get(names.EVENT_CONTENT, told.get("content"))
    return content if isinstance(content, Mapping) else told


def flattened(attributes: Mapping[str, Any], prefix: str) -> Any:
    """`gen_ai.prompt.0.role`, `gen_ai.prompt.0.content`, …: messages by index, as families wrote before 2025; []
    where there are none; CUT where attributes are missing that each of them has."""
    try:
        return normal.messages_of([_of_flat(one) for one in by_index(attributes, prefix)])
    except Missing:
        return CUT


def _of_flat(flat: Mapping[str, Any]) -> normal.Message:
    calls = by_index(flat, "tool_calls.")
    if "role" not in flat or any(not is_whole_call(one.get("name"), one.get("arguments")) for one in calls):
        raise Missing
    if flat["role"] in ("user", "system", "tool") and "content" not in flat:
        raise Missing
    content = loaded_parameter(text_value(flat.get("content")))
    raw: dict[str, Any] = {
        "role": flat["role"],
        "content": content if isinstance(content, list) else text_value(flat.get("content")),
        "tool_call_id": flat.get("tool_call_id"),
        "tool_calls": [{"id": one.get("id"), "function": one} for one in calls],
    }
    return openai_chat.message(raw)
