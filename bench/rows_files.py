"""Rows of the file writer alone."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from bench import floors
from bench.floor_lines import line, prefix
from bench.measuring import Plan, Row, called, measured
from bench.payloads import chat
from tracetape.exporters.file import SpanFile
from tracetape.exporters.otlp_json import encode_line
from tracetape.model.span import Scope, SpanRecord

__all__ = ["writer"]

RESOURCE = {"service.name": "bench"}


def writer(plan: Plan) -> Iterator[Row]:
    """Spans of 4 KB: eight short attributes, two JSON texts."""
    text = orjson.dumps(chat(3, 7)).decode()
    attributes: dict[str, Any] = {f"bench.short.{number}": f"value {number}" for number in range(6)}
    attributes |= {"bench.seq": 17, "bench.ratio": 0.5, "bench.input.value": text, "bench.output.value": text}
    span = _ended(attributes)
    ours = SpanRecord(
        trace_id="0123456789abcdef" * 2,
        span_id="0123456789abcdef",
        parent_id="fedcba9876543210",
        name="execute_tool bench",
        start_ns=1_700_000_000_000_000_000,
        end_ns=1_700_000_000_000_500_000,
        attributes=attributes,
        scope=Scope("bench", "1"),
    )
    with tempfile.TemporaryDirectory() as folder:
        file = SpanFile(Path(folder) / "ours.jsonl")
        descriptor = os.open(Path(folder) / "least.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        before = prefix(RESOURCE, "bench", "1")
        sides = measured(
            called(lambda one: file.write(encode_line(one, RESOURCE)), ours),
            called(lambda one: os.write(descriptor, line(before, one)), span),
            plan.repeat,
        )
        os.close(descriptor)
    size = len(encode_line(ours, RESOURCE))
    yield Row(
        "span to file, 4 KB",
        "dict by hand, orjson, prefix kept, one write",
        "µs a span",
        *sides,
        must=1.47,
        note=f"{1e6 / sides[0].median:,.0f} spans/s of {size:,} bytes; the floor {1e6 / sides[1].median:,.0f}",
    )


def _ended(attributes: dict[str, Any]) -> ReadableSpan:
    """The same span as the SDK hands it to an exporter, under a parent."""
    memory = InMemorySpanExporter()
    tracer = floors.provider(SimpleSpanProcessor(memory)).get_tracer("bench", "1")
    with tracer.start_as_current_span("parent"):
        tracer.start_span("execute_tool bench", attributes=attributes).end()
    return memory.get_finished_spans()[0]
