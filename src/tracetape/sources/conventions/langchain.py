"""LangChain's own objects in the spans of other families: messages, tool messages, documents, generations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tracetape.model import messages as normal
from tracetape.model.forms import anthropic, openai_chat, openai_responses
from tracetape.sources.conventions.errors_in_text import failure_in
from tracetape.sources.conventions.observed import ABSENT, Failure, Observed, loaded

__all__ = ["answered_of", "asked_of", "fields_of", "is_streamed", "message", "tool_message", "with_blocks"]

# Blocks of a message's content that are neither texts nor pictures.
_ITEMS = ("function_call", "reasoning")
_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", *_ITEMS)
# langchain_core's ids of messages: an answer in one piece has its number behind its run's, chunks have not.
_RUN_ID = re.compile(r'"id": ?"(?:lc_)?run-+[0-9a-f]{8}-[0-9a-f-]{27}(-\d+)?"')


def fields_of(value: Any) -> Mapping[str, Any] | None:
    """What a dumped object holds: `{"lc": 1, "kwargs": {…}}`, `{"type": …, "data": {…}}`, or its fields as they
    are."""
    if not isinstance(value, Mapping):
        return None
    for key in ("kwargs", "data"):
        inner = value.get(key)
        if isinstance(inner, Mapping) and ("lc" in value or "type" in value):
            return inner
    return value


def asked_of(raw: Any) -> list[normal.Message]:
    """The messages of a dumped request, `{"messages": [[…]]}`; [] where they are not all there."""
    listed = raw.get("messages") if isinstance(raw, Mapping) else None
    return _messages(listed[0]) if isinstance(listed, list) and len(listed) == 1 else []


def answered_of(raw: Any) -> list[normal.Message]:
    """The messages of a dumped answer, `{"generations": [[{"message": …}]]}`; [] where they are not all there."""
    listed = raw.get("generations") if isinstance(raw, Mapping) else None
    if not isinstance(listed, list) or len(listed) != 1 or not isinstance(listed[0], list):
        return []
    return _messages([one.get("message") if isinstance(one, Mapping) else None for one in listed[0]])


def _messages(listed: Any) -> list[normal.Message]:
    made = [message(one) for one in listed] if isinstance(listed, list) else []
    found = [one for one in made if one is not None]
    return normal.messages_of(found) if len(found) == len(made) else []


def tool_message(made: Observed, value: Any) -> None:
    """Set the result from a ToolMessage: its content, parsed where it is JSON, and whether it is an error."""
    fields = fields_of(value)
    if fields is None or "tool_call_id" not in fields:
        made.result, made.is_whole = normal.response_of(value), False
        return
    call_id = fields.get("tool_call_id")
    if isinstance(call_id, str):
        made.call_id = call_id
    content = fields.get("content")
    if fields.get("status") == "error":
        text = content if isinstance(content, str) else str(content)
        made.failure = made.failure or failure_in(text, certain=True) or Failure(None, text, stands_for=True)
        made.result, made.is_whole = ABSENT, False
        return
    made.result, made.is_whole = normal.response_of(content), False


def message(value: Any) -> normal.Message | None:
    """A message in the normal form; None for what is none."""
    fields = fields_of(value)
    if fields is None or "content" not in fields:
        return None
    role = fields.get("type") or fields.get("role")
    if not isinstance(role, str) and isinstance(value, Mapping):
        role = value.get("type")
    if role == "tool":
        response = normal.tool_response(
            fields.get("tool_call_id"), fields.get("content"), is_error=fields.get("status") == "error"
        )
        return normal.message("tool", [response])
    content = fields.get("content")
    parts = openai_chat.content(content) if not isinstance(content, list) else [_block(one) for one in content]
    calls = fields.get("tool_calls")
    listed = [one for one in calls if isinstance(one, Mapping)] if isinstance(calls, list) else []
    known = {part.get("id") for part in parts if part.get("type") == "tool_call"}
    parts += [
        normal.tool_call(one.get("id"), one.get("name"), one.get("args"))
        for one in listed
        if one.get("id") not in known
    ]
    return normal.message(role, parts, name=fields.get("name"))


def with_blocks(one: normal.Message) -> normal.Message:
    """A message as Traceloop writes it, with the blocks for the texts of JSON that stand for them; a call that is
    there twice is left out."""
    known = {part.get("id") for part in normal.tool_calls_of(one)}
    made: list[normal.Part] = []
    for part in one["parts"]:
        text = part.get("content") if part.get("type") == "text" else None
        block = loaded(text) if isinstance(text, str) and text.startswith('{"') else None
        if not isinstance(block, dict) or block.get("type") not in _BLOCKS:
            made.append(part)
            continue
        found = _block(block)
        if found.get("type") != "tool_call" or found.get("id") not in known:
            made.append(found)
    return {**one, "parts": made}


def is_streamed(text: str) -> bool:
    """Whether the dump of an answer, or of what a node of a graph gave, is of one that came in chunks."""
    found = _RUN_ID.findall(text)
    return bool(found) and not any(found)


def _block(one: Any) -> normal.Part:
    kind = one.get("type") if isinstance(one, Mapping) else None
    if kind in _ITEMS:
        parts = [part for turn in openai_responses.input_messages([one]) for part in turn["parts"]]
        return parts[0] if parts else normal.reasoning("")
    return anthropic.part(one) if kind in _BLOCKS else openai_chat.part(one)
