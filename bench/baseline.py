"""The comparison of a run with a stored one, by ratios alone."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping
from typing import Any

from bench.measuring import Row

__all__ = ["missed", "stored", "worsened"]


def stored(rows: Iterable[Row], before: Mapping[str, Any]) -> dict[str, Any]:
    """What a file keeps of a run. Rows that this run did not measure are kept as they were `before`."""
    kept = dict(before.get("rows", {}))
    for row in rows:
        least = None if row.least is None else round(row.least.median, 4)
        kept[row.name] = {
            "ratio": None if row.ratio is None else round(row.ratio, 4),
            "cpu_ratio": None if row.cpu_ratio is None else round(row.cpu_ratio, 4),
            "ours": round(row.ours.median, 4),
            "floor": least,
            "unit": row.unit,
            "about": row.floor,
        }
    machine = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
    }
    return {"about": "ratios are compared; the rest is for people", "machine": machine, "rows": kept}


def worsened(rows: Iterable[Row], baseline: Mapping[str, Any]) -> dict[str, str]:
    """The rows whose ratio has passed the stored one by more than their tolerance, or that cannot be compared with
    it: by name, what to say.

    Never by time: that belongs to a machine. The ratio of CPU time has to have passed its own too: a sample that
    is longer than the floor's is preempted more often where others use the machine. But what waits takes no CPU
    time: twice the tolerance is too much by the wall clock alone.
    """
    said = {}
    for row in rows:
        if row.ratio is None or row.tolerance is None:
            continue
        before = baseline.get("rows", {}).get(row.name)
        if before is None or before.get("ratio") is None or before.get("about") != row.floor:
            said[row.name] = "there is no stored ratio to this floor: look at it, then store it with --save"
            continue
        if _is_worse(row, before, row.tolerance):
            said[row.name] = (
                f"{row.ratio:.2f} × its floor, stored {before['ratio']:.2f}, tolerance {row.tolerance:g} ×"
            )
    return said


def _is_worse(row: Row, before: Mapping[str, Any], tolerance: float) -> bool:
    wall: float = (row.ratio or 0) / before["ratio"]
    stored_cpu = before.get("cpu_ratio")
    cpu: float = wall if row.cpu_ratio is None or stored_cpu is None else row.cpu_ratio / stored_cpu
    return min(wall, cpu) > tolerance or wall > 2 * tolerance


def missed(rows: Iterable[Row]) -> list[str]:
    """The names of the rows that have not met their targets."""
    return [row.name for row in rows if row.met is False]
