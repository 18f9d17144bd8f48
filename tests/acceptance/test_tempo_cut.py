"""Through a Tempo that cuts strings at 2,048 bytes: ours come whole, foreign ones are told to be cut."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

import tracetape
from tests.servers import FakeTempo, Served, serving

pytestmark = pytest.mark.optional

LONG = "Kaufe 3 × ACME „vorsichtig“ 🚀 " * 1_700  # 64 KB and more, of characters of one to four bytes


@tracetape.boundary("plan", kind="llm")
def plan(goal: str) -> dict[str, str]:
    return {"text": goal[::-1]}


@tracetape.boundary("act", kind="tool")
def act(text: str) -> str:
    if not text:
        raise ValueError("nothing to do")
    return f"done: {text}"


def program() -> tuple[str, str]:
    result = act(plan(LONG)["text"])
    try:
        act("")
    except ValueError as error:
        return result, str(error)
    return result, ""


@pytest.fixture
def tempo() -> Iterator[tuple[FakeTempo, Served]]:
    fake = FakeTempo()
    with serving(fake) as server:
        yield fake, server


def provider_to(server: Served) -> TracerProvider:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{server.base}/v1/traces")))
    return provider


def run_on(provider: TracerProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", provider)
    with provider.get_tracer("host").start_as_current_span("POST /chat"):
        program()
    provider.shutdown()


def test_a_run_with_payloads_of_64_kb_replays_exactly(tempo, monkeypatch, tmp_path):
    fake, server = tempo
    run_on(provider_to(server), monkeypatch)
    monkeypatch.undo()
    [trace_id] = fake.traces
    source = f"tempo+{server.base}/{trace_id}"

    recording = tracetape.load(source)
    assert recording.grade == "exact"
    assert recording.gaps == ()
    assert recording["act", 1].result == f"done: {LONG[::-1]}"
    with tracetape.replay(source) as tape:
        assert tape.run(program) == (f"done: {LONG[::-1]}", "nothing to do")
    assert not tape.report.live_calls

    with tracetape.record(tmp_path / "own.otlp.jsonl") as run:
        program()
    assert tracetape.compare(run.recording, recording) == []


def test_the_pytest_mark_takes_an_address_too(tempo, monkeypatch, tmp_path):
    fake, server = tempo
    run_on(provider_to(server), monkeypatch)
    monkeypatch.undo()
    [trace_id] = fake.traces
    case = tmp_path / "test_case.py"
    case.write_text(
        "import pytest\n"
        "from tests.acceptance.test_tempo_cut import program\n"
        f"@pytest.mark.tracetape('tempo+{server.base}/{trace_id}')\n"
        "def test_it(tape):\n"
        "    assert program()[1] == 'nothing to do'\n"
    )
    root = Path(__file__).parents[2]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(case)],
        cwd=root,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout
    assert "1 passed" in ended.stdout


def test_a_long_foreign_string_is_told_to_be_cut_with_its_name_and_the_setting(tempo):
    fake, server = tempo
    provider = provider_to(server)
    text = '{"messages":[' + ",".join(f'"{number:04d}"' for number in range(1_000)) + "]}"
    with provider.get_tracer("another").start_as_current_span("chat") as span:
        span.set_attribute("input.value", text)
        span.set_attribute("input.value.sha256", "0" * 64)
        span.set_attribute("input.value.bytes", len(text))
        span.set_attribute("output.value", text)
    provider.shutdown()
    [trace_id] = fake.traces

    gaps = tracetape.load(f"tempo+{server.base}/{trace_id}").gaps
    assert [gap.code for gap in gaps] == ["PAYLOAD_TRUNCATED", "PAYLOAD_TRUNCATED"]
    assert f"attribute 'input.value' is cut: it has 2048 of {len(text)} bytes" in gaps[0].text
    assert "attribute 'output.value' is cut: it has 2048 bytes, and ends in the middle" in gaps[1].text
    assert all("distributor.max_attribute_bytes" in gap.text for gap in gaps)
