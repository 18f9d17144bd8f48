"""A real Arize Phoenix: what its HTTP APIs give of a run is a recording."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import tracetape
from tests.acceptance.backend_client import assert_client_works
from tests.acceptance.otlp_host import run_host
from tests.backends import Collector, Phoenix, fetched, get, needs
from tests.backends import program as payload_program
from tracetape.errors import TracetapeError

CONFIG = Path(__file__).parents[2] / "collector-config"
# The REST interfaces that give out the spans of one trace, and the one of the user interface.
INTERFACES = {
    "spans": "/v1/projects/default/spans?limit=1000&trace_id={id}",
    "otlpv1": "/v1/projects/default/spans/otlpv1?limit=1000&trace_id={id}",
    "graphql": "/graphql",
}
QUERY = """query ($id: String!) {
  getTraceByOtelId(traceId: $id) {
    traceId
    spans(first: 1000) {
      edges {
        node {
          name spanId parentId startTime endTime statusCode statusMessage spanKind attributes
          events { name timestamp message }
        }
      }
    }
  }
}"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def phoenix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Phoenix]:
    needs("phoenix")
    with Phoenix(tmp_path_factory.mktemp("phoenix")) as running:
        yield running


@pytest.fixture(scope="module", params=["directly", "through the Collector"])
def own(request: pytest.FixtureRequest, phoenix: Phoenix, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of every payload, sent to Phoenix and recorded on the spot."""
    folder = tmp_path_factory.mktemp("own")
    file = folder / "own.otlp.jsonl"
    if request.param == "directly":
        payload_program.run_program("http", "payloads", str(file), phoenix.url)
        return file
    needs("collector")
    env = {
        "SPANS_FILE": str(folder / "recordings" / "spans.jsonl"),
        "PHOENIX_ENDPOINT": phoenix.url,
        "FAN_OUT_TO": "[otlp_http/phoenix]",
    }
    with Collector(CONFIG / "fan-out.yaml", folder, env) as collector:
        payload_program.run_program("grpc", "payloads", str(file), collector.grpc)
    return file


def trace_from(phoenix: Phoenix, interface: str, trace_id: str, folder: Path, spans: int) -> Path:
    """Asked until all spans are there."""
    url = phoenix.url + INTERFACES[interface].format(id=trace_id)
    body, key = None, b'"span_id"'
    if interface == "graphql":
        body = json.dumps({"query": QUERY, "variables": {"id": trace_id}}).encode()
        key = b'"spanId"'
    return fetched(url, folder / "trace.json", body=body, until=lambda answer: answer.count(key) == spans)


def spans_in(file: Path) -> int:
    return len(list(tracetape.read_spans(file)))


@pytest.mark.parametrize("interface", INTERFACES)
def test_what_phoenix_gives_is_the_run_as_it_was_recorded_on_the_spot(phoenix, own, interface, tmp_path):
    recorded = tracetape.load(own)
    file = trace_from(phoenix, interface, str(recorded.trace_id), tmp_path, spans_in(own))
    given = tracetape.load(file)
    assert tracetape.compare(recorded, given) == []
    assert tracetape.compare(given, recorded) == []
    assert [one.span_ids for one in given.crossings] == [one.span_ids for one in recorded.crossings]
    texts = list(payload_program.PAYLOADS.values())
    assert [one.inputs["text"] for one in given.crossings if one.boundary == "put"] == texts


@pytest.mark.parametrize("interface", INTERFACES)
def test_what_phoenix_gives_replays_without_a_model_call(phoenix, own, interface, tmp_path, monkeypatch):
    monkeypatch.setattr(payload_program, "model_calls", 0)
    recorded = tracetape.load(own)
    file = trace_from(phoenix, interface, str(recorded.trace_id), tmp_path, spans_in(own))
    with tracetape.replay(file, live=["answer"]) as tape:
        replayed = payload_program.calls()
    assert replayed["said"] == list(payload_program.PIECES)
    assert replayed == recorded["answer", 1].result
    assert (payload_program.model_calls, tape.report.model_calls, tape.report.divergences) == (0, 0, [])


@pytest.mark.parametrize("interface", INTERFACES)
def test_the_brokers_incident_replays_from_phoenix_with_the_repaired_tool(
    phoenix, interface, tmp_path, monkeypatch
):
    from tests.acceptance.broker_story import assert_repaired_tool_blocks

    recorded = tmp_path / "own.otlp.jsonl"
    told = run_host("http", "broker", phoenix.url, recorded)
    # The host's own span POST /chat is not in the file.
    file = trace_from(phoenix, interface, told["trace_id"], tmp_path, spans_in(recorded) + 1)
    assert tracetape.compare(tracetape.load(recorded), tracetape.load(file)) == []
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert_repaired_tool_blocks(file)


def test_an_address_that_phoenix_has_not_is_no_trace(phoenix, own, tmp_path):
    """It answers 200 with a page, which must not pass for an empty trace."""
    status, kind, page = get(f"{phoenix.url}/v1/traces/{tracetape.load(own).trace_id}")
    assert (status, kind) == (200, "text/html")
    (tmp_path / "page.html").write_bytes(page)
    with pytest.raises(TracetapeError):
        tracetape.load(tmp_path / "page.html")


def test_our_client_shows_finds_saves_and_replays_it_by_its_address(phoenix, own, tmp_path):
    trace_id = tracetape.load(own).trace_id
    trace_from(phoenix, "spans", trace_id, tmp_path, spans_in(own))
    _, _, answer = get(f"{phoenix.url}/v1/projects/default")
    project = json.loads(answer)["data"]["id"]
    page = f"{phoenix.url}/projects/{project}/traces/{trace_id}"
    assert_client_works(f"phoenix+{phoenix.url}/default", page, own, tmp_path)
