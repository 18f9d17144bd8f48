"""Small spans in the shapes of several families, and what was read from them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tracetape.model.crossing import Crossing
from tracetape.model.payload import Payload
from tracetape.model.recording import Recording
from tracetape.model.span import Scope, SpanRecord, Status
from tracetape.sources.assemble import assemble

ONE, TWO = "01" * 16, "02" * 16
MODEL = "gpt-5-mini"

OPENINFERENCE = "openinference.instrumentation.openai"
OPENINFERENCE_LANGCHAIN = "openinference.instrumentation.langchain"
GENAI = "opentelemetry.instrumentation.genai.openai"
GENAI_LANGCHAIN = "opentelemetry.instrumentation.genai.langchain"
TRACELOOP = "opentelemetry.instrumentation.openai"
TRACELOOP_LANGCHAIN = "opentelemetry.instrumentation.langchain"

Message = dict[str, Any]
Attributes = dict[str, Any]
NOT_RECORDED: Any = object()


def user(text: str) -> Message:
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def assistant(text: str) -> Message:
    return {"role": "assistant", "parts": [{"type": "text", "content": text}]}


def call(call_id: str | None, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


def calls(*parts: dict[str, Any]) -> Message:
    return {"role": "assistant", "parts": list(parts)}


def result(call_id: str | None, response: Any) -> Message:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": response}]}


def span(
    number: int,
    start: int,
    end: int,
    attributes: Mapping[str, Any],
    *,
    scope: str = "app",
    under: int | None = None,
    trace: str = ONE,
    name: str = "span",
    kind: str = "INTERNAL",
    error: str | None = None,
) -> SpanRecord:
    """number: its id. under: the number of its parent. error: the message of an exception."""
    failed = {} if error is None else {"error.type": "RuntimeError"}
    return SpanRecord(
        trace_id=trace,
        span_id=f"{number:016x}",
        parent_id=None if under is None else f"{under:016x}",
        name=name,
        kind=kind,
        start_ns=start,
        end_ns=end,
        status=Status() if error is None else Status("ERROR", error),
        attributes={**attributes, **failed},
        scope=Scope(scope),
    )


def llm(
    number: int,
    start: int,
    end: int,
    asked: Sequence[Message] | None = None,
    said: Message | None = None,
    *,
    scope: str = OPENINFERENCE,
    under: int | None = None,
    trace: str = ONE,
    model: str | None = MODEL,
    response_id: str | None = None,
    error: str | None = None,
    more: Mapping[str, Any] | None = None,
) -> SpanRecord:
    """A call of a model in the shape of its scope. asked, said: None where content is not recorded.

    more: attributes besides.
    """
    attributes: Attributes
    if scope.startswith("openinference."):
        attributes = {"openinference.span.kind": "LLM", "llm.model_name": model}
        attributes |= _openinference("llm.input_messages", asked or [])
        attributes |= _openinference("llm.output_messages", [said] if said else [])
        if response_id is not None:
            dumped = {"message": {"lc": 1, "kwargs": {"response_metadata": {"id": response_id}}}}
            attributes["output.value"] = json.dumps({"generations": [[dumped]]})
    else:
        attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model}
        attributes["gen_ai.response.id"] = response_id
        if scope == TRACELOOP:
            attributes |= _flattened("gen_ai.prompt", asked or [])
            attributes |= _flattened("gen_ai.completion", [said] if said else [])
        else:
            attributes["gen_ai.input.messages"] = None if asked is None else json.dumps(asked)
            attributes["gen_ai.output.messages"] = None if said is None else json.dumps([said])
    attributes |= more or {}
    return span(
        number,
        start,
        end,
        {key: value for key, value in attributes.items() if value is not None},
        scope=scope,
        under=under,
        trace=trace,
        error=error,
    )


def tool(
    number: int,
    start: int,
    end: int,
    name: str,
    arguments: Mapping[str, Any] | None,
    given: Any = NOT_RECORDED,
    *,
    scope: str = OPENINFERENCE,
    under: int | None = None,
    trace: str = ONE,
    call_id: str | None = None,
    error: str | None = None,
) -> SpanRecord:
    """A run of a tool in the shape of its scope."""
    if scope.startswith("openinference."):
        words = {"name": "tool.name", "id": "tool_call.id", "in": "input.value", "out": "output.value"}
        attributes: Attributes = {"openinference.span.kind": "TOOL"}
    elif scope.startswith(TRACELOOP):
        words = {"name": "traceloop.entity.name", "id": "gen_ai.tool.call.id"}
        words |= {"in": "traceloop.entity.input", "out": "traceloop.entity.output"}
        attributes = {"traceloop.span.kind": "tool"}
        arguments = None if arguments is None else {"args": [], "kwargs": arguments}
    else:
        words = {"name": "gen_ai.tool.name", "id": "gen_ai.tool.call.id"}
        words |= {"in": "gen_ai.tool.call.arguments", "out": "gen_ai.tool.call.result"}
        attributes = {"gen_ai.operation.name": "execute_tool"}
    attributes[words["name"]] = name
    if call_id is not None:
        attributes[words["id"]] = call_id
    if arguments is not None:
        attributes[words["in"]] = json.dumps(arguments)
    if given is not NOT_RECORDED:
        attributes[words["out"]] = given if isinstance(given, str) else json.dumps(given)
    return span(number, start, end, attributes, scope=scope, under=under, trace=trace, error=error)


def _openinference(prefix: str, messages: Sequence[Message]) -> Attributes:
    made: Attributes = {}
    for at, one in enumerate(messages):
        head = f"{prefix}.{at}.message"
        made[f"{head}.role"] = one["role"]
        number = 0
        for part in one["parts"]:
            if part["type"] == "text":
                made[f"{head}.content"] = part["content"]
            elif part["type"] == "tool_call":
                inner = f"{head}.tool_calls.{number}.tool_call"
                made[f"{inner}.id"] = part["id"]
                made[f"{inner}.function.name"] = part["name"]
                made[f"{inner}.function.arguments"] = json.dumps(part["arguments"])
                number += 1
            else:
                made[f"{head}.tool_call_id"] = part["id"]
                made[f"{head}.content"] = _text(part["response"])
    return made


def _flattened(prefix: str, messages: Sequence[Message]) -> Attributes:
    made: Attributes = {}
    for at, one in enumerate(messages):
        head = f"{prefix}.{at}"
        made[f"{head}.role"] = one["role"]
        number = 0
        for part in one["parts"]:
            if part["type"] == "text":
                made[f"{head}.content"] = part["content"]
            elif part["type"] == "tool_call":
                inner = f"{head}.tool_calls.{number}"
                made |= {f"{inner}.id": part["id"], f"{inner}.name": part["name"]}
                made[f"{inner}.arguments"] = json.dumps(part["arguments"])
                number += 1
            else:
                made |= {f"{head}.tool_call_id": part["id"], f"{head}.content": _text(part["response"])}
    return made


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def read(*spans: SpanRecord) -> Recording:
    return assemble(spans, source="x", everything=True)


def names(recording: Recording) -> list[str]:
    return [one.name for one in recording.crossings]


def shown_by(recording: Recording) -> list[list[int]]:
    """The numbers of each crossing's spans."""
    return [[int(one, 16) for one in crossing.span_ids] for crossing in recording.crossings]


def value_of(payload: Payload | None) -> Any:
    assert payload is not None
    return json.loads(payload.text)


def answers(recording: Recording) -> list[Any]:
    """The parts of each model call's answer; None where it has none."""
    found = [one.output for one in recording.crossings if one.kind == "llm"]
    return [None if one is None else value_of(one)["messages"][0]["parts"] for one in found]


def codes(holder: Recording | Crossing) -> set[str]:
    return {gap.code for gap in holder.gaps}
