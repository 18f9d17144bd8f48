"""Finds the lines of one trace in a large file, without reading the others."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from tracetape.errors import FormatError
from tracetape.sources import trace_index
from tracetape.sources.blobs import Blob
from tracetape.sources.formats import otlp_json
from tracetape.sources.ids import TRACE_ID_BYTES, id_from_text
from tracetape.sources.spellings import spellings_of

__all__ = ["part_of"]

# Bytes: a smaller file is read at once.
_LARGE = 16 * 2**20
# A trace whose lines are more than so many bytes, or so great a part of the file, is read with the rest: its
# values can stay in the file then.
_MOST, _PART = 64 * 2**20, 4
_CHUNK, _STEP = 2**20, 64 * 2**10


def part_of(path: Path, trace_id: str) -> Blob | None:
    """What of a file of OTLP JSON lines belongs to a trace; None where that is not sure, so that all must be read.

    By the file's index, where there is one that fits. A last line that is not whole is a part of every trace; what
    is damaged in other lines is not noticed, nor an id in hex digits of both cases.

    trace_id: 32 lower-case hex digits.
    """
    try:
        if not path.is_file() or path.stat().st_size < _LARGE:
            return None
        file = _File(path)
    except OSError:
        return None
    try:
        lines = trace_index.lines_of(path, trace_id)
        if lines is None:
            lines = _search(file, trace_id)
        if lines is None or sum(end - begin for begin, end in lines) > _limit(file.size):
            return None
        kept = [_reduced(file.read(begin, end), trace_id) for begin, end in lines]
        tail = file.line_begin(file.size)
        cut = b"" if tail == file.size or (lines and lines[-1][0] == tail) else file.read(tail, file.size)
    except OSError:
        return None
    finally:
        file.close()
    if any(one is None for one in kept):
        return None
    content = b"\n".join([*(one for one in kept if one is not None), cut])
    return Blob.of(f"{path}, lines of trace {trace_id[:8]}…", content, path)


class _File:
    """A file by its bytes. Not mapped into memory: one that is cut off meanwhile would end the process."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDONLY)
        self.size = os.fstat(self._file).st_size

    def close(self) -> None:
        os.close(self._file)

    def read(self, begin: int, end: int) -> bytes:
        return os.pread(self._file, end - begin, begin)

    def places(self, texts: Sequence[bytes]) -> Iterator[int]:
        """Where any of the texts stands, but for what stands in a line in which the same one was found before."""
        longest = max(map(len, texts))
        buffer, kept, at = bytearray(_CHUNK + longest), 0, 0
        passed = dict.fromkeys(texts, 0)
        while at < self.size:
            got = os.preadv(self._file, [memoryview(buffer)[kept : kept + _CHUNK]], at)
            if not got:
                return
            filled, base = kept + got, at - kept
            for text in texts:  # one after another in what the processor still has at hand
                found = buffer.find(text, max(0, passed[text] - base), filled)
                while found >= 0:
                    yield base + found
                    passed[text] = end = self.line_end(base + found)
                    found = buffer.find(text, end - base, filled) if end < base + filled else -1
            at += got
            kept = min(longest - 1, filled)
            buffer[:kept] = buffer[filled - kept : filled]

    def line_begin(self, at: int) -> int:
        while at > 0:
            begin = max(0, at - _STEP)
            found = self.read(begin, at).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            at = begin
        return 0

    def line_end(self, at: int) -> int:
        """Where the line ends, its line feed left out."""
        while at < self.size:
            piece = self.read(at, min(self.size, at + _STEP))
            found = piece.find(b"\n")
            if found >= 0:
                return at + found
            if not piece:
                break
            at += len(piece)
        return self.size


def _search(file: _File, trace_id: str) -> list[tuple[int, int]] | None:
    """Where the lines begin and end in which the id stands; None for what is no file of lines."""
    last_end = file.size - 1 if file.read(file.size - 1, file.size) == b"\n" else file.line_begin(file.size) - 1
    for begin, end in ((0, file.line_end(0)), (file.line_begin(last_end), last_end)):
        if not 0 < end - begin <= _MOST:
            return None
        text = file.read(begin, end).strip()
        if text[:1] != b"{" or text[-1:] != b"}":
            return None  # a document over many lines, perhaps
    found: dict[int, int] = {}
    size = 0
    for at in file.places(spellings_of(trace_id)):
        begin, end = file.line_begin(at), file.line_end(at)
        if begin not in found:
            found[begin] = end
            size += end - begin
        if size > _limit(file.size):
            return None
    return sorted(found.items())


def _limit(size: int) -> int:
    return min(_MOST, size // _PART)


def _reduced(line: bytes, trace_id: str) -> bytes | None:
    """The line with the spans of one trace alone; None for what is no line of OTLP JSON."""
    try:
        content = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(content, dict) or not otlp_json.claims(content):
        return None
    for group in _objects(content, "resourceSpans", "resource_spans"):
        for scoped in _objects(group, "scopeSpans", "scope_spans", "instrumentationLibrarySpans"):
            spans = scoped.get("spans")
            if isinstance(spans, list):
                scoped["spans"] = [one for one in spans if _is_of(one, trace_id)]
    try:
        return orjson.dumps(content)
    except TypeError:  # nested deeper than it goes
        return None


def _objects(holder: dict[str, Any], *keys: str) -> Iterator[dict[str, Any]]:
    for key in keys:
        value = holder.get(key)
        for one in value if isinstance(value, list) else ():
            if isinstance(one, dict):
                yield one


def _is_of(span: Any, trace_id: str) -> bool:
    """Also what is not sure: the reader says what is wrong with it."""
    if not isinstance(span, dict):
        return True
    written = span.get("traceId", span.get("trace_id"))
    if written == trace_id:
        return True
    try:
        return id_from_text(written, TRACE_ID_BYTES, "") in (trace_id, "")
    except FormatError:
        return True
