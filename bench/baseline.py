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
        ratio = None if row.ratio is None else round(row.ratio, 4)
        kept[row.name] = {"ratio": ratio, "ours": round(row.ours.median, 4), "floor": least, "unit": row.unit}
    machine = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
    }
    return {"about": "ratios are compared; the rest is for people", "machine": machine, "rows": kept}


def worsened(rows: Iterable[Row], baseline: Mapping[str, Any]) -> dict[str, str]:
    """The rows whose ratio has passed the stored one by more than their tolerance: by name, what to say.

    Never by time: that belongs to a machine. Both ratios have to pass it, of wall time as of CPU time: a sample
    that is longer than the floor's is preempted more often where others use the machine. A row that is not stored
    cannot have worsened.
    """
    said = {}
    for row in rows:
        before = baseline.get("rows", {}).get(row.name, {}).get("ratio")
        if before is None or row.ratio is None or row.tolerance is None:
            continue
        now = row.ratio if row.cpu_ratio is None else min(row.ratio, row.cpu_ratio)
        if now > before * row.tolerance:
            said[row.name] = f"{now:.2f} × its floor, stored {before:.2f}, tolerance {row.tolerance:g} ×"
    return said


def missed(rows: Iterable[Row]) -> list[str]:
    """The names of the rows that have not met their targets."""
    return [row.name for row in rows if row.met is False]
