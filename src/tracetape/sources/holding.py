"""Long attribute values stay in their file until somebody asks for them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tracetape.errors import SourceError
from tracetape.model.payload import digest_of
from tracetape.model.span import SpanRecord
from tracetape.sources.payload_checks import content_gaps

__all__ = ["HeldText", "held"]

# Below this a value is not worth another look at the file.
_LONG = 1_024
_OPAQUE = re.compile(r'"\$type"\s*:\s*"opaque"')


class HeldText:
    """A long string attribute, or one in pieces, by the place where it stands."""

    __slots__ = ("_again", "_key", "_where", "digest", "marked", "size")

    def __init__(self, text: str, key: str, where: str, again: Callable[[], SpanRecord | None]) -> None:
        utf8 = text.encode("utf-8", "replace")
        self.digest, self.size = digest_of(utf8), len(utf8)
        self.marked = _OPAQUE.search(text) is not None
        self._key, self._where, self._again = key, where, again

    def read(self) -> str:
        """The text. Raises SourceError SOURCE_CHANGED where the file is no longer what was loaded."""
        span = self._again()
        text = None if span is None else _text(span.attributes.get(self._key))
        if text is None or digest_of(text.encode("utf-8", "replace")) != self.digest:
            raise SourceError(
                f"{self._where}: the file was changed or removed after it had been loaded; load it again",
                code="SOURCE_CHANGED",
            )
        return text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HeldText) and (other.digest, other.size) == (self.digest, self.size)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __str__(self) -> str:
        return self.read()


def held(span: SpanRecord, again: Callable[[], SpanRecord | None]) -> SpanRecord:
    """The span with its long texts left in the file.

    again:  reads the same span anew.

    What is wrong with its content is found now, while it is at hand, and put into the span's gaps.
    """
    long = {key: text for key, value in span.attributes.items() if (text := _long(value)) is not None}
    if not long:
        return span
    attributes = {
        key: HeldText(long[key], key, span.where, again) if key in long else value
        for key, value in span.attributes.items()
    }
    return replace(span, attributes=attributes, gaps=(*span.gaps, *content_gaps(span)))


def _long(value: Any) -> str | None:
    if type(value) is str:
        return value if len(value) > _LONG and not value.startswith('["') else None
    text = _text(value) if type(value) is list else None
    return text if text is not None and len(text) > _LONG else None


def _text(value: Any) -> str | None:
    if type(value) is list:
        return "".join(value) if all(type(one) is str for one in value) else None
    return value if type(value) is str else None
