"""The backends that are asked. A new one is a module with a line here."""

from __future__ import annotations

from tracetape.sources.backends import Backend, jaeger, mlflow, phoenix, tempo

__all__ = ["BACKENDS"]

BACKENDS: tuple[Backend, ...] = (jaeger, tempo, phoenix, mlflow)
