"""Where built backends are kept: a folder outside the repository, one entry for each state of their sources."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["BACKENDS", "Backend", "available", "root"]

SOURCES = Path(__file__).parent


@dataclass(frozen=True)
class Backend:
    """What it is built from, what the build leaves, and the programs that it takes to run it.

    sources: the files that the build depends on; the entry of the cache is named by a hash of them
    product: what is in the entry when it is whole
    """

    name: str
    sources: tuple[str, ...]
    product: str
    runs_with: tuple[str, ...] = ()

    @property
    def source(self) -> Path:
        return SOURCES / self.name

    @property
    def entry(self) -> Path:
        digest = hashlib.sha256(sys.platform.encode())
        for name in self.sources:
            digest.update(name.encode() + b"\0" + (self.source / name).read_bytes() + b"\0")
        return root() / f"{self.name}-{digest.hexdigest()[:16]}"

    @property
    def path(self) -> Path:
        return self.entry / self.product


BACKENDS: Mapping[str, Backend] = {
    one.name: one
    for one in (
        Backend("collector", ("main.go", "go.mod", "go.sum"), "otelcol"),
        Backend("jaeger", ("go.mod", "go.sum"), "jaeger"),
        Backend("kafka", ("pom.xml",), "lib", ("java",)),
        Backend("phoenix", ("requirements.txt",), "venv/bin/python"),
    )
}


def root() -> Path:
    """TRACETAPE_BACKENDS, or tracetape/backends in the user's cache folder."""
    chosen = os.environ.get("TRACETAPE_BACKENDS")
    if chosen:
        return Path(chosen).expanduser().absolute()
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(caches).expanduser() / "tracetape" / "backends"


def available(name: str) -> str | None:
    """Why that backend cannot be started here, or None where it can."""
    backend = BACKENDS[name]
    missing = [program for program in backend.runs_with if shutil.which(program) is None]
    if missing:
        return f"{name} runs with {', '.join(missing)}, which is not on the path"
    if not backend.path.exists():
        return f"{name} is not built: run `make backends`"
    return None
