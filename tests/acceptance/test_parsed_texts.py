"""Our payloads through a backend that parses JSON texts, as MLflow does: arrays, objects and numbers come back
whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tracetape

VALUES: list[Any] = [
    {"a": 1, "b": [True, None, "x"]}, [1, 2, 3], ["a", "b"], ["one"], [], {}, [[1], [2]], [1, "two", 3.5], [1.0,
    2.0], "text", '{"text": 1}', '["text"]', 5, None, [{"n": 1}, {"n": 2}], {"é": "ü\u2028"}, ["ü" * 900] * 5,
]  # fmt: skip


@tracetape.boundary("give", kind="tool")
def give(number: int) -> Any:
    return VALUES[number]


def as_parsed(value: str) -> Any:
    """An AnyValue of what MLflow makes of a string attribute."""
    try:
        found = json.loads(value)
    except ValueError:
        return {"string_value": value}
    return typed(found) if isinstance(found, (dict, list)) else {"string_value": value}


def typed(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"bool_value": value}
    if isinstance(value, int):
        return {"int_value": value}
    if isinstance(value, float):
        return {"double_value": value}
    if isinstance(value, str):
        return {"string_value": value}
    if isinstance(value, list):
        return {"array_value": {"values": [typed(one) for one in value]}}
    if isinstance(value, dict):
        return {"kvlist_value": {"values": [{"key": key, "value": typed(one)} for key, one in value.items()]}}
    return {}


def test_what_was_parsed_is_the_same_payload_again(tmp_path: Path) -> None:
    own, back = tmp_path / "own.jsonl", tmp_path / "back.json"
    with tracetape.record(own):
        for number in range(len(VALUES)):
            give(number)
    spans = []
    for line in own.read_text().split("\n"):
        if not line:
            continue
        [span] = json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]
        for one in span["attributes"]:
            if "stringValue" in one["value"] and one["key"].endswith(".value"):
                one["value"] = as_parsed(one["value"]["stringValue"])
        spans.append(span)
    trace = {"trace_info": {"tags": {}}, "spans": spans}
    back.write_text(json.dumps({"trace": trace}))

    recording = tracetape.load(back)
    assert recording.gaps == ()
    assert {one.name: one.gaps for one in recording.crossings if one.grade != "exact"} == {}
    assert [one.result for one in recording.crossings] == VALUES
    assert tracetape.compare(tracetape.load(own), recording) == []
