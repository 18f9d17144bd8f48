"""Lines as our own exporter writes them, read without parsing what is the same in all of them."""

from __future__ import annotations

import re
from binascii import unhexlify
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

from orjson import loads

from tracetape.codec.scan import may_be_opaque
from tracetape.model.span import SpanRecord
from tracetape.sources.batches import ROWS, Batch
from tracetape.sources.line_templates import BETWEEN, END_TIME, MIDDLE, NAME_AT, Template, start_in, template_of
from tracetape.sources.rereading import Strings

__all__ = ["OwnLines"]

# A template costs as much as some dozen lines that are read the general way. It is made after so many lines of one
# name; if that fails, after so many times as many.
_SIGHTINGS, _AGAIN = 16, 4
# What a hostile file may cost: a template is a regular expression of about 2 KB.
_TEMPLATES, _OF_ONE_NAME, _STARTS = 64, 8, 16
_NAMES, _NAME = 1_024, 8_192
# Longer lines are no model, for they would be kept while the next one is read.
_LEARNT = 2**20

_NO_SPAN, _NO_TIME = b"0" * 16, b"0" * 19
_LAST_TIME = str(2**63 - 1).encode()  # that the columns hold; of as many digits as all times
_is_trace = re.compile(b"(?!0{32})[0-9a-f]{32}").fullmatch


class OwnLines:
    """Of one file. Not taken is a line that differs from earlier ones in more than each call differs, or whose
    payloads are not what it says of them: that is read the general way, and so the result is never another.

    path, name:  of the file: to be read again; for messages. whole: all of it, where that is kept.
    """

    def __init__(self, path: Path, name: str, whole: bytes = b"") -> None:
        self._strings, self._name = Strings(str(path), whole), name
        # By what lines of one resource and scope start with: what spans of each name look like.
        self._known: dict[bytes, dict[bytes, list[Template]]] = {}
        self._start, self._names = b"\n", dict[bytes, list[Template]]()
        self._sightings: dict[tuple[bytes, bytes], int] = {}
        self._made = 0
        self._batch = Batch(b"")
        self._full: list[Batch] = []
        self._refused: tuple[bytes, int] | None = None

    def taken(self) -> Iterator[Batch]:
        """What was taken since the last time."""
        batches = [*self._full, self._batch]
        self._full, self._batch = [], Batch(b"")
        return (batch for batch in batches if len(batch))

    def take(
        self, readline: Callable[[int], bytes], limit: int, number: int, begin: int
    ) -> tuple[bytes | None, int, int]:
        """Take lines for as long as they are known.

        readline:  gives the next one, of `limit` bytes at most.
        number, begin:  of the line before it, from 1; where the next one begins in the file, in bytes.

        Returns the first line that is not known, b"" for the end, None where a batch is full; then the number of
        the last line that was read, and where that which is returned, or comes next, begins.
        """
        # One loop without calls of our own, for it goes over every line of a recording.
        start, names, batch = self._start, self._names, self._batch
        at, name_at = len(start), len(start) + NAME_AT
        add_template, add_start, add_end, add_number, add_counts, add_line, add_places = batch.adders
        room = ROWS
        while raw := readline(limit):
            number += 1
            if not raw.startswith(start):
                if not self._turn_to(raw):
                    break
                start, names = self._start, self._names
                at, name_at = len(start), len(start) + NAME_AT
            head = None
            for template in names.get(raw[name_at : raw.find(b'"', name_at)], ()):
                head = template.head.match(raw, at)
                if head is not None:
                    if raw.startswith(template.after_end, head.end(END_TIME)):
                        break
                    head = None
            if head is None or not raw.endswith(template.tail):
                break
            # A `"` stands in a JSON string only behind a backslash: BETWEEN is found in none, but that its first
            # character may be of the text; then what is before it is no JSON string.
            input_at = head.end()
            input_end = raw.find(BETWEEN, input_at)
            middle = MIDDLE.match(raw, input_end) if input_end >= 0 else None
            if middle is None:
                break
            output_at, output_end = middle.end(), len(raw) - len(template.tail)
            told, (output_digest, output_size) = head.groups(), middle.groups()
            try:
                given: str = loads(raw[input_at - 1 : input_end + 1])
                result: str = loads(raw[output_at - 1 : output_end + 1])
                input_utf8, output_utf8 = given.encode(), result.encode()
                digests = sha256(input_utf8).digest() + sha256(output_utf8).digest()
                if (
                    digests.hex().encode() != told[-2] + output_digest
                    or len(input_utf8) != int(told[-1])
                    or len(output_utf8) != int(output_size)
                    or told[1] == _NO_SPAN
                    or told[2] == _NO_SPAN
                    or not told[3].isdigit()
                    or not told[4].isdigit()
                    or told[4] == _NO_TIME
                    or told[3] > _LAST_TIME
                    or told[4] > _LAST_TIME
                    or ("$" in result and may_be_opaque(result))
                ):
                    break
                ids = unhexlify(told[1] + told[2])
            except (ValueError, TypeError, RecursionError):
                break
            if batch.trace != told[0]:
                if not _is_trace(told[0]):
                    break
                if len(batch):
                    room = 1  # what came before goes out with this one
                batch = self._next_batch(told[0])
                add_template, add_start, add_end, add_number, add_counts, add_line, add_places = batch.adders
            add_template(template)
            batch.ids += ids
            add_start(int(told[3]))
            add_end(int(told[4]))
            add_number(int(told[template.counted_at]))
            add_counts(map(int, told[5:-2]))
            add_line((begin, number))
            add_places(
                (
                    input_at - 1,
                    input_end + 2 - input_at,
                    len(input_utf8),
                    "$" in given and may_be_opaque(given),
                    output_at - 1,
                    output_end + 2 - output_at,
                    len(output_utf8),
                )
            )
            batch.digests += digests
            begin += len(raw)
            room -= 1
            if not room:
                return None, number, begin
        self._refused = (raw, begin) if len(raw) <= _LEARNT else None
        return raw, number, begin

    def _turn_to(self, raw: bytes) -> bool:
        for start, known in self._known.items():
            if raw.startswith(start):
                self._start, self._names = start, known
                return True
        return False

    def _next_batch(self, trace_id: bytes) -> Batch:
        if len(self._batch):
            self._full.append(self._batch)
        self._batch = Batch(trace_id)
        return self._batch

    def learn(self, begin: int, span: SpanRecord) -> None:
        """The span of the line at `begin` in the file, the only one there, read the general way."""
        refused, self._refused = self._refused, None
        if refused is None or refused[1] != begin or self._made >= _TEMPLATES:
            return
        raw = refused[0]
        start = start_in(raw)
        if start is None or (start not in self._known and len(self._known) >= _STARTS):
            return
        name = raw[len(start) + NAME_AT : raw.find(b'"', len(start) + NAME_AT)]
        if len(start) + len(name) > _NAME:
            return
        sightings = self._sightings.get((start, name), 0) + 1
        if sightings > 1 or len(self._sightings) < _NAMES:
            self._sightings[start, name] = sightings
        if not _is_power(sightings):
            return
        templates = self._known.setdefault(start, {}).setdefault(name, [])
        template = (
            template_of(raw, start, span, self._strings, self._name) if len(templates) < _OF_ONE_NAME else None
        )
        if template is not None:
            templates.append(template)
            self._made += 1
            self._sightings[start, name] = 0


def _is_power(sightings: int) -> bool:
    while sightings > _SIGHTINGS and sightings % _AGAIN == 0:
        sightings //= _AGAIN
    return sightings == _SIGHTINGS
