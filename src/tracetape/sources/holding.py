"""Long attribute values stay in their file until somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tracetape.codec.scan import may_be_opaque
from tracetape.errors import SourceError
from tracetape.model.payload import digest_of
from tracetape.model.span import SpanRecord
from tracetape.sources.formats import Format
from tracetape.sources.payload_checks import content_gaps
from tracetape.sources.records import Record
from tracetape.sources.rereading import Strings, line_at, line_of

__all__ = ["HeldString", "HeldText", "Lines", "held"]

# Below this a value is not worth another look at the file.
_LONG = 1_024
# Of lines that hold several spans: as many as batches of one run overlap, and no more of their bytes.
_LINES_KEPT = 8
_BYTES_KEPT = 32 * 2**20


class HeldText:
    """A string attribute, or one in pieces, by the place where it stands.

    digest, size:  of its UTF-8 bytes. marked: whether it may lack parts.
    where:         the file and line, for messages.
    again:         reads it anew; None where it is not there any more.
    """

    __slots__ = ("_again", "_where", "digest", "marked", "size")

    def __init__(
        self, digest: str, size: int, *, marked: bool, where: str, again: Callable[[], str | None]
    ) -> None:
        self.digest, self.size, self.marked = digest, size, marked
        self._where, self._again = where, again

    def read(self) -> str:
        """The text. Raises SourceError SOURCE_CHANGED where the file is no longer what was loaded."""
        try:
            text = self._again()
        except SourceError:
            # It was read well before: what stands there now is something else.
            text = None
        if text is None or digest_of(_utf8(text)) != self.digest:
            raise SourceError(
                f"{self._where}: the file was changed or removed after it had been loaded; load it again",
                code="SOURCE_CHANGED",
            )
        return text

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            # The same span may be there twice, and have been read in two ways.
            utf8 = _utf8(other)
            return len(utf8) == self.size and digest_of(utf8) == self.digest
        return isinstance(other, HeldText) and (other.digest, other.size) == (self.digest, self.size)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __str__(self) -> str:
        return self.read()


class HeldString(HeldText):
    """One that is a JSON string by itself, in a file of lines.

    strings, place:  of the file; where it begins, quotes included, and how long it is, in bytes.
    source, number:  of the file and the line, for messages.
    """

    __slots__ = ("_number", "_place", "_source", "_strings")

    def __init__(
        self,
        digest: str,
        size: int,
        strings: Strings,
        place: tuple[int, int],
        source: str,
        number: int,
        marked: bool = False,
    ) -> None:
        self.digest, self.size, self.marked = digest, size, marked
        self._strings, self._place, self._source, self._number = strings, place, source, number

    def __reduce__(self) -> tuple[Any, ...]:
        more = (self._strings, self._place, self._source, self._number, self.marked)
        return HeldString, (self.digest, self.size, *more)

    def read(self) -> str:
        try:
            return super().read()
        except SourceError:
            self._strings.look_again()
            return super().read()

    def _again(self) -> str | None:
        return self._strings.text(*self._place)

    @property
    def _where(self) -> str:  # type: ignore[override]
        return f"{self._source}:{self._number}"


class Lines:
    """Reads the spans of lines anew. Lines of several spans stay at hand, the last few: a Collector writes
    thousands of spans to a line, and each value would cost the reading of all."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        # Not locked: two threads at once read a line twice, and no more than that.
        self._kept: dict[tuple[Path, int, int], list[SpanRecord]] = {}

    def span(
        self, path: Path, whole: bytes, place: tuple[int, int], number: int, ids: tuple[str, str], how: Format
    ) -> SpanRecord | None:
        """The span of a line; None where it is not there any more.

        whole:   all that was read of the file, where that is kept.
        place:   where the line begins, and how long it is. number: which of its spans it is, from 0, as a line
                 may hold a span twice. ids: of the trace and of the span. how: the format.

        Raises FormatError where something else stands there.
        """
        key = (path, *place)
        spans = self._kept.pop(key, None)
        if spans is None:
            content = line_of(whole[place[0] : sum(place)]) if whole else line_at(path, place)
            if content is None or not how.claims(content):
                return None
            spans = [item for item in how.read(Record(content, str(path))) if isinstance(item, SpanRecord)]
        if len(spans) > 1:
            self._kept[key] = spans
            self._let_go()
        span = spans[number] if number < len(spans) else None
        return span if span is not None and (span.trace_id, span.span_id) == ids else None

    def _let_go(self) -> None:
        """Drop the lines that were asked for longest ago; the last one stays whatever its size."""
        room = _BYTES_KEPT
        for rank, key in enumerate(reversed(list(self._kept))):
            room -= key[2]
            if rank and (rank >= _LINES_KEPT or room < 0):
                self._kept.pop(key, None)


def held(span: SpanRecord, again: Callable[[], SpanRecord | None]) -> SpanRecord:
    """The span with its long texts left in the file.

    again:  reads the same span anew.

    What is wrong with its content is found now, while it is at hand, and put into the span's gaps.
    """
    long = {
        key: text
        for key, value in span.attributes.items()
        if (text := _long(value)) is not None and (type(value) is str or _are_pieces(span, key, text))
    }
    if not long:
        return span
    attributes = {
        key: _held_text(long[key], key, span.where, again) if key in long else value
        for key, value in span.attributes.items()
    }
    return replace(span, attributes=attributes, gaps=(*span.gaps, *content_gaps(span)))


def _held_text(text: str, key: str, where: str, again: Callable[[], SpanRecord | None]) -> HeldText:
    utf8 = _utf8(text)
    return HeldText(
        digest_of(utf8), len(utf8), marked=may_be_opaque(text), where=where, again=partial(_text_of, again, key)
    )


def _text_of(again: Callable[[], SpanRecord | None], key: str) -> str | None:
    span = again()
    return None if span is None else _text(span.attributes.get(key))


def _long(value: Any) -> str | None:
    if type(value) is str:
        return value if len(value) > _LONG and not value.startswith('["') else None
    text = _text(value) if type(value) is list else None
    return text if text is not None and len(text) > _LONG else None


def _are_pieces(span: SpanRecord, key: str, text: str) -> bool:
    """Whether an array of strings is one text in pieces, by the size beside it. MLflow makes arrays of JSON
    texts."""
    size = span.attributes.get(f"{key.removesuffix('.value')}.size")
    return type(size) is not int or size == len(_utf8(text))


def _text(value: Any) -> str | None:
    if type(value) is list:
        return "".join(value) if all(type(one) is str for one in value) else None
    return value if type(value) is str else None


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")
