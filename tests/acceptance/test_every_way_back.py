"""One run of ours in every form that a backend gives: each is the same recording, and each replays."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

import tracetape
from tracetape.model.span import SpanRecord

LONG = "Kaufe 3 × ACME „vorsichtig“ 🚀 \u2028\n" * 2_000


@tracetape.boundary("ask", kind="llm", model="m-1", usage=lambda result: {"input_tokens": 3, "output_tokens": 4})
def ask(messages: list[dict[str, str]], temperature: float = 1.0) -> dict[str, Any]:
    return {"text": messages[-1]["content"].upper(), "n": 2**53 + 1, "f": 1.0, "none": None, "list": ["a", "b"]}


@tracetape.boundary("act", kind="tool", version="7")
def act(text: str) -> list[str]:
    if text == "fail":
        raise ValueError("não", 5)
    return [text, text]


@tracetape.boundary("tokens", kind="llm")
def tokens(count: int) -> Iterator[str]:
    for number in range(count):
        yield f"ü{number}"


@tracetape.boundary("run", kind="agent")
def run() -> Any:
    first = ask([{"role": "user", "content": LONG}], temperature=0.0)
    second = ask([{"role": "user", "content": "short"}])
    try:
        act("fail")
    except ValueError as error:
        failed = error.args
    return first["text"][:9], second, act("x"), failed, list(tokens(3))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    path = tmp_path_factory.mktemp("own") / "run.otlp.jsonl"
    with tracetape.record(path):
        return path, run()


def hosts(span: SpanRecord) -> dict[str, Any]:
    """The attributes as they are on a host's span: long texts in pieces."""
    found: dict[str, Any] = {}
    for key, value in span.attributes.items():
        text = str(value) if not isinstance(value, (str, int, float, bool, list)) else value
        if key in ("tracetape.input.value", "tracetape.output.value") and len(str(text).encode()) > 2_000:
            found[key] = [str(text)[at : at + 450] for at in range(0, len(str(text)), 450)]
        else:
            found[key] = text
    return found


def jaeger(spans: list[SpanRecord]) -> Any:
    def tag(key: str, value: Any) -> dict[str, Any]:
        if isinstance(value, bool):
            return {"key": key, "type": "bool", "value": value}
        if isinstance(value, int):
            return {"key": key, "type": "int64", "value": value if abs(value) < 2**53 else str(value)}
        if isinstance(value, float):
            return {"key": key, "type": "float64", "value": value}
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return {"key": key, "type": "string", "value": text}

    made = []
    for span in spans:
        tags = [tag(key, value) for key, value in hosts(span).items()]
        if span.status.code != "UNSET":
            tags += [
                tag("otel.status_code", span.status.code),
                tag("otel.status_description", span.status.message),
            ]
        parent = [{"refType": "CHILD_OF", "traceID": span.trace_id, "spanID": span.parent_id}]
        made.append(
            {
                "traceID": span.trace_id,
                "spanID": span.span_id,
                "operationName": span.name,
                "references": parent if span.parent_id else [],
                "startTime": span.start_ns // 1_000,
                "duration": ((span.end_ns or 0) - span.start_ns) // 1_000,
                "tags": tags,
                "logs": [],
                "processID": "p1",
            }
        )
    trace = {"traceID": spans[0].trace_id, "spans": made, "processes": {"p1": {"serviceName": "s", "tags": []}}}
    return {"data": [trace], "errors": None, "total": 0}


def zipkin(spans: list[SpanRecord]) -> Any:
    return [
        {
            "traceId": span.trace_id,
            "id": span.span_id,
            **({"parentId": span.parent_id} if span.parent_id else {}),
            "name": span.name.lower(),
            "timestamp": span.start_ns // 1_000,
            "duration": ((span.end_ns or 0) - span.start_ns) // 1_000,
            "tags": {
                **(
                    {"otel.status_code": "Error", "error": span.status.message}
                    if span.status.code == "ERROR"
                    else {}
                ),
                **{
                    key: value
                    if isinstance(value, str)
                    else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
                    for key, value in hosts(span).items()
                },
            },
        }
        for span in spans
    ]


def phoenix(spans: list[SpanRecord]) -> Any:
    from datetime import datetime

    def iso(ns: int) -> str:
        return datetime.fromtimestamp(ns // 1_000 / 1e6, UTC).isoformat()

    listed: list[dict[str, Any]] = [
        {
            "name": span.name,
            "context": {"trace_id": span.trace_id, "span_id": span.span_id},
            "parent_id": span.parent_id,
            "start_time": iso(span.start_ns),
            "end_time": iso(span.end_ns or 0),
            "status_code": span.status.code,
            "status_message": span.status.message,
            "attributes": hosts(span),
            "events": [],
        }
        for span in reversed(spans)
    ]
    return {"data": listed, "next_cursor": None}


def any_value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(one) for one in value]}}
    return {"stringValue": value}


def otlp_spans(spans: list[SpanRecord], *, is_base64: bool) -> list[dict[str, Any]]:
    def spelt(text: str | None) -> str:
        if not text or not is_base64:
            return text or ""
        return base64.b64encode(bytes.fromhex(text)).decode()

    return [
        {
            "traceId": spelt(span.trace_id),
            "spanId": spelt(span.span_id),
            "parentSpanId": spelt(span.parent_id),
            "name": span.name,
            "startTimeUnixNano": str(span.start_ns),
            "endTimeUnixNano": str(span.end_ns),
            "attributes": [{"key": key, "value": any_value(value)} for key, value in hosts(span).items()],
            "status": {"code": f"STATUS_CODE_{span.status.code}", "message": span.status.message},
        }
        for span in spans
    ]


def tempo(spans: list[SpanRecord]) -> Any:
    return {"trace": {"resourceSpans": [{"scopeSpans": [{"spans": otlp_spans(spans, is_base64=True)}]}]}}


def jaeger_v3(spans: list[SpanRecord]) -> Any:
    return {"result": {"resourceSpans": [{"scopeSpans": [{"spans": otlp_spans(spans, is_base64=False)}]}]}}


def console(spans: list[SpanRecord]) -> Any:
    from datetime import datetime

    def iso(ns: int) -> str:
        return f"{datetime.fromtimestamp(ns // 1_000 / 1e6, UTC):%Y-%m-%dT%H:%M:%S.%fZ}"

    return [
        {
            "name": span.name,
            "context": {"trace_id": f"0x{span.trace_id}", "span_id": f"0x{span.span_id}", "trace_state": "[]"},
            "kind": "SpanKind.INTERNAL",
            "parent_id": f"0x{span.parent_id}" if span.parent_id else None,
            "start_time": iso(span.start_ns),
            "end_time": iso(span.end_ns or 0),
            "status": {"status_code": span.status.code, "description": span.status.message},
            "attributes": hosts(span),
        }
        for span in spans
    ]


WAYS: dict[str, Callable[[list[SpanRecord]], Any]] = {
    "Jaeger legacy": jaeger,
    "Jaeger v3": jaeger_v3,
    "Tempo": tempo,
    "Zipkin": zipkin,
    "Phoenix": phoenix,
    "console": console,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_run_is_the_same_whichever_way_it_comes_back(recorded, way, tmp_path):
    own, result = recorded
    back = tmp_path / "back.json"
    back.write_text(json.dumps(WAYS[way](list(tracetape.load(own).spans)), ensure_ascii=False))

    recording = tracetape.load(back)
    assert recording.gaps == ()
    assert {one.name: one.gaps for one in recording.crossings if one.grade != "exact"} == {}
    original = tracetape.load(own)
    assert tracetape.compare(original, recording) == []
    told = [(one.name, one.kind, one.model, one.version, dict(one.usage), one.seq) for one in recording.crossings]
    assert told == [
        (one.name, one.kind, one.model, one.version, dict(one.usage), one.seq) for one in original.crossings
    ]
    with tracetape.replay(back) as tape:
        assert tape.run(run) == result
    assert tape.report.divergences == []
    assert not tape.report.live_calls
