"""PydanticAI, of its settings' versions 2 to 6."""

from __future__ import annotations

from tracetape.model.span import SpanRecord
from tracetape.sources.conventions import names
from tracetape.sources.conventions.contents import cut, lack
from tracetape.sources.conventions.genai import observed_as
from tracetape.sources.conventions.genai_attributes import Around, named_call, tool_run
from tracetape.sources.conventions.observed import ABSENT, CUT, Observed, json_value

__all__ = ["claims", "name", "observe", "owns"]

name = "PydanticAI"

_SCOPE = "pydantic-ai"
_SWITCH = "InstrumentationSettings(include_content=True)"


def owns(scope: str) -> bool:
    return scope == _SCOPE


def claims(span: SpanRecord) -> bool:
    return names.AGENT_CALL_ID in span.attributes or "model_request_parameters" in span.attributes


def observe(span: SpanRecord, around: Around) -> Observed | None:
    """A call of a model or a tool; agent runs are structure."""
    attributes = span.attributes
    call = named_call(span)
    if "tool_arguments" in attributes or "tool_response" in attributes or span.name == "running tool":
        return tool_run(
            span,
            source=name,
            switch=_SWITCH,
            arguments=json_value(attributes, "tool_arguments"),
            result=attributes.get("tool_response", ABSENT),
        )
    if call is None:
        return None
    made = observed_as(call, span, around, source=name, switch=_SWITCH)
    if made.kind == "embedding":
        _embedding(made)
    return made


def _embedding(made: Observed) -> None:
    """Its embedder records texts and vectors, where content is on."""
    attributes = made.span.attributes
    texts, vectors = json_value(attributes, "inputs"), json_value(attributes, "embeddings")
    if isinstance(texts, list):
        made.inputs = {"model": made.model, "input": texts}
    if vectors is CUT:
        made.gaps = [cut(made, "output")]
    elif isinstance(vectors, list):
        made.result, made.rank, made.gaps = vectors, 20, []
    elif made.failure is None:
        made.gaps.clear()
        lack(made, "output")
