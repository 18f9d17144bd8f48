"""Makes one call of the several spans that show it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from tracetape.model.span import SpanRecord
from tracetape.sources.conventions import logfire
from tracetape.sources.conventions.alike import (
    Open,
    SpanKey,
    is_asked_again,
    is_same_call,
    is_seen_twice,
    same_model,
    signature,
)
from tracetape.sources.conventions.observed import ABSENT, Failure, Observed
from tracetape.sources.formats.json_fields import compact

__all__ = ["SpanKey", "joined", "key_of", "tools_inside"]

_MODELS = ("llm", "embedding")


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
        return same_model(one.model, other.model)
    if one.kind != "retrieval" and one.boundary != other.boundary:
        return False
    return one.inputs is None or other.inputs is None or one.inputs == other.inputs


def _contradict(one: Observed, children: Sequence[Observed]) -> bool:
    """Whether a span has another answer than what is inside it. What a framework has made of the answer of the
    only call inside, which was asked the same, is no other."""
    if one.kind != "llm" or one.answer is None:
        return False
    if len(children) == 1 and is_asked_again(one, children[0]):
        return False
    said = signature(one.answer)
    answers = [signature(child.answer) for child in children if child.answer is not None]
    return bool(answers) and said not in answers


def _same_response(found: Sequence[Observed]) -> list[Observed]:
    left: list[Observed] = []
    by_id: dict[str, list[Observed]] = {}
    for one in found:
        same = by_id.setdefault(one.response_id, []) if one.response_id else []
        other = next((other for other in same if is_seen_twice(other, one)), None)
        if other is None:
            left.append(one)
            same.append(one)
        else:
            _take(other, one)
    return left


def _same_time(found: Sequence[Observed], spans: Mapping[SpanKey, SpanRecord]) -> list[Observed]:
    """Of different families, or traces: one lies inside the other, and they say the same as far as they speak."""
    left: list[Observed] = []
    open_ = Open()
    for one in found:
        if one.kind not in _MODELS:
            left.append(one)
            continue
        outer = next((other for other in open_.around(one) if is_same_call(other, one, spans)), None)
        if outer is None:
            left.append(one)
            open_.add(one)
        else:
            _take(outer, one)
    return left


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
    told = first.told or second.told
    return Failure(kind, first.message or second.message, first.status or second.status, first.stands_for, told)
