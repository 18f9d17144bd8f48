"""Google's automatic function calling: one span for several model calls, with the tools between them.

The tools have spans inside it, or the span has the turns: OpenInference keeps the SDK's response, which has them
as `automatic_function_calling_history`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tracetape.model import messages as normal
from tracetape.model.forms import gemini
from tracetape.model.span import Gap
from tracetape.sources.conventions import names
from tracetape.sources.conventions.observed import ABSENT, Observed, loaded, text_value

__all__ = ["Turn", "is_google", "told_turns", "turns_of"]

# The SDK makes ten by default. Each repeats all before it: of more than these the inputs are not made.
_MOST = 100
_HISTORY = "automatic_function_calling_history"


@dataclass(slots=True)
class Turn:
    """One of the model calls. started, ended: nanoseconds since the epoch."""

    call: Observed
    started: int
    ended: int


def is_google(one: Observed) -> bool:
    attributes = one.span.attributes
    told = (
        attributes.get(names.PROVIDER_NAME),
        attributes.get(names.SYSTEM),
        attributes.get("llm.provider"),
    )
    return "google_genai" in one.span.scope.name or any(
        isinstance(found, str) and found.startswith(("gemini", "gcp", "google", "vertex")) for found in told
    )


def turns_of(one: Observed, tools: Sequence[Observed]) -> list[Turn]:
    """The model calls before the last one, whose answers the span does not have; the last one is changed to be
    asked what it must have been asked.

    tools: those that ran inside, in start order; such that overlap were asked for in one turn.
    """
    made: list[Turn] = []
    asked = one.inputs
    started = one.span.start_ns
    for together in _turns(one, tools):
        call = Observed(
            span=one.span,
            kind="llm",
            boundary=one.boundary,
            source=one.source,
            inputs=asked,
            model=one.model,
            gaps=[_gap(one)],
        )
        made.append(Turn(call, started, together[0].span.start_ns))
        started = max(tool.span.end_ns or tool.span.start_ns for tool in together)
        asked = None if asked is None else {**asked, "messages": [*asked["messages"], *_said(together)]}
        if len(made) == _MOST:
            asked = None
    if made:
        one.inputs = asked
        one.is_whole = False
        _without(one, [(tool.boundary, tool.inputs) for tool in tools])
    return made


def told_turns(one: Observed, tools: Sequence[Observed]) -> list[Observed]:
    """The model calls before the last one where the span has them; the last one is changed to be asked what it
    must have been asked. When they were is not known: they have the span's start, in their order.

    tools: those with spans inside.
    """
    text = text_value(one.span.attributes.get("output.value"))
    response = loaded(text) if text is not None and f'"{_HISTORY}"' in text else None
    raw = response.get(_HISTORY) if isinstance(response, dict) else None
    history = _once(gemini.request({"contents": raw})["messages"])
    head = [] if one.inputs is None else [each for each in one.inputs["messages"] if each["role"] == "system"]
    about = {} if one.inputs is None else one.inputs
    made: list[Observed] = []
    at = one.span.start_ns
    left = list(tools)
    ran: list[tuple[Any, Any]] = []
    for index, message in enumerate(history):
        calls = normal.tool_calls_of(message) if message["role"] == "assistant" else []
        if not calls or len(made) == _MOST:
            continue
        answer = normal.answer([message], ["tool_call"], model=one.model)
        call = Observed(
            span=replace(one.span, start_ns=at, end_ns=at),
            kind="llm",
            boundary=one.boundary,
            source=one.source,
            inputs={**about, "messages": [*head, *history[:index]]},
            model=one.model,
            answer=answer,
            result=answer,
        )
        made.append(call)
        at += 2
        for part in calls:
            asked = (part.get("name"), part.get("arguments"))
            ran.append(asked)
            found = next((place for place, tool in enumerate(left) if (tool.boundary, tool.inputs) == asked), None)
            if found is not None:
                at = max(at, left.pop(found).span.end_ns or at)
    if made:
        one.inputs = {**about, "messages": [*head, *history]}
        one.span = replace(one.span, start_ns=at, end_ns=max(at, one.span.end_ns or at))
        one.is_whole = False
        _without(one, ran)
    return made


def _once(history: Sequence[normal.Message]) -> list[normal.Message]:
    """Of a stream each chunk has the whole of it."""
    first = history[0] if history else None
    again = next((at for at, one in enumerate(history) if at and one == first), len(history))
    part = list(history[:again])
    is_repeated = all(one == part[at % again] for at, one in enumerate(history))
    return part if is_repeated else list(history)


def _without(one: Observed, ran: Sequence[tuple[Any, Any]]) -> None:
    """Of a stream the last answer has what was asked for before, too."""
    if one.answer is None:
        return
    messages = [
        {
            **message,
            "parts": [part for part in message["parts"] if (part.get("name"), part.get("arguments")) not in ran],
        }
        for message in one.answer["messages"]
    ]
    for message in messages:
        if message.get("finish_reason") == "tool_call" and not normal.tool_calls_of(message):
            message["finish_reason"] = "stop"
    one.answer = one.result = {**one.answer, "messages": messages}


def _turns(one: Observed, tools: Sequence[Observed]) -> list[list[Observed]]:
    """Those asked for in one turn: they overlap, or come one after the other sooner than a model could answer."""
    first = tools[0].span.start_ns - one.span.start_ns
    last = (one.span.end_ns or 0) - max(tool.span.end_ns or tool.span.start_ns for tool in tools)
    shortest = max(0, min(first, last)) // 4
    made: list[list[Observed]] = []
    for tool in tools:
        ended = max((other.span.end_ns or 0) for other in made[-1]) if made else 0
        if made and tool.span.start_ns - ended < shortest:
            made[-1].append(tool)
        else:
            made.append([tool])
    return made


def _said(tools: Sequence[Observed]) -> list[normal.Message]:
    calls = [normal.tool_call(one.call_id, one.boundary, one.inputs) for one in tools]
    results: list[Any] = [
        {"error": one.failure.message}
        if one.failure is not None
        else {"result": None if one.result is ABSENT else one.result}
        for one in tools
    ]
    responses = [
        normal.message("tool", [normal.tool_response(one.call_id, given, name=one.boundary)])
        for one, given in zip(tools, results, strict=True)
    ]
    return [normal.message("assistant", calls), *responses]


def _gap(one: Observed) -> Gap:
    return Gap(
        "TURN_NOT_RECORDED",
        "automatic function calling is one span for several model calls: it has the first input and the last "
        "answer; this answer is not in it. Call the functions in a loop of your own (automatic_function_calling "
        "disabled) to have each",
        one.where,
    )
