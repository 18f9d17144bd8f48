"""`quick_span`: gives what the careful way gives, or nothing."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contract.test_formats import WRONG, places, replaced

from tracetape.errors import FormatError
from tracetape.model.span import NOTHING, Scope, SpanRecord
from tracetape.sources.formats.otlp_span import careful_span, span_of
from tracetape.sources.formats.quick_span import quick_span

ROOT: dict[str, Any] = {
    "traceId": "00fbef7e3c9a1e5b2d48608c1ffff9d7",
    "spanId": "00f067aa0ba902b7",
    "name": "agent.run",
    "startTimeUnixNano": "1764583200000000123",
    "endTimeUnixNano": "1764583200081001122",
}
CHILD: dict[str, Any] = {
    **ROOT,
    "spanId": "fbeffedc00000001",
    "parentSpanId": "00f067aa0ba902b7",
    "kind": 3,
    "flags": 256,
    "attributes": [
        {"key": "text", "value": {"stringValue": "é"}},
        {"key": "whole", "value": {"intValue": "42"}},
        {"key": "true", "value": {"boolValue": True}},
        {"key": "pieces", "value": {"arrayValue": {"values": [{"stringValue": "a"}, {"stringValue": "b"}]}}},
    ],
    "status": {"code": 2, "message": "no"},
    "events": [],
    "droppedAttributesCount": 0,
}
MORE: list[Any] = [
    *WRONG,
    "00F067AA0BA902B7",
    "0" * 16,
    "0" * 32,
    " 0f067aa0ba902b7",
    "00 f0 67 aa 0b a9 ",
    "١٢٣",
    "-5",
    "+5",
    "1_0",
    "9" * 19,
    "9" * 18,
    "18446744073709551615",
    {"stringValue": None},
    {"doubleValue": "NaN"},
    {"bytesValue": "AAE="},
    {"stringValue": "x", "intValue": None},
    {"kvlistValue": {}},
    {"arrayValue": {}},
    {"arrayValue": {"values": []}},
]


def told(make: Any, span: dict[str, Any]) -> Any:
    try:
        found = make(span, NOTHING, Scope("s", "1"), "f:1")
    except FormatError as error:
        return error.code
    if found is None:
        return None
    assert isinstance(found, SpanRecord)
    return found, repr(found), found.gaps, found.where, hash(found.where)


@pytest.mark.parametrize("span", [ROOT, CHILD], ids=["root", "child"])
def test_the_usual_span_is_taken(span):
    assert told(quick_span, span) == told(careful_span, span)
    assert quick_span(span, NOTHING, Scope(), "") is not None


@pytest.mark.parametrize("span", [ROOT, CHILD], ids=["root", "child"])
def test_any_other_one_is_the_same_or_left_to_the_careful_way(span):
    added = ("events", "links", "droppedAttributesCount", "dropped_attributes_count", "parent_span_id", "trace_id")
    changes = [*places(span), *((key,) for key in added)]
    taken = 0
    for path in changes:
        for wrong in MORE:
            changed = replaced({**dict.fromkeys(added), **span} if path[0] in added else span, path, wrong)
            quick = told(quick_span, changed)
            assert quick is None or quick == told(careful_span, changed)
            assert told(span_of, changed) == told(careful_span, changed)
            taken += quick is not None
    assert taken >= 20


def test_a_key_that_is_missing_or_there_twice_is_left_to_the_careful_way():
    for key in CHILD:
        left = {name: value for name, value in CHILD.items() if name != key}
        quick = told(quick_span, left)
        assert quick is None or quick == told(careful_span, left)
    twice = {**CHILD, "attributes": CHILD["attributes"] * 2}
    assert quick_span(twice, NOTHING, Scope(), "") is None


def protobuf(**changed: Any) -> Any:
    from opentelemetry.proto.trace.v1.trace_pb2 import Span

    given = {"trace_id": b"\x01" * 16, "span_id": b"\x02" * 8, "name": "n", "start_time_unix_nano": 5}
    span = Span(**{**given, "end_time_unix_nano": 9, **changed})
    span.attributes.add(key="text").value.string_value = "é"
    span.attributes.add(key="whole").value.int_value = -4
    span.attributes.add(key="true").value.bool_value = True
    return span


def spans_of_protobuf() -> list[tuple[Any, bool]]:
    """Spans, and whether each is read the quick way."""
    from opentelemetry.proto.trace.v1.trace_pb2 import Status

    unknown: Any = 7
    made = [
        (protobuf(), True),
        (protobuf(parent_span_id=b"\x03" * 8, kind=3), True),
        (protobuf(parent_span_id=b"\x00" * 8), True),
        (protobuf(status=Status(code=Status.STATUS_CODE_ERROR, message="no")), True),
        (protobuf(status=Status(code=unknown)), True),
        (protobuf(kind=99), False),
        (protobuf(trace_id=b"\x01" * 15), False),
        (protobuf(trace_id=b"\x00" * 16), False),
        (protobuf(span_id=b"\x00" * 8), False),
        (protobuf(parent_span_id=b"\x03" * 7), False),
        (protobuf(dropped_attributes_count=1), False),
    ]
    for add in ("events", "links"):
        span = protobuf()
        getattr(span, add).add()
        made.append((span, False))
    for field, value in (("double_value", float("nan")), ("bytes_value", b"x"), ("array_value", None)):
        span = protobuf()
        holder = span.attributes.add(key="more").value
        if value is None:
            holder.array_value.values.add().string_value = "a"
        else:
            setattr(holder, field, value)
        made.append((span, False))
    twice = protobuf()
    twice.attributes.add(key="text").value.string_value = "again"
    made.append((twice, False))
    nothing = protobuf()
    nothing.attributes.add(key="nothing")
    made.append((nothing, False))
    return made


def test_the_same_holds_for_protobuf():
    from tracetape.sources.formats import otlp_proto

    for span, is_quick in spans_of_protobuf():
        quick, careful = told(otlp_proto._quick, span), told(otlp_proto._careful, span)
        assert (quick is not None) == is_quick, span
        assert quick is None or quick == careful
        assert told(otlp_proto._span, span) == careful
