"""Finds the lines of one trace in a large file, without reading the others."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from tracetape.errors import FormatError
from tracetape.sources import trace_index
from tracetape.sources.blobs import Blob
from tracetape.sources.formats import otlp_json
from tracetape.sources.ids import TRACE_ID_BYTES, id_from_text
from tracetape.sources.spellings import spellings_in, spelt

__all__ = ["part_of"]

# Bytes: a smaller file is read at once.
_LARGE = 16 * 2**20
# A trace whose lines are more than so many bytes, or so great a part of the file, is read with the rest: its
# values can stay in the file then.
_MOST, _PART = 64 * 2**20, 4


def part_of(path: Path, trace_id: str) -> Blob | None:
    """What of a file of OTLP JSON lines belongs to a trace; None where that is not sure, so that all must be read.

    By the file's index, where there is one that fits. A last line that is not whole is a part of every trace.

    trace_id: 32 lower-case hex digits.
    """
    try:
        if not path.is_file() or path.stat().st_size < _LARGE:
            return None
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            lines = trace_index.lines_of(path, trace_id)
            if lines is None:
                lines = _search(text, trace_id)
            if lines is None or sum(end - begin for begin, end in lines) > _limit(text):
                return None
            kept = [_reduced(text[begin:end], trace_id) for begin, end in lines]
            tail = text.rfind(b"\n") + 1
            cut = text[tail:] if tail < len(text) and (not lines or lines[-1][0] != tail) else b""
    except (OSError, ValueError):
        return None
    if any(one is None for one in kept):
        return None
    content = b"\n".join([*(one for one in kept if one is not None), cut])
    return Blob.of(f"{path}, lines of trace {trace_id[:8]}…", content, path)


def _search(text: mmap.mmap, trace_id: str) -> list[tuple[int, int]] | None:
    """Where the lines begin and end in which the id stands."""
    first = _line_at(text, 0)
    last_end = len(text) - 1 if text[len(text) - 1] == 0x0A else text.rfind(b"\n")
    last = _line_at(text, last_end - 1) if last_end > 0 else first
    found: dict[int, int] = {}
    for begin, end in (first, last):
        if end - begin > _MOST or text[begin : begin + 1] != b"{" or text[end - 1 : end] != b"}":
            return None  # no lines of JSON: a document over many lines, perhaps
    ways = spellings_in(text[slice(*first)]) | spellings_in(text[slice(*last)])
    written = spelt(trace_id, ways)
    if written is None:
        return None
    size = 0
    for one in written:
        at = text.find(one)
        while at >= 0:
            begin, end = _line_at(text, at)
            found[begin] = end
            size += end - begin
            if size > _limit(text):
                return None
            at = text.find(one, end)
    return sorted(found.items())


def _limit(text: mmap.mmap) -> int:
    return min(_MOST, len(text) // _PART)


def _line_at(text: mmap.mmap, at: int) -> tuple[int, int]:
    begin = text.rfind(b"\n", 0, at) + 1
    end = text.find(b"\n", at)
    end = len(text) if end < 0 else end
    if text[end - 1 : end] == b"\r":
        end -= 1
    return begin, end


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
    return orjson.dumps(content)


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
