"""Turns of a model that a family has taken apart, or put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracetape.model.messages import Message, tool_calls_of
from tracetape.sources.conventions import names
from tracetape.sources.conventions.observed import Observed, loaded

__all__ = ["as_sent_by_smolagents", "as_turns", "whole_turns"]


def as_turns(made: Observed) -> None:
    """Mend a model call of OpenAI's Responses, of which Logfire and Traceloop write each item of a turn as a
    message; leave others as they are."""
    if made.kind != "llm":
        return
    if made.inputs is not None:
        messages = _with_call_ids(whole_turns(made.inputs["messages"]))
        made.inputs = {**made.inputs, "messages": messages}
    reasons = loaded(made.span.attributes.get(names.RESPONSE_FINISH_REASONS))
    told = len(reasons) if isinstance(reasons, list) else 0
    if made.answer is not None and told < len(made.answer["messages"]):
        made.answer = made.result = _one_choice(made.answer)


def whole_turns(messages: Sequence[Message]) -> list[Message]:
    """Messages of the assistant one after another as one: the items of one turn of OpenAI's Responses."""
    made: list[Message] = []
    for one in messages:
        if made and one["role"] == made[-1]["role"] == "assistant":
            made[-1] = {**made[-1], "parts": [*made[-1]["parts"], *one["parts"]]}
        else:
            made.append(one)
    return made


def as_sent_by_smolagents(messages: Sequence[Message]) -> list[Message]:
    """Messages of one role one after another as one, their texts joined by a line break: so it sends them, and has
    spans of them before."""
    made: list[Message] = []
    for one in messages:
        if not made or one["role"] != made[-1]["role"] or one["role"] == "tool":
            made.append({**one, "parts": list(one["parts"])})
            continue
        parts = made[-1]["parts"]
        for part in one["parts"]:
            if part.get("type") == "text" and parts and parts[-1].get("type") == "text":
                parts[-1] = {**parts[-1], "content": f"{parts[-1]['content']}\n{part['content']}"}
            else:
                parts.append(part)
    return made


def _one_choice(answer: Mapping[str, Any]) -> dict[str, Any]:
    """An answer's messages as one choice, for the reason of the last."""
    messages = answer["messages"]
    parts = [part for one in messages for part in one["parts"]]
    return {**answer, "messages": [{**messages[-1], "parts": parts}]} if len(messages) > 1 else dict(answer)


def _with_call_ids(messages: Sequence[Message]) -> list[Message]:
    """The calls of each turn by the ids that their results have, by position: Traceloop writes the ids of items
    (`fc_…`) where the results have those of calls (`call_…`)."""
    made = list(messages)
    for at, one in enumerate(made):
        calls = tool_calls_of(one) if one["role"] == "assistant" else []
        behind: list[Any] = []
        for other in made[at + 1 :]:
            if other["role"] != "tool":
                break
            behind.append(other["parts"][0].get("id"))
        if not calls or len(behind) != len(calls) or {call.get("id") for call in calls} & set(behind):
            continue
        ids = iter(behind)
        parts = [{**part, "id": next(ids)} if part.get("type") == "tool_call" else part for part in one["parts"]]
        made[at] = {**one, "parts": parts}
    return made
