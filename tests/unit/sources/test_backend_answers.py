"""What is said where a backend's answer is no trace, or not a whole one."""

from __future__ import annotations

import json
from typing import Any

import pytest

import tracetape
from tracetape.errors import TracetapeError

TRACE = "0a" * 16


def told(tmp_path: Any, document: Any) -> tuple[str, str]:
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(document))
    with pytest.raises(TracetapeError) as caught:
        tracetape.load(path)
    return caught.value.code, str(caught.value).replace(str(path), "answer.json")


@pytest.mark.parametrize(
    ("document", "code", "text"),
    [
        (
            {"data": None, "errors": [{"code": 404, "msg": "trace not found"}]},
            "TRACE_NOT_FOUND",
            "answer.json:1: Jaeger has not found the trace ('trace not found'). Is the id right, and has the "
            "trace been kept? Jaeger's memory storage drops the oldest traces, others have a time to live.",
        ),
        (
            {"data": None, "errors": [{"code": 500, "msg": "json: unsupported value: NaN"}]},
            "BACKEND_ERROR",
            "answer.json:1: is an error of Jaeger instead of a trace: 'json: unsupported value: NaN'. Its legacy "
            "API fails where any attribute is NaN or an infinity: ask /api/v3/traces/{id}.",
        ),
        (
            {"error": {"httpCode": 404, "message": "No traces found"}},
            "TRACE_NOT_FOUND",
            "answer.json:1: Jaeger has not found the trace ('No traces found'). Is the id right, and has the "
            "trace been kept? Jaeger's memory storage drops the oldest traces, others have a time to live.",
        ),
        (
            {"error": {"httpCode": 400, "message": "no"}},
            "BACKEND_ERROR",
            "answer.json:1: is an error of Jaeger instead of a trace: 'no'",
        ),
        (
            {"traces": [], "metrics": {}},
            "NO_SPANS",
            "answer.json:1: is the result of a search in Tempo that has found nothing",
        ),
        (
            {"data": [{"project_id": "p", "trace_id": TRACE, "spans": []}], "next_cursor": None},
            "PAYLOAD_MISSING",
            "answer.json:1: is Phoenix's list of traces, whose spans have no attributes, hence no inputs and "
            "outputs. Fetch the spans: /v1/projects/PROJECT/spans?trace_id=ID, or "
            "phoenix+http://HOST:6006/PROJECT/TRACE_ID.",
        ),
        (
            {"data": {"getTraceByOtelId": None}},
            "TRACE_NOT_FOUND",
            "answer.json:1: Phoenix has not found the trace. Ids are in lower case there; is it of this project?",
        ),
        (
            {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "Trace 'tr-1' not found"},
            "TRACE_NOT_FOUND",
            "answer.json:1: MLflow has not found the trace (\"Trace 'tr-1' not found\")",
        ),
        (
            {"error_code": "INTERNAL_ERROR", "message": "x"},
            "BACKEND_ERROR",
            "answer.json:1: is an error of MLflow instead of a trace: INTERNAL_ERROR 'x'",
        ),
    ],
)
def test_an_answer_without_a_trace(document: Any, code: str, text: str, tmp_path: Any) -> None:
    assert told(tmp_path, document) == (code, text)


def test_a_page_with_others_behind_it(tmp_path: Any) -> None:
    span = {
        "name": "n",
        "context": {"trace_id": TRACE, "span_id": "0b" * 8},
        "parent_id": None,
        "start_time": "2025-12-01T10:00:00Z",
        "end_time": "2025-12-01T10:00:01Z",
        "attributes": {},
    }
    path = tmp_path / "page.json"
    path.write_text(json.dumps({"data": [span], "next_cursor": "abc"}))
    [gap] = tracetape.load(path).gaps
    assert (gap.code, gap.text) == (
        "INCOMPLETE_PAGE",
        "is one page of several: there are more spans behind its next_cursor 'abc'. Ask with limit=1000 and "
        "cursor=…, and give all pages; or fetch the trace as phoenix+http://HOST:6006/PROJECT/TRACE_ID",
    )
