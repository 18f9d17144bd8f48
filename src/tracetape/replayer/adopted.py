"""Calls of functions marked today, answered from what instrumentations recorded before.

Their spans know tools by name, and model calls by what was said: not which function of the program made them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from tracetape import _sessions
from tracetape.codec.reader import Reader
from tracetape.codec.registry import CLASS, TAG
from tracetape.errors import ValueNotRebuilt
from tracetape.model.call import (
    ASYNC_GENERATOR,
    GENERATOR,
    PLAIN,
    BoundarySpec,
    Cancelled,
    Outcome,
    Raised,
    Returned,
    Streamed,
)
from tracetape.model.crossing import Crossing
from tracetape.model.crossings import Crossings
from tracetape.model.forms import answer_of, gemini, openai_responses, request_of
from tracetape.model.messages import text_of
from tracetape.model.plan import ReplayPlan
from tracetape.replayer.serving import patched_outcome

__all__ = ["Adopted", "compared", "conversation"]

# Of kinds whose calls have no name in a trace, where a recording has one boundary of the kind.
_NAMELESS = ("llm", "embedding", "retrieval")
_STRUCTURE = ("agent", "router")
_ITEMS = ("function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output")
_PROMPTS = ("prompt", "question", "query", "input", "text", "message", "user_message", "user_input")
_STREAMS = (GENERATOR, ASYNC_GENERATOR)


class Adopted:
    """Of one recording that others have made."""

    def __init__(self, crossings: Crossings) -> None:
        self._crossings = crossings
        self._by_kind: dict[str, list[str]] = {}
        for boundary in crossings.counts():
            kind = crossings[crossings.named(boundary)[0]].kind
            self._by_kind.setdefault(kind, []).append(boundary)
        self._parameters: dict[str, frozenset[str]] = {}
        self.answering: set[str] = set()

    @classmethod
    def of(cls, crossings: Crossings) -> Adopted | None:
        """None where the program's own boundaries were recorded: then nothing else is a crossing."""
        return cls(crossings) if len(crossings) and crossings[0].foreign else None

    def boundary(self, spec: BoundarySpec) -> str:
        """The name under which the recording may have the calls of a function."""
        found = self.answers(spec.name, (spec.kind,))
        if found is None:
            return spec.name
        self.answering.add(found)
        return found

    def answers(self, name: str, kinds: Iterable[str]) -> str | None:
        """The boundary whose calls answer functions of these kinds, where it has another name than they."""
        for kind in kinds:
            listed = self._by_kind.get(kind, [])
            if kind in _NAMELESS and len(listed) == 1 and name != listed[0]:
                return listed[0]
        return None

    def is_structure(self, spec: BoundarySpec) -> bool:
        """Whether a function is of those that traces of others have as structure: it runs, and what it calls is
        answered."""
        return spec.kind in _STRUCTURE and not self._crossings.named(spec.name)

    def plan(self, plan: ReplayPlan) -> ReplayPlan:
        """The plan with what it says of functions that are marked said of what answers them, too."""
        marked = _sessions.marked()
        named = ((one, self.answers(one.boundary, marked.get(one.boundary, ()))) for one in plan.entries)
        more = [replace(one, boundary=found) for one, found in named if found is not None]
        return ReplayPlan((*plan.entries, *more)) if more else plan

    def recorded(self, spec: BoundarySpec, boundary: str) -> Callable[[Mapping[str, Any]], Any]:
        """What makes of the recorded inputs what calls are compared by."""
        if spec.kind in _NAMELESS:
            return partial(_said, spec.kind)
        # What the model left to the function's defaults is not in the trace.
        known = self._known(boundary)
        defaults = {name: value for name, value in spec.defaults.items() if name in known}
        return lambda inputs: {**defaults, **inputs}

    def live(self, spec: BoundarySpec, boundary: str, inputs: Mapping[str, Any]) -> Any:
        """The same of the inputs of a call, as they are stored; None where nothing in them can be compared.

        A tool's: those that any recorded call of it has, from its arguments or from what is in these; a program
        hands its functions more than the model asked for.
        """
        plain = _untagged(inputs)
        if spec.kind == "llm":
            messages = _messages_in(plain)
            return None if messages is None else {"messages": conversation(messages)}
        if spec.kind in ("embedding", "retrieval"):
            asked = _asked(plain)
            return None if asked is None else {"input": asked}
        known = self._known(boundary)
        if not known:
            return dict(inputs)
        inner = [one for one in plain.values() if isinstance(one, dict)]
        return {name: one for holder in (*inner, inputs) for name, one in holder.items() if name in known}

    def _known(self, boundary: str) -> frozenset[str]:
        """The names of the inputs that any recorded call has."""
        known = self._parameters.get(boundary)
        if known is None:
            crossings = (self._crossings[position] for position in self._crossings.named(boundary))
            known = self._parameters[boundary] = frozenset(name for one in crossings for name in one.inputs)
        return known

    def outcome(self, spec: BoundarySpec, outcome: Outcome) -> Outcome:
        """What the function hands out, for what the recording has.

        Raises ValueNotRebuilt where it says that it gives a text, and the answer has none.
        """
        is_stream = spec.shape in _STREAMS
        if isinstance(outcome, Returned):
            value = _value(spec, outcome.value)
            return Streamed((value,), shape=spec.shape) if is_stream else Returned(value)
        if isinstance(outcome, Cancelled) and is_stream:
            error = asyncio.CancelledError()
            return Streamed((), "raised", error, None, spec.shape, outcome.patience, outcome.exhausted)
        if not isinstance(outcome, Streamed):
            return replace(outcome, shape=PLAIN)
        items = tuple(_value(spec, one) for one in outcome.items)
        if is_stream:
            return replace(outcome, items=items, shape=spec.shape)
        if outcome.error is not None:
            return Raised(outcome.error)
        return Returned(items[0] if items else None)

    def patched(self, spec: BoundarySpec, patch: Any, reader: Reader, recorded: Callable[[], Outcome]) -> Outcome:
        """A patch as the function hands it out; recorded: gives the recorded outcome, which a function is asked
        with as it would be served.

        Raises ValueNotRebuilt as `outcome` does, and where a stream's has no items.
        """

        def result() -> Any:
            outcome = self.outcome(spec, recorded())
            if isinstance(outcome, Streamed):
                return list(outcome.items)
            return outcome.value if isinstance(outcome, Returned) else None

        is_stream = spec.shape in _STREAMS
        return patched_outcome(patch, reader, result, shape=spec.shape if is_stream else PLAIN, streamed=is_stream)


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
    if not spec.gives_text or isinstance(recorded, str):
        return recorded
    try:
        return json.dumps(recorded, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise ValueNotRebuilt(f"{spec.name} gives a str, and what is recorded is no JSON: {error}") from error


def _made(spec: BoundarySpec, make: Callable[[dict[str, Any]], Any], answer: dict[str, Any]) -> Any:
    try:
        return make(answer)
    except Exception as error:
        raise ValueNotRebuilt(f"answer= of {spec.name} raised {type(error).__name__}: {error}") from error


def compared(crossing: Crossing) -> Any:
    """What calls are compared by with a recorded one of others; None where it has no inputs."""
    if crossing.input is None:
        return None
    return _said(crossing.kind, crossing.inputs) if crossing.kind in _NAMELESS else dict(crossing.inputs)


def _said(kind: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    if kind == "llm":
        return {"messages": conversation(inputs.get("messages"))}
    return {"input": _asked(inputs)}


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
    """The conversation in the arguments of a function, whatever they are called, with a prompt that is beside it
    behind it; None where there is none."""
    nested = [one for holder in inputs.values() if isinstance(holder, Mapping) for one in holder.values()]
    requests = (_request(holder) for holder in (inputs, *inputs.values(), *nested))
    found: list[dict[str, Any]] = next((one["messages"] for one in requests if one and one["messages"]), [])
    texts = {key: one for key, one in inputs.items() if isinstance(one, str)}
    for key in (*_PROMPTS, *(texts if len(texts) == 1 and not found else ())):
        if key in texts:
            return [*found, {"role": "user", "parts": [{"type": "text", "content": texts[key]}]}]
    return found or None


def _request(holder: Any) -> dict[str, Any] | None:
    if isinstance(holder, Mapping):
        listed = holder.get("messages")
        return gemini.request({"contents": listed}) if _are_contents(listed) else request_of(holder)
    if not isinstance(holder, list) or not holder or not all(isinstance(one, Mapping) for one in holder):
        return None
    if any(one.get("type") in _ITEMS for one in holder):
        return openai_responses.request({"input": holder})
    if _are_contents(holder):
        return gemini.request({"contents": holder})
    return request_of({"messages": holder}) if all("role" in one for one in holder) else None


def _are_contents(listed: Any) -> bool:
    """Whether messages are Gemini's, whose parts do not name their type."""
    if not isinstance(listed, list) or not listed:
        return False
    parts = [one.get("parts") if isinstance(one, Mapping) else None for one in listed]
    typed = (part for some in parts if isinstance(some, list) for part in some if isinstance(part, Mapping))
    return None not in parts and not any("type" in part for part in typed)


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
