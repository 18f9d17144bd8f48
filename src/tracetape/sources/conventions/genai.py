"""The GenAI conventions as OpenTelemetry's own instrumentations write them."""

from __future__ import annotations

from tracetape.model.span import SpanRecord
from tracetape.sources.conventions import names
from tracetape.sources.conventions.genai_attributes import Around, model_call, named_call, tool_run
from tracetape.sources.conventions.memories import embedding, memory, retrieval
from tracetape.sources.conventions.observed import Observed

__all__ = ["OFFICIAL", "claims", "name", "observe", "owns"]

name = "OpenTelemetry's GenAI instrumentation"

OFFICIAL = (
    "opentelemetry.instrumentation.genai.",
    "opentelemetry.instrumentation.google_genai",
    "opentelemetry.instrumentation.openai_v2",
)
"""Beginnings of the scopes."""

_SWITCH = (
    "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT to SPAN_ONLY, SPAN_AND_EVENT, or EVENT_ONLY with the "
    "log events kept beside the spans (true is no valid value; NO_CONTENT is the default)"
)
_OLD_SWITCH = (
    "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true, and keep the log events beside the spans"
)


def owns(scope: str) -> bool:
    return scope.startswith(OFFICIAL)


def claims(span: SpanRecord) -> bool:
    return names.OPERATION_NAME in span.attributes


def observe(span: SpanRecord, around: Around) -> Observed | None:
    """A call of a model, a tool, a retrieval or a memory; None for agents and workflows."""
    call = named_call(span)
    if call is None:
        return None
    old = span.scope.name == "opentelemetry.instrumentation.openai_v2"
    switch = _OLD_SWITCH if old else _SWITCH
    return observed_as(call, span, around, source=name, switch=switch)


def observed_as(call: tuple[str, str], span: SpanRecord, around: Around, *, source: str, switch: str) -> Observed:
    """The same for a family that differs by its switch alone."""
    operation, kind = call
    if kind == "llm":
        return model_call(span, around, source=source, switch=switch)
    if kind == "tool":
        return tool_run(span, source=source, switch=switch)
    if kind == "embedding":
        return embedding(span, source=source)
    make = retrieval if kind == "retrieval" else memory
    return make(span, operation, source=source, switch=switch)
