"""How spans lie in records: one module per layout, listed in `registry`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from tracetape.model.span import Gap, SpanRecord
from tracetape.sources.records import Record

__all__ = ["Format"]


class Format(Protocol):
    """One layout. A module with these three names is one.

    name:    for messages.
    claims:  whether a record (a JSON object, or a protobuf message as bytes) is in this layout. Cheap:
             it looks at a few keys. No record is claimed by two formats.
    read:    its spans, and gaps for what had to be left out or put up with. Raises FormatError for a
             record that breaks the layout's rules, nothing else.
    """

    @property
    def name(self) -> str: ...

    def claims(self, content: dict[str, Any] | bytes) -> bool: ...

    def read(self, record: Record) -> Iterator[SpanRecord | Gap]: ...
