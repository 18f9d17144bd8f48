"""A program with boundaries and a tracer provider of its own, which sends its spans by a stock OTLP exporter.

    python program.py grpc|http payloads FILE
    python program.py grpc|http many|large COUNT

Exports to OTEL_EXPORTER_OTLP_ENDPOINT. A process of its own, since a process has one global tracer provider. The
boundaries are in `calls`, which a test imports to replay them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import tracetape

__all__ = [
    "MANY_ENV",
    "PAYLOADS",
    "PIECES",
    "answer",
    "calls",
    "finish",
    "put",
    "refuse",
    "run_program",
    "say",
    "start_program",
    "take",
]

# By their sizes in bytes, or by what is in them. All of them in one span would be over TRACETAPE_EXPORT_LIMIT.
PAYLOADS: Mapping[str, str] = {
    "10 B": "0123456789",
    "2 KB": "ab" * 1024,
    "64 KB": "0123456789abcdef" * 4096,
    "200 KB": "z" * 204_800,
    "unicode": "Grüße, 漢字, 🙂 e\u0301 \u2028\u2029\x85 \x00\x1b[31m \\ \"' \ufeff" * 300,
}
PIECES = ("so", "ld ", "1,000 ", "Stück 🙂")
STEPS = 9
# So that the queue of the sender's own exporter drops nothing.
MANY_ENV = {"OTEL_BSP_MAX_QUEUE_SIZE": "20000", "OTEL_BSP_EXPORT_TIMEOUT": "120000"}

model_calls = 0


@tracetape.boundary("keep", kind="tool")
def keep(text: str) -> str:
    return text


@tracetape.boundary("refuse", kind="tool")
def refuse(symbol: str) -> None:
    raise LookupError(f"no market for {symbol}: « ‹🙂› »")


@tracetape.boundary("say", kind="llm", model="scripted-1")
def say(prompt: str) -> Iterator[str]:
    global model_calls
    model_calls += 1
    yield from PIECES


@tracetape.boundary("put", kind="tool")
def put(text: str) -> int:
    return len(text)


@tracetape.boundary("take", kind="tool")
def take(name: str) -> str:
    return PAYLOADS[name]


@tracetape.boundary("answer", kind="agent")
def answer(names: Sequence[str]) -> dict[str, Any]:
    """Every payload into a call and out of one, an exception, a stream."""
    lengths = {name: put(take(name)) for name in names}
    try:
        refuse("ACME")
    except LookupError as error:
        refused = str(error)
    return {"lengths": lengths, "refused": refused, "said": [*say("go")]}


def calls() -> dict[str, Any]:
    return answer(list(PAYLOADS))


@tracetape.boundary("run", kind="agent")
def run(number: int, failing: bool, slow: bool) -> int:
    if slow:
        time.sleep(0.5)
    sizes = [len(keep(f"{number}.{step} " + "x" * 4096)) for step in range(STEPS - 1)]
    try:
        (refuse if failing else keep)("ACME")
    except LookupError:
        if number % 100 == 7:
            raise
    return sum(sizes)


def many(count: int, told: dict[str, Any]) -> None:
    """`count` runs of ten spans, each a trace: every fiftieth fails, every four hundredth is slow."""
    from opentelemetry import trace

    provider: Any = trace.get_tracer_provider()
    failing, slow = [], []
    for number in range(count):
        fails, is_slow = number % 50 == 7, number % 400 == 3
        before = set(told["spans"])
        try:
            run(number, fails, is_slow)
        except LookupError:
            pass
        (trace_id,) = set(told["spans"]) - before
        if fails:
            failing.append(trace_id)
        if is_slow:
            slow.append(trace_id)
        if number % 50 == 49:
            assert provider.force_flush(120_000), "the exporter could not send"
    told |= {"failing": failing, "slow": slow}


def large(count: int) -> None:
    """`count` payloads of 200 KB, which the sender puts into one request."""
    for number in range(count):
        put(f"{number} " + PAYLOADS["200 KB"])


def main(protocol: str, scenario: str, argument: str) -> None:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

    exporter: SpanExporter
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

        exporter = OTLPSpanExporter()
    else:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as OTLPHttpExporter

        exporter = OTLPHttpExporter()

    spans: dict[str, list[str]] = defaultdict(list)

    class Told(SpanProcessor):
        def on_end(self, span: ReadableSpan) -> None:
            assert span.context is not None
            spans[f"{span.context.trace_id:032x}"].append(f"{span.context.span_id:016x}")

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    provider.add_span_processor(Told())
    trace.set_tracer_provider(provider)
    told: dict[str, Any] = {"spans": spans}
    if scenario == "payloads":
        with tracetape.record(argument):
            told["answer"] = calls()
    elif scenario == "large":
        with trace.get_tracer("a.host").start_as_current_span("POST /chat"):
            large(int(argument))
    else:
        many(int(argument), told)
    provider.shutdown()
    print(json.dumps(told))


def start_program(
    protocol: str, scenario: str, argument: str, endpoint: str, env: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OTEL_", "TRACETAPE_")) and not name.lower().endswith("_proxy")
    }
    root = Path(__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.backends.program", protocol, scenario, argument],
        cwd=root,
        env=clean | {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint} | dict(env or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for its end, which is after its exporter's; return what it prints."""
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    assert err == "", err  # a batch that was refused is said there
    told: dict[str, Any] = json.loads(out)
    return told


def run_program(
    protocol: str, scenario: str, argument: str, endpoint: str, env: Mapping[str, str] | None = None
) -> dict[str, Any]:
    return finish(start_program(protocol, scenario, argument, endpoint, env))


if __name__ == "__main__":
    main(*sys.argv[1:])
