"""A program with OpenTelemetry of its own: a tracer provider, a stock OTLP exporter, spans of its own.

    python otlp_host.py grpc|http SCENARIO [FILE]

Exports to OTEL_EXPORTER_OTLP_ENDPOINT under whatever else OTEL_* and TRACETAPE_* say. With FILE, the
scenario is recorded by `tracetape.record(FILE)` too. Prints facts of the run as JSON. A process each,
since a process has one global tracer provider.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from opentelemetry import trace

import tracetape

__all__ = ["LONG_TEXTS", "OVER_THE_LIMIT", "keep_text", "run_host"]

BROKER = Path(__file__).parents[2] / "examples" / "broker"
USER_MESSAGE = "Sell about $1,000 of ACME stock"

# Its input's JSON is 11 bytes longer than the text: 2,000 and 2,001 bytes, then characters of two, three
# and four bytes that lie across the cuts.
LONG_TEXTS = ("a" * 1989, "a" * 1990, "é" * 3000, "漢字" * 1000, "x🙂" * 1500, 'say "é"\n\\' * 700)
OVER_THE_LIMIT = "0123456789" * 30_000

tracer = trace.get_tracer("a.host.of.its.own")


@tracetape.boundary("keep_text", kind="tool")
def keep_text(text: str) -> str:
    return text


@tracetape.boundary("look_up_price", kind="tool")
def look_up_price(symbol: str) -> float:
    with tracer.start_as_current_span("GET /price", attributes={"url.path": "/price", "retries": 2}) as span:
        span.add_event("answered", {"bytes": 5})
    return 190.0


@tracetape.boundary("value_positions", kind="agent")
def value_positions(symbol: str) -> float:
    with tracer.start_as_current_span("SELECT positions"):
        return 2 * look_up_price(symbol)


@tracetape.boundary("refuse", kind="tool")
def refuse(symbol: str) -> None:
    raise ValueError(f"no market for {symbol}")


def broker() -> dict[str, Any]:
    """The incident of examples/broker."""
    from agent import run_agent
    from as_it_ran import place_order
    from model_server import ModelServer

    with ModelServer() as server:
        os.environ["OPENAI_BASE_URL"] = server.url
        answer = run_agent(USER_MESSAGE, place_order)
        return {"answer": answer, "model_requests": server.requests}


def broker_and_failure() -> dict[str, Any]:
    """The incident, then a tool that raises."""
    facts = broker()
    try:
        refuse("ACME")
    except ValueError as error:
        facts["error"] = str(error)
    return facts


def long_texts() -> dict[str, Any]:
    for text in LONG_TEXTS:
        keep_text(text)
    return {}


def over_the_limit() -> dict[str, Any]:
    """A payload over the default TRACETAPE_EXPORT_LIMIT, between two that are not."""
    for text in ("before", OVER_THE_LIMIT, "after"):
        keep_text(text)
    return {}


def foreign_spans() -> dict[str, Any]:
    """handle > value_positions > SELECT positions > look_up_price > GET /price."""
    with tracer.start_as_current_span("handle"):
        value_positions("ACME")
    return {}


SCENARIOS: Mapping[str, Callable[[], dict[str, Any]]] = {
    one.__name__: one for one in (broker, broker_and_failure, long_texts, over_the_limit, foreign_spans)
}


def main(protocol: str, scenario: str, path: str = "") -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

    exporter: SpanExporter
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

        exporter = OTLPSpanExporter()
    else:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as OTLPHttpExporter

        exporter = OTLPHttpExporter()
    sys.path.insert(0, str(BROKER))
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    # The request that a server would be in. Without it each outermost boundary is a trace of its own.
    bare = bool(os.environ.get("HOST_WITHOUT_REQUEST"))
    request: AbstractContextManager[Any] = nullcontext() if bare else tracer.start_as_current_span("POST /chat")
    recording: AbstractContextManager[Any] = tracetape.record(path, name="broker") if path else nullcontext()
    with request, recording as run:
        facts = SCENARIOS[scenario]()
    provider.shutdown()
    print(json.dumps(facts | {"trace_id": run.trace_id if path else None}))


def run_host(
    protocol: str,
    scenario: str,
    endpoint: str,
    file: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Run the program to its end, which is after its exporter's; return the facts that it prints."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OTEL_", "TRACETAPE_", "OPENAI_")) and not name.lower().endswith("_proxy")
    }
    command = [sys.executable, str(Path(__file__)), protocol, scenario, *([str(file)] if file else [])]
    done = subprocess.run(
        command,
        env=clean | {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint} | dict(env or {}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # The SDK says there when it cuts an attribute, which is its business; a loss of ours would be said too. What a
    # host's settings will lose is said once, at the start.
    said = [line for line in done.stderr.splitlines() if "tracetape" in line and "will be exported:" not in line]
    assert said == [], done.stderr
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


if __name__ == "__main__":
    main(*sys.argv[1:])
