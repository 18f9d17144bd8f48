"""The index beside a large file: where the lines of each trace are, what each trace is."""

from __future__ import annotations

import hashlib
import logging
import os
import struct
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

__all__ = ["ENDING", "IndexedTrace", "Stamp", "index_beside", "lines_of", "stamp_of", "write_index"]

ENDING = ".ttidx"
"""The index of `spans.jsonl` is `spans.jsonl.ttidx`."""

Stamp = tuple[int, int, bytes]
"""Size, time of the last change, SHA-256 of the ends."""

_MAGIC = b"tracetape index 1\n"
_HEAD = struct.Struct(
    "<QQQ32s32s"
)  # size and mtime of the file; size of what follows; its SHA-256; the file's ends'
_ENDS = 2**16
_ROW = [str, int, int, int, str, int, int, bool]
_log = logging.getLogger("tracetape")
_said: set[str] = set()


@dataclass(slots=True)
class IndexedTrace:
    """What one trace is.

    name:            of its root, as far as that is there.
    started, ended:  nanoseconds since the epoch.
    lines:           where each of its lines begins and ends in the file, one after another.
    is_placed:       whether these are all lines of it: a span may stand in a line with other, damaged text.
    """

    spans: int = 0
    name: str = ""
    started: int = 0
    ended: int = 0
    failed: bool = False
    lines: array[int] = field(default_factory=lambda: array("Q"))
    is_placed: bool = True

    def together(self, other: IndexedTrace) -> IndexedTrace:
        """Of two files together; lines are of one file alone, and are not kept."""
        return IndexedTrace(
            self.spans + other.spans,
            self.name or other.name,
            min(self.started, other.started),
            max(self.ended, other.ended),
            self.failed or other.failed,
        )


def stamp_of(path: Path) -> Stamp:
    """What a file is now. An index fits a file that is still the same."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns, _ends(path)


def write_index(path: Path, traces: Mapping[str, IndexedTrace], stamp: Stamp, *, damaged: bool = False) -> Path:
    """Write the index of a file, in place of an older one.

    stamp:    of the file before its traces were listed.
    damaged:  something in it could not be read: then the index is good for listing, and lines are looked for.
    """
    listed, places = [], array("Q")
    for trace_id, one in traces.items():
        lines = one.lines if one.is_placed and not damaged else ()
        about = [one.spans, one.name, one.started, one.ended, one.failed]
        listed.append([trace_id, len(places), len(lines), *about])
        places.extend(lines)
    table = orjson.dumps(listed, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
    body = struct.pack("<Q", len(table)) + table + places.tobytes()
    size, changed, ends = stamp
    head = _HEAD.pack(size, changed, len(body), hashlib.sha256(body).digest(), ends)
    target = Path(f"{path}{ENDING}")
    working = Path(f"{target}.{os.getpid()}")
    try:
        descriptor = os.open(working, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(_MAGIC + head + body)
        working.replace(target)
    finally:
        working.unlink(missing_ok=True)
    return target


def lines_of(path: Path, trace_id: str) -> list[tuple[int, int]] | None:
    """Where the lines of a trace begin and end; None where no index says it."""
    found = _loaded(path)
    if found is None:
        return None
    table, places = found
    for one in table:
        if one[0] == trace_id:
            mine = places[one[1] : one[1] + one[2]]
            return list(zip(mine[::2], mine[1::2], strict=True)) or None
    return None


def index_beside(path: Path) -> dict[str, IndexedTrace] | None:
    """What the file's index says; None where there is none that fits."""
    found = _loaded(path)
    if found is None:
        return None
    return {str(one[0]): IndexedTrace(*one[3:8]) for one in found[0]}


def _loaded(path: Path) -> tuple[list[Any], array[int]] | None:
    try:
        data = Path(f"{path}{ENDING}").read_bytes()
    except OSError:
        return None
    at = len(_MAGIC)
    if not data.startswith(_MAGIC) or len(data) < at + _HEAD.size:
        _ignored(path, "is no index, or is of another version")
        return None
    size, changed, length, digest, ends = _HEAD.unpack_from(data, at)
    body = memoryview(data)[at + _HEAD.size :]
    if len(body) != length or hashlib.sha256(body).digest() != digest:
        _ignored(path, "is damaged")
        return None
    if stamp_of(path) != (size, changed, ends):
        _ignored(path, "is older than the file")
        return None
    try:
        (table,) = struct.unpack_from("<Q", body)
        listed, places = orjson.loads(body[8 : 8 + table]), array("Q", body[8 + table :].tobytes())
        if not all([type(part) for part in one] == _ROW for one in listed):
            raise TypeError
    except (struct.error, TypeError, ValueError):
        _ignored(path, "is damaged")
        return None
    return listed, places


def _ignored(path: Path, why: str) -> None:
    """Said once a process."""
    if str(path) not in _said:
        _said.add(str(path))
        _log.warning("%s%s %s, and is ignored; write it again: tracetape index %s", path, ENDING, why, path)


def _ends(path: Path) -> bytes:
    """Of the file's first and last bytes: a file that was written anew has other ones."""
    with path.open("rb") as file:
        head = file.read(_ENDS)
        file.seek(max(0, os.fstat(file.fileno()).st_size - _ENDS))
        return hashlib.sha256(head + file.read(_ENDS)).digest()
