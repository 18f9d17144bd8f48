"""Whether what two spans show may be one call: two families look at it, one span lies around the other."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tracetape.model.messages import Answer, text_of, tool_calls_of
from tracetape.model.span import SpanRecord
from tracetape.sources.conventions.observed import Observed
from tracetape.sources.formats.json_fields import compact

__all__ = ["Open", "SpanKey", "is_asked_again", "is_same_call", "is_seen_twice", "same_model", "signature"]

SpanKey = tuple[str, str]

# Spans above a framework's own that are looked at for the client's parent.
_DEEPEST = 100
# Calls that began before another that are looked at: more do not run at once and ask the same.
_LOOKED_AT = 100
# Of a model, behind its name: a date, a build, a word for the newest. `-mini` is another model, so is `-5`.
_VERSION = re.compile(r"|[-@:](?:\d{3}[\d-]*|v\d[\d:.]*|latest)|-\d[\d-]*-v\d[\d:]*")


def same_model(one: str | None, other: str | None) -> bool:
    """`openai/gpt-5-mini`, `gpt-5-mini`, `gpt-5-mini-2026-09-01`: a router's name, asked for, that answered."""
    if one is None or other is None:
        return True
    shorter, longer = sorted((one.rpartition("/")[2].lower(), other.rpartition("/")[2].lower()), key=len)
    return longer.startswith(shorter) and _VERSION.fullmatch(longer, len(shorter)) is not None


def is_asked_again(one: Observed, child: Observed) -> bool:
    """Whether a span inside another family's hands the same request on."""
    if one.span.scope.name == child.span.scope.name or one.inputs is None or child.inputs is None:
        return False
    return _same_asked(one, child)


def is_seen_twice(one: Observed, other: Observed) -> bool:
    """Whether two spans with one response id are of one call: two families look at it at the same time. One family
    sees a call once; a cache answers two calls with one id."""
    if one.span.scope.name == other.span.scope.name or not _overlap(one.span, other.span):
        return False
    if one.answer is not None and other.answer is not None and signature(one.answer) != signature(other.answer):
        return False
    return _same_asked(one, other)


def is_same_call(outer: Observed, inner: Observed, spans: Mapping[SpanKey, SpanRecord]) -> bool:
    """Whether a span that lies in another's time, and not under it, is of the same call. spans: all of the run."""
    if outer.kind != inner.kind:
        return False
    if inner.span.scope.name in {span.scope.name for span in (outer.span, *outer.others)}:
        return False
    if (inner.span.end_ns or 0) > (outer.span.end_ns or 0):
        return False
    if outer.response_id and inner.response_id:
        return False  # they have been compared
    if not same_model(outer.model, inner.model) or not _same_asked(outer, inner):
        return False
    if outer.answer is not None and inner.answer is not None:
        return bool(signature(outer.answer) == signature(inner.answer))
    if (outer.failure is None) != (inner.failure is None):
        return False
    return outer.span.trace_id != inner.span.trace_id or _is_beside(outer.span, inner.span, spans)


class Open:
    """The calls that have not ended when the next one begins, by the end of what they were asked."""

    def __init__(self) -> None:
        self._all: list[Observed] = []
        self._by_said: dict[str | None, list[Observed]] = {}

    def add(self, one: Observed) -> None:
        self._all.append(one)
        self._by_said.setdefault(_asked_last(one), []).append(one)

    def around(self, one: Observed) -> list[Observed]:
        """Those that may be asked the same, the last first."""
        said, begun = _asked_last(one), one.span.start_ns
        listed = [self._all] if said is None else [self._by_said.get(said, []), self._by_said.get(None, [])]
        last = [other for some in listed for other in some[-_LOOKED_AT:] if (other.span.end_ns or 0) >= begun]
        return sorted(last, key=lambda other: other.span.start_ns, reverse=True)


def _asked_last(one: Observed) -> str | None:
    if one.inputs is None:
        return None
    return compact(_said((one.inputs.get("messages") or [None])[-1]))


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


def signature(answer: Answer | None) -> Any:
    """What an answer says: texts, and the names and arguments of tool calls."""
    if answer is None:
        return None
    return [
        (text_of(one) or "", [(part.get("name"), part.get("arguments")) for part in tool_calls_of(one)])
        for one in answer["messages"]
    ]
