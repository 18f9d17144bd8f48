"""What a boundary costs, as multiples of a floor measured in the same run.

    python bench/run.py [--quick] [--json]

Each floor is assembled from the cheapest known parts with the same promises: nothing but the wrapper where
nothing is open; JSON, SHA-256, one line and one write where a call is recorded, two of each where it is also
noted as it begins; JSON and a look-up where one is served. Medians of short samples: between two preemptions
of a shared machine, most samples fall. Compare ratios between machines, not microseconds.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson
import wrapt

import tracetape

SMALL = {
    "city": "Lisbon",
    "units": "metric",
    "days": 3,
    "lat": 38.7,
    "flags": ["hourly", "alerts"],
    "cursor": None,
}
CHAT = {
    "model": "some-model-large",
    "messages": [
        {"role": "user", "content": f"{number} " + "the order of the customer " * 18} for number in range(8)
    ],
}


@dataclass(frozen=True)
class Row:
    """Microseconds a call: the median of ours, its spread (quartiles), the median of the floor."""

    name: str
    floor: str
    ours: float
    spread: tuple[float, float]
    of_floor: float

    @property
    def ratio(self) -> float:
        return self.ours / self.of_floor


@wrapt.decorator
def passing(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    return wrapped(*args, **kwargs)


def echo(value: Any) -> Any:
    return value


bare = passing(echo)
marked = tracetape.boundary("echo")(echo)


def samples(function: Callable[[], Any], repeat: int) -> list[float]:
    """Microseconds a call, `repeat` samples of about 1.5 ms each."""
    number = 1
    while True:
        started = time.perf_counter_ns()
        for _ in range(number):
            function()
        if time.perf_counter_ns() - started > 400_000 or number > 1_000_000:
            break
        number *= 4
    number *= 4
    found = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(repeat):
            started = time.perf_counter_ns()
            for _ in range(number):
                function()
            found.append((time.perf_counter_ns() - started) / number / 1_000)
    finally:
        gc.enable()
    return found


def row(name: str, floor: str, ours: Callable[[], Any], least: Callable[[], Any], repeat: int) -> Row:
    measured = samples(ours, repeat)
    quartiles = statistics.quantiles(measured, n=4)
    return Row(
        name,
        floor,
        statistics.median(measured),
        (quartiles[0], quartiles[2]),
        statistics.median(samples(least, repeat)),
    )


def off(repeat: int) -> Row:
    return row(
        "boundary, nothing open, no provider", "an empty wrapt wrapper", lambda: marked(1), lambda: bare(1), repeat
    )


def recorded(name: str, value: Any, folder: Path, repeat: int, *, marks: bool) -> Row:
    descriptor = os.open(folder / f"floor-{name}", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    how = "with" if marks else "without"
    lines = "two lines, two writes" if marks else "one line, one write"

    def least() -> None:
        texts = [orjson.dumps({"value": value}), orjson.dumps(value)]
        attributes = [
            {"key": key, "value": {"stringValue": text.decode()}}
            for key, text in zip(("in", "out"), texts, strict=True)
        ]
        digests = [hashlib.sha256(text).hexdigest() for text in texts]
        span = {
            "traceId": "1" * 32,
            "spanId": "2" * 16,
            "name": "echo",
            "attributes": attributes,
            "digests": digests,
        }
        if marks:
            begun = span | {"attributes": attributes[:1], "digests": digests[:1]}
            os.write(descriptor, orjson.dumps(begun) + b"\n")
        os.write(descriptor, orjson.dumps(span) + b"\n")

    with tracetape.record(folder / f"{name} {how}.jsonl", marks=marks):
        found = row(
            f"recorded {how} marks, {name}",
            f"JSON ×2, SHA-256 ×2, {lines}",
            lambda: marked(value),
            least,
            repeat,
        )
    os.close(descriptor)
    return found


def replayed(name: str, value: Any, folder: Path, repeat: int) -> Row:
    calls = 20_000
    path = folder / f"replay-{name}.jsonl"
    with tracetape.record(path):
        for _ in range(calls):
            marked(value)
    table = {orjson.dumps({"value": value}, option=orjson.OPT_SORT_KEYS): orjson.dumps(value)}

    def least() -> Any:
        return orjson.loads(table[orjson.dumps({"value": value}, option=orjson.OPT_SORT_KEYS)])

    measured = []
    with tracetape.replay(path) as tape:
        for _ in range(20):
            started = time.perf_counter_ns()
            for _ in range(calls // 20):
                marked(value)
            measured.append((time.perf_counter_ns() - started) / (calls // 20) / 1_000)
    if tape.report.verdict != "same":
        raise SystemExit("the benchmark's own replay diverged")
    quartiles = statistics.quantiles(measured, n=4)
    return Row(
        f"replayed from a stub, {name}",
        "JSON with sorted keys, a look-up, JSON back",
        statistics.median(measured),
        (quartiles[0], quartiles[2]),
        statistics.median(samples(least, repeat)),
    )


def loaded(folder: Path, repeat: int) -> Row:
    path = folder / "load.jsonl"
    spans = 5_000
    with tracetape.record(path):
        for _ in range(spans):
            marked(CHAT)

    def per_span(function: Callable[[], Any]) -> list[float]:
        found = []
        for _ in range(max(3, repeat // 10)):
            started = time.perf_counter_ns()
            function()
            found.append((time.perf_counter_ns() - started) / spans / 1_000)
        return found

    measured = per_span(lambda: tracetape.load(path))
    least = per_span(lambda: [orjson.loads(line) for line in path.read_bytes().split(b"\n") if line])
    quartiles = statistics.quantiles(measured, n=4)
    return Row(
        "load, per span with 4 + 4 KB",
        "orjson over the lines",
        statistics.median(measured),
        (quartiles[0], quartiles[2]),
        statistics.median(least),
    )


def rows(repeat: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield off(repeat)
        yield recorded("small", SMALL, folder, repeat, marks=True)
        yield recorded("small", SMALL, folder, repeat, marks=False)
        yield recorded("4 + 4 KB", CHAT, folder, repeat, marks=True)
        yield recorded("4 + 4 KB", CHAT, folder, repeat, marks=False)
        yield replayed("small", SMALL, folder, repeat)
        yield replayed("4 KB", CHAT, folder, repeat)
        yield loaded(folder, repeat)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer samples: does it run, not how fast")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = list(rows(9 if options.quick else 61))
    if options.json:
        print(json.dumps([asdict(one) | {"ratio": one.ratio} for one in found], indent=2))
        return
    print(f"{'':38} {'ours µs':>9} {'quartiles':>17} {'floor µs':>9} {'ratio':>6}  floor")
    for one in found:
        low, high = one.spread
        print(
            f"{one.name:38} {one.ours:9.2f} {f'{low:.2f} to {high:.2f}':>17} {one.of_floor:9.2f} "
            f"{one.ratio:6.1f}  {one.floor}"
        )


if __name__ == "__main__":
    main()
