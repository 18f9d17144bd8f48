"""Calls of functions marked today, answered from what instrumentations recorded before.

Their spans know tools by name, and model calls by what was said: not which function of the program made them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tracetape.codec.registry import CLASS, TAG
from tracetape.errors import ValueNotRebuilt
from tracetape.model.call import ASYNC_GENERATOR, GENERATOR, PLAIN, BoundarySpec, Outcome, Returned, Streamed
from tracetape.model.crossings import Crossings
from tracetape.model.forms import answer_of, gemini, openai_responses, request_of
from tracetape.model.messages import text_of
from tracetape.model.plan import PlanEntry, ReplayPlan

__all__ = ["Adopted", "conversation"]

# Of kinds whose calls have no name in a trace, where a recording has one boundary of the kind.
_NAMELESS = ("llm", "embedding", "retrieval")
_ITEMS = ("function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output")
_PROMPTS = ("prompt", "question", "query", "input", "text", "message", "user_message", "user_input")
_STREAMS = (GENERATOR, ASYNC_GENERATOR)


class Adopted:
    """Of one recording without a call of ours."""

    def __init__(self, crossings: Crossings) -> None:
        self._crossings = crossings
        self._by_kind: dict[str, list[str]] = {}
        for boundary in crossings.counts():
            kind = crossings[crossings.named(boundary)[0]].kind
            self._by_kind.setdefault(kind, []).append(boundary)
        self._parameters: dict[str, frozenset[str]] = {}
        self._told: set[str] = set()
        self._added: tuple[PlanEntry, ...] = ()
        self.answering: set[str] = set()

    @classmethod
    def of(cls, crossings: Crossings) -> Adopted | None:
        """None where the program's own boundaries were recorded: then nothing else is a crossing."""
        return cls(crossings) if len(crossings) and crossings[0].process_id is None else None

    def boundary(self, spec: BoundarySpec) -> str:
        """The name under which the recording may have the calls of a function."""
        listed = self._by_kind.get(spec.kind, [])
        if spec.name in listed or spec.kind not in _NAMELESS or len(listed) != 1:
            return spec.name
        self.answering.add(listed[0])
        return listed[0]

    def plan_for(self, plan: ReplayPlan, spec: BoundarySpec, boundary: str) -> ReplayPlan | None:
        """The plan with what it says of a function said of the recorded name, so that the cut is known; None where
        nothing is to be added. Asked at each call, and answered at the first."""
        if boundary == spec.name or spec.name in self._told:
            return None
        self._told.add(spec.name)
        more = tuple(replace(one, boundary=boundary) for one in plan.entries if one.boundary == spec.name)
        self._added += more
        return ReplayPlan((*plan.entries, *self._added)) if more else None

    def recorded(self, spec: BoundarySpec, boundary: str) -> Callable[[Mapping[str, Any]], Any]:
        """What makes of the recorded inputs what calls are compared by."""
        if spec.kind == "llm":
            return lambda inputs: {"messages": conversation(inputs.get("messages"))}
        if spec.kind in ("embedding", "retrieval"):
            return lambda inputs: {"input": _asked(inputs)}
        return dict

    def live(self, spec: BoundarySpec, boundary: str, inputs: Mapping[str, Any]) -> Any:
        """The same of the inputs of a call, as they are stored; None where nothing in them can be compared.

        A tool's: those that any recorded call of it has; a program hands its functions more than the model asked
        for.
        """
        plain = _untagged(inputs)
        if spec.kind == "llm":
            messages = _messages_in(plain)
            return None if messages is None else {"messages": conversation(messages)}
        if spec.kind in ("embedding", "retrieval"):
            asked = _asked(plain)
            return None if asked is None else {"input": asked}
        known = self._parameters.get(boundary)
        if known is None:
            crossings = (self._crossings[position] for position in self._crossings.named(boundary))
            known = frozenset(name for one in crossings for name in one.inputs)
            self._parameters[boundary] = known
        return {name: one for name, one in inputs.items() if name in known} if known else dict(inputs)

    def outcome(self, spec: BoundarySpec, outcome: Outcome) -> Outcome:
        """What the function hands out, for what the recording has.

        Raises ValueNotRebuilt where it says that it gives a text, and the answer has none.
        """
        if isinstance(outcome, Returned):
            value = _value(spec, outcome.value)
            return Streamed((value,), shape=spec.shape) if spec.shape in _STREAMS else Returned(value)
        if not isinstance(outcome, Streamed):
            return replace(outcome, shape=PLAIN)
        items = tuple(_value(spec, one) for one in outcome.items)
        if spec.shape in _STREAMS:
            return replace(outcome, items=items, shape=spec.shape)
        return Returned(items[0] if items else None)


def _value(spec: BoundarySpec, recorded: Any) -> Any:
    if spec.kind == "llm":
        answer = answer_of(recorded)
        if answer is None:
            return recorded
        if spec.answer is not None:
            return _made(spec, spec.answer, answer)
        if not spec.gives_text:
            return recorded
        text = text_of(answer["messages"][0]) if answer["messages"] else None
        if text is None:
            raise ValueNotRebuilt(
                f"{spec.name} gives a str, and the recorded answer has no text: it asks for tools. Say what the "
                f'function makes of an answer: @boundary("{spec.name}", kind="llm", answer=…)'
            )
        return text
    if spec.gives_text and not isinstance(recorded, str):
        return json.dumps(recorded, ensure_ascii=False)
    return recorded


def _made(spec: BoundarySpec, make: Callable[[dict[str, Any]], Any], answer: dict[str, Any]) -> Any:
    try:
        return make(answer)
    except Exception as error:
        raise ValueNotRebuilt(f"answer= of {spec.name} raised {type(error).__name__}: {error}") from error


def conversation(messages: Any) -> list[dict[str, Any]]:
    """What of messages in the normal form is compared: who said what, the tools asked for, what they gave. Not
    system messages, which many functions add themselves; not ids and reasoning, which many sources lose."""
    made: list[dict[str, Any]] = []
    for one in messages if isinstance(messages, list) else ():
        if one.get("role") in ("system", "developer"):
            continue
        said: dict[str, Any] = {"role": one.get("role")}
        for part in one.get("parts", ()):
            kind = part.get("type")
            if kind == "text":
                said["text"] = said.get("text", "") + str(part.get("content") or "")
            elif kind == "tool_call":
                call = {"name": part.get("name"), "arguments": part.get("arguments")}
                said.setdefault("tool_calls", []).append(call)
            elif kind == "tool_call_response":
                said["response"] = _unwrapped(part.get("response"))
            elif kind != "reasoning":
                said.setdefault("others", []).append(part)
        made.append(said)
    return made


def _unwrapped(response: Any) -> Any:
    """Gemini takes objects alone: what else a tool gives stands under `result` or `output`."""
    if isinstance(response, dict) and len(response) == 1:
        [(key, inner)] = response.items()
        return inner if key in ("result", "output") else response
    return response


def _untagged(value: Any) -> Any:
    """A stored value as plain JSON: of objects their fields, as the SDKs' messages have them."""
    if isinstance(value, list):
        return [_untagged(one) for one in value]
    if not isinstance(value, dict):
        return value
    if TAG not in value:
        return {key: _untagged(one) for key, one in value.items()}
    fields = value.get("fields")
    if isinstance(fields, dict) and CLASS in value:
        extra = value.get("extra")
        return {
            key: _untagged(one) for key, one in {**fields, **(extra if isinstance(extra, dict) else {})}.items()
        }
    if "items" in value:
        return _untagged(value["items"])
    return _untagged(value.get("value"))


def _messages_in(inputs: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The conversation in the arguments of a function, whatever they are called; None where there is none."""
    nested = [one for holder in inputs.values() if isinstance(holder, Mapping) for one in holder.values()]
    for holder in (inputs, *inputs.values(), *nested):
        request = _request(holder)
        if request is not None and request["messages"]:
            found: list[dict[str, Any]] = request["messages"]
            return found
    texts = {key: one for key, one in inputs.items() if isinstance(one, str)}
    for key in (*_PROMPTS, *(texts if len(texts) == 1 else ())):
        if key in texts:
            return [{"role": "user", "parts": [{"type": "text", "content": texts[key]}]}]
    return None


def _request(holder: Any) -> dict[str, Any] | None:
    if isinstance(holder, Mapping):
        return request_of(holder)
    if not isinstance(holder, list) or not holder or not all(isinstance(one, Mapping) for one in holder):
        return None
    if any(one.get("type") in _ITEMS for one in holder):
        return openai_responses.request({"input": holder})
    if all("parts" in one for one in holder) and not any(_is_typed(one) for one in holder):
        return gemini.request({"contents": holder})
    return request_of({"messages": holder}) if all("role" in one for one in holder) else None


def _is_typed(message: Mapping[str, Any]) -> bool:
    parts = message.get("parts")
    return isinstance(parts, list) and any(isinstance(part, Mapping) and "type" in part for part in parts)


def _asked(inputs: Mapping[str, Any]) -> Any:
    """The texts of an embedding, the query of a retrieval."""
    for key in ("input", "query", "texts", "text", "documents", "contents", "question"):
        if key in inputs:
            found = inputs[key]
            return [found] if isinstance(found, str) else found
    values = list(inputs.values())
    return (
        [values[0]] if len(values) == 1 and isinstance(values[0], str) else values[0] if len(values) == 1 else None
    )
