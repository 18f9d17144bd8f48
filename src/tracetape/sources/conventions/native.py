"""Our own convention: one span is one crossing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracetape.model.crossing import Crossing
from tracetape.model.span import SpanRecord
from tracetape.semconv.read import read_crossing

__all__ = ["crossings", "name"]

name = "tracetape"


def crossings(spans: Sequence[SpanRecord]) -> Iterator[Crossing]:
    """The spans that carry `tracetape.boundary.name`. Raises FormatError NEWER_RECORDING."""
    for span in spans:
        crossing = read_crossing(span)
        if crossing is not None:
            yield crossing
