"""What a call says, which another instrumentation's trace has as a function's arguments do."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from tracetape.codec.registry import CLASS, TAG
from tracetape.model.crossing import Crossing
from tracetape.model.forms import gemini, openai_responses, request_of

__all__ = ["NAMELESS", "asked_in", "compared", "conversation", "instructions", "messages_in", "plain", "said"]

NAMELESS = ("llm", "embedding", "retrieval")
"""Kinds whose calls have no name in a trace: they are told by what they say."""

_ITEMS = ("function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output")
_INSTRUCTING = ("system", "developer")
# Of a prompt that may stand behind a history, and of one that stands alone.
_QUESTIONS = ("prompt", "question", "query", "user_message", "user_input")
_PROMPTS = (*_QUESTIONS, "input", "text", "message")


def compared(crossing: Crossing) -> Any:
    """What calls are compared by with a recorded one of others; None where it has no inputs."""
    if crossing.input is None:
        return None
    return said(crossing.kind, crossing.inputs) if crossing.kind in NAMELESS else plain(dict(crossing.inputs))


def said(kind: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """What is compared of the recorded inputs of a nameless call."""
    if kind == "llm":
        return {"messages": _numbered(conversation(inputs.get("messages")))}
    return {"input": _numbered(asked_in(inputs))}


def _numbered(value: Any) -> Any:
    """Numbers that are equal are the same."""
    if isinstance(value, list):
        return [_numbered(one) for one in value]
    if isinstance(value, dict):
        return {key: _numbered(one) for key, one in value.items()}
    return int(value) if type(value) is float and value.is_integer() else value


def conversation(messages: Any) -> list[dict[str, Any]]:
    """What of messages in the normal form is compared: who said what, the tools asked for, what they gave. Not
    system messages, which many functions add themselves; not ids and reasoning, which many sources lose."""
    made: list[dict[str, Any]] = []
    for one in messages if isinstance(messages, list) else ():
        if one.get("role") in _INSTRUCTING:
            continue
        turn: dict[str, Any] = {"role": one.get("role")}
        for part in one.get("parts", ()):
            kind = part.get("type")
            if kind == "text":
                turn["text"] = turn.get("text", "") + str(part.get("content") or "")
            elif kind == "tool_call":
                call = {"name": part.get("name"), "arguments": part.get("arguments")}
                turn.setdefault("tool_calls", []).append(call)
            elif kind == "tool_call_response":
                turn["response"] = _unwrapped(part.get("response"))
            elif kind != "reasoning":
                turn.setdefault("others", []).append(part)
        made.append(turn)
    return made


def instructions(messages: Any) -> str:
    """What the system messages say."""
    return "\n".join(
        str(part.get("content") or "")
        for one in (messages if isinstance(messages, list) else ())
        if one.get("role") in _INSTRUCTING
        for part in one.get("parts", ())
    )


def _unwrapped(response: Any) -> Any:
    """Gemini takes objects alone: what else a tool gives stands under `result` or `output`."""
    if isinstance(response, dict) and len(response) == 1:
        [(key, inner)] = response.items()
        return inner if key in ("result", "output") else response
    return response


def plain(value: Any) -> Any:
    """A stored value as a trace has it, in plain JSON: of objects their fields, of members of enumerations their
    values; numbers that are equal are the same."""
    if isinstance(value, list):
        return [plain(one) for one in value]
    if type(value) is float and value.is_integer():
        return int(value)
    if not isinstance(value, dict):
        return value
    if TAG not in value:
        return {key: plain(one) for key, one in value.items()}
    fields = value.get("fields")
    if isinstance(fields, dict) and CLASS in value:
        extra = value.get("extra")
        return {key: plain(one) for key, one in {**fields, **(extra if isinstance(extra, dict) else {})}.items()}
    if "items" in value:
        return plain(value["items"])
    if value[TAG] == "Decimal":
        number = Decimal(value["value"])
        return plain(float(number)) if number.is_finite() else value["value"]
    return plain(value.get("value"))


def messages_in(inputs: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The conversation in the arguments of a function, whatever they are called, with a question that is beside it
    behind it, unless it ends in that; None where there is none."""
    nested = [one for holder in inputs.values() if isinstance(holder, Mapping) for one in holder.values()]
    requests = (_request(holder) for holder in (inputs, *inputs.values(), *nested))
    found: list[dict[str, Any]] = next((one["messages"] for one in requests if one and one["messages"]), [])
    texts = {key: one for key, one in inputs.items() if isinstance(one, str)}
    alone = () if found else (*_PROMPTS, *(texts if len(texts) == 1 else ()))
    for key in _QUESTIONS if found else alone:
        if key in texts:
            question = {"role": "user", "parts": [{"type": "text", "content": texts[key]}]}
            return found if found and conversation(found[-1:]) == conversation([question]) else [*found, question]
    return found or None


def _request(holder: Any) -> dict[str, Any] | None:
    if isinstance(holder, Mapping):
        listed = holder.get("messages")
        return gemini.request({"contents": listed}) if _are_contents(listed) else request_of(holder)
    if not isinstance(holder, list) or not holder or not all(isinstance(one, Mapping) for one in holder):
        return None
    if any(one.get("type") in _ITEMS for one in holder):
        return openai_responses.request({"input": holder})
    if _are_contents(holder):
        return gemini.request({"contents": holder})
    return request_of({"messages": holder}) if all("role" in one for one in holder) else None


def _are_contents(listed: Any) -> bool:
    """Whether messages are Gemini's, whose parts do not name their type."""
    if not isinstance(listed, list) or not listed:
        return False
    parts = [one.get("parts") if isinstance(one, Mapping) else None for one in listed]
    typed = (part for some in parts if isinstance(some, list) for part in some if isinstance(part, Mapping))
    return None not in parts and not any("type" in part for part in typed)


def asked_in(inputs: Mapping[str, Any]) -> Any:
    """The texts of an embedding, the query of a retrieval."""
    for key in ("input", "query", "texts", "text", "documents", "contents", "question"):
        if key in inputs:
            found = inputs[key]
            return [found] if isinstance(found, str) else found
    values = list(inputs.values())
    return (
        [values[0]] if len(values) == 1 and isinstance(values[0], str) else values[0] if len(values) == 1 else None
    )
