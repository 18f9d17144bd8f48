"""How something is measured: samples of ours in turn with samples of its floor.

Short samples fall between two preemptions of a shared machine, and what disturbs the machine for longer
disturbs both sides alike. Medians with quartiles; the CPU time of the thread beside the wall time, for it
leaves preemption out. The garbage collector is off inside a sample.
"""

from __future__ import annotations

import gc
import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

__all__ = [
    "Plan",
    "Row",
    "Sample",
    "Side",
    "alone",
    "awaited",
    "called",
    "in_turn",
    "measured",
    "row_of",
    "sampler",
    "timed",
]

SAMPLE_NS = 1_500_000


class Sample(NamedTuple):
    """Wall and CPU time of one sample, in the row's unit for one operation."""

    wall: float
    cpu: float | None = None


@dataclass(frozen=True)
class Plan:
    """How much is measured. quick: CI's form. long: also what takes minutes. repeat: samples of each side."""

    quick: bool = False
    long: bool = False

    @property
    def repeat(self) -> int:
        return 31 if self.quick else 121


@dataclass(frozen=True)
class Side:
    """Median and quartiles of one side of a row, in the row's unit. cpu: the median of the CPU time."""

    median: float
    low: float
    high: float
    cpu: float | None = None

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> Side:
        walls = [sample.wall for sample in samples]
        cpus = [sample.cpu for sample in samples if sample.cpu is not None]
        low, median, high = statistics.quantiles(walls, n=4) if len(walls) > 1 else walls * 3
        return cls(median, low, high, statistics.median(cpus) if cpus else None)

    @classmethod
    def exactly(cls, value: float) -> Side:
        return cls(value, value, value)


@dataclass(frozen=True)
class Row:
    """One line of the benchmark.

    floor:      what the floor is, for people.
    unit:       of both sides, as "µs a call".
    least:      the floor; None where there is only an absolute target.
    must:       the target of the ratio; None where there is none.
    most:       the target of ours, in the unit; None where there is none.
    tolerance:  how many times a stored ratio may be passed before a comparison fails; None: not compared.
    note:       what else was seen.
    """

    name: str
    floor: str
    unit: str
    ours: Side
    least: Side | None = None
    must: float | None = None
    most: float | None = None
    tolerance: float | None = 1.5
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return self.ours.median / self.least.median if self.least is not None and self.least.median else None

    @property
    def cpu_ratio(self) -> float | None:
        if self.least is None or not self.least.cpu or self.ours.cpu is None:
            return None
        return self.ours.cpu / self.least.cpu

    @property
    def met(self) -> bool | None:
        """Whether every target is met; None where there is none."""
        found = []
        if self.must is not None and self.ratio is not None:
            found.append(self.ratio <= self.must)
        if self.most is not None:
            found.append(self.ours.median <= self.most)
        return all(found) if found else None

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"ratio": self.ratio, "cpu_ratio": self.cpu_ratio, "met": self.met}

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Row:
        kept = {key: value for key, value in found.items() if key in cls.__dataclass_fields__}
        least = kept["least"]
        sides = {"ours": Side(**kept["ours"]), "least": None if least is None else Side(**least)}
        return cls(**(kept | sides))


def called(function: Callable[[Any], Any], argument: Any) -> Callable[[int], None]:
    """Calls a function so many times."""

    def run(number: int) -> None:
        for _ in itertools.repeat(None, number):
            function(argument)

    return run


def awaited(function: Callable[[Any], Any], argument: Any) -> Callable[[int], None]:
    """Calls a coroutine function that never waits so many times, each driven by hand to its end."""

    def run(number: int) -> None:
        for _ in itertools.repeat(None, number):
            try:
                function(argument).send(None)
            except StopIteration:
                pass

    return run


def timed(run: Callable[[int], None], number: int) -> Sample:
    """One sample, in µs an operation."""
    cpu, wall = time.thread_time_ns(), time.perf_counter_ns()
    run(number)
    wall, cpu = time.perf_counter_ns() - wall, time.thread_time_ns() - cpu
    return Sample(wall / number / 1_000, cpu / number / 1_000)


def sampler(run: Callable[[int], None]) -> Callable[[], Sample]:
    """Takes samples of about 1.5 ms: how many operations that is, is found out here."""
    run(2)
    number = 1
    while (taken := timed(run, number).wall * number * 1_000) < SAMPLE_NS / 4 and number < 1_000_000:
        number *= 4
    number = max(1, round(number * SAMPLE_NS / taken))
    return lambda: timed(run, number)


def in_turn(ours: Callable[[], Sample], least: Callable[[], Sample], repeat: int) -> tuple[Side, Side]:
    """So many samples of each side, one of ours and one of the floor in turn."""
    found: tuple[list[Sample], list[Sample]] = ([], [])
    was = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        for _ in range(repeat):
            found[0].append(ours())
            found[1].append(least())
    finally:
        if was:
            gc.enable()
    return Side.of(found[0]), Side.of(found[1])


def alone(ours: Callable[[int], None], repeat: int) -> Side:
    """What has no floor, in µs an operation."""
    take = sampler(ours)
    return in_turn(take, lambda: Sample(0.0), repeat)[0]


def measured(ours: Callable[[int], None], least: Callable[[int], None], repeat: int) -> tuple[Side, Side]:
    """Both sides of a row, in µs an operation. Each side does so many operations when it is called."""
    return in_turn(sampler(ours), sampler(least), repeat)


def row_of(name: str, floor: str, sides: tuple[Side, Side], **more: Any) -> Row:
    """A row in µs a call."""
    return Row(name, floor, more.pop("unit", "µs a call"), sides[0], sides[1], **more)
