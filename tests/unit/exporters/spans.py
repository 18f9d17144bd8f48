"""Spans, and receivers of spans, for the tests of what exports them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from tracetape.exporters.sizes import size_of

__all__ = ["Receiver", "made", "spans", "tracer_of"]

_tracer = TracerProvider(shutdown_on_exit=False).get_tracer("a.host")


def made(name: str = "work", size: int = 100, **attributes: Any) -> ReadableSpan:
    """An ended span with a text of `size` bytes."""
    span: Any = _tracer.start_span(name, attributes={"text": "x" * size, **attributes})
    span.end()
    found: ReadableSpan = span._readable_span()
    return found


def spans(count: int, size: int = 100) -> list[ReadableSpan]:
    return [made(f"s{number}", size) for number in range(count)]


class Receiver(SpanExporter):
    """Takes requests, or does not.

    refuses:  whether it refuses a span; then it refuses the request that it is in.
    is_there: False for one that cannot be reached.
    """

    def __init__(self, refuses: Callable[[ReadableSpan], bool] = lambda span: False, limit: int = 2**62) -> None:
        self.refuses, self.limit = refuses, limit
        self.is_there = True
        self.asked: list[list[str]] = []
        self.got: list[str] = []
        self.ended = threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.asked.append([span.name for span in spans])
        if not self.is_there or any(map(self.refuses, spans)) or sum(map(size_of, spans)) > self.limit:
            return SpanExportResult.FAILURE
        self.got += [span.name for span in spans]
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        self.ended.set()


def tracer_of(processor: SpanProcessor) -> Any:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor)
    return provider.get_tracer("a.host")
