"""OTLP spans in both encodings: what is legal to receive, what tools write, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from tracetape.errors import FormatError
from tracetape.model.span import Gap, SpanRecord
from tracetape.sources.formats import otlp_json, otlp_proto, otlp_span_json
from tracetape.sources.ids import SPAN_ID_BYTES, TRACE_ID_BYTES, id_from_bytes, id_from_text
from tracetape.sources.records import Record

IDS = {"traceId": "0A" * 16, "spanId": "0B" * 8}


def one(**fields: Any) -> SpanRecord:
    [span] = otlp_span_json.read(Record({**IDS, "startTimeUnixNano": "1", **fields}, "f:1"))
    assert isinstance(span, SpanRecord)
    return span


def value_of(value: Any) -> Any:
    return one(attributes=[{"key": "k", "value": value}]).attributes["k"]


def refused(**fields: Any) -> str:
    with pytest.raises(FormatError) as caught:
        one(**{"name": "n", **fields})
    return f"{caught.value.code}: {caught.value}"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"intValue": "9007199254740993"}, 9007199254740993),
        ({"intValue": 5}, 5),
        ({"int_value": "-9223372036854775808"}, -(2**63)),
        ({"doubleValue": 1}, 1.0),
        ({"doubleValue": "1.5"}, 1.5),
        ({"doubleValue": "-Infinity"}, float("-inf")),
        ({"bytesValue": "AP8="}, b"\x00\xff"),
        ({"boolValue": False}, False),
        ({"stringValue": ""}, ""),
        ({}, None),
        (None, None),
        ({"unknownValue": 1}, None),
        ({"arrayValue": {}}, []),
        ({"arrayValue": {"values": [{"intValue": 1}, {}]}}, [1, None]),
        ({"kvlistValue": {"values": [{"key": "a", "value": {"stringValue": "b"}}]}}, {"a": "b"}),
        ({"string_value": None, "int_value": 7, "bool_value": None}, 7),
    ],
)
def test_attribute_values(value, expected):
    found = value_of(value)

    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    "value",
    [
        {"intValue": "9223372036854775808"},
        {"intValue": 1e30},
        {"intValue": "1_0"},
        {"intValue": "٣"},
        {"intValue": True},
        {"stringValue": 5},
        {"boolValue": "true"},
        {"doubleValue": "much"},
        {"doubleValue": None, "bytesValue": "é"},
        {"arrayValue": []},
        {"arrayValue": {"values": {}}},
        "text",
    ],
)
def test_values_that_break_the_rules_are_refused(value):
    text = refused(attributes=[{"key": "k", "value": value}])

    assert text.startswith("BAD_FIELD: span 'n' (f:1): ")
    assert "'k'" in text


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (3, "CLIENT"),
        ("SPAN_KIND_CLIENT", "CLIENT"),
        ("SpanKind.CLIENT", "CLIENT"),
        ("client", "CLIENT"),
        (None, "UNSPECIFIED"),
        (77, "UNSPECIFIED"),
        ("X", "UNSPECIFIED"),
        ([], "UNSPECIFIED"),
    ],
)
def test_kinds(kind, expected):
    assert one(kind=kind).kind == expected


@pytest.mark.parametrize(
    ("status", "code"),
    [({"code": 2}, "ERROR"), ({"code": "STATUS_CODE_OK"}, "OK"), ({}, "UNSET"), (None, "UNSET")],
)
def test_statuses(status, code):
    assert one(status=status).status.code == code


@pytest.mark.parametrize(
    ("parent", "expected"), [("", None), ("0" * 16, None), (None, None), ("0C" * 8, "0c" * 8)]
)
def test_parents(parent, expected):
    assert one(parentSpanId=parent).parent_id == expected


@pytest.mark.parametrize("end", [None, 0, "0"])
def test_no_end_is_none(end):
    assert one(endTimeUnixNano=end).end_ns is None


def test_times_that_are_none_are_refused():
    assert refused(endTimeUnixNano="soon") == (
        "BAD_FIELD: span 'n' (f:1): endTimeUnixNano should be a number of 64 bits, or its digits as a string, not "
        "'soon'. The file is not in the form that it seems to be in, or was edited: export it again."
    )


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"traceId": ""}, "BAD_TRACE_ID: span 'n' (f:1): its trace id is empty"),
        ({"traceId": "0" * 32}, "BAD_TRACE_ID: span 'n' (f:1): its trace id is all zeros"),
        ({"spanId": "0" * 16}, "BAD_SPAN_ID: span 'n' (f:1): its span id is all zeros"),
        ({"spanId": "zz" * 8}, "BAD_SPAN_ID: span 'n' (f:1): its span id is 'zzzzzzzzzzzzzzzz'"),
        ({"spanId": 5}, "BAD_SPAN_ID: span 'n' (f:1): its span id is 5"),
        (
            {"spanId": "AQIDBAU="},
            "BAD_SPAN_ID: span 'n' (f:1): its span id is 'AQIDBAU=', which decodes to 5 bytes",
        ),
        ({"parentSpanId": "x"}, "BAD_SPAN_ID: the parent of span 'n' (f:1): its span id is 'x'"),
        ({"links": [{"traceId": "x"}]}, "BAD_TRACE_ID: a link of span 'n' (f:1): its trace id is 'x'"),
    ],
)
def test_ids_that_are_none_are_refused(fields, text):
    assert refused(**fields).replace("span 'n' (f:1): its", "span 'n' (f:1): its").startswith(text)


@pytest.mark.parametrize("text", ["-_8AAAAAAAE=", "+/8AAAAAAAE", "fbff000000000001", "FBFF000000000001"])
def test_ids_in_every_writing(text):
    assert id_from_text(text, SPAN_ID_BYTES, "x") == "fbff000000000001"


def test_ids_in_bytes():
    assert id_from_bytes(b"", TRACE_ID_BYTES, "x") == ""
    with pytest.raises(FormatError) as caught:
        id_from_bytes(b"12345", SPAN_ID_BYTES, "x")
    assert caught.value.code == "BAD_SPAN_ID"
    assert "5 bytes long" in str(caught.value)


def test_a_key_twice_in_a_resource_is_a_gap_too():
    twice = [{"key": "k", "value": {"intValue": 1}}, {"key": "k", "value": {"intValue": 2}}]
    document = {"resourceSpans": [{"resource": {"attributes": twice}, "scopeSpans": [{"spans": [IDS]}]}]}
    gap, span = otlp_json.read(Record(document, "f:1"))

    assert isinstance(gap, Gap)
    assert gap.code == "DUPLICATE_ATTRIBUTE"
    assert isinstance(span, SpanRecord)
    assert span.resource == {"k": 1}


def test_snake_case_and_unknown_fields_are_taken():
    span = {"trace_id": "0a" * 16, "span_id": "0b" * 8, "start_time_unix_nano": 1, "newer": {"x": 1}}
    document = {"resource_spans": [{"scope_spans": [{"scope": {"name": "s"}, "spans": [span]}]}]}
    [read] = otlp_json.read(Record(document, "f:1"))

    assert isinstance(read, SpanRecord)
    assert (read.start_ns, read.scope.name, read.end_ns) == (1, "s", None)


def proto(**fields: Any) -> bytes:
    data = TracesData()
    data.resource_spans.add().scope_spans.add().spans.add(**fields)
    return bytes(data.SerializeToString())


def test_protobuf_that_is_none_is_a_gap():
    [gap] = otlp_proto.read(Record(b"\x0a\xff", "f"))

    assert str(gap) == "SKIPPED_LINE: 2 bytes that are not an OTLP protobuf message: damaged, or cut off (f)"


def test_protobuf_without_ids_is_another_signal():
    with pytest.raises(FormatError) as caught:
        list(otlp_proto.read(Record(proto(name="n"), "f")))

    assert caught.value.code == "WRONG_SIGNAL"


def test_tempos_v2_answer_is_unwrapped():
    inner = proto(trace_id=b"1" * 16, span_id=b"2" * 8, name="n")
    assert len(inner) < 128
    whole = bytes((0x0A, len(inner))) + inner + b"\x12\x00"

    [span] = otlp_proto.read(Record(whole, "f"))
    assert isinstance(span, SpanRecord)
    assert span.name == "n"

    [gap, span] = otlp_proto.read(Record(whole + b"\x18\x01\x22\x08too long", "f"))
    assert isinstance(gap, Gap)
    assert (gap.code, gap.where) == ("PARTIAL_TRACE", "f")
    assert gap.text.startswith("Tempo has given a part of the trace alone: too long. Raise ")


@pytest.mark.parametrize("size", [5, 100, 126, 130, 300, 5_000])
def test_tempos_v2_answer_is_unwrapped_whatever_its_resource_holds(size):
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    data = TracesData()
    group = data.resource_spans.add()
    group.resource.attributes.add(key="process.command_line").value.string_value = "x" * size
    group.scope_spans.add().spans.add(trace_id=b"1" * 16, span_id=b"2" * 8, name="n")
    inner = data.SerializeToString()
    length, rest = b"", len(inner)
    while rest > 0x7F:
        length, rest = length + bytes((rest & 0x7F | 0x80,)), rest >> 7
    [span] = otlp_proto.read(Record(b"\x0a" + length + bytes((rest,)) + inner, "f"))
    assert isinstance(span, SpanRecord)
    assert span.resource["process.command_line"] == "x" * size


def test_a_new_kind_in_protobuf_is_unspecified():
    [span] = otlp_proto.read(Record(proto(trace_id=b"1" * 16, span_id=b"2" * 8, kind=77), "f"))

    assert isinstance(span, SpanRecord)
    assert span.kind == "UNSPECIFIED"
