"""Functions in processes of their own: for peaks of memory, for what a process does once."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["in_child", "peak_mb", "resident_mb"]


def in_child(function: Callable[..., dict[str, Any]], *arguments: str | int | Path) -> dict[str, Any]:
    """What a function returns in a new process. Its module has to import light; its arguments come as text."""
    target = f"{function.__module__}:{function.__name__}"
    command = [sys.executable, str(Path(__file__).resolve()), target, *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def peak_mb() -> float:
    """The most memory that this process has had, in MB. The kernel's own line where there is one: the other
    figure is inherited from the parent."""
    status = Path("/proc/self/status")
    if status.exists():
        return _line(status, "VmHWM:")
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def resident_mb() -> float:
    """What it has now, in MB; where the system does not say, the most that it has had."""
    status = Path("/proc/self/status")
    return _line(status, "VmRSS:") if status.exists() else peak_mb()


def _line(status: Path, name: str) -> float:
    lines = status.read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) / 1_024 for line in lines if line.startswith(name))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    module, name = sys.argv[1].split(":")
    print(json.dumps(getattr(importlib.import_module(module), name)(*sys.argv[2:])))
