"""Cuts text into JSON objects: lines, documents pretty or not, arrays, one after another, logs between."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Generator, Iterator
from typing import Any, NamedTuple, overload

import orjson

from tracetape.errors import FormatError
from tracetape.model.span import Gap
from tracetape.sources.batches import Batch
from tracetape.sources.detect import BOM
from tracetape.sources.own_lines import OwnLines
from tracetape.sources.records import SKIPPED, TRUNCATED, Record, quoted
from tracetape.sources.unpack import LINE_LIMIT

__all__ = ["read_text"]

_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_CHUNK = 2**20
# Inside this module alone.
_TOO_LONG = "TOO_LONG"
_BEGINNING = re.compile(r'\{"resource(?:Spans|_spans)":')
_WORDS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")


@overload
def read_text(reader: io.BufferedIOBase, name: str) -> Iterator[Record | Gap]: ...
@overload
def read_text(reader: io.BufferedIOBase, name: str, own: OwnLines) -> Iterator[Record | Gap | Batch]: ...
def read_text(reader: io.BufferedIOBase, name: str, own: OwnLines | None = None) -> Iterator[Record | Gap | Batch]:
    """Every JSON object of the text, an array's one by one, with what lies between as gaps.

    own:  takes the lines that it knows before they are parsed; they come as batches, in their places.

    Lines end at "\\n" only: payloads hold raw U+2028 (OTLP file exporter: JSON lines). A line that is
    not JSON is gap SKIPPED_LINE; text that ends inside a document is gap TRUNCATED_LAST_RECORD; bytes
    that are not UTF-8 are replaced, with gap INVALID_UTF8. A line over 256 MiB is gap SKIPPED_LINE too.

    Raises FormatError TOO_LARGE for a line over 256 MiB and no object beside it, TOO_DEEP for nesting that
    cannot be parsed.
    """
    too_long: Gap | None = None
    empty = True
    for piece in _pieces(reader, name, own):
        if isinstance(piece, (Record, Batch)):
            empty = False
        elif piece.code == _TOO_LONG:
            piece = Gap(SKIPPED, piece.text, piece.where)
            too_long = too_long or piece
        yield piece
    if empty and too_long is not None:
        raise FormatError(f"{too_long.where}: {too_long.text}", code="TOO_LARGE")


def _pieces(reader: io.BufferedIOBase, name: str, own: OwnLines | None) -> Iterator[Record | Gap | Batch]:
    lines = _lines(reader, own)
    waiting = next(lines, None)
    while waiting is not None:
        if isinstance(waiting, Batch):
            yield waiting
            waiting = next(lines, None)
            continue
        number, raw, line, begin, size = waiting
        if size > LINE_LIMIT:
            yield Gap(
                _TOO_LONG,
                f"line {number} has {size:,} bytes, more than the {LINE_LIMIT:,} that are read of one, and is "
                "left out. Export in smaller batches.",
                f"{name}:{number}",
            )
            waiting = next(lines, None)
            continue
        try:
            content = orjson.loads(line)
        except orjson.JSONDecodeError:
            pieces = list(_search(_repaired(line.strip()), name, number))
        else:
            if type(content) is dict:
                yield Record(content, f"{name}:{number}", (begin, size))
            else:
                yield from _objects(content, f"{name}:{number}")
            waiting = next(lines, None)
            continue
        whole = [piece for piece in pieces if isinstance(piece, Record) or piece.code != TRUNCATED]
        waiting = _as_it_is(lines)
        if len(whole) == len(pieces) or waiting is None:
            yield from pieces
        # Cut short, or the first line of a document of many lines: the next line tells.
        elif waiting.size > LINE_LIMIT or _stands_alone(waiting.line):
            yield from whole
            yield Gap(SKIPPED, f"line {number} is cut in the middle of a JSON document", f"{name}:{number}")
        else:
            blank = b"\n" * (waiting.number - number - 1)
            text = raw.removeprefix(BOM) + blank + waiting.raw + reader.read()
            yield from _document(text, name, number)
            return


class _Line(NamedTuple):
    """A line as it is; without white space and byte order mark; where it begins; its size in bytes. Of a line
    over LINE_LIMIT there is the size alone."""

    number: int
    raw: bytes
    line: bytes
    begin: int
    size: int


def _lines(reader: io.BufferedIOBase, own: OwnLines | None) -> Generator[_Line | Batch, bool | None, None]:
    """Each line that is not blank, but for those that `own` takes. Sent True: the next one whatever it is."""
    number = begin = 0
    as_it_is: bool | None = False
    while True:
        raw: bytes | None
        if own is None or as_it_is:
            raw, number = reader.readline(LINE_LIMIT), number + 1
        else:
            raw, number, begin = own.take(reader.readline, LINE_LIMIT, number, begin)
            yield from own.taken()
            if raw is None:
                continue
        if not raw:
            return
        size = len(raw)
        if size == LINE_LIMIT and not raw.endswith(b"\n"):
            rest = _passed_over(reader)
            if rest:
                # Let go before the next line is read: both would be in memory.
                raw = b""
                as_it_is = yield _Line(number, raw, raw, begin, size + rest)
                begin += size + rest
                continue
        # Its line feed stays: the parser does not mind it, and each line would be copied.
        line = raw if raw.startswith(b"{") else raw.strip()
        if line.startswith(BOM):
            line = line.removeprefix(BOM).strip()
        if line:
            as_it_is = yield _Line(number, raw, line, begin, size)
        begin += size


def _as_it_is(lines: Generator[_Line | Batch, bool | None, None]) -> _Line | None:
    """The next line, for to tell what the one before it was."""
    try:
        found = lines.send(True)
    except StopIteration:
        return None
    return found if isinstance(found, _Line) else None


def _passed_over(reader: io.BufferedIOBase) -> int:
    """The size of the rest of a line, which is not kept."""
    size = 0
    while chunk := reader.readline(_CHUNK):
        size += len(chunk)
        if chunk.endswith(b"\n"):
            break
    return size


def _document(data: bytes, name: str, first: int) -> Iterator[Record | Gap]:
    """Text whose documents run over several lines."""
    try:
        content = orjson.loads(data)
    except orjson.JSONDecodeError:
        yield from _search(_repaired(data), name, first)
    else:
        yield from _objects(content, f"{name}:{first}")


def _objects(content: Any, where: str) -> Iterator[Record | Gap]:
    if type(content) is dict:
        yield Record(content, where)
    elif type(content) is list:
        for one in content:
            if type(one) is dict:
                yield Record(one, where)
            else:
                yield Gap(SKIPPED, f"an array holds {type(one).__name__}, not an object", where)
    else:
        yield Gap(SKIPPED, "a lone JSON value, not an object", where)


def _stands_alone(line: bytes) -> bool:
    """Whether a line is a filled JSON object or array by itself, so that the line before it was cut."""
    if line[:1] not in (b"{", b"["):
        return False
    try:
        return bool(orjson.loads(line))
    except orjson.JSONDecodeError:
        return False


def _repaired(data: bytes) -> tuple[str, bool]:
    """The text, and whether bytes in it had to be replaced."""
    try:
        return data.decode("utf-8"), False
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            # Cut inside a character, which is no damage beside that of the cut.
            return data[: error.start].decode("utf-8"), False
        return data.decode("utf-8", "replace"), True


def _search(found: tuple[str, bool], name: str, first: int) -> Iterator[Record | Gap]:
    """JSON documents in text that is not one by itself. Slower than orjson, and takes more: documents one
    after another, NaN, lone surrogates. Yields at least one piece."""
    text, replaced = _Text(found[0]), found[1]
    del found  # not both in memory
    ahead = _Ahead(text)
    line, counted, at = first, 0, 0
    while (at := _after_blank(text, at)) < len(text):
        line += str.count(text, "\n", counted, at)
        counted = at
        where = f"{name}:{line}"
        if text[at] not in "{[":
            end = _line_end(text, at)
            yield _noise(text[at:end], where, line)
            at = end
            continue
        try:
            content, end = _DECODER.raw_decode(text, at)
            if "\\u" in text[at:end]:
                content, bad = _without_surrogates(content)
                replaced = replaced or bad
        except json.JSONDecodeError as error:
            again = ahead.after(at)
            if again >= 0:
                # Written by a process that was killed in the middle, and by the next one behind it.
                yield Gap(
                    SKIPPED,
                    f"line {line}: a document is cut in the middle, and another one begins behind it: the "
                    f"{len(text[at:again].encode('utf-8', 'replace')):,} bytes before that are left out",
                    where,
                )
                at = again
                continue
            if _ran_out(text, error):
                size = len(text[at:].encode("utf-8"))
                yield Gap(
                    TRUNCATED,
                    f"the text ends in the middle of a JSON document, {size:,} bytes after its start at line "
                    f"{line}; what came before it is kept. The process was killed, or is still writing.",
                    where,
                )
                break
            end = _line_end(text, error.pos)
            yield _noise(text[at : _line_end(text, at)], where, line, f" ({error.msg}, column {error.colno})")
        except RecursionError:
            raise _too_deep(where) from None
        except ValueError as error:
            # An int of more digits than Python converts: json lets it through as a bare ValueError.
            end = _line_end(text, at)
            yield _noise(text[at:end], where, line, f" ({error})")
        else:
            yield from _objects(content, where)
        at = end
    if replaced:
        yield Gap(
            "INVALID_UTF8",
            f"line {first}: bytes that are not UTF-8, or halves of surrogate pairs, were replaced by U+FFFD",
            f"{name}:{first}",
        )


class _Text(str):
    """Text in which an error costs nothing to tell: json counts the lines from the beginning of the text for
    every JSONDecodeError, which makes damaged text of many lines take quadratic time."""

    __slots__ = ()

    def count(self, *_: Any) -> int:
        return 0


def _after_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


class _Ahead:
    """Where documents of OTLP JSON begin in a text. Inside a string their quotes would be escaped.

    Positions are asked for in their order, so that the text is gone through once.
    """

    def __init__(self, text: str) -> None:
        self._text, self._end, self._next = text, -1, -1

    def after(self, at: int) -> int:
        """The next beginning behind a position in the same line; -1 where there is none."""
        if self._end < at:
            self._end = _line_end(self._text, at)
            self._next = at
        if self._next <= at:
            found = _BEGINNING.search(self._text, at + 1, self._end)
            self._next = self._end if found is None else found.start()
        return self._next if self._next < self._end else -1


def _ran_out(text: str, error: json.JSONDecodeError) -> bool:
    """Whether the text is right as far as it goes. "Unterminated string" always runs to the end."""
    rest = text[error.pos : error.pos + 16]
    if not rest.strip() or error.msg.startswith("Unterminated string"):
        return True
    if error.pos + len(rest) < len(text):
        return False
    if error.msg.startswith("Invalid \\"):
        return len(rest) <= 6
    return any(word.startswith(rest) for word in _WORDS)


def _noise(text: str, where: str, line: int, why: str = "") -> Gap:
    return Gap(SKIPPED, f"line {line} is not JSON: {quoted(text.strip()[:256].encode('utf-8'))}{why}", where)


def _without_surrogates(value: Any) -> tuple[Any, bool]:
    """The value with halves of surrogate pairs replaced, and whether there were any."""
    if isinstance(value, str):
        clean = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return clean, clean != value
    if isinstance(value, list):
        pairs = [_without_surrogates(one) for one in value]
        return [one for one, _ in pairs], any(bad for _, bad in pairs)
    if isinstance(value, dict):
        keys = [_without_surrogates(key) for key in value]
        pairs = [_without_surrogates(one) for one in value.values()]
        clean_map = {key: one for (key, _), (one, _) in zip(keys, pairs, strict=True)}
        return clean_map, any(bad for _, bad in (*keys, *pairs))
    return value, False


def _too_deep(where: str) -> FormatError:
    return FormatError(
        f"{where}: nested too deeply to be read (the most is 200 levels). No exporter writes that.",
        code="TOO_DEEP",
    )
