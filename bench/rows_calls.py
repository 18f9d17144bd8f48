"""Rows of one call: switched off, on a host's provider, recorded into a file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
from opentelemetry import trace
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

import tracetape
from bench import floors
from bench.measuring import Plan, Row, awaited, called, measured, row_of
from bench.payloads import SIZES, SMALL

__all__ = ["host", "host_processor", "off", "recorded", "recorded_host"]


def echo(value: Any) -> Any:
    return value


async def aecho(value: Any) -> Any:
    return value


def off(plan: Plan) -> Iterator[Row]:
    """Nothing is open and no provider is set: what a boundary costs whoever never records."""
    marked, amarked = tracetape.boundary(echo), tracetape.boundary(aecho)
    yield row_of(
        "nothing open, sync",
        "an empty wrapt wrapper",
        measured(called(marked, 1), called(floors.passing(echo), 1), plan.repeat),
        must=1.5,
    )
    yield row_of(
        "nothing open, async",
        "an empty wrapt wrapper, coroutine handed on",
        measured(awaited(amarked, 1), awaited(floors.passing(aecho), 1), plan.repeat),
        must=1.5,
    )


class _Nowhere(SpanExporter):
    def export(self, spans: Any) -> SpanExportResult:
        return SpanExportResult.SUCCESS


def host(plan: Plan) -> Iterator[Row]:
    yield _on_host("on a host's provider, content off", "one SDK span by hand, same attributes", plan)


def host_processor(plan: Plan) -> Iterator[Row]:
    yield _on_host(
        "on a host's provider, content off, processor",
        "one SDK span by hand, same attributes and processor",
        plan,
        SimpleSpanProcessor,
    )


def _on_host(name: str, floor: str, plan: Plan, processor: Any = None) -> Row:
    """The floor gets the very attributes that ours puts on its span, ready made: those known before the
    function runs, and the rest."""
    os.environ["TRACETAPE_CONTENT"] = "off"
    processors = [] if processor is None else [processor(_Nowhere())]
    trace.set_tracer_provider(floors.provider(*processors))
    seen: list[Any] = []

    def peek(value: Any) -> Any:
        span: Any = trace.get_current_span()
        seen[:] = [span.name, dict(span.attributes), span]
        return value

    peeking = tracetape.boundary("echo", kind="tool")(peek)
    peeking(SMALL)
    peeking(SMALL)  # from the second call on there is a call before it
    span_name, known, span = seen
    rest = {key: value for key, value in span.attributes.items() if key not in known}
    if not {"tracetape.boundary.name", "tracetape.outcome.type", "tracetape.input.size"} <= {*known, *rest}:
        raise SystemExit(f"a span of ours is not what the floor expects: {known} {rest}")
    tracer = floors.provider(*([] if processor is None else [processor(_Nowhere())])).get_tracer("bench")
    least = floors.host_crossing(echo, tracer, span_name, known, rest)
    marked = tracetape.boundary("echo", kind="tool")(echo)
    return row_of(name, floor, measured(called(marked, SMALL), called(least, SMALL), plan.repeat), must=1.3)


_PARTS = "wrapper, binder, look, JSON, SHA-256, {}, line, write"


def recorded(plan: Plan) -> Iterator[Row]:
    """No provider is set, as on a laptop. The floor with a target makes one span of the SDK, as whoever builds on
    OpenTelemetry does; beside it stands what a span of the API alone would leave."""
    tracer = floors.provider().get_tracer("bench")
    yield from _recorded("", _PARTS.format("SDK span with the payloads"), plan, tracer, has_target=True)
    yield from _recorded(", floor without the SDK", _PARTS.format("API span"), plan, None, has_target=False)


def recorded_host(plan: Plan) -> Iterator[Row]:
    """A provider of the SDK is set: the host's span and the file's line."""
    trace.set_tracer_provider(floors.provider())
    tracer = floors.provider().get_tracer("bench")
    yield from _recorded(
        ", host's span", _PARTS.format("SDK span with the payloads"), plan, tracer, has_target=True
    )


def _recorded(suffix: str, floor: str, plan: Plan, tracer: Any, *, has_target: bool) -> Iterator[Row]:
    marked = tracetape.boundary("echo", kind="tool")(echo)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for marks in (False, True):
            for size, value in SIZES:
                ours, least = folder / "ours.jsonl", folder / "least.jsonl"
                hand = floors.recorded(echo, least, tracer)
                with tracetape.record(ours, mode="w", marks=marks):
                    sides = measured(called(marked, value), called(hand, value), plan.repeat)
                _check_promise(_attributes(ours, -2), _attributes(least, -1))  # the last of ours is the root
                least.unlink()
                yield row_of(
                    f"recorded, {'default marks' if marks else 'no marks'}{suffix}, {size}",
                    floor,
                    sides,
                    must=(1.8 if marks else 1.3) if has_target else None,
                )


def _attributes(path: Path, number: int) -> dict[str, Any]:
    """The attributes of a line, counted from the end of the file."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 2**20))
        line = file.read().splitlines()[number]
    span = orjson.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    return {one["key"]: one["value"] for one in span["attributes"]}


def _check_promise(ours: dict[str, Any], least: dict[str, Any]) -> None:
    """A floor that writes less than ours would be no floor."""
    payload = {key: value for key, value in ours.items() if ".input." in key or ".output." in key}
    if not payload or ours.keys() - least.keys() or any(least[key] != value for key, value in payload.items()):
        raise SystemExit(f"the floor's line is not what ours is: {ours.keys() ^ least.keys()}, {payload.keys()}")
