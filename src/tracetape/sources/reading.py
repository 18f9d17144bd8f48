"""Files → spans with gaps, whatever the format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import overload

from tracetape.errors import FormatError
from tracetape.model.span import Gap, LogEvent, SpanRecord
from tracetape.sources.batches import Batch
from tracetape.sources.blobs import Blob
from tracetape.sources.detect import HEAD, TEXT, framing_of
from tracetape.sources.fetch import Room, Stream, opened
from tracetape.sources.formats import Format, otlp_logs
from tracetape.sources.formats.phoenix_pages import INCOMPLETE, LAST
from tracetape.sources.formats.registry import FORMATS, format_of
from tracetape.sources.formats.unread import WRONG_SIGNAL, unread_layout
from tracetape.sources.framed_records import read_binary
from tracetape.sources.holding import Lines, held
from tracetape.sources.json_records import read_text
from tracetape.sources.own_lines import OwnLines
from tracetape.sources.records import SKIPPED, TRUNCATED, Record

__all__ = ["TRUNCATED_FILE", "Item", "read_files", "spans_of"]

TRUNCATED_FILE = "TRUNCATED_FILE"

Item = SpanRecord | Gap | Batch | LogEvent

_Again = Callable[[tuple[int, int], int, tuple[str, str], Format], SpanRecord | None]

# A log of a million lines between two records is one fact, not a million.
_SKIPPED_SHOWN = 20


@overload
def read_files(paths: Iterable[Path | Blob]) -> Iterator[SpanRecord | Gap | LogEvent]: ...
@overload
def read_files(paths: Iterable[Path | Blob], *, hold: bool) -> Iterator[Item]: ...
def read_files(paths: Iterable[Path | Blob], *, hold: bool = False) -> Iterator[Item]:
    """Every span of every file, in the order of the files, with gaps for what was left out; the log records that
    are events of spans.

    hold:  long attribute values stay in the file, where that is plain and of lines: see `holding`. What lines of
           our own exporter have in common is looked at once: most of them come as batches, see `own_lines`.

    Raises SourceError CANNOT_READ; FormatError as the formats do, and for a file of which nothing could
    be used: NOT_JSON, NOT_PROTOBUF, TRUNCATED_FILE, WRONG_SIGNAL or UNKNOWN_FORMAT. A file that is merely
    empty gives nothing.
    """
    lines, pages, room = Lines(), _Pages(), Room()
    for path in paths:
        with opened(path, room if hold else None) as stream:
            # Absolute: the program may go to another folder before it asks for a value.
            place = path.absolute() if hold and stream.plain and isinstance(path, Path) else None
            yield from _read(stream, place, lines, pages, room)
    if pages.logs_alone is not None and not pages.spans:
        raise pages.logs_alone
    yield from pages.missing()


def _read(stream: Stream, place: Path | None, lines: Lines, pages: _Pages, room: Room) -> Iterator[Item]:
    """`place`: of the file, where values may stay in it. room: that has been taken for all of it."""
    head = stream.reader.peek(HEAD)[:HEAD]
    if not head:
        if stream.budget.cut:
            raise _unusable(stream, TRUNCATED_FILE, stream.budget.cut)
        return
    framing = framing_of(head, stream.name)
    tally = _Tally(stream, framing, pages)
    # What is cut out of frames stands at no place of the file.
    if framing != TEXT:
        room.left += len(stream.whole)
        records = _spans(read_binary(framing, stream.reader, stream.budget), tally)
    elif place is None:
        records = _spans(read_text(stream.reader, stream.name), tally)
    else:
        own = OwnLines(place, stream.name, stream.whole)
        records = _spans(
            read_text(stream.reader, stream.name, own), tally, partial(lines.span, place, stream.whole), own
        )
    yield from tally.watch(records)


def _spans(
    records: Iterable[Record | Gap | Batch],
    tally: _Tally,
    again: _Again | None = None,
    own: OwnLines | None = None,
) -> Iterator[Item]:
    """`again`: reads a span anew, where long values may stay in the file. `own`: is shown what it did not take."""
    likely: Format | None = None
    for record in records:
        if isinstance(record, Gap):
            yield record
            continue
        if isinstance(record, Batch):
            tally.claimed += len(record)
            yield record
            continue
        likely = format_of(record.content, likely)
        if likely is None and otlp_logs.claims(record.content):
            tally.note_logs(record)
            yield from otlp_logs.read(record)
            continue
        if likely is None:
            code, layout = unread_layout(record.content)
            tally.unread = tally.unread or (code, f"{record.where}: is {layout}")
            yield Gap(SKIPPED, f"is {layout}, not spans", record.where)
            continue
        tally.claimed += 1
        if again is None or record.place is None:
            try:
                yield from likely.read(record)
            except RecursionError:
                raise _too_deep(record) from None
            continue
        number = 0
        first: SpanRecord | None = None
        for item in spans_of(record, likely):
            if isinstance(item, Gap):
                yield item
                continue
            first = first or item
            yield held(item, partial(again, record.place, number, (item.trace_id, item.span_id), likely))
            number += 1
        if own is not None and first is not None and number == 1:
            own.learn(record.place[0], first)


def spans_of(record: Record, how: Format) -> Iterator[SpanRecord | Gap]:
    """What a format reads in a record. Raises FormatError, whatever the record is."""
    try:
        yield from how.read(record)
    except RecursionError:
        raise _too_deep(record) from None


def _too_deep(record: Record) -> FormatError:
    return FormatError(
        f"{record.where}: nested too deeply to be read (the most is 200 levels). No exporter writes that.",
        code="TOO_DEEP",
    )


class _Pages:
    """What the files are together. Which pages of a backend's answer were met: one that has others behind it lacks
    something only where the last one is not there. Logs beside spans are good, and alone they are no trace.

    spans: how many there were. logs_alone: what is wrong with a file of logs if there are none.
    """

    def __init__(self) -> None:
        self._incomplete: list[Gap] = []
        self._has_last = False
        self.spans = 0
        self.logs_alone: FormatError | None = None

    def note(self, gap: Gap) -> bool:
        """Whether a gap is one of a page; it is kept then."""
        if gap.code == LAST:
            self._has_last = True
        elif gap.code == INCOMPLETE:
            self._incomplete.append(gap)
        else:
            return False
        return True

    def missing(self) -> Iterator[Gap]:
        if not self._has_last:
            yield from self._incomplete


class _Tally:
    """What became of one file: tells a file without spans from one that could not be understood."""

    def __init__(self, stream: Stream, framing: str, pages: _Pages) -> None:
        self.claimed = 0
        self._logs: Record | None = None
        self._pages = pages
        self.unread: tuple[str, str] | None = None
        self._stream = stream
        self._framing = framing
        self._skipped = 0
        self._first_skipped: Gap | None = None
        self._truncated: Gap | None = None

    def note_logs(self, record: Record) -> None:
        self._logs = self._logs or record

    def watch(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items, fewer SKIPPED_LINE gaps where there are very many; then what the end of the file says."""
        last = None
        spans = 0
        for item in items:
            if type(item) is SpanRecord:
                spans += 1
            elif isinstance(item, Batch):
                spans += len(item)
            elif isinstance(item, LogEvent):
                pass
            elif not isinstance(item, Gap) or self._pages.note(item):
                continue
            elif item.code == TRUNCATED:
                self._truncated = item
            elif item.code == SKIPPED:
                self._skipped += 1
                self._first_skipped = self._first_skipped or item
                if self._skipped > _SKIPPED_SHOWN:
                    last = item
                    continue
            yield item
        if last is not None:
            more = self._skipped - _SKIPPED_SHOWN
            yield Gap(SKIPPED, f"{more:,} more were skipped, the last at {last.where}", self._stream.name)
        cut = self._stream.budget.cut
        if cut and self._truncated is None:
            self._truncated = Gap(
                TRUNCATED, f"{cut}; the records before it are kept. Get the file again.", self._stream.name
            )
            yield self._truncated
        self._pages.spans += spans
        if not spans:
            self._explain()

    def _explain(self) -> None:
        if self._logs is not None and not self.claimed:
            code, layout = unread_layout(self._logs.content)
            text = f"{self._logs.where}: is {layout}"
            self._pages.logs_alone = FormatError(f"{text}. {_advice(code, text)}", code=code)
            return
        if self.unread is not None and not self.claimed:
            code, text = self.unread
            raise FormatError(f"{text}. {_advice(code, text)}", code=code)
        if self._truncated is not None:
            raise _unusable(self._stream, TRUNCATED_FILE, self._truncated.text)
        if self._first_skipped is not None and not (self.claimed and self._framing == TEXT):
            code = "NOT_JSON" if self._framing == TEXT else "NOT_PROTOBUF"
            raise _unusable(self._stream, code, self._first_skipped.text)


def _unusable(stream: Stream, code: str, text: str) -> FormatError:
    return FormatError(f"{stream.name}: {text.removesuffix('.')}. {_advice(code, text)}", code=code)


def _advice(code: str, text: str) -> str:
    if code == TRUNCATED_FILE:
        return "No span is left in it."
    if code == WRONG_SIGNAL:
        return "Give the export of traces."
    if "<!doctype" in text.lower() or "<html" in text.lower():
        return "It is a web page: the address was wrong, or needs a login. Save the trace itself."
    known = ", ".join(one.name for one in FORMATS)
    return f"Read are, plain or in gzip or zstd: {known}."
