"""OpenInference's spans of tools, which hold what each framework hands to a tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracetape.model import messages as normal
from tracetape.model.span import SpanRecord
from tracetape.sources.conventions.contents import strings
from tracetape.sources.conventions.errors_in_text import failure_in
from tracetape.sources.conventions.genai_attributes import tool_run
from tracetape.sources.conventions.langchain import tool_message
from tracetape.sources.conventions.observed import (
    ABSENT,
    CUT,
    REDACTED,
    Failure,
    Observed,
    json_value,
    text_value,
)

__all__ = ["tool_of"]

_KEYWORDS_ALONE = ("openinference.instrumentation.llama_index", "openinference.instrumentation.dspy")
# Frameworks' own: what they end a run with.
_OWN_TOOLS = {"openinference.instrumentation.smolagents": ("final_answer", "FinalAnswerTool")}
# What instrumentations put around the arguments of a tool.
_WRAPPED = {"args", "kwargs", "sanitize_inputs_outputs"}


def tool_of(span: SpanRecord, *, source: str, switch: str) -> Observed | None:
    """A span of kind TOOL; None for a framework's own."""
    attributes = span.attributes
    called = strings(attributes, "tool.name", "tool_call.function.name")
    if called is None:
        called = span.name.removesuffix(".run").removesuffix(".__call__").removesuffix(".acall")
    if called in _OWN_TOOLS.get(span.scope.name, ()):
        return None
    given, found = _arguments(span), attributes.get("output.value", ABSENT)
    made = tool_run(span, source=source, switch=switch, name=called, arguments=given, result=found)
    made.call_id = made.call_id or strings(attributes, "tool_call.id", "tool.id")
    result = made.result
    if made.failure is not None:
        if result is not ABSENT:
            made.failure = made.failure._replace(stands_for=True)
    elif isinstance(result, Mapping):
        if {"raw_output", "tool_name", "is_error"} <= set(result):
            _of_llama_index(made, result)
        elif (result.get("type") == "tool" and "data" in result) or {"tool_call_id", "content"} <= set(result):
            tool_message(made, result)
    elif isinstance(result, str):
        made.failure = _replaced(result, span)
    return made


def _arguments(span: SpanRecord) -> Any:
    attributes = span.attributes
    given = json_value(attributes, "input.value")
    if given is ABSENT:
        return json_value(attributes, "tool.parameters") if "tool.json_schema" in attributes else ABSENT
    if given is REDACTED:
        return ABSENT
    if given is CUT:
        text = text_value(attributes["input.value"]) or ""
        return CUT if text[:1] in ("{", "[") else text
    if not isinstance(given, Mapping) or "kwargs" not in given or not set(given) <= _WRAPPED:
        return given
    if "args" not in given and not span.scope.name.startswith(_KEYWORDS_ALONE):
        return given  # the only parameter of a function may be called so
    positional = given["args"] if isinstance(given.get("args"), list) else []
    named = given["kwargs"] if isinstance(given["kwargs"], Mapping) else {}
    names = _parameters(attributes)
    return {**{names.get(at, f"arg{at}"): one for at, one in enumerate(positional)}, **named}


def _parameters(attributes: Mapping[str, Any]) -> dict[int, str]:
    """The names of a tool's parameters by position, where the span has them."""
    found = json_value(attributes, "tool.parameters")
    if isinstance(found, Mapping) and isinstance(found.get("properties"), Mapping):
        found = found["properties"]
    return dict(enumerate(found)) if isinstance(found, Mapping) else {}


def _of_llama_index(made: Observed, output: Mapping[str, Any]) -> None:
    """A ToolOutput: `raw_output` is what the function gave, the blocks are its text for the model."""
    if output["is_error"] is True:
        text = normal.response_of(output.get("blocks"))
        text = text if isinstance(text, str) else str(output["raw_output"])
        made.failure = failure_in(text, certain=True) or Failure(None, text, stands_for=True)
        made.result, made.is_whole = ABSENT, False
        return
    made.result = output["raw_output"]


def _replaced(text: str, span: SpanRecord) -> Failure | None:
    """Frameworks tell the model of an exception, and the span of nothing."""
    return failure_in(text) if span.status.code != "OK" or text.startswith("An error occurred while") else None
