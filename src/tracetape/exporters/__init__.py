"""Where spans go: lines of OTLP JSON in a file, requests to a receiver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracetape.exporters.folder import FolderExporter
    from tracetape.exporters.providing import provider

__all__ = ["FolderExporter", "provider"]

# Resolved on first use: a recording into a file needs no SDK.
_HOMES = {"FolderExporter": ".folder", "provider": ".providing"}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tracetape.exporters' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(home, __name__), name)
