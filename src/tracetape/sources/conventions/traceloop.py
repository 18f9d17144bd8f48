"""Traceloop's OpenLLMetry: instrumentations as well as decorators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracetape.model.span import SpanRecord
from tracetape.sources.conventions import names
from tracetape.sources.conventions.contents import lack, strings
from tracetape.sources.conventions.genai import OFFICIAL, observed_as
from tracetape.sources.conventions.genai_attributes import Around, named_call, tool_run
from tracetape.sources.conventions.langchain import is_streamed, tool_message, with_blocks
from tracetape.sources.conventions.observed import (
    ABSENT,
    CUT,
    Failure,
    Observed,
    failure_of,
    json_value,
    loaded,
    text_value,
)
from tracetape.sources.conventions.turns import as_turns

__all__ = ["claims", "name", "observe", "owns"]

name = "Traceloop"

_SWITCH = "set TRACELOOP_TRACE_CONTENT=true (the default)"
_SCOPE = "opentelemetry.instrumentation."
_LANGCHAIN = "opentelemetry.instrumentation.langchain"
_MCP = "opentelemetry.instrumentation.mcp"


def owns(scope: str) -> bool:
    """It begins as the official ones do."""
    return scope == "traceloop.tracer" or (scope.startswith(_SCOPE) and not scope.startswith(OFFICIAL))


def claims(span: SpanRecord) -> bool:
    return any(key.startswith("traceloop.") for key in span.attributes)


def observe(span: SpanRecord, around: Around) -> Observed | None:
    """A call of a model or a tool; workflows, tasks and agents are structure."""
    attributes = span.attributes
    call = named_call(span)
    if call is not None and call[1] != "tool":
        if call[0] == "vector_db_retrieve":
            return _retrieval(span)
        made = observed_as(call, span, around, source=name, switch=_SWITCH)
        as_turns(made)
        if span.scope.name == _LANGCHAIN and call[1] == "llm":
            _of_langchain(made, around)
        return made
    if call is None and strings(attributes, "traceloop.span.kind") != "tool":
        return None
    called = strings(attributes, names.TOOL_NAME, "traceloop.entity.name") or span.name.removesuffix(".tool")
    given = json_value(attributes, names.TOOL_CALL_ARGUMENTS)
    found: Any = attributes.get(names.TOOL_CALL_RESULT, ABSENT)
    if given is ABSENT:
        given = json_value(attributes, "traceloop.entity.input")
    if found is ABSENT:
        found = attributes.get("traceloop.entity.output", ABSENT)
    wrapped = isinstance(given, Mapping) and ("input_str" in given or "inputs" in given)
    value = _value(found)
    made = tool_run(span, source=name, switch=_SWITCH, name=called, arguments=_arguments(given), result=found)
    if isinstance(value, Mapping) and "output" in value and (wrapped or set(value) <= {"output", "kwargs"}):
        tool_message(made, value["output"])
    elif isinstance(value, Mapping) and (_is_mcp(given) or span.scope.name.startswith(_MCP)):
        _of_mcp(made, value)
    if wrapped and isinstance(given, Mapping):
        kwargs = given.get("kwargs")
        call_id = kwargs.get("tool_call_id") if isinstance(kwargs, Mapping) else None
        made.call_id = made.call_id or (call_id if isinstance(call_id, str) else None)
    return made


def _of_langchain(made: Observed, around: Around) -> None:
    if made.inputs is not None:
        made.inputs = {**made.inputs, "messages": [with_blocks(one) for one in made.inputs["messages"]]}
    if made.answer is not None:
        messages = [with_blocks(one) for one in made.answer["messages"]]
        made.answer = made.result = {**made.answer, "messages": messages}
    node = None if around.parent is None else text_value(around.parent.attributes.get("traceloop.entity.output"))
    made.is_stream = made.is_stream or (node is not None and is_streamed(node))


def _retrieval(span: SpanRecord) -> Observed:
    """LangChain's retrievers."""
    attributes = span.attributes
    called = strings(attributes, "traceloop.entity.name") or span.name
    made = Observed(span=span, kind="retrieval", boundary=called, source=name, switch=_SWITCH)
    made.failure = failure_of(span)
    given = json_value(attributes, "traceloop.entity.input")
    if isinstance(given, Mapping) and "query" in given:
        made.inputs = {"query": given["query"]}
    else:
        lack(made, "query")
    value = _value(attributes.get("traceloop.entity.output", ABSENT))
    if isinstance(value, Mapping) and "documents" in value:
        made.result, made.rank = value["documents"], 20
    elif made.failure is None:
        lack(made, "documents")
    return made


def _is_mcp(given: Any) -> bool:
    return isinstance(given, Mapping) and set(given) == {"tool_name", "arguments"}


def _arguments(given: Any) -> Any:
    """Without what Traceloop puts around them: of LangChain's tools, its decorators, MCP."""
    if not isinstance(given, Mapping):
        return given
    if "input_str" in given:
        return given.get("inputs", given["input_str"])
    if set(given) == {"args", "kwargs"} and isinstance(given["kwargs"], Mapping):
        positional = given["args"] if isinstance(given["args"], list) else []
        return {**{f"arg{at}": one for at, one in enumerate(positional)}, **given["kwargs"]}
    if _is_mcp(given):
        return given["arguments"] if given["arguments"] is not None else {}
    return given


def _value(found: Any) -> Any:
    value = loaded(found) if found is not ABSENT and found is not None else ABSENT
    return ABSENT if value is CUT else value


def _of_mcp(made: Observed, value: Mapping[str, Any]) -> None:
    """`{"result": text, "is_error": …}`: the text of the tool's answer, which is JSON where it is an object."""
    if "result" not in value or not set(value) <= {"result", "is_error"}:
        return
    text = value["result"]
    if value.get("is_error") is True:
        failure = failure_of(made.span) or Failure()
        made.failure = Failure(None, failure.message or (text if isinstance(text, str) else ""), stands_for=True)
        made.result, made.is_whole = ABSENT, False
        return
    if isinstance(text, str) and text[:1] in ("{", "["):
        inner = loaded(text)
        text = text if inner is CUT else inner
    made.result, made.is_whole = text, False
