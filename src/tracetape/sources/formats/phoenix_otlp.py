"""Phoenix's `/spans/otlpv1`: OTLP's spans in snake_case, flat under `data`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracetape.model.span import NOTHING, Gap, Scope, SpanRecord
from tracetape.sources.formats.json_fields import objects
from tracetape.sources.formats.otlp_span import list_of, map_of, span_of
from tracetape.sources.formats.phoenix_pages import page_gap
from tracetape.sources.records import Record

__all__ = ["claims", "name", "read"]

name = "Phoenix OTLP JSON"


def claims(content: dict[str, Any] | bytes) -> bool:
    """A page whose spans have a start in nanoseconds."""
    found = objects(content.get("data")) if type(content) is dict else None
    return found is not None and bool(found) and "start_time_unix_nano" in found[0]


def read(record: Record) -> Iterator[SpanRecord | Gap]:
    """The spans (arize-phoenix, `/v1/projects/{project}/spans/otlpv1`). Times have gone through floats, ±128 ns.
    Gap INCOMPLETE_PAGE.

    Raises FormatError BAD_TRACE_ID, BAD_SPAN_ID, BAD_FIELD, TOO_DEEP.
    """
    content = map_of(record.content, "the record", record.where)
    for span in list_of(content.get("data"), "data", record.where):
        yield span_of(span, NOTHING, Scope(), record.where)
    yield page_gap(content.get("next_cursor"), record.where)
