"""What goes to a model or comes back from it, in one form whatever the provider: plain JSON values.

The form is that of OpenTelemetry's GenAI messages (semantic-conventions-genai, `gen_ai.input.messages`), narrowed
so that there is one way to say each thing. Live requests and recorded ones are compared in it.

A message: `{"role": …, "parts": […]}`. Roles: `system`, `developer`, `user`, `assistant`, `tool`; a message of
role `tool` holds one result and nothing else, whatever the provider put it into. Instructions given apart from
the messages come first, as a `system` message. A name is kept (`"name": …`).

Parts:

- `{"type": "text", "content": "…"}`; an empty one is left out
- `{"type": "reasoning", "content": "…"}`; signatures are left out, and an empty one
- `{"type": "refusal", "content": "…"}`
- `{"type": "tool_call", "id": …, "name": …, "arguments": …}`; arguments are parsed, and the text where that is
  no JSON
- `{"type": "tool_call_response", "id": …, "response": …}`; parsed where it is JSON text of an object or array,
  else the text; `"is_error": true` where the provider says so
- `{"type": "media", "modality": …, "mime_type": …}` and `"digest": "sha256:…"` of the bytes, or `"uri"`, or
  `"file_id"`; modalities: `image`, `audio`, `video`, `document`, or None
- any other, as it came; `{"type": "unknown", "value": …}` what has no type, or one of those above without being it

Ids and names are texts, or None.

A request: `{"model": …, "messages": […], "tools": [{"name": …, "description": …, "parameters": …}], …}` and its
parameters under the words of `gen_ai.request.*` (`max_tokens`, `temperature`, `stop_sequences`, …) or their own.
What is absent is left out.

An answer: `{"messages": [one of each choice, with "finish_reason"], "model": …, "id": …, "usage": {…}}`. Reasons:
`stop`, `length`, `tool_call`, `content_filter`, `error`, or the provider's own word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracetape.model.parts import (
    Part,
    arguments_of,
    media,
    other,
    reasoning,
    refusal,
    response_of,
    text,
    tool_call,
    tool_response,
    word,
)

__all__ = [
    "Answer",
    "Message",
    "Part",
    "Request",
    "answer",
    "arguments_of",
    "finish_reason",
    "media",
    "message",
    "messages_of",
    "other",
    "reasoning",
    "refusal",
    "request",
    "response_of",
    "text",
    "text_of",
    "tool",
    "tool_call",
    "tool_calls_of",
    "tool_response",
]

Message = dict[str, Any]
Request = dict[str, Any]
Answer = dict[str, Any]

_ROLES = {
    "model": "assistant",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "human": "user",
    "function": "tool",
    # smolagents
    "tool-call": "assistant",
    "tool-response": "user",
}
_TEXTS = ("text", "reasoning", "refusal")
_REASONS = {
    "tool_calls": "tool_call",
    "tool_use": "tool_call",
    "function_call": "tool_call",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "completed": "stop",
    "STOP": "stop",
    "max_tokens": "length",
    "MAX_TOKENS": "length",
    "max_output_tokens": "length",
    "model_context_window_exceeded": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "refusal": "content_filter",
    "failed": "error",
    "OTHER": "error",
}


TOLD = "the model was told: "
"""Begins a note on an exception that stands for such a text; behind it is the text."""


def message(role: Any, parts: Iterable[Part], *, name: Any = None) -> Message:
    role = word(role) or "user"
    made: Message = {"role": _ROLES.get(role, role), "parts": list(parts)}
    if type(name) is str and name:
        made["name"] = name
    return made


def messages_of(found: Iterable[Message]) -> list[Message]:
    """The same with each tool's result in a message of its own, and without empty texts and empty messages."""
    made: list[Message] = []
    for one in found:
        rest: list[Part] = []
        for part in _filled(one["parts"]):
            if part.get("type") == "tool_call_response":
                made.append({"role": "tool", "parts": [part]})
            else:
                rest.append(part)
        if rest and one["role"] == "tool":
            made.append(_result(rest))
        elif rest:
            made.append({**one, "parts": rest})
    return made


def _filled(parts: Iterable[Part]) -> list[Part]:
    return [part for part in parts if part.get("type") not in _TEXTS or part.get("content")]


def _result(parts: list[Part]) -> Message:
    """What stands bare in a tool's message: its texts are the result."""
    if all(part["type"] == "text" for part in parts):
        return message("tool", [tool_response(None, text_of({"parts": parts}))])
    return message("user", parts)


def tool(name: Any, description: Any, parameters: Any) -> dict[str, Any]:
    found = {
        "name": word(name),
        "description": description if type(description) is str else None,
        "parameters": parameters,
    }
    return {key: one for key, one in found.items() if one is not None}


def request(
    model: Any, messages: Iterable[Message], tools: Iterable[dict[str, Any]] = (), /, **parameters: Any
) -> Request:
    made: Request = {"model": model} if word(model) else {}
    made["messages"] = messages_of(messages)
    listed = list(tools)
    if listed:
        made["tools"] = listed
    for key in sorted(parameters):
        if parameters[key] is not None and key not in ("model", "messages", "tools"):
            made[key] = parameters[key]
    return made


def answer(
    messages: Sequence[Message],
    reasons: Sequence[Any] = (),
    *,
    model: Any = None,
    response_id: Any = None,
    usage: Any = None,
) -> Answer:
    """messages: one of each choice. reasons: why each ended, as the provider says. usage: numbers."""
    choices = []
    for at, one in enumerate(messages):
        parts = _filled(one["parts"])
        reason = finish_reason(reasons[at] if at < len(reasons) else None, parts)
        choices.append({"role": "assistant", "parts": parts, **({"finish_reason": reason} if reason else {})})
    made: Answer = {"messages": choices}
    counts = usage.items() if isinstance(usage, Mapping) else ()
    used = {key: count for key, count in counts if type(count) is int}
    for key, value in (("model", word(model)), ("id", word(response_id)), ("usage", used)):
        if value:
            made[key] = value
    return made


def finish_reason(said: Any, parts: Sequence[Part] = ()) -> str | None:
    """The reason in the normal form. Providers that know none for tool calls (Gemini) say `stop`."""
    if type(said) is not str or not said:
        return None
    reason = _REASONS.get(said, said)
    if reason == "stop" and any(part.get("type") == "tool_call" for part in parts):
        return "tool_call"
    return reason


def text_of(found: Message) -> str | None:
    """The texts of a message, joined; None where it has none."""
    texts = [part["content"] for part in found["parts"] if part.get("type") == "text"]
    return "".join(one for one in texts if type(one) is str) if texts else None


def tool_calls_of(found: Message) -> list[Part]:
    return [part for part in found["parts"] if part.get("type") == "tool_call"]
