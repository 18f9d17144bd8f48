"""Makes one call of the several spans that show it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from tracetape.model.messages import Answer, text_of, tool_calls_of
from tracetape.model.span import SpanRecord
from tracetape.sources.conventions import logfire
from tracetape.sources.conventions.observed import ABSENT, Failure, Observed
from tracetape.sources.formats.json_fields import compact

__all__ = ["SpanKey", "joined", "key_of", "tools_inside"]

SpanKey = tuple[str, str]

_MODELS = ("llm", "embedding")
# Spans above a framework's own that are looked at for the client's parent.
_DEEPEST = 100


def key_of(span: SpanRecord) -> SpanKey:
    return span.trace_id, span.span_id


def joined(found: Sequence[Observed], spans: Mapping[SpanKey, SpanRecord]) -> list[Observed]:
    """One for each call, in start order.

    found: in start order. spans: all of the run, by their ids.

    The same call shows up nested (a framework's span over the client's), beside, in another trace (LangChain's
    callbacks set no context), or as two spans one after the other (Logfire's streams). Joined are spans of one
    kind of which one is inside the other, then those with one response id at the same time, then those that say
    the same at the same time.
    """
    left = _logfire_pairs(found)
    left = _nested(left, spans)
    left = _same_response(left)
    return _same_time(left, spans)


def tools_inside(found: Sequence[Observed], spans: Mapping[SpanKey, SpanRecord]) -> Mapping[int, list[Observed]]:
    """By the identity of each call the tools that ran inside its span, right under it as calls go."""
    tree = _Tree(found, spans)
    inside: dict[int, list[Observed]] = {}
    for one in found:
        above = tree.over(one) if one.kind == "tool" else None
        if above is not None:
            inside.setdefault(id(above), []).append(one)
    return inside


def _logfire_pairs(found: Sequence[Observed]) -> list[Observed]:
    """The request of a stream and the span in which it ended."""
    left: list[Observed] = []
    waiting: dict[tuple[str, str, str | None, str], deque[Observed]] = {}
    for one in found:
        if one.span.scope.name.startswith("logfire."):
            is_answer = logfire.is_answer(one.span)
            if is_answer or (one.answer is None and one.failure is None):
                place = (one.span.scope.name, one.span.trace_id, one.span.parent_id, compact(one.inputs))
                if not is_answer:
                    waiting.setdefault(place, deque()).append(one)
                elif waiting.get(place):
                    _take(waiting[place].popleft(), one)
                    continue
        left.append(one)
    return left


def _nested(found: Sequence[Observed], spans: Mapping[SpanKey, SpanRecord]) -> list[Observed]:
    tree = _Tree(found, spans)
    inside: dict[int, list[Observed]] = {}
    for one in found:
        above = tree.over(one)
        if above is not None and _alike(above, one):
            inside.setdefault(id(above), []).append(one)
    gone: set[int] = set()
    for one in reversed(found):  # the innermost first
        children = inside.get(id(one), [])
        if not children or _contradict(one, children):
            continue
        if len(children) > 1 and not any(child.failure for child in children):
            gone.add(id(one))  # a wrapper around several calls
            continue
        # Those that have succeeded first: what a framework has tried again was no failure of its call.
        for child in sorted(children, key=lambda child: child.failure is not None):
            if id(child) not in gone:
                _take(one, child)
                gone.add(id(child))
    return [one for one in found if id(one) not in gone]


class _Tree:
    """Which call's span lies around which."""

    def __init__(self, found: Sequence[Observed], spans: Mapping[SpanKey, SpanRecord]) -> None:
        self._by_key = {key_of(span): one for one in found for span in (one.span, *one.others)}
        self._spans = spans
        self._known: dict[SpanKey, Observed | None] = {}

    def over(self, one: Observed) -> Observed | None:
        """The call right around one; None where there is none."""
        span: SpanRecord | None = one.span
        passed: list[SpanKey] = []
        above = None
        while span is not None and span.parent_id is not None:
            key = (span.trace_id, span.parent_id)
            above = self._known[key] if key in self._known else self._by_key.get(key)
            if above is not None or key in self._known:
                break
            self._known[key] = None  # of a hostile file, whose spans are their own ancestors
            passed.append(key)
            span = self._spans.get(key)
        self._known.update(dict.fromkeys(passed, above))
        return None if above is one else above


def _alike(one: Observed, other: Observed) -> bool:
    """Whether one of them may be the other: calls of one model, or runs of one tool with the same arguments."""
    if one.kind != other.kind:
        return False
    if one.kind in _MODELS:
        return _same_model(one.model, other.model)
    if one.kind != "retrieval" and one.boundary != other.boundary:
        return False
    return one.inputs is None or other.inputs is None or one.inputs == other.inputs


def _same_model(one: str | None, other: str | None) -> bool:
    """`openai/gpt-5-mini`, `gpt-5-mini`, `gpt-5-mini-2026-09-01`: a router's name, asked for, that answered."""
    if one is None or other is None:
        return True
    first, second = one.rpartition("/")[2].lower(), other.rpartition("/")[2].lower()
    return first.startswith(second) or second.startswith(first)


def _contradict(one: Observed, children: Sequence[Observed]) -> bool:
    """Whether a span has another answer than what is inside it. What a framework has made of the answer of the
    only call inside, which was asked the same, is no other."""
    if one.kind != "llm" or one.answer is None:
        return False
    if len(children) == 1 and _is_asked_again(one, children[0]):
        return False
    said = _signature(one.answer)
    answers = [_signature(child.answer) for child in children if child.answer is not None]
    return bool(answers) and said not in answers


def _is_asked_again(one: Observed, child: Observed) -> bool:
    if one.span.scope.name == child.span.scope.name or one.inputs is None or child.inputs is None:
        return False
    return _same_asked(one, child)


def _same_response(found: Sequence[Observed]) -> list[Observed]:
    left: list[Observed] = []
    by_id: dict[str, list[Observed]] = {}
    for one in found:
        same = by_id.setdefault(one.response_id, []) if one.response_id else []
        other = next((other for other in same if _is_seen_twice(other, one)), None)
        if other is None:
            left.append(one)
            same.append(one)
        else:
            _take(other, one)
    return left


def _is_seen_twice(one: Observed, other: Observed) -> bool:
    """Whether two spans with one response id are of one call: two families look at it at the same time. One family
    sees a call once; a cache answers two calls with one id."""
    if one.span.scope.name == other.span.scope.name or not _overlap(one.span, other.span):
        return False
    if one.answer is not None and other.answer is not None and _signature(one.answer) != _signature(other.answer):
        return False
    return _same_asked(one, other)


def _same_time(found: Sequence[Observed], spans: Mapping[SpanKey, SpanRecord]) -> list[Observed]:
    """Of different families, or traces: one lies inside the other, and they say the same as far as they speak."""
    left: list[Observed] = []
    open_: list[Observed] = []
    for one in found:
        open_ = [other for other in open_ if (other.span.end_ns or 0) >= one.span.start_ns]
        outer = next((other for other in reversed(open_) if _is_same_call(other, one, spans)), None)
        if outer is None:
            left.append(one)
            if one.kind in _MODELS:
                open_.append(one)
        else:
            _take(outer, one)
    return left


def _is_same_call(outer: Observed, inner: Observed, spans: Mapping[SpanKey, SpanRecord]) -> bool:
    if outer.kind != inner.kind or outer.kind not in _MODELS:
        return False
    if inner.span.scope.name in {span.scope.name for span in (outer.span, *outer.others)}:
        return False
    if (inner.span.end_ns or 0) > (outer.span.end_ns or 0):
        return False
    if outer.response_id and inner.response_id:
        return False  # they have been compared
    if not _same_model(outer.model, inner.model) or not _same_asked(outer, inner):
        return False
    if outer.answer is not None and inner.answer is not None:
        return bool(_signature(outer.answer) == _signature(inner.answer))
    if (outer.failure is None) != (inner.failure is None):
        return False
    return outer.span.trace_id != inner.span.trace_id or _is_beside(outer.span, inner.span, spans)


def _is_beside(outer: SpanRecord, inner: SpanRecord, spans: Mapping[SpanKey, SpanRecord]) -> bool:
    """Whether one span's parent is above the other: what a framework's callbacks open is nobody's parent."""
    above: SpanRecord | None = outer
    passed = 0
    while above is not None and above.parent_id is not None and passed < _DEEPEST:
        if above.parent_id == inner.parent_id:
            return True
        above = spans.get((above.trace_id, above.parent_id))
        passed += 1
    return inner.parent_id is None and above is not None and above.parent_id is None


def _same_asked(one: Observed, other: Observed) -> bool:
    """Whether two requests end in the same, as far as both are known: families differ in what they put before."""
    if one.inputs is None or other.inputs is None:
        return True
    last, other_last = ((inputs.get("messages") or [None])[-1] for inputs in (one.inputs, other.inputs))
    return bool(_said(last) == _said(other_last))


def _said(message: Any) -> Any:
    if not isinstance(message, dict):
        return None
    return [
        part.get("content", part.get("response")) for part in message["parts"] if part.get("type") != "reasoning"
    ]


def _overlap(one: SpanRecord, other: SpanRecord) -> bool:
    return one.start_ns <= (other.end_ns or other.start_ns) and other.start_ns <= (one.end_ns or one.start_ns)


def _signature(answer: Answer | None) -> Any:
    """What an answer says: texts, and the names and arguments of tool calls."""
    if answer is None:
        return None
    return [
        (text_of(one) or "", [(part.get("name"), part.get("arguments")) for part in tool_calls_of(one)])
        for one in answer["messages"]
    ]


def _take(one: Observed, other: Observed) -> None:
    """Have the first say what both know. It keeps its span, which began first."""
    # What a framework has got over was no failure of its call.
    got_over = one.failure is None and one.result is not ABSENT
    best = other if other.rank > one.rank and not (got_over and other.failure is not None) else one
    worse = one if best is other else other
    inputs = best.inputs if best.inputs is not None else worse.inputs
    has_result = best.result is not ABSENT
    gaps = [
        gap
        for gap in best.gaps
        if not (gap.code in ("CONTENT_OFF", "CONTENT_NOT_RECORDED") and _has_other(best, worse))
    ]
    one.is_whole, one.answer, one.result = (
        (best.is_whole, best.answer, best.result) if has_result else (worse.is_whole, worse.answer, worse.result)
    )
    one.source = best.source
    one.switch = best.switch
    one.model = best.model or worse.model
    one.usage = best.usage or worse.usage
    one.call_id = one.call_id or other.call_id
    one.response_id = one.response_id or other.response_id
    one.is_stream = one.is_stream or other.is_stream
    one.ended_early = best.ended_early
    one.failure = None if got_over else _better(one.failure, other.failure)
    one.rank, one.inputs, one.gaps = best.rank, inputs, gaps
    one.others += [other.span, *other.others]


def _has_other(best: Observed, worse: Observed) -> bool:
    """Whether what one lacks is known from the other."""
    return (best.inputs is not None or worse.inputs is not None) and (
        best.result is not ABSENT or worse.result is not ABSENT or best.failure is not None
    )


def _better(one: Failure | None, other: Failure | None) -> Failure | None:
    if one is None or other is None:
        return one or other
    first, second = (one, other) if one.message or not other.message else (other, one)
    kind = first.type or second.type
    return Failure(kind, first.message or second.message, first.status or second.status, first.stands_for)
