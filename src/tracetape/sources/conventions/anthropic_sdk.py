"""The spans that Anthropic's SDK writes itself, since 2.0."""

from __future__ import annotations

from tracetape.model.span import SpanRecord
from tracetape.sources.conventions.genai_attributes import Around, model_call, named_call
from tracetape.sources.conventions.observed import Observed

__all__ = ["claims", "name", "observe", "owns"]

name = "Anthropic's SDK"

_SCOPE = "com.anthropic.sdk.python"
_SWITCH = "set ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE=content (metadata is the default)"


def owns(scope: str) -> bool:
    return scope == _SCOPE


def claims(span: SpanRecord) -> bool:
    return "anthropic.request.id" in span.attributes


def observe(span: SpanRecord, around: Around) -> Observed | None:
    """A model call."""
    call = named_call(span)
    if call is None or call[1] != "llm":
        return None
    made = model_call(span, around, source=name, switch=_SWITCH)
    made.rank -= 1  # it stands under the span of whoever else looks at the call
    if made.answer is not None and made.answer["messages"]:
        reason = span.attributes.get("anthropic.message.stop_reason")
        if isinstance(reason, str) and "finish_reason" not in made.answer["messages"][0]:
            from tracetape.model.messages import finish_reason

            first = made.answer["messages"][0]
            first["finish_reason"] = finish_reason(reason, first["parts"])
    return made
