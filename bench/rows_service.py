"""Rows of a service under way: the tail of its latency, many threads into one file."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

import tracetape
from bench.measuring import Plan, Row, Side
from bench.payloads import CHAT

__all__ = ["tail", "threads"]

SLEEP_S = 0.001
BLOCK_S = 1.0
ALLOWED_US = 2_000
THREADS = 8
RATE = 10_000
SLACK = 1.02


def echo(value: Any) -> Any:
    return value


marked = tracetape.boundary("echo", kind="tool")(echo)


def tail(plan: Plan) -> Iterator[Row]:
    """One call a millisecond: what comes on top of the sleep, in blocks without and with recording in turn. The
    garbage collector is as a program has it."""
    control: list[float] = []
    ours: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(2 if plan.quick else 30 if plan.long else 10):
            control += _excess(echo)
            with tracetape.record(Path(folder) / f"{number}.jsonl"):
                ours += _excess(marked)
    at, least = _percentiles(ours), _percentiles(control)
    yield Row(
        "tail, a call of 4 + 4 KB a millisecond",
        "p99.9 of the same loop, not marked",
        "µs over the sleep at p99.9",
        Side.exactly(at[2]),
        Side.exactly(least[2]),
        most=least[2] + ALLOWED_US,
        tolerance=None,
        note=f"p50, p99, p99.9, max of {len(ours):,}: {_listed(at)}; not marked: {_listed(least)}",
    )


def _excess(function: Callable[[Any], Any]) -> list[float]:
    found = []
    until = time.perf_counter() + BLOCK_S
    while time.perf_counter() < until:
        began = time.perf_counter_ns()
        time.sleep(SLEEP_S)
        function(CHAT)
        found.append((time.perf_counter_ns() - began) / 1e3 - SLEEP_S * 1e6)
    return found


def _percentiles(values: list[float]) -> tuple[float, float, float, float]:
    ordered = sorted(values)
    p50, p99, p999 = (ordered[int(len(ordered) * part)] for part in (0.5, 0.99, 0.999))
    return p50, p99, p999, ordered[-1]


def _listed(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:,.0f}" for value in values)


def threads(plan: Plan) -> Iterator[Row]:
    """Calls at a steady rate from bare threads into one file, counted when it is read back."""
    each = RATE // THREADS * (2 if plan.quick else 30 if plan.long else 10)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        with tracetape.record(path):
            began = time.perf_counter()
            working = [threading.Thread(target=_paced, args=(began, number, each)) for number in range(THREADS)]
            for thread in working:
                thread.start()
            for thread in working:
                thread.join()
            elapsed = time.perf_counter() - began
        found = {orjson.dumps(value) for value in _inputs(path)}
    calls = each * THREADS
    yield Row(
        f"lost, {RATE:,} calls a second, {THREADS} threads",
        "none",
        f"lines lost of {calls:,}",
        Side.exactly(calls - len(found)),
        most=0,
    )
    yield Row(
        f"pace, {RATE:,} calls a second, {THREADS} threads",
        f"{RATE:,} a second",
        "µs from call to call, all threads",
        Side.exactly(elapsed / calls * 1e6),
        most=SLACK * 1e6 / RATE,
        note=f"{calls / elapsed:,.0f} calls a second",
    )


def _paced(began: float, thread: int, calls: int) -> None:
    for number in range(calls):
        ahead = began + number * THREADS / RATE - time.perf_counter()
        if ahead > 0:
            time.sleep(ahead)
        marked({"thread": thread, "number": number})


def _inputs(path: Path) -> Iterator[Any]:
    """The recorded arguments of every whole line."""
    with path.open("rb") as file:
        for line in file:
            span = orjson.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
            for attribute in span["attributes"]:
                if attribute["key"] == "tracetape.input.value":
                    yield orjson.loads(attribute["value"]["stringValue"])
