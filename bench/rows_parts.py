"""Rows of what a recorded call is made of; of what makes it dearer."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import tracetape
from bench import floors
from bench.measuring import Plan, Row, alone, called
from bench.payloads import CHAT, LONG_CHAT, SMALL
from tracetape import _running
from tracetape._crossing import BARE, cross_function
from tracetape.codec import encode, storable
from tracetape.exporters import otlp_json
from tracetape.exporters.file import SpanFile
from tracetape.model.call import BoundarySpec, Call
from tracetape.model.span import Scope
from tracetape.recorder import host
from tracetape.semconv import write

__all__ = ["dearer", "parts"]


@dataclass(frozen=True)
class Order:
    symbol: str
    quantity: int
    price: Decimal
    flags: tuple[str, ...]


ORDER = Order("ACME", 5, Decimal("190.10"), ("market", "day"))


def echo(value: Any) -> Any:
    return value


def parts(plan: Plan) -> Iterator[Row]:
    """Of a call that is recorded without marks, no provider being set. They overlap nowhere; what is left is the
    way from one to the next."""
    spec = BoundarySpec(name="echo", kind="tool", code="bench.echo")
    given, call = encode({"value": SMALL}), Call(spec, {"value": SMALL}, lambda: SMALL, storable=storable)
    parent, _ = host.place(None)
    span = host.start_span("execute_tool echo", {}, 1, parent)
    known = write.call(spec, {}, seq=2, process_id="0123456789abcdef", seq_before=1)
    said = otlp_json.constant(write.boundary(spec))
    head = otlp_json.begun(span.trace_id, span.span_id, "0123456789abcdef", "execute_tool echo", 1)
    origin = otlp_json.origin_of({"service.name": "bench"}, Scope("tracetape", "1"))

    def line() -> bytes:
        ended = {**write.outcome("returned"), **write.content(given, given)}
        attributes = [said, *otlp_json.entries(known), *otlp_json.entries(ended)]
        return otlp_json.line_of(otlp_json.body(head, 2, attributes), origin)

    running = _running.Running(BARE, call, None)
    running.scope = span
    with tempfile.TemporaryDirectory() as folder:
        file, written = SpanFile(Path(folder) / "run.jsonl"), line()
        for name, part in (
            ("the wrapper", lambda: floors.passing(echo)),
            ("its way through a mode", lambda: lambda _: cross_function(BARE, call)),
            ("one payload: look, JSON, SHA-256", lambda: lambda _: encode({"value": SMALL})),
            ("a span, its place", lambda: lambda _: host.start_span("x", {}, 1, host.place(None)[0])),
            ("the span made current, and not", lambda: lambda _: running.step(echo, None)),
            ("the attributes, the line", lambda: lambda _: line()),
            ("one write of the line", lambda: lambda _: file.write(written)),
        ):
            yield _alone(f"part: {name}", part(), None, plan)


def dearer(plan: Plan) -> Iterator[Row]:
    for size, value in (("small", SMALL), ("4 KB", CHAT), ("64 KB", LONG_CHAT), ("a dataclass", ORDER)):
        yield _alone(f"one payload, {size}", lambda one: encode({"value": one}), value, plan)
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    for size, value in (("small", SMALL), ("4 KB", CHAT)):
        yield _alone(f"one payload, {size}, other threads", lambda one: encode({"value": one}), value, plan)
    done.set()
    other.join()
    marked = tracetape.boundary("echo", kind="tool")(echo)
    with tempfile.TemporaryDirectory() as folder:
        for name, value, options in (
            ("small", SMALL, {"marks": False}),
            ("a dataclass", ORDER, {"marks": False}),
            ("small, marks", SMALL, {"marks": True}),
            ("small, fsync", SMALL, {"marks": False, "fsync": True}),
            ("small, marks, fsync", SMALL, {"marks": True, "fsync": True}),
        ):
            with tracetape.record(Path(folder) / "run.jsonl", mode="w", **options):  # type: ignore[arg-type]
                yield _alone(f"a call, {name}", marked, value, plan)


def _alone(name: str, function: Callable[[Any], Any], argument: Any, plan: Plan) -> Row:
    return Row(name, "", "µs", alone(called(function, argument), plan.repeat))
