"""Logfire's instrumentations of model SDKs."""

from __future__ import annotations

import ast
import re
from typing import Any

from tracetape.model.messages import Message
from tracetape.model.span import SpanRecord
from tracetape.sources.conventions.contents import strings
from tracetape.sources.conventions.genai import observed_as
from tracetape.sources.conventions.genai_attributes import Around, named_call
from tracetape.sources.conventions.observed import Observed, json_value

__all__ = ["claims", "is_answer", "name", "observe"]

name = "Logfire"

_TEXT_BLOCK = re.compile(
    r"""TextBlock\(citations=None, text=('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"), type='text'.*\)""", re.S
)
_SWITCH = "leave scrubbing and OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT as they are by default"


def claims(span: SpanRecord) -> bool:
    return span.scope.name.startswith("logfire.") or "logfire.msg_template" in span.attributes


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
    return made


def _read(message: Message) -> Message:
    """It writes objects of Anthropic's SDK that are sent back to the model as their repr."""
    parts = [
        {**part, "content": _text_in(part["content"])} if part.get("type") == "text" else part
        for part in message["parts"]
    ]
    return {**message, "parts": parts}


def _text_in(content: Any) -> Any:
    found = _TEXT_BLOCK.fullmatch(content) if isinstance(content, str) else None
    if found is None:
        return content
    try:
        text = ast.literal_eval(found[1])  # a string literal, by the pattern
    except (ValueError, SyntaxError):
        return content
    return text if isinstance(text, str) else content


def is_answer(span: SpanRecord) -> bool:
    """Whether it is the second of the two."""
    template = strings(span.attributes, "logfire.msg_template") or span.name
    return strings(span.attributes, "logfire.span_type") == "log" and template.startswith(
        "streaming response from"
    )
