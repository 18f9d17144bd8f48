"""Rows of replaying: what one stub costs, in recordings of growing length."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tracetape
from bench.floor_replay import Replayed
from bench.measuring import Plan, Row, Sample, Side, timed
from bench.payloads import CHAT, SMALL

__all__ = ["differing", "identical"]

LEAST = 100
FLOOR = "wrapper, binder, look, sorted JSON, SHA-256, look-up, pread, JSON twice, step"
FLAT = 1.3

Values = Callable[[int], Any]


def echo(value: Any) -> Any:
    return value


marked = tracetape.boundary("echo", kind="tool")(echo)


def differing(plan: Plan) -> Iterator[Row]:
    """Every call has other arguments."""
    yield from _rows("replayed, small", lambda number: SMALL | {"number": number}, 50, _sizes(plan), plan)
    yield from _rows("replayed, 4 KB", lambda number: CHAT | {"number": number}, 10, _sizes(plan)[:-1], plan)


def identical(plan: Plan) -> Iterator[Row]:
    """Every call has the same arguments."""
    yield from _rows("replayed, all the same, small", lambda number: dict(SMALL), 50, _sizes(plan), plan)


def _sizes(plan: Plan) -> tuple[int, ...]:
    return (LEAST, 1_000, 10_000) if plan.quick else (LEAST, 1_000, 10_000, 100_000)


def _rows(name: str, values: Values, chunk: int, sizes: tuple[int, ...], plan: Plan) -> Iterator[Row]:
    """chunk: so many calls are a sample, which is about 1.5 ms or less."""
    found: dict[int, tuple[list[Sample], list[Sample]]] = {size: ([], []) for size in sizes}
    with tempfile.TemporaryDirectory() as folder:
        replays = [_Replay(Path(folder), size, values, chunk) for size in sizes]
        rounds = 2 if plan.quick else 3
        for _ in range(rounds):
            for replay in replays:
                for _ in range(-(-plan.repeat * chunk // (replay.size * rounds))):
                    replay.run(*found[replay.size])
        for replay in replays:
            replay.close()
    sides = {size: (Side.of(ours), Side.of(least)) for size, (ours, least) in found.items()}
    for size, (ours, least) in sides.items():
        yield Row(f"{name}, {size:,} stubs", FLOOR, "µs a stub", ours, least, must=2)
    for size in sizes[1:]:
        yield Row(
            f"{name}, flat to {size:,}",
            f"ours with {LEAST} stubs",
            "µs a stub",
            sides[size][0],
            sides[LEAST][0],
            must=FLAT,
        )


class _Replay:
    """A recording of so many calls, and the floor's of the same."""

    def __init__(self, folder: Path, size: int, values: Values, chunk: int) -> None:
        self.size, self._values, self._chunk = size, values, chunk
        path = folder / f"{size}.jsonl"
        with tracetape.record(path, marks=False):
            for number in range(size):
                marked(values(number))
        self._recording = tracetape.load(path)
        self._least = Replayed(echo, folder / f"{size}.least", map(values, range(size)))

    def run(self, ours: list[Sample], least: list[Sample]) -> None:
        """One replay, from its first stub to its last: a chunk of ours, then one of the floor."""
        self._least.rewind()
        gc.collect()
        gc.disable()
        try:
            with tracetape.replay(self._recording) as tape:
                for start in range(0, self.size, self._chunk):
                    values = [self._values(number) for number in range(start, start + self._chunk)]
                    one = timed(_each(marked, values), self._chunk)
                    other = timed(_each(self._least.call, values), self._chunk)
                    if start:  # the first of a replay makes what the others find, and a short one has few others
                        ours.append(one)
                        least.append(other)
        finally:
            gc.enable()
        if tape.report.verdict != "same":
            raise SystemExit(f"the benchmark's own replay: {tape.report}")

    def close(self) -> None:
        self._least.close()


def _each(function: Callable[[Any], Any], values: list[Any]) -> Callable[[int], None]:
    def run(number: int) -> None:
        for value in values:
            function(value)

    return run
