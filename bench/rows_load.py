"""Rows of loading: from a file to a table of stubs, in time as in memory."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.measuring import Plan, Row, Sample, Side
from bench.processes import in_child, peak_mb

__all__ = ["load"]

FLOOR = "orjson over each line, key of 16 bytes → offset"
PER_SECOND = 80_000
ALLOWED_MB = 60.0
ALLOWED_KB_A_SPAN = 0.3


def load(plan: Plan) -> Iterator[Row]:
    """Spans of 4 KB, recorded by tracetape. The garbage collector is as a program has it."""
    for spans in (10_000,) if plan.quick else (10_000, 100_000):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.jsonl"
            in_child(record_in_child, path, spans)
            size = path.stat().st_size / spans
            found = [(in_child(load_in_child, path), in_child(look_in_child, path)) for _ in range(3)]
        if any(one["spans"] != spans for pair in found for one in pair):
            raise SystemExit(f"loaded {found} of {spans} spans")
        sides = [
            Side.of([Sample(one["wall"] * 1e6 / spans, one["cpu"] * 1e6 / spans) for one in side])
            for side in zip(*found, strict=True)
        ]
        yield Row(
            f"load and stub table, {spans:,} spans",
            FLOOR,
            "µs a span",
            sides[0],
            sides[1],
            most=1e6 / PER_SECOND,
            note=f"{_rate(sides[0])} spans/s of {size:,.0f} bytes; the floor {_rate(sides[1])}",
        )
        yield Row(
            f"load and stub table, peak memory, {spans:,}",
            f"allowed: {ALLOWED_MB:g} MB and {ALLOWED_KB_A_SPAN:g} KB a span",
            "MB",
            Side.of([Sample(ours["peak"]) for ours, _ in found]),
            Side.exactly(ALLOWED_MB + ALLOWED_KB_A_SPAN * spans / 1_024),
            must=1,
            tolerance=1.2,
            note=f"the file has {size * spans / 2**20:,.0f} MB; the floor's peak is {found[0][1]['peak']:.0f} MB",
        )


def _rate(side: Side) -> str:
    return f"{1e6 / side.median:,.0f}"


def record_in_child(path: str, spans: str) -> dict[str, Any]:
    import tracetape
    from bench.payloads import chat

    @tracetape.boundary("echo", kind="tool")
    def echo(value: Any) -> Any:
        return value

    message = chat(3, 5)
    with tracetape.record(path, marks=False):
        for number in range(int(spans)):
            echo(message | {"number": number})
    return {}


def load_in_child(path: str) -> dict[str, Any]:
    """Load, and make the table that a replay makes."""
    import tracetape
    from tracetape.codec.ignore_paths import IgnorePaths
    from tracetape.replayer.stubs import StubTable

    load = tracetape.load  # what is imported for it is measured among the imports
    wall, cpu = time.perf_counter(), time.process_time()
    recording = load(path)
    table = StubTable.of(recording, tracetape.ReplayPlan(), IgnorePaths(()))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"spans": len(table.stubs), "wall": wall, "cpu": cpu, "peak": peak_mb()}


def look_in_child(path: str) -> dict[str, Any]:
    """The least that can be done: read every line, keep one key and one offset of it."""
    import orjson

    table: dict[bytes, int] = {}
    position = 0
    wall, cpu = time.perf_counter(), time.process_time()
    with Path(path).open("rb") as file:
        for line in file:
            for resource in orjson.loads(line)["resourceSpans"]:
                for scope in resource["scopeSpans"]:
                    for span in scope["spans"]:
                        for attribute in span["attributes"]:
                            if attribute["key"] == "tracetape.input.digest":
                                digest = attribute["value"]["stringValue"]
                                table[bytes.fromhex(digest[7:39])] = position
                                break
            position += len(line)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"spans": len(table), "wall": wall, "cpu": cpu, "peak": peak_mb()}
