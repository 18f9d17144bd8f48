"""OTLP JSON lines: what OpenTelemetry's own protobuf reads, and what our reader gives back."""

from __future__ import annotations

import base64
import json
import math
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format  # type: ignore[import-untyped]
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

import tracetape
from tracetape.exporters.otlp_json import encode_line
from tracetape.model.span import Event, Link, Scope, SpanRecord, Status

SPAN = SpanRecord(
    trace_id="00fbef7e3c9a1e5b2d48608c1ffff9d7",
    span_id="00f067aa0ba902b7",
    parent_id="a1b2c3d4e5f60718",
    name="chat gpt",
    kind="CLIENT",
    start_ns=1_764_583_200_000_000_123,
    end_ns=1_764_583_200_081_001_122,
    status=Status("ERROR", "no"),
    attributes={
        "text": 'é "\\\n\u2028 😀',
        "yes": True,
        "int": 2**53 + 1,
        "least": -(2**63),
        "float": 1.0,
        "list": ["a", "b"],
        "none": None,
        "bytes": b"\x00\xff",
        "map": {"k": [1, "two"]},
        "empty": [],
    },
    events=(Event("retry", 5, {"n": 1}),),
    links=(Link("1" * 32, "2" * 16, {"why": "x"}),),
    resource={"service.name": "broker"},
    scope=Scope("tracetape", "1.2"),
    dropped_attributes=3,
)


def test_a_line_reads_back_as_the_span_it_was(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_bytes(encode_line(SPAN))
    assert list(tracetape.read_spans(path)) == [SPAN]


def test_opentelemetry_s_own_protobuf_reads_a_line() -> None:
    """Its JSON form wants ids in base64 where OTLP wants hex; all else is the same."""
    document = json.loads(encode_line(SPAN))
    written = document["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    for holder in (written, *written["links"]):
        for key in ("traceId", "spanId", "parentSpanId"):
            if key in holder:
                holder[key] = base64.b64encode(bytes.fromhex(holder[key])).decode()
    message = json_format.ParseDict(document, TracesData())
    span = message.resource_spans[0].scope_spans[0].spans[0]
    assert span.trace_id.hex() == SPAN.trace_id
    assert span.parent_span_id.hex() == SPAN.parent_id
    assert (span.name, span.kind, span.status.code) == ("chat gpt", 3, 2)
    assert (span.start_time_unix_nano, span.end_time_unix_nano) == (SPAN.start_ns, SPAN.end_ns)
    values = {attribute.key: attribute.value for attribute in span.attributes}
    assert values["int"].int_value == 2**53 + 1
    assert values["bytes"].bytes_value == b"\x00\xff"
    assert [one.string_value for one in values["list"].array_value.values] == ["a", "b"]
    assert message.resource_spans[0].scope_spans[0].scope.name == "tracetape"


def test_one_span_is_one_line_whatever_its_text() -> None:
    line = encode_line(SPAN)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (math.nan, {"doubleValue": "NaN"}),
        (-math.inf, {"doubleValue": "-Infinity"}),
        (2**63, {"stringValue": str(2**63)}),
        ("a\ud800b", {"stringValue": "a?b"}),
        (None, {}),
    ],
)
def test_what_otlp_has_no_form_for_never_breaks_the_line(value: Any, expected: dict[str, Any]) -> None:
    span = SpanRecord(trace_id="1" * 32, span_id="2" * 16, parent_id=None, name="x", attributes={"a": value})
    document = json.loads(encode_line(span))
    written = document["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    assert written["attributes"] == [{"key": "a", "value": expected}]
    assert "parentSpanId" not in written
