"""Logfire's instrumentations of model SDKs."""

from __future__ import annotations

import ast
import re
from typing import Any

import orjson

from tracetape.model.forms import anthropic
from tracetape.model.messages import Message, Part
from tracetape.model.span import SpanRecord
from tracetape.sources.conventions.contents import strings
from tracetape.sources.conventions.genai import observed_as
from tracetape.sources.conventions.genai_attributes import Around, named_call
from tracetape.sources.conventions.observed import Observed, json_value
from tracetape.sources.conventions.turns import as_turns

__all__ = ["claims", "is_answer", "name", "observe", "owns"]

name = "Logfire"

_BLOCK = re.compile(r"(?:Beta)?(?:Text|ToolUse|Thinking)Block\(.*\)", re.S)
_LONGEST_BLOCK = 1_000_000
# What a block must have, by its type.
_TEXTS = {"text": "text", "tool_use": "name", "thinking": "thinking"}
_SWITCH = "leave scrubbing and OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT as they are by default"


def owns(scope: str) -> bool:
    return scope.startswith("logfire.")


def claims(span: SpanRecord) -> bool:
    return "logfire.msg_template" in span.attributes


def observe(span: SpanRecord, around: Around) -> Observed | None:
    """A call of a model. A streamed one is two spans: the request, and, when the stream has ended, a span without
    duration that has both the request and the answer."""
    call = named_call(span)
    if call is None:
        return None
    made = observed_as(call, span, around, source=name, switch=_SWITCH)
    data = json_value(span.attributes, "request_data")
    if isinstance(data, dict) and data.get("stream") is True:
        made.is_stream = True
    if is_answer(span):
        made.is_stream = True
    if made.inputs is not None and made.kind == "llm":
        made.inputs = {**made.inputs, "messages": [_read(one) for one in made.inputs["messages"]]}
    if span.scope.name == "logfire.openai" and not _is_chat(span):
        as_turns(made)
    return made


def _is_chat(span: SpanRecord) -> bool:
    """Whether it is a chat completion, whose messages are none of items."""
    return (strings(span.attributes, "logfire.msg_template") or span.name).startswith("Chat Completion")


def _read(message: Message) -> Message:
    """It writes objects of Anthropic's SDK that are sent back to the model as their repr."""
    parts = [_block(part) if part.get("type") == "text" else part for part in message["parts"]]
    return {**message, "parts": parts}


def _block(part: Part) -> Part:
    text = part["content"]
    if not isinstance(text, str) or len(text) > _LONGEST_BLOCK or not _BLOCK.fullmatch(text):
        return part
    fields = _literals(text)
    kind = fields.get("type")
    wanted = _TEXTS.get(kind) if isinstance(kind, str) else None
    return part if wanted is None or not isinstance(fields.get(wanted), str) else anthropic.part(fields)


def _literals(text: str) -> dict[str, Any]:
    """The keyword arguments of a repr that are literals; nothing is looked up, nothing is called. {} for what is
    no such repr."""
    try:
        made = ast.parse(text, mode="eval").body
        if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Name) or made.args:
            return {}
        fields = {one.arg: ast.literal_eval(one.value) for one in made.keywords if one.arg is not None}
        found = orjson.loads(orjson.dumps(fields))  # of literals that JSON has
        return found if isinstance(found, dict) else {}
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return {}


def is_answer(span: SpanRecord) -> bool:
    """Whether it is the second of the two."""
    template = strings(span.attributes, "logfire.msg_template") or span.name
    return strings(span.attributes, "logfire.span_type") == "log" and template.startswith(
        "streaming response from"
    )
