"""Rows of what a process pays once, or ever after: imports, the guard that stays."""

from __future__ import annotations

import itertools
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.measuring import Plan, Row, Sample, Side, sampler
from bench.processes import in_child

__all__ = ["guard", "imports"]

EMPTY = "pass"
LIBRARIES = "import wrapt, opentelemetry.trace, orjson"
IMPORT = "import tracetape"
DECORATE = "import tracetape\n@tracetape.boundary\ndef f(): pass"


def imports(plan: Plan) -> Iterator[Row]:
    """Milliseconds over an empty interpreter, fresh processes in turn."""
    programs = (LIBRARIES, IMPORT, DECORATE)
    found: dict[str, list[Sample]] = {program: [] for program in programs}
    for program in programs:
        _started(program)
    for _ in range(7 if plan.quick else 25):
        empty = _started(EMPTY)
        for program in programs:
            one = _started(program)
            found[program].append(Sample(one[0] - empty[0], one[1] - empty[1]))
    least = Side.of(found[LIBRARIES])
    for name, program, most in (
        ("import tracetape", IMPORT, 30),
        ("import tracetape, first decoration", DECORATE, 110),
    ):
        yield Row(name, LIBRARIES, "ms over an empty interpreter", Side.of(found[program]), least, most=most)


def _started(program: str) -> tuple[float, float]:
    """Wall and CPU time of a process, in ms."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    wall = time.perf_counter() - wall
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall * 1e3, (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1e3


def guard(plan: Plan) -> Iterator[Row]:
    """An audit hook cannot be taken away: what each audit event of the process costs more after a replay."""
    found = [(in_child(guard_in_child), in_child(empty_in_child)) for _ in range(3 if plan.quick else 9)]
    ours, least = (Side.of([Sample(one["added"]) for one in side]) for side in zip(*found, strict=True))
    yield Row(
        "guard idle", "an empty audit hook", "µs added to an audit event", ours, least, most=0.2, tolerance=2
    )


def guard_in_child() -> dict[str, Any]:
    import tracetape

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        with tracetape.record(path):
            tracetape.checkpoint("begun", 1)
        before = _event()
        with tracetape.replay(path):
            tracetape.checkpoint("begun", 1)
    return {"added": _event() - before}


def empty_in_child() -> dict[str, Any]:
    before = _event()
    sys.addaudithook(_empty)
    return {"added": _event() - before}


def _empty(event: str, arguments: Any) -> None:
    return


def _event() -> float:
    """µs of an audit event that nobody is interested in: the median of 41 samples."""

    def run(number: int) -> None:
        for _ in itertools.repeat(None, number):
            sys.audit("tracetape.bench", 1)

    take = sampler(run)
    return Side.of([take() for _ in range(41)]).median
