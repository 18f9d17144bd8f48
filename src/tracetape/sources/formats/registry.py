"""The formats that are read. A new one is a module with a line here."""

from __future__ import annotations

from typing import Any

from tracetape.sources.formats import (
    Format,
    chronicle_json,
    jaeger_json,
    jaeger_v3,
    mlflow_json,
    otlp_json,
    otlp_proto,
    otlp_span_json,
    phoenix_json,
    phoenix_otlp,
    sdk_console,
    tempo_json,
    zipkin_json,
)

__all__ = ["FORMATS", "format_of"]

FORMATS: tuple[Format, ...] = (
    otlp_json,
    otlp_span_json,
    otlp_proto,
    jaeger_v3,
    jaeger_json,
    tempo_json,
    zipkin_json,
    phoenix_json,
    phoenix_otlp,
    mlflow_json,
    sdk_console,
    chronicle_json,
)


def format_of(content: dict[str, Any] | bytes, likely: Format | None = None) -> Format | None:
    """The format of a record, or None. `likely` is asked first: records of one file are mostly alike."""
    if likely is not None and likely.claims(content):
        return likely
    return next((one for one in FORMATS if one.claims(content)), None)
