"""The formats that are read. A new one is a module with a line here."""

from __future__ import annotations

from typing import Any

from tracetape.sources.formats import Format, otlp_json, otlp_proto, otlp_span_json

__all__ = ["FORMATS", "format_of"]

FORMATS: tuple[Format, ...] = (otlp_json, otlp_span_json, otlp_proto)


def format_of(content: dict[str, Any] | bytes, likely: Format | None = None) -> Format | None:
    """The format of a record, or None. `likely` is asked first: records of one file are mostly alike."""
    if likely is not None and likely.claims(content):
        return likely
    return next((one for one in FORMATS if one.claims(content)), None)
