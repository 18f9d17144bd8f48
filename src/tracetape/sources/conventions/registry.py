"""The conventions that are read, those asked first first. A new one is a module with a line here."""

from __future__ import annotations

from tracetape.sources.conventions import Convention, chronicle, native

__all__ = ["CONVENTIONS"]

CONVENTIONS: tuple[Convention, ...] = (native, chronicle)
