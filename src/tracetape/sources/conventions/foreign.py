"""The spans of instrumentations: all families of them at once, since several look at one call."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import orjson

from tracetape.codec import encode
from tracetape.codec.registry import CLASS, TAG
from tracetape.model.crossing import EXACT, REBUILT, UNUSABLE, Crossing
from tracetape.model.messages import TOLD
from tracetape.model.payload import Payload
from tracetape.model.span import Event, Gap, SpanRecord
from tracetape.sources.conventions import (
    anthropic_sdk,
    genai,
    logfire,
    mcp_sdk,
    openinference,
    pydantic_ai,
    traceloop,
)
from tracetape.sources.conventions.automatic_calls import is_google, told_turns, turns_of
from tracetape.sources.conventions.genai_attributes import Around
from tracetape.sources.conventions.inferring import infer
from tracetape.sources.conventions.joining import SpanKey, joined, key_of, tools_inside
from tracetape.sources.conventions.observed import ABSENT, Failure, Observed
from tracetape.sources.conventions.silences import silences
from tracetape.sources.formats.json_fields import compact

__all__ = ["FAMILIES", "Family", "Seen", "is_foreign", "seen"]


# Of asyncio, and of anyio on trio.
_CANCELLATIONS = ("CancelledError", "Cancelled")


class Family(Protocol):
    """The spans of one family. A module with these four names is one.

    name:     for messages.
    owns:     whether a scope is one of the family's: whatever attributes others have added, its spans are.
    claims:   whether a span of nobody's scope is, by its attributes.
    observe:  what such a span shows of a call; None for structure.
    """

    @property
    def name(self) -> str: ...

    def owns(self, scope: str) -> bool: ...

    def claims(self, span: SpanRecord) -> bool: ...

    def observe(self, span: SpanRecord, around: Around) -> Observed | None: ...


FAMILIES: tuple[Family, ...] = (mcp_sdk, anthropic_sdk, pydantic_ai, logfire, openinference, traceloop, genai)
"""Those asked first first. A new one is a module with a place here."""


class Seen(NamedTuple):
    """A crossing as spans show it.

    spans:   those that show it, the main one first; none for one that is inferred.
    beside:  of one that has no span to itself, the span beside which it stands in the tree.
    """

    crossing: Crossing
    spans: tuple[SpanRecord, ...]
    beside: SpanRecord | None = None


def is_foreign(span: SpanRecord) -> bool:
    """Whether a family is likely to claim a span: cheap."""
    return _family_of(span) is not None


def _family_of(span: SpanRecord) -> Family | None:
    owner = next((one for one in FAMILIES if one.owns(span.scope.name)), None)
    return owner or next((one for one in FAMILIES if one.claims(span)), None)


def seen(
    spans: Sequence[SpanRecord],
    *,
    events: Mapping[SpanKey, Sequence[Event]],
    uploads: Mapping[str, Any],
) -> tuple[list[Seen], list[Gap]]:
    """The calls that spans of instrumentations show, and what the run lacks by them.

    spans:    all of the run, in start order.
    events:   made of log records, by the ids of their spans.
    uploads:  content that is stored beside, by its address.
    """
    by_key = {key_of(span): span for span in spans}
    found: list[Observed] = []
    families: dict[tuple[str, frozenset[str]], Family | None] = {}
    for span in spans:
        # By scope and attributes, of which a program has few sets.
        kind = (span.scope.name, frozenset(span.attributes))
        if kind not in families:
            families[kind] = _family_of(span)
        family = families[kind]
        if family is None:
            continue
        parent = None if span.parent_id is None else by_key.get((span.trace_id, span.parent_id))
        around = Around((*span.events, *events.get(key_of(span), ())), uploads, parent)
        one = family.observe(span, around)
        if one is not None:
            found.append(one)
    calls = joined(found, by_key)
    google = [one for one in calls if one.kind == "llm" and is_google(one)]
    inside = tools_inside(calls, by_key) if google else {}
    tools_in = {id(one): inside.get(id(one), ()) for one in google}
    own = {id(one): one.span for one in calls}
    told = [turn for one in google for turn in told_turns(one, tools_in[id(one)])]
    with_turns = sorted([*told, *calls], key=lambda one: one.span.start_ns)
    inferred, gaps = infer(with_turns)
    made = [Seen(_crossing(one), (), one.span) for one in told]
    for one in calls:
        spans_of_it = (own[id(one)], *one.others)
        tools = tools_in.get(id(one), ())
        if not tools or one.failure is not None or own[id(one)] is not one.span:
            made.append(Seen(_crossing(one), spans_of_it, None if own[id(one)] is one.span else own[id(one)]))
            continue
        turns = turns_of(one, tools)
        made += [Seen(_between(turn.call, turn.started, turn.ended), (), one.span) for turn in turns]
        last = _crossing(one)
        started = max(tool.span.end_ns or tool.span.start_ns for tool in tools)
        duration = None if last.ended is None else max(0, last.ended - started)
        made.append(Seen(replace(last, started=started, duration=duration), spans_of_it, one.span))
    made += [Seen(_between(one.call, one.started, one.ended), (), one.asked.span) for one in inferred]
    return made, gaps + silences(spans, calls)


def _between(one: Observed, started: int, ended: int) -> Crossing:
    """Of a call without a span of its own."""
    made = _crossing(one)
    grade = REBUILT if made.grade == EXACT else made.grade
    return replace(made, started=started, duration=max(0, ended - started), span_ids=(), grade=grade)


def _crossing(one: Observed) -> Crossing:
    span = one.span
    ends = [other.end_ns for other in (span, *one.others) if other.end_ns is not None]
    ended = max(ends) if ends else None
    gaps = list(one.gaps)
    failure, outcome, stream_end = one.failure, "returned", None
    if ended is None:
        outcome = "unfinished"
    elif one.is_stream and (failure is None or one.result is not ABSENT):
        outcome = "streamed"
        stream_end = "raised" if failure is not None else "abandoned" if one.ended_early else "finished"
    elif failure is not None:
        outcome = "cancelled" if (failure.type or "").rpartition(".")[2] in _CANCELLATIONS else "raised"
    output, grade = _outcome(one, outcome, gaps)
    if one.inputs is None and grade == EXACT:
        grade = REBUILT
    return Crossing(
        boundary=one.boundary,
        kind=one.kind,
        model=one.model,
        usage=one.usage,
        outcome=outcome,
        stream_end=stream_end,
        item_count=1 if outcome == "streamed" and output is not None else None,
        input=None if one.inputs is None else _stored(dict(one.inputs)),
        output=output,
        error_type=failure.type if failure is not None else None,
        error_message=failure.message if failure is not None else "",
        error_status=failure.status if failure is not None else None,
        started=span.start_ns,
        duration=None if ended is None else max(0, ended - span.start_ns),
        trace_id=span.trace_id,
        span_ids=tuple(other.span_id for other in (span, *one.others)),
        gaps=tuple(gaps),
        grade=grade,
        foreign=True,
    )


def _outcome(one: Observed, outcome: str, gaps: list[Gap]) -> tuple[Payload | None, str]:
    """The payload and the grade; adds the gaps that say why it is not exact."""
    if outcome == "unfinished":
        gaps.append(Gap("UNFINISHED", "the call had not ended when the trace did", one.where))
        return None, UNUSABLE
    if outcome in ("raised", "cancelled") and one.failure is not None:
        gaps.append(Gap("NORMALISED", _of_failure(one.failure), one.where))
        return Payload.of(_exception(one.failure)), REBUILT
    if one.result is ABSENT:
        if not gaps:
            gaps.append(Gap("PAYLOAD_MISSING", f"{one.source} has not recorded what came back", one.where))
        return None, UNUSABLE
    value = _stored(one.result)
    if outcome == "streamed":
        gaps.append(
            Gap("STREAM_ASSEMBLED", "of the stream its assembled answer is known, not its chunks", one.where)
        )
        raised = "" if one.failure is None else f',"error":{_exception(one.failure)}'
        return Payload.of(f'{{"items":[{value.text}]{raised}}}'), REBUILT
    if one.is_whole:
        return value, EXACT
    if not any(gap.code in ("FROM_NEXT_INPUT", "CONTENT_NOT_RECORDED") for gap in gaps):
        gaps.append(Gap("NORMALISED", _of_result(one), one.where))
    return value, REBUILT


def _stored(value: Any) -> Payload:
    """JSON as it is stored, which it is already but for keys `$type` and numbers that JSON has not (orjson makes
    null of them)."""
    try:
        text = orjson.dumps(value)
    except orjson.JSONEncodeError:
        return encode(value)
    is_changed = b'"$type"' in text or (b"null" in text and orjson.loads(text) != value)
    return encode(value) if is_changed else Payload.of(text.decode())


def _of_failure(failure: Failure) -> str:
    if failure.stands_for:
        return "of the exception the text is known that was given to the model in its place"
    return "of the exception its class and message are known"


def _of_result(one: Observed) -> str:
    if one.answer is not None:
        return f"{one.source} has kept the answer's messages, not the provider's response: it is made of them"
    return f"the result is what {one.source} has kept of it"


def _exception(failure: Failure) -> str:
    """As it is stored; halves of surrogate pairs are question marks."""
    title = failure.type or "Exception"
    known = getattr(builtins, title, None)
    module, _, name = title.rpartition(".")
    if isinstance(known, type) and issubclass(known, BaseException):
        module, name = "builtins", title
    made: dict[str, Any] = {TAG: "exception", CLASS: f"{module or 'unknown'}:{name}"}
    made["args"] = [failure.message] if failure.message else []
    if failure.told is not None:
        made["state"] = {"__notes__": [f"{TOLD}{failure.told}"]}
    return compact(made).encode("utf-8", "replace").decode("utf-8")
