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
from tracetape.codec import to_tree
from tracetape.codec.reader import Reader
from tracetape.errors import SourceError, ValueNotRebuilt
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
from tracetape.model.crossings import Crossings
from tracetape.model.forms import answer_of
from tracetape.model.messages import TOLD, text_of
from tracetape.model.plan import ReplayPlan
from tracetape.replayer.outcomes import Shape, live_shape
from tracetape.replayer.saying import NAMELESS, asked_in, instructions, messages_in, plain, said
from tracetape.replayer.serving import patched_outcome

__all__ = ["Adopted"]

_STRUCTURE = ("agent", "router")
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

    @classmethod
    def of(cls, crossings: Crossings) -> Adopted | None:
        """None where the program's own boundaries were recorded: then nothing else is a crossing."""
        return cls(crossings) if len(crossings) and crossings[0].foreign else None

    def boundary(self, spec: BoundarySpec) -> str:
        """The name under which the recording may have the calls of a function."""
        return self.answers(spec.name, (spec.kind,)) or spec.name

    def answering_marked(self) -> set[str]:
        """The boundaries whose calls answer functions that are marked."""
        found = (self.answers(name, kinds) for name, kinds in _sessions.marked().items())
        return {one for one in found if one is not None}

    def answers(self, name: str, kinds: Iterable[str]) -> str | None:
        """The boundary whose calls answer functions of these kinds, where it has another name than they."""
        for kind in kinds:
            listed = self._by_kind.get(kind, [])
            if kind in NAMELESS and len(listed) == 1 and name != listed[0]:
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
        if spec.kind in NAMELESS:
            return partial(said, spec.kind)
        # What the model left to the function's defaults is not in the trace.
        known = self._known(boundary)
        defaults = {name: value for name, value in spec.defaults.items() if name in known}
        return lambda inputs: plain(to_tree({**defaults, **inputs}))

    def live(self, spec: BoundarySpec, boundary: str, inputs: Mapping[str, Any]) -> tuple[Any, str]:
        """The same of the inputs of a call, as they are stored; None where nothing in them can be compared. Then
        what the system messages of a model call say, which is not compared: many functions add their own.

        A tool's: those that any recorded call of it has, from its arguments or from what is in these; a program
        hands its functions more than the model asked for.
        """
        given = plain(inputs)
        if spec.kind == "llm":
            messages = messages_in(given)
            return (
                (None, "") if messages is None else (said("llm", {"messages": messages}), instructions(messages))
            )
        if spec.kind in NAMELESS:
            asked = asked_in(given)
            return (None if asked is None else {"input": asked}), ""
        known = self._known(boundary)
        # The arguments themselves first, then what is in the one that has the most of them.
        inner = [one for one in given.values() if isinstance(one, dict)]
        inner.sort(key=lambda one: -len(known & one.keys()))
        holders = (*reversed(inner), given)
        return {name: one for holder in holders for name, one in holder.items() if name in known}, ""

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
        if isinstance(outcome, Raised) and spec.gives_text and (told := _told_in(outcome.error)) is not None:
            outcome = Returned(told)
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

    def shape(self, spec: BoundarySpec, recorded: Callable[[], Outcome]) -> Shape | None:
        """A recorded outcome as the function would hand it out, to be compared with what it does now; None where
        that is not to be had."""
        try:
            outcome = self.outcome(spec, recorded())
        except (ValueNotRebuilt, SourceError):
            return None
        return live_shape(spec, outcome, outcome.items if isinstance(outcome, Streamed) else ())

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
    answer = answer_of(recorded) if spec.kind == "llm" else None
    if spec.answer is not None and (spec.kind != "llm" or answer is not None):
        return _made(spec, spec.answer, recorded if answer is None else answer)
    if not spec.gives_text or recorded is None:
        return recorded
    if answer is not None:
        text = text_of(answer["messages"][0]) if answer["messages"] else None
        if text is None and not spec.may_give_none:
            raise ValueNotRebuilt(
                f"{spec.name} gives a str, and the recorded answer has no text: it asks for tools. Say what the "
                f'function makes of an answer: @boundary("{spec.name}", kind="llm", answer=…)'
            )
        return text
    if isinstance(recorded, str):
        return recorded
    try:
        return json.dumps(recorded, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise ValueNotRebuilt(f"{spec.name} gives a str, and what is recorded is no JSON: {error}") from error


def _told_in(error: BaseException) -> str | None:
    """What the model was told instead of an exception, which a function that gives texts may have given itself."""
    notes = getattr(error, "__notes__", ())
    return next((one[len(TOLD) :] for one in notes if isinstance(one, str) and one.startswith(TOLD)), None)


def _made(spec: BoundarySpec, make: Callable[[Any], Any], answer: Any) -> Any:
    try:
        return make(answer)
    except Exception as error:
        raise ValueNotRebuilt(f"answer= of {spec.name} raised {type(error).__name__}: {error}") from error
