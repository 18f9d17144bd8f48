"""`tracetape demo --otlp`: the incident and its replays arrive as traces, each replay linked to the incident."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tracetape
from tests.servers import FakeTempo, serving

pytestmark = pytest.mark.optional


def demo(folder: Path, endpoint: str) -> subprocess.CompletedProcess[str]:
    sent = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}
    return subprocess.run(
        [sys.executable, "-m", "tracetape", "demo", "--otlp"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        env={**{key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}, **sent},
    )


def assert_linked(said: str, backend: str, own: Path) -> set[str]:
    """That the traces which the demo speaks of are in a backend: the incident as it is in its file, two replays
    linked to it. Gives their ids."""
    shown = re.findall(r"/trace/([0-9a-f]{32})", said)
    recorded = tracetape.load(own)
    incident, faithful, repaired = (tracetape.load(f"{backend}/{one}") for one in shown)
    assert incident.trace_id == recorded.trace_id
    assert tracetape.compare(recorded, incident) == []
    assert incident.grade == "exact"

    assert [one.name for one in faithful.crossings] == ["agent@1", "place_order@1", "agent@2"]
    assert repaired["place_order", 1].result["blocked"] is True
    modes = {one.name: one.attributes.get("tracetape.replay.mode") for one in repaired.spans}
    assert modes["execute_tool place_order"] == "live"
    for replay in (faithful, repaired):
        links = {link.trace_id for span in replay.spans for link in span.links}
        assert links == {incident.trace_id}
        assert [len(span.links) for span in replay.spans if span.parent_id is None] == [1]
    return set(shown)


def test_the_incident_and_its_replays_are_traces_that_are_linked(tmp_path):
    fake = FakeTempo()
    with serving(fake) as server:
        ended = demo(tmp_path, server.base)
        assert (ended.returncode, ended.stderr) == (0, "")
        own = tmp_path / "tracetape-demo" / "incident.otlp.jsonl"
        shown = assert_linked(ended.stdout, f"tempo+{server.base}", own)
    assert set(fake.traces) == shown


def test_the_addresses_in_grafana_are_understood_by_load(tmp_path):
    from tracetape.sources.addresses import meant

    with serving(FakeTempo()) as server:
        ended = demo(tmp_path, server.base)
    [page, *_] = [line.strip() for line in ended.stdout.splitlines() if "/explore?" in line]
    trace_id = re.findall(r"/trace/([0-9a-f]{32})", ended.stdout)[0]
    assert str(meant(page)) == f"tempo+http://127.0.0.1:3000/api/datasources/proxy/uid/tempo/{trace_id}"


def test_without_a_receiver_it_says_how_to_start_one(tmp_path):
    with serving(FakeTempo()) as server:
        pass
    ended = demo(tmp_path, server.base)
    assert ended.returncode == 3
    assert (
        f"tracetape: {server.base} has not taken the spans: is a receiver running there? `docker compose"
        in ended.stderr
    )
    assert (tmp_path / "tracetape-demo" / "incident.otlp.jsonl").exists()
