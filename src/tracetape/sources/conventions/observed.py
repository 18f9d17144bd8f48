"""What a span of an instrumentation shows of one call, before the spans of one call are put together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tracetape.model.json_text import parsed
from tracetape.model.messages import Answer
from tracetape.model.span import Event, Gap, SpanRecord

__all__ = [
    "ABSENT",
    "CUT",
    "REDACTED",
    "Failure",
    "Observed",
    "exception_in",
    "failure_of",
    "is_left",
    "json_value",
    "loaded",
    "loaded_parameter",
    "place",
    "text_value",
]


class _Mark:
    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


ABSENT: Any = _Mark("ABSENT")
CUT: Any = _Mark("CUT")
"""JSON text that is none any more."""
REDACTED: Any = _Mark("REDACTED")

_STATUS = re.compile(r"\b(?:Error code|status_code): ([45]\d\d)\b|^(?:\w+: )?([45]\d\d) [A-Z_]+\.")
# Of control flow: nothing has failed.
_CONTROL = ("GeneratorExit", "StopIteration", "StopAsyncIteration", "GraphInterrupt", "GraphBubbleUp")
_REDACTED = ("__REDACTED__", "[REDACTED]")


class Failure(NamedTuple):
    """How a call failed, as far as a span tells. status: of HTTP. stands_for: whether a framework has put a text
    of its own in the exception's place. told: the text that the model was given."""

    type: str | None = None
    message: str = ""
    status: int | None = None
    stands_for: bool = False
    told: str | None = None


@dataclass(slots=True, kw_only=True)
class Observed:
    """One call as one span (or, where no span shows it, the spans around it) shows it.

    kind:       llm, embedding, tool, retrieval, memory.
    boundary:   its name in recordings: the operation, or the bare name of the tool.
    source:     the family, for messages.
    inputs:     of a model call the request in the normal form; of others the arguments by name; None where they
                are unknown.
    result:     what came back as the span has it; ABSENT where unknown.
    answer:     of a model call, in the normal form.
    is_whole:   whether `result` is what the client gave back, nothing changed.
    call_id:    of a tool call, as the model gave it. response_id: of a model's answer.
    ended_early: of a stream that its consumer left.
    switch:     what would have the family record content, for gaps.
    rank:       of two spans of one call the one of the higher rank is the better source.
    wraps:      a span of a framework around the call of a client library.
    """

    span: SpanRecord
    kind: str
    boundary: str
    source: str = ""
    inputs: Mapping[str, Any] | None = None
    result: Any = ABSENT
    answer: Answer | None = None
    is_whole: bool = False
    model: str | None = None
    usage: dict[str, int] = field(default_factory=dict)
    call_id: str | None = None
    response_id: str | None = None
    is_stream: bool = False
    ended_early: bool = False
    failure: Failure | None = None
    switch: str = ""
    rank: int = 0
    gaps: list[Gap] = field(default_factory=list)
    others: list[SpanRecord] = field(default_factory=list)

    @property
    def where(self) -> str:
        return place(self.span)


def place(span: SpanRecord) -> str:
    return f"span {span.span_id} {span.name[:80]!r}"


def text_value(value: Any) -> str | None:
    """An attribute's text; a reader may have left it in its file."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, (bool, int, float, bytes, list, tuple, dict)):
        return None
    return str(value)


def json_value(attributes: Mapping[str, Any], key: str) -> Any:
    """An attribute that is JSON, as text or structured; ABSENT; CUT where the text is no JSON; REDACTED."""
    value = attributes.get(key, ABSENT)
    if value is ABSENT or value is None:
        return ABSENT
    return loaded(value)


def loaded(value: Any) -> Any:
    """The same of a value."""
    text = text_value(value)
    if text is None:
        return value
    if text in _REDACTED:
        return REDACTED
    try:
        return parsed(text)
    except ValueError:
        return CUT


def loaded_parameter(value: Any) -> Any:
    """A parameter; lists and objects come as JSON text from some families."""
    text = value if isinstance(value, str) else None
    if text is not None and text[:1] in ("[", "{"):
        found = loaded(text)
        return text if found is CUT or found is REDACTED else found
    return value


def exception_in(events: tuple[Event, ...]) -> Event | None:
    """The last exception event of a span."""
    return next((one for one in reversed(events) if one.name == "exception"), None)


def is_left(span: SpanRecord) -> bool:
    """Whether a stream's consumer left it."""
    event = exception_in(span.events)
    return event is not None and event.attributes.get("exception.type") == "GeneratorExit"


def failure_of(span: SpanRecord) -> Failure | None:
    """How the call of a span failed; None where it did not."""
    attributes = span.attributes
    event = exception_in(span.events)
    told = text_value(attributes.get("error.type"))
    if span.status.code != "ERROR" and not told:
        return None  # an exception that was handled inside leaves an event too
    kind = text_value(event.attributes.get("exception.type")) if event else None
    if (kind or told or "").rpartition(".")[2] in _CONTROL:
        return None
    message = text_value(event.attributes.get("exception.message")) if event else None
    status = _status(attributes.get("http.response.status_code"))
    if status is None and told and told.isdecimal() and len(told) == 3:
        status = int(told)
    text = message if message is not None else span.status.message
    return Failure(kind or told, text, status if status is not None else _status_in(text))


def _status(value: Any) -> int | None:
    return value if type(value) is int and 100 <= value < 600 else None


def _status_in(text: str) -> int | None:
    """The status in the messages of OpenAI's, Anthropic's and PydanticAI's exceptions, then of Google's."""
    found = _STATUS.search(text[:2_000])
    return None if found is None else int(found[1] or found[2])
