"""Programs of a few lines, run in a process of their own: one process has one tracer provider."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

__all__ = ["run_program"]

# What of the surroundings would change what a program records.
_FOREIGN = ("OTEL_", "TRACETAPE_")
# The first releases of gRPC with absl's log say on stderr which of their experiments are on.
_QUIET = {"GRPC_VERBOSITY": "ERROR"}


def run_program(
    folder: Path, source: str, *arguments: object, env: Mapping[str, str] | None = None, status: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run `source` as a script in `folder`; fails with its output unless it ends with `status`."""
    script = folder / "program.py"
    script.write_text(textwrap.dedent(source), encoding="utf-8")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    done = subprocess.run(
        [sys.executable, str(script), *map(str, arguments)],
        cwd=folder,
        env=clean | _QUIET | dict(env or {}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done
