"""What tools gave, as the inputs of model calls have it."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import orjson

from tracetape.model.messages import Message, Part, tool_calls_of
from tracetape.sources.conventions.observed import Observed
from tracetape.sources.formats.json_fields import compact

__all__ = ["AnswersTold", "Given", "ToolResults", "numbered", "said"]

# Later model calls that are looked at, for the one that goes on with the same conversation.
_LOOKED_AT = 64
_digest = hashlib.sha256


class Given(NamedTuple):
    """A result, and the model call that was given it."""

    part: Part
    by: Observed


class ToolResults:
    """Of a run, in start order.

    A result belongs to a call where the input that has it has the call too: by the id of both, else by the call's
    name and arguments, and its number among equal ones of its turn. Where an input has results without their calls
    (a server keeps the conversation), by the id alone.

    models: in start order. asked: the ids of all calls: a result with one of them is of no other call.
    """

    def __init__(self, models: Sequence[Observed], asked: Collection[object]) -> None:
        self._asked = asked
        self._joined: dict[tuple[str, str], _InOrder] = {}
        self._alone: dict[str, _InOrder] = {}
        self._by_call: dict[tuple[str, int], _InOrder] = {}
        for one in models:
            messages = () if one.inputs is None else one.inputs.get("messages") or ()
            known: set[object] = set()
            for call, number, part in _answered(messages):
                signature = _signature(call)
                known.add(part.get("id"))
                if isinstance(call.get("id"), str):
                    self._joined.setdefault((call["id"], signature), _InOrder()).add(part, one)
                self._by_call.setdefault((signature, number), _InOrder()).add(part, one)
            for part in (_part_of(message) for message in messages if message.get("role") == "tool"):
                if isinstance(part.get("id"), str) and part["id"] not in known:
                    self._alone.setdefault(part["id"], _InOrder()).add(part, one)

    def after(self, call: Part, number: int, by: Observed) -> Given | None:
        """Of the first later model call that has the result, rather of one that goes on with the conversation.

        number: of the call among the equal ones of its turn, from 0. by: whose answer asked for it.
        """
        call_id, signature = call.get("id"), _signature(call)
        if isinstance(call_id, str):
            for listed in (self._joined.get((call_id, signature)), self._alone.get(call_id)):
                found = None if listed is None else listed.after(by)
                if found is not None:
                    return found
        listed = self._by_call.get((signature, number))
        found = None if listed is None else listed.after(by)
        return None if found is None or found.part.get("id") in self._asked else found


class AnswersTold:
    """Answers that no span has (the Anthropic SDK's own of a stream, say), and a later input does: what stands
    there behind what their call was asked."""

    def __init__(self, models: Sequence[Observed]) -> None:
        self._by_beginning: dict[bytes, Message] = {}
        unanswered = [
            one for one in models if one.inputs is not None and one.answer is None and one.failure is None
        ]
        lengths = {len(one.inputs["messages"]) for one in unanswered if one.inputs is not None}
        for one in models if lengths else ():
            messages = () if one.inputs is None else one.inputs["messages"]
            before = _digest()
            for at, message in enumerate(messages):
                if at in lengths and message.get("role") == "assistant":
                    self._by_beginning.setdefault(before.digest(), message)
                before.update(_line(message))
        if self._by_beginning:
            for one in models:
                if one.answer is not None:  # asked the same, it is the one that was answered so
                    self._by_beginning.pop(_asked(one), None)

    def after(self, one: Observed) -> list[Message]:
        """The answer to a call, as a list of one; [] where nothing tells it. Asked again, it is told once."""
        if not self._by_beginning or one.inputs is None or one.failure is not None:
            return []
        found = self._by_beginning.pop(_asked(one), None)
        return [] if found is None else [found]


def _asked(one: Observed) -> bytes:
    asked = _digest()
    for message in () if one.inputs is None else one.inputs["messages"]:
        asked.update(_line(message))
    return asked.digest()


def _line(message: Message) -> bytes:
    return compact(message).encode("utf-8", "surrogatepass") + b"\n"


def said(value: Any) -> str:
    """The same text for values that JSON takes for equal: in whatever order keys are, 1.0 as 1."""
    try:
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        if b".0" not in text:
            return text.decode("utf-8")
    except orjson.JSONEncodeError:
        pass  # an integer over 64 bits, half of a surrogate pair, deep nesting
    try:
        return compact(_ordered(value))
    except RecursionError:  # of a hostile file: as it is
        return compact(value)


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, list):
        return [_ordered(one) for one in value]
    return int(value) if type(value) is float and value.is_integer() else value


def numbered(calls: Sequence[Part]) -> Iterator[tuple[Part, int]]:
    """Each call of a turn with its number among the equal ones, from 0."""
    seen: Counter[str] = Counter()
    for call in calls:
        signature = _signature(call)
        yield call, seen[signature]
        seen[signature] += 1


class _InOrder:
    def __init__(self) -> None:
        self._starts: list[int] = []
        self._found: list[Given] = []

    def add(self, part: Part, by: Observed) -> None:
        if self._found and self._found[-1].by is by:
            self._found[-1] = Given(part, by)  # of several such turns the last
        else:
            self._starts.append(by.span.start_ns)
            self._found.append(Given(part, by))

    def after(self, one: Observed) -> Given | None:
        at = bisect_left(self._starts, one.span.start_ns)
        first = None
        for found in islice(self._found, at, at + _LOOKED_AT):
            if found.by is one:
                continue
            if first is None:
                first = found
            if _goes_on(one, found.by):
                return found
        return first


def _goes_on(one: Observed, later: Observed) -> bool:
    """Whether what a call was asked is the beginning of what a later one was."""
    if one.inputs is None or later.inputs is None:
        return False
    before, now = one.inputs.get("messages") or [], later.inputs.get("messages") or []
    return len(now) > len(before) and bool(now[: len(before)] == before)


def _answered(messages: Sequence[Message]) -> Iterator[tuple[Part, int, Part]]:
    """The calls of an input with their numbers and their results: by id, else by position."""
    for at, message in enumerate(messages):
        calls = tool_calls_of(message) if message.get("role") == "assistant" else []
        if not calls:
            continue
        behind = _behind(messages, at)
        by_id = {part["id"]: part for part in behind if part.get("id")}
        called = {call.get("id") for call in calls} - {None}
        for position, (call, number) in enumerate(numbered(calls)):
            part = by_id.get(call.get("id"))
            if part is None and position < len(behind) and behind[position].get("id") not in called:
                part = behind[position]
            if part is not None:
                yield call, number, part


def _behind(messages: Sequence[Message], at: int) -> list[Part]:
    found = []
    for message in messages[at + 1 :]:
        if message.get("role") != "tool":
            break
        found.append(_part_of(message))
    return found


def _part_of(message: Message) -> Part:
    part: Part = message["parts"][0]
    return part


def _signature(call: Part) -> str:
    return said([call.get("name"), call.get("arguments")])
