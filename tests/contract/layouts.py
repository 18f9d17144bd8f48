"""One small trace, "röot" over "child", as each format that is no OTLP has it."""

from __future__ import annotations

import base64
import json
from typing import Any

TRACE, ROOT, CHILD = "0a" * 16, "00f067aa0ba902b7", "fbeffedc00000001"
START = 1_764_583_200_000_000_000
_ISO = "2025-12-01T10:00:00.{:06d}Z"
_BASE64 = {one: base64.b64encode(bytes.fromhex(one)).decode() for one in (TRACE, ROOT, CHILD)}


def _lines(objects: list[Any]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in objects)


def otlp_groups(ids: dict[str, str] | None = None) -> list[dict[str, Any]]:
    given = ids or {}
    spans = [
        {
            "traceId": given.get(TRACE, TRACE),
            "spanId": given.get(span_id, span_id),
            "parentSpanId": given.get(parent, parent),
            "name": name,
            "kind": "SPAN_KIND_SERVER" if ids else 2,
            "startTimeUnixNano": str(START + number),
            "endTimeUnixNano": str(START + 9_000 - number),
            "attributes": [{"key": "n", "value": {"intValue": "1"}}],
        }
        for number, (span_id, parent, name) in enumerate(((ROOT, "", "röot"), (CHILD, ROOT, "child")))
    ]
    return [
        {"resource": {"attributes": []}, "scopeSpans": [{"scope": {"name": "tests"}, "spans": [one]}]}
        for one in spans
    ]


def jaeger_trace() -> dict[str, Any]:
    reference = {"refType": "CHILD_OF", "traceID": TRACE, "spanID": ROOT}
    return {
        "traceID": TRACE,
        "spans": [
            {
                "traceID": TRACE,
                "spanID": span_id,
                "operationName": name,
                "references": references,
                "startTime": START // 1_000 + number,
                "duration": 9 - number,
                "tags": [
                    {"key": "span.kind", "type": "string", "value": "server"},
                    {"key": "n", "type": "int64", "value": 1},
                    {"key": "b", "type": "binary", "value": "AAE="},
                    {"key": "f", "type": "float64", "value": 1.5},
                    {"key": "otel.status_code", "type": "string", "value": "ERROR"},
                    {"key": "error", "type": "bool", "value": True},
                ],
                "logs": [
                    {"timestamp": START // 1_000, "fields": [{"key": "event", "type": "string", "value": "e"}]}
                ],
                "processID": "p1",
                "warnings": None,
            }
            for number, (span_id, references, name) in enumerate(
                ((ROOT, [], "röot"), (CHILD, [reference], "child"))
            )
        ],
        "processes": {"p1": {"serviceName": "s", "tags": [{"key": "v", "type": "string", "value": "1"}]}},
    }


def jaeger_answer() -> dict[str, Any]:
    return {"data": [jaeger_trace()], "total": 0, "limit": 0, "offset": 0, "errors": None}


def zipkin_spans() -> list[dict[str, Any]]:
    return [
        {
            "traceId": TRACE,
            "id": span_id,
            **parent,
            "kind": "SERVER",
            "name": name,
            "timestamp": START // 1_000 + number,
            "duration": 9 - number,
            "localEndpoint": {"serviceName": "s"},
            "annotations": [{"timestamp": START // 1_000, "value": 'e|{"n":1}|0'}],
            "tags": {
                "n": "1",
                "otel.status_code": "Error",
                "error": "no",
                "otlp.link.0": f"{TRACE}|{CHILD}||{{}}|0",
            },
        }
        for number, (span_id, parent, name) in enumerate(
            ((ROOT, {}, "röot"), (CHILD, {"parentId": ROOT}, "child"))
        )
    ]


def phoenix_spans() -> list[dict[str, Any]]:
    return [
        {
            "id": f"U3Bhbjo{number}",
            "name": name,
            "context": {"trace_id": TRACE, "span_id": span_id},
            "span_kind": "LLM",
            "parent_id": parent,
            "start_time": _ISO.format(number),
            "end_time": _ISO.format(9 - number),
            "status_code": "ERROR",
            "status_message": "no",
            "attributes": {"n": 1, "llm": {"input_messages": [{"message": {"role": "user"}}]}, "l": [1, 2]},
            "events": [{"name": "e", "timestamp": _ISO.format(1), "attributes": {"n": 1}}],
        }
        for number, (span_id, parent, name) in enumerate(((ROOT, None, "röot"), (CHILD, ROOT, "child")))
    ]


def phoenix_rows() -> list[dict[str, Any]]:
    rows = []
    for span in phoenix_spans():
        row = {key: value for key, value in span.items() if key not in ("context", "attributes", "id")}
        row |= {f"context.{key}": value for key, value in span["context"].items()}
        row |= {f"attributes.{key}": value for key, value in span["attributes"].items()}
        rows.append({**row, "attributes.absent": None})
    return rows


def phoenix_answer() -> dict[str, Any]:
    nodes = [
        {
            "name": span["name"],
            "statusCode": "OK",
            "statusMessage": "",
            "startTime": span["start_time"],
            "endTime": span["end_time"],
            "parentId": span["parent_id"],
            "spanId": span["context"]["span_id"],
            "attributes": json.dumps(span["attributes"]),
            "events": [{"name": "e", "message": "m", "timestamp": span["start_time"]}],
        }
        for span in phoenix_spans()
    ]
    return {"data": {"getTraceByOtelId": {"traceId": TRACE, "spans": {"edges": [{"node": one} for one in nodes]}}}}


def phoenix_otlp() -> dict[str, Any]:
    kinds = (
        "array_value",
        "bool_value",
        "bytes_value",
        "double_value",
        "int_value",
        "kvlist_value",
        "string_value",
    )
    spans = [
        {
            "attributes": [{"key": "n", "value": {**dict.fromkeys(kinds), "int_value": 1}}],
            "end_time_unix_nano": START + 9_000 - number,
            "events": None,
            "kind": "SPAN_KIND_INTERNAL",
            "links": None,
            "name": name,
            "parent_span_id": parent,
            "span_id": span_id,
            "start_time_unix_nano": START + number,
            "status": {"code": 1, "message": None},
            "trace_id": TRACE,
        }
        for number, (span_id, parent, name) in enumerate(((ROOT, None, "röot"), (CHILD, ROOT, "child")))
    ]
    return {"data": spans, "next_cursor": None}


def mlflow_rest() -> dict[str, Any]:
    spans = [
        {
            "trace_id": _BASE64[TRACE],
            "span_id": _BASE64[span_id],
            **parent,
            "name": name,
            "start_time_unix_nano": START + number,
            "end_time_unix_nano": START + 9_000 - number,
            "attributes": [
                {"key": "p", "value": {"kvlist_value": {"values": [{"key": "q", "value": {"int_value": 1}}]}}}
            ],
            "status": {"code": "STATUS_CODE_OK"},
        }
        for number, (span_id, parent, name) in enumerate(
            ((ROOT, {}, "röot"), (CHILD, {"parent_span_id": _BASE64[ROOT]}, "child"))
        )
    ]
    return {"trace": {"trace_info": {"trace_id": f"tr-{TRACE}", "tags": {"service.name": "s"}}, "spans": spans}}


def mlflow_client() -> dict[str, Any]:
    found = mlflow_rest()["trace"]
    link = {"trace_id": f"tr-{TRACE}", "span_id": CHILD, "attributes": {"why": "x"}}
    event = {"name": "e", "time_unix_nano": START, "attributes": {"n": 1, "m": {"k": [True, 0.5]}}}
    spans = [
        {**one, "attributes": {"p": '{"q":1}', "n": "1", "s": '"x"'}, "links": [link], "events": [event]}
        for one in found["spans"]
    ]
    return {"info": found["trace_info"], "data": {"spans": spans}}


def console_spans() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "context": {"trace_id": f"0x{TRACE}", "span_id": f"0x{span_id}", "trace_state": "[]"},
            "kind": "SpanKind.SERVER",
            "parent_id": parent,
            "start_time": _ISO.format(number),
            "end_time": _ISO.format(9 - number),
            "status": {"status_code": "ERROR", "description": "no"},
            "attributes": {"n": 1},
            "events": [{"name": "e", "timestamp": _ISO.format(1), "attributes": {"n": 1}}],
            "links": [{"context": {"trace_id": f"0x{TRACE}", "span_id": f"0x{CHILD}"}, "attributes": {}}],
            "resource": {"attributes": {"service.name": "s"}, "schema_url": ""},
        }
        for number, (span_id, parent, name) in enumerate(((ROOT, None, "röot"), (CHILD, f"0x{ROOT}", "child")))
    ]


def chronicle_records() -> list[dict[str, Any]]:
    envelope = {
        "schema_version": "1.0",
        "envelope_id": "5dc5c866-df30-4827-bb0c-3211bbf3e544",
        "trace_id": "incident",
        "node_id": "child",
        "boundary_kind": "tool",
        "sequence": 1,
        "invocation_index": 1,
        "timestamp": _ISO.format(7),
        "metadata": {"model_version": "m", "build_id": "b"},
        "input_state": {"messages": [], "graph_state": {"n": 1}},
        "action_result": {"raw_response": {"ok": True}, "completion": "x"},
    }
    return [{"trace_id": "incident", "nodes": [{}], "edges": [], "roots": []}, envelope]


# By format, the same two spans in the layouts that it comes in.
SPECIMENS: dict[str, dict[str, bytes]] = {
    "Jaeger API v3": {
        "answer": json.dumps({"result": {"resourceSpans": otlp_groups()}}).encode(),
        "chunks": _lines([{"result": {"resourceSpans": [one]}} for one in otlp_groups()]),
    },
    "Jaeger JSON": {
        "answer": json.dumps(jaeger_answer()).encode(),
        "trace": json.dumps(jaeger_trace(), indent=1).encode(),
    },
    "Tempo JSON": {
        "v1": json.dumps({"batches": otlp_groups(_BASE64)}).encode(),
        "v2": json.dumps({"trace": {"resourceSpans": otlp_groups(_BASE64)}, "metrics": {}}).encode(),
    },
    "Zipkin JSON": {"array": json.dumps(zipkin_spans()).encode(), "lines": _lines(zipkin_spans())},
    "Phoenix JSON": {
        "page": json.dumps({"data": phoenix_spans(), "next_cursor": None}).encode(),
        "array": json.dumps(phoenix_spans()).encode(),
        "lines": _lines(phoenix_spans()),
        "frame": _lines(phoenix_rows()),
        "GraphQL": json.dumps(phoenix_answer()).encode(),
    },
    "Phoenix OTLP JSON": {"page": json.dumps(phoenix_otlp()).encode()},
    "MLflow JSON": {
        "REST": json.dumps(mlflow_rest()).encode(),
        "client": json.dumps(mlflow_client()).encode(),
    },
    "OpenTelemetry SDK console": {
        "pretty": "\n".join(json.dumps(one, indent=4) for one in console_spans()).encode(),
        "lines": _lines(console_spans()),
    },
    "Chronicle JSON": {"lines": _lines(chronicle_records())},
}
