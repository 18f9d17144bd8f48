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

__all__ = ["ENDING", "IndexedTrace", "index_beside", "lines_of", "write_index"]

ENDING = ".ttidx"
"""The index of `spans.jsonl` is `spans.jsonl.ttidx`."""

_MAGIC = b"tracetape index 1\n"
_HEAD = struct.Struct(
    "<QQQ32s32s"
)  # size and mtime of the file; size of what follows; its SHA-256; the file's ends'
_ENDS = 2**16
_log = logging.getLogger("tracetape")
_said: set[str] = set()


@dataclass(slots=True)
class IndexedTrace:
    """What one trace is.

    name:            of its root, as far as that is there.
    started, ended:  nanoseconds since the epoch.
    lines:           where each of its lines begins and ends in the file, one after another.
    """

    spans: int = 0
    name: str = ""
    started: int = 0
    ended: int = 0
    failed: bool = False
    lines: array[int] = field(default_factory=lambda: array("Q"))

    def together(self, other: IndexedTrace) -> IndexedTrace:
        """Of two files together; lines are of one file alone, and are not kept."""
        return IndexedTrace(
            self.spans + other.spans,
            self.name or other.name,
            min(self.started, other.started),
            max(self.ended, other.ended),
            self.failed or other.failed,
        )


def write_index(path: Path, traces: Mapping[str, IndexedTrace]) -> Path:
    """Write the index of a file, in place of an older one."""
    status = path.stat()
    listed, places = [], array("Q")
    for trace_id, one in traces.items():
        listed.append(
            [trace_id, len(places), len(one.lines), one.spans, one.name, one.started, one.ended, one.failed]
        )
        places.extend(one.lines)
    table = orjson.dumps(listed, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
    body = struct.pack("<Q", len(table)) + table + places.tobytes()
    head = _HEAD.pack(status.st_size, status.st_mtime_ns, len(body), hashlib.sha256(body).digest(), _ends(path))
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
            return list(zip(mine[::2], mine[1::2], strict=True))
    return []


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
    status = path.stat()
    if (status.st_size, status.st_mtime_ns) != (size, changed) or _ends(path) != ends:
        _ignored(path, "is older than the file")
        return None
    (table,) = struct.unpack_from("<Q", body)
    places = array("Q", body[8 + table :].tobytes())
    return orjson.loads(body[8 : 8 + table]), places


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
