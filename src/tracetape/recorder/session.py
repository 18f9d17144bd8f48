"""`record`: what a caller may ask of a recording."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracetape import _sessions
from tracetape.errors import UsageError
from tracetape.recorder.run import Run

__all__ = ["record"]


def record(
    path: str | os.PathLike[str],
    *,
    mode: str = "x",
    name: str | None = None,
    attributes: Mapping[str, Any] | None = None,
    marks: bool = True,
    fsync: bool = False,
) -> Run:
    """Record one run: every call through a boundary inside the block becomes a line of the file.

    path:        a file; a folder gets one file a run, named by time and process.
    mode:        "x" refuses an existing file, "a" adds this run to it, "w" replaces it.
    name:        the root span's name (default `recording`).
    attributes:  more attributes of the root span.
    marks:       note each call as it begins, with its arguments up to 64 KiB, in `<file>.open.<pid>` beside
                 the file, until the run ends: a call in which the process is killed is read as `unfinished`.
                 Without, it is not in the recording at all. Move or copy such a file along with the other.
    fsync:       wait for the disk after each span and mark; only a power loss needs it.

    Returns a context manager that gives a `Run`. Inside a replay that runs the program (`tape.run`, the
    command line), or for the replay's own source, it records nothing and harms nothing.

    Raises RecordingError (FILE_EXISTS, CANNOT_RECORD) on entering, UsageError for wrong arguments.

        with tracetape.record("run.otlp.jsonl") as run:
            agent("Sell about $1,000 of ACME")
        print(run.recording["place_order", 1].inputs)
    """
    try:
        target = Path(path)
    except TypeError:
        raise UsageError(f"record(path) takes the path of a file or folder, not {path!r}") from None
    if not os.fspath(path):
        raise UsageError("record(path) takes the path of a file or folder, and this one is empty")
    if name is not None and not isinstance(name, str):
        raise UsageError(f"record(name=…) takes a str, not {name!r}")
    named = not target.is_dir()
    if not named:
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        target = target / f"run-{stamp}-{os.getpid()}-{os.urandom(3).hex()}.otlp.jsonl"
    inert = _sessions.records_nothing(target)
    return Run(
        target,
        mode,
        name or "recording",
        attributes or {},
        named=named,
        marks=marks,
        fsync=fsync,
        inert=inert,
    )
