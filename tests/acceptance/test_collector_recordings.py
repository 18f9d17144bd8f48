"""What a real OpenTelemetry Collector wrote of the broker's run, in each form of its file exporter."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracetape
from tests.acceptance.broker_story import BROKER, assert_repaired_tool_blocks, shown_tree, story

RECORDINGS = Path(__file__).parents[1] / "recordings" / "otelcol-0.161.0"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


@pytest.fixture(params=["broker.jsonl", "broker.json.zst", "broker.pb"])
def collected(request: pytest.FixtureRequest) -> Path:
    return RECORDINGS / str(request.param)


def test_a_collectors_file_has_the_crossings_of_the_incident(collected):
    recording = tracetape.load(collected)
    incident = tracetape.load(BROKER / "incident.otlp.jsonl")
    assert story(recording, responses=False) == story(incident, responses=False)
    assert (recording.grade, recording.gaps) == ("exact", ())


def test_a_collectors_file_tells_the_incident(collected):
    recording = tracetape.load(collected)
    assert shown_tree(recording) == [
        ("agent@1", None),
        ("call_model@1", "agent@1"),
        ("place_order@1", None),
        ("agent@2", None),
        ("call_model@2", "agent@2"),
    ]
    order = recording["place_order", 1]
    assert (order.kind, order.version) == ("tool", "2026.11.1")
    assert order.inputs == {"symbol": "ACME", "quantity": 1000, "side": "sell"}
    assert order.result == {"status": "filled", "quantity": 1000, "price": 190.0, "notional": 190_000.0}
    assert recording["agent", 2].result.answer == "Done: sold 1,000 shares of ACME for $190,000.00."
    model = recording["call_model", 1]
    assert (model.model, model.usage["output_tokens"]) == ("gpt-5-mini", 24)
    assert model.output is not None
    assert '"name":"place_order"' in model.output.text


def test_a_collectors_file_replays_with_the_repaired_tool_live(collected, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert_repaired_tool_blocks(collected)


def test_the_hosts_own_span_and_resource_are_in_it(collected):
    spans = list(tracetape.read_spans(collected))
    assert [span.name for span in spans if span.parent_id is None] == ["POST /chat"]
    assert {span.resource["service.name"] for span in spans} == {"broker"}
    assert {span.trace_id for span in spans} == {tracetape.load(collected).trace_id}


def test_the_files_are_in_the_three_forms_of_the_file_exporter():
    lines, frames, messages = (
        (RECORDINGS / name).read_bytes() for name in ("broker.jsonl", "broker.json.zst", "broker.pb")
    )
    assert lines.startswith(b'{"resourceSpans":')
    assert lines.endswith(b"}\n")
    assert int.from_bytes(frames[:4], "big") == len(frames) - 4
    assert frames[4:8] == ZSTD_MAGIC
    assert int.from_bytes(messages[:4], "big") == len(messages) - 4


def test_several_files_of_a_collector_are_one_source_from_which_a_trace_is_picked():
    wanted = tracetape.load(RECORDINGS / "broker.pb").trace_id
    together = [RECORDINGS / name for name in ("broker.jsonl", "broker.json.zst", "broker.pb")]
    picked = tracetape.load(*together, trace_id=wanted)
    assert story(picked, responses=False) == story(tracetape.load(RECORDINGS / "broker.pb"), responses=False)
    assert picked["place_order", 1].span_ids == tracetape.load(RECORDINGS / "broker.pb")["place_order", 1].span_ids
