"""Rows of memory: of a service that records for hours, of one large payload."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.measuring import Plan, Row, Side
from bench.processes import in_child, peak_mb, resident_mb

__all__ = ["payload", "service"]

STOPS = 10
CALLS_A_RUN = 250
FLAT_MB = 4.0
PAYLOAD_MB = 50


def service(plan: Plan) -> Iterator[Row]:
    """As many calls as a service makes in an hour, in one recording, then in many short ones."""
    calls = 500_000 if plan.long else 100_000
    one = in_child(one_run_in_child, calls)["seen"]
    many = in_child(many_runs_in_child, calls)["seen"]
    for name, seen in (("one recording", one), (f"recordings of {CALLS_A_RUN} calls", many)):
        # The first fifth is what caches of bounded size fill themselves in.
        yield Row(
            f"memory, {name}",
            f"allowed: {FLAT_MB:g} MB",
            f"MB grown over the last 4/5 of {calls:,} calls",
            Side.exactly(seen[-1] - seen[STOPS // 5]),
            most=FLAT_MB,
            note="MB seen: " + " ".join(f"{mb:.1f}" for mb in seen),
        )


def one_run_in_child(calls: str) -> dict[str, Any]:
    import tracetape

    marked, seen = _marked(), []
    with tempfile.TemporaryDirectory() as folder, tracetape.record(Path(folder) / "run.jsonl"):
        for stop in range(STOPS + 1):
            seen.append(resident_mb())
            for number in range(int(calls) // STOPS if stop < STOPS else 0):
                marked({"number": number, "stop": stop})
    return {"seen": seen}


def many_runs_in_child(calls: str) -> dict[str, Any]:
    import tracetape

    marked, seen = _marked(), []
    with tempfile.TemporaryDirectory() as folder:
        for stop in range(STOPS + 1):
            seen.append(resident_mb())
            for _ in range(int(calls) // STOPS // CALLS_A_RUN if stop < STOPS else 0):
                with tracetape.record(folder):
                    for number in range(CALLS_A_RUN):
                        marked({"number": number, "stop": stop})
    return {"seen": seen}


def _marked() -> Any:
    import tracetape

    @tracetape.boundary("echo", kind="tool")
    def echo(value: Any) -> Any:
        return value

    return echo


def payload(plan: Plan) -> Iterator[Row]:
    """What one call needs beside its large argument or result."""
    for where in ("input", "output"):
        added = in_child(payload_in_child, where)["added"]
        yield Row(
            f"memory, {PAYLOAD_MB} MB as the {where}",
            "the payload itself",
            "MB at the peak, over those before the call",
            Side.exactly(added),
            Side.exactly(PAYLOAD_MB),
            must=3,
            tolerance=1.2,
        )


def payload_in_child(where: str) -> dict[str, Any]:
    import tracetape

    large = {"parts": [f"{number:06d} " * (2**20 // 7) for number in range(PAYLOAD_MB)]}

    @tracetape.boundary("call", kind="tool")
    def call(value: Any) -> Any:
        return large if value is None else None

    with tempfile.TemporaryDirectory() as folder, tracetape.record(Path(folder) / "run.jsonl"):
        call("small")
        gc.collect()
        before = resident_mb()
        call(large if where == "input" else None)
        return {"added": peak_mb() - before}
