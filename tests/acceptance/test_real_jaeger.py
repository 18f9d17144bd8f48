"""A real Jaeger 2: what its HTTP APIs give of a run is a recording."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tracetape
from tests.acceptance.backend_client import assert_client_works
from tests.acceptance.otlp_host import run_host
from tests.acceptance.test_demo_otlp import assert_linked, demo
from tests.backends import Jaeger, fetched, get, needs
from tests.backends import program as payload_program
from tracetape.errors import TracetapeError

# Every interface that gives out one trace.
INTERFACES = {"v3": "/api/v3/traces/{id}", "legacy": "/api/traces/{id}", "legacy raw": "/api/traces/{id}?raw=true"}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def jaeger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jaeger]:
    needs("jaeger")
    with Jaeger(tmp_path_factory.mktemp("jaeger")) as running:
        yield running


@pytest.fixture(scope="module", params=["grpc", "http"])
def own(request: pytest.FixtureRequest, jaeger: Jaeger, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of every payload, sent to Jaeger and recorded on the spot."""
    file = tmp_path_factory.mktemp("own") / "own.otlp.jsonl"
    endpoint = jaeger.grpc if request.param == "grpc" else jaeger.http
    payload_program.run_program(request.param, "payloads", str(file), endpoint)
    return file


def trace_from(jaeger: Jaeger, interface: str, trace_id: str, folder: Path, spans: int) -> Path:
    """Asked until all spans are there."""
    url = jaeger.query + INTERFACES[interface].format(id=trace_id)
    key = b'"spanId"' if interface == "v3" else b'"operationName"'
    return fetched(url, folder / "trace.json", until=lambda answer: answer.count(key) == spans)


def spans_in(file: Path) -> int:
    return len(list(tracetape.read_spans(file)))


@pytest.mark.parametrize("interface", INTERFACES)
def test_what_jaeger_gives_is_the_run_as_it_was_recorded_on_the_spot(jaeger, own, interface, tmp_path):
    recorded = tracetape.load(own)
    file = trace_from(jaeger, interface, str(recorded.trace_id), tmp_path, spans_in(own))
    given = tracetape.load(file)
    assert tracetape.compare(recorded, given) == []
    assert tracetape.compare(given, recorded) == []
    assert [one.span_ids for one in given.crossings] == [one.span_ids for one in recorded.crossings]
    texts = list(payload_program.PAYLOADS.values())
    assert [one.inputs["text"] for one in given.crossings if one.boundary == "put"] == texts


@pytest.mark.parametrize("interface", INTERFACES)
def test_what_jaeger_gives_replays_without_a_model_call(jaeger, own, interface, tmp_path, monkeypatch):
    monkeypatch.setattr(payload_program, "model_calls", 0)
    recorded = tracetape.load(own)
    file = trace_from(jaeger, interface, str(recorded.trace_id), tmp_path, spans_in(own))
    with tracetape.replay(file, live=["answer"]) as tape:
        replayed = payload_program.calls()
    assert replayed["said"] == list(payload_program.PIECES)
    assert replayed == recorded["answer", 1].result
    assert (payload_program.model_calls, tape.report.model_calls, tape.report.divergences) == (0, 0, [])


@pytest.mark.parametrize("interface", INTERFACES)
def test_the_brokers_incident_replays_from_jaeger_with_the_repaired_tool(jaeger, interface, tmp_path, monkeypatch):
    from tests.acceptance.broker_story import assert_repaired_tool_blocks

    recorded = tmp_path / "own.otlp.jsonl"
    told = run_host("grpc", "broker", jaeger.grpc, recorded)
    # The host's own span POST /chat is not in the file.
    file = trace_from(jaeger, interface, told["trace_id"], tmp_path, spans_in(recorded) + 1)
    assert tracetape.compare(tracetape.load(recorded), tracetape.load(file)) == []
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert_repaired_tool_blocks(file)


@pytest.mark.parametrize("interface", INTERFACES)
def test_of_a_trace_that_jaeger_has_not_it_says_so_with_404(jaeger, interface):
    status, _, answer = get(jaeger.query + INTERFACES[interface].format(id="0" * 31 + "1"))
    assert status == 404
    assert b"not found" in answer or b"No traces found" in answer


def test_jaegers_user_interface_address_is_no_trace(jaeger, own, tmp_path):
    """It answers 200 with a page, which must not pass for an empty trace."""
    status, kind, page = get(f"{jaeger.query}/trace/{tracetape.load(own).trace_id}")
    assert (status, kind) == (200, "text/html")
    (tmp_path / "page.html").write_bytes(page)
    with pytest.raises(TracetapeError):
        tracetape.load(tmp_path / "page.html")


def test_our_client_shows_finds_saves_and_replays_it_by_its_address(jaeger, own, tmp_path):
    trace_id = tracetape.load(own).trace_id
    trace_from(jaeger, "v3", trace_id, tmp_path, spans_in(own))
    assert_client_works(f"jaeger+{jaeger.query}", f"{jaeger.query}/trace/{trace_id}", own, tmp_path)


def test_the_demo_shows_the_incident_and_its_linked_replays(jaeger, tmp_path):
    ended = demo(tmp_path, jaeger.http)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert_linked(ended.stdout, f"jaeger+{jaeger.query}", tmp_path / "tracetape-demo" / "incident.otlp.jsonl")
