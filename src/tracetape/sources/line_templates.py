"""What lines of our own exporter have in common: a pattern made of one line, proven on another."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import orjson

from tracetape.errors import FormatError
from tracetape.model.crossing import EXACT, Crossing
from tracetape.model.payload import Payload
from tracetape.model.span import SpanRecord
from tracetape.semconv import names
from tracetape.semconv.read import read_crossing
from tracetape.sources.formats import otlp_json
from tracetape.sources.ordering import sequence_of
from tracetape.sources.payload_checks import content_gaps
from tracetape.sources.records import Record
from tracetape.sources.rereading import Strings

__all__ = ["BETWEEN", "END_TIME", "MIDDLE", "NAME_AT", "Filling", "Template", "start_in", "template_of"]


class Filling(NamedTuple):
    """What a line has in the places where each line has something else. number: of the line, from 1."""

    trace_id: str
    span_id: str
    parent_id: str
    start_ns: int
    end_ns: int
    counts: Sequence[int]
    given: Payload
    result: Payload
    number: int


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """What is the same in many lines.

    head:      matches from the trace's id to the input's text. Its groups: the ids of the trace, the span and the
               parent, start, end, the counts, then digest and size of the input. Ids, times and the digest are
               any bytes, as many as they should be: whoever takes them looks at them.
    after_end:  what follows the end's time. The head skips it: a pattern goes byte by byte over what is always the
               same.
    tail:      what follows the output's text, to the end of the line.
    sample:    the span of one such line. crossing: what that is, but for what `crossing_of` fills in.
    counts:    the attributes of which each span has its own whole number, but for the payloads' sizes.
    sequence:  the attribute among them that its process counts by, and that process; None where there is none.
    counted_at:  the group that is the number of `sequence`; that of the start where there is none.
    strings, source:  of the file, to be read again; for messages.
    boundary:  of the crossing. seq_at, before_at: where its seq and the one before are among the counts, or -1.
    """

    head: re.Pattern[bytes]
    after_end: bytes
    tail: bytes
    sample: SpanRecord
    crossing: Mapping[str, Any]
    counts: tuple[str, ...]
    sequence: tuple[str, str | None] | None
    counted_at: int
    strings: Strings
    source: str
    boundary: str = field(init=False)
    seq_at: int = field(init=False)
    before_at: int = field(init=False)

    def __post_init__(self) -> None:
        # Asked for at each call of a replay.
        object.__setattr__(self, "boundary", str(self.crossing["boundary"]))
        object.__setattr__(self, "seq_at", self._place_of(names.SEQ))
        object.__setattr__(self, "before_at", self._place_of(names.SEQ_BEFORE))

    def _place_of(self, key: str) -> int:
        return self.counts.index(key) if key in self.counts else -1

    def span_of(self, filling: Filling) -> SpanRecord:
        sample = self.sample
        attributes = dict(sample.attributes)
        attributes.update(zip(self.counts, filling.counts, strict=True))
        for keys, payload in zip(_PAYLOADS, (filling.given, filling.result), strict=True):
            digest, size, value = keys
            attributes[digest], attributes[size] = payload.digest, payload.size
            attributes[value] = payload.stored
        return SpanRecord(
            trace_id=filling.trace_id,
            span_id=filling.span_id,
            parent_id=filling.parent_id,
            name=sample.name,
            kind=sample.kind,
            start_ns=filling.start_ns,
            end_ns=filling.end_ns,
            status=sample.status,
            attributes=attributes,
            events=sample.events,
            links=sample.links,
            resource=sample.resource,
            scope=sample.scope,
            where=f"{self.source}:{filling.number}",
        )

    def crossing_of(self, filling: Filling, **place: Any) -> Crossing:
        """The crossing that `span_of` is, without a span. place: its occurrence, values and kin."""
        counted = dict(zip(self.counts, filling.counts, strict=True))
        return Crossing(
            **self.crossing,
            usage={key.removeprefix(_USAGE): n for key, n in counted.items() if key.startswith(_USAGE)},
            input=filling.given,
            output=filling.result,
            item_count=counted.get(names.STREAM_ITEM_COUNT),
            seq=counted.get(names.SEQ),
            seq_before=counted.get(names.SEQ_BEFORE),
            started=filling.start_ns,
            duration=filling.end_ns - filling.start_ns,
            trace_id=filling.trace_id,
            span_ids=(filling.span_id,),
            **place,
        )


_USAGE = names.GEN_AI_USAGE
# What `crossing_of` fills in, and what is set where it is put into its recording.
_FILLED = {"usage", "input", "output", "item_count", "seq", "seq_before", "started", "duration"}
_FILLED |= {"trace_id", "span_ids", "occurrence", "values", "kin"}
_COMPARED = tuple(one for one in fields(Crossing) if one.name != "kin")
_FIXED = tuple(one.name for one in fields(Crossing) if one.name not in _FILLED)
_PAYLOADS = (
    (names.INPUT_DIGEST, names.INPUT_SIZE, names.INPUT_VALUE),
    (names.OUTPUT_DIGEST, names.OUTPUT_SIZE, names.OUTPUT_VALUE),
)


def _opening(key: str) -> bytes:
    return f'{{"key":"{key}","value":{{"stringValue":"'.encode()


def _payload(digest: str, size: str, value: str) -> bytes:
    """The pattern from a payload's digest to its text. Groups: the digest, the size."""
    return (
        re.escape(_opening(digest) + b"sha256:")
        + b"(.{64})"
        + re.escape(f'"}}}},{{"key":"{size}","value":{{"intValue":"'.encode())
        + b"([0-9]{1,18})"
        + re.escape(b'"}},' + _opening(value))
    )


# What follows the input's text, as far as that is always the same; then to the output's text.
BETWEEN = b'"}},' + _opening(names.OUTPUT_DIGEST)
MIDDLE = re.compile(re.escape(b'"}},') + _payload(*_PAYLOADS[1]), re.DOTALL)

_GIVEN = re.compile(_payload(*_PAYLOADS[0]), re.DOTALL)
_START = re.compile(rb'[^\\]*?"spans":\[\{"traceId":"')
_SPAN = re.compile(
    rb'([0-9a-f]{32})","spanId":"([0-9a-f]{16})","parentSpanId":"([0-9a-f]{16})","name":"[^"\\]*","kind":[0-9],'
    rb'"startTimeUnixNano":"([1-9][0-9]{18})","endTimeUnixNano":"([1-9][0-9]{18})",'
)
_COUNT = re.compile(rb'\{"key":"([^"\\]+)","value":\{"intValue":"(-?[0-9]{1,18})"\}\}')
_TAIL = b'"}}],"'
# Bytes before the input's text, and behind the output's: a pattern of that size takes a few milliseconds to make.
_CONSTANT = 8_192
# Of the groups of _SPAN. A class of characters takes longer than all else in a pattern.
_FORMS = (b"(.{32})", b"(.{16})", b"(.{16})", b"(.{19})", b"(.{19})")
END_TIME = len(_FORMS)
"""The group of a head that is the end's time, behind which its `after_end` stands."""
# The first group of a head that is a count, from 0.
_COUNTS_AT = len(_FORMS)
_NUMBER = b"(-?[0-9]{1,18})"
# From the trace's id to the span's name.
NAME_AT = len('","spanId":"') + len('","parentSpanId":"') + len('","name":"') + 32 + 16 + 16


def start_in(raw: bytes) -> bytes | None:
    """What a line has before its trace's id."""
    found = _START.match(raw)
    return None if found is None else found.group()


def template_of(raw: bytes, start: bytes, span: SpanRecord, strings: Strings, source: str) -> Template | None:
    """Made of a line and its span; None where it is not quite as our exporter writes it, or lacks something.

    Proven on a line with other values in each place: read the general way it must give what the template gives.
    """
    found = _SPAN.match(raw, len(start))
    given = _GIVEN.search(raw, found.end()) if found is not None else None
    if found is None or given is None or given.end() > _CONSTANT or b"\\" in raw[: given.end()]:
        return None
    between = MIDDLE.search(raw, given.end())
    end = raw.find(_TAIL, between.end()) if between is not None else -1
    crossing = _exact(span)
    if end < 0 or len(raw) - end > _CONSTANT or crossing is None:
        return None
    own = [one for one in _COUNT.finditer(raw, found.end(), given.start()) if _is_own(one.group(1))]
    holes = [(*found.span(number), _FORMS[number - 1]) for number in range(1, 6)]
    holes += [(*one.span(2), _NUMBER) for one in own]
    forms = [*(form for *_, form in holes), _GIVEN.pattern]
    begins = [len(start), *(to for _, to, _ in holes)]
    ends = [*(begin for begin, *_ in holes), given.start()]
    same = [raw[begin:to] for begin, to in zip(begins, ends, strict=True)]
    after_end = same[END_TIME]
    fixed_parts = [re.escape(part) for part in same]
    fixed_parts[END_TIME] = b".{%d}" % len(after_end)
    pattern = b"".join(part + form for part, form in zip(fixed_parts, forms, strict=True))
    counts = tuple(one.group(1).decode("utf-8") for one in own)
    counted = sequence_of(span)
    sequence = None if counted is None else counted[0][1:]
    if sequence is not None and sequence[0] not in counts:
        return None
    counted_at = _COUNTS_AT + (counts.index(sequence[0]) if sequence is not None else -2)
    head = re.compile(pattern, re.DOTALL)
    fixed = {name: getattr(crossing, name) for name in _FIXED}
    template = Template(head, after_end, raw[end:], span, fixed, counts, sequence, counted_at, strings, source)
    return template if _is_proven(template, raw, start, holes, given.start()) else None


def _is_own(key: bytes) -> bool:
    return key != names.SCHEMA_VERSION.encode()


def _is_proven(
    template: Template, raw: bytes, start: bytes, holes: Sequence[tuple[int, int, bytes]], rest: int
) -> bool:
    ids = ("1f" * 16, "2e" * 8, "3d" * 8)
    times = (7_000_000_000_000_000_001, 7_000_000_000_000_000_009)
    counts = [1_000 + number for number in range(len(template.counts))]
    texts = ('{"given":["\\"",1]}', '{"result":["\\\\",2]}')
    values = [one.encode() for one in (*ids, *map(str, times), *map(str, counts))]
    line, at = start, len(start)
    for (begin, to, _), value in zip(holes, values, strict=True):
        line += raw[at:begin] + value
        at = to
    payloads = [Payload.of(text) for text in texts]
    written = []
    for (digest, size, payload), stored in zip(_PAYLOADS, payloads, strict=True):
        written += [
            {"key": digest, "value": {"stringValue": stored.digest}},
            {"key": size, "value": {"intValue": str(stored.size)}},
            {"key": payload, "value": {"stringValue": stored.text}},
        ]
    line += raw[at:rest] + orjson.dumps(written)[1:-4] + template.tail
    try:
        items = list(otlp_json.read(Record(orjson.loads(line), f"{template.source}:1")))
    except (orjson.JSONDecodeError, FormatError):
        return False
    filling = Filling(*ids, *times, counts, payloads[0], payloads[1], 1)
    told, crossing = template.span_of(filling), template.crossing_of(filling)
    found = items[0] if len(items) == 1 else None
    if not isinstance(found, SpanRecord) or found != told or found.gaps or found.where != told.where:
        return False
    other = _exact(found)
    return (
        list(found.attributes) == list(told.attributes)
        and other is not None
        and all(getattr(other, one.name) == getattr(crossing, one.name) for one in _COMPARED)
    )


def _exact(span: SpanRecord) -> Crossing | None:
    """The crossing that a span is; None where it is none, or lacks anything."""
    if span.gaps or span.dropped_attributes or content_gaps(span):
        return None
    try:
        crossing = read_crossing(span)
    except FormatError:
        return None
    if crossing is None or crossing.grade != EXACT or crossing.gaps:
        return None
    return crossing if crossing.input is not None and crossing.output is not None else None
