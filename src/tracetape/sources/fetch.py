"""Opens files, to be read from their beginning."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracetape.errors import SourceError
from tracetape.model.names import nearest
from tracetape.semconv import names
from tracetape.sources.addresses import is_url
from tracetape.sources.blobs import Blob
from tracetape.sources.trace_index import ENDING
from tracetape.sources.unpack import Budget, compressed, unpacked

__all__ = ["Room", "Stream", "files_of", "logs_beside", "marks_beside", "opened"]

_CHUNK = 2**20
_MAGIC = 4


@dataclass(frozen=True, slots=True)
class Stream:
    """One open file, unpacked.

    name: the path as given, for messages. budget: how much was read, and whether packed data was cut.
    plain: it is not packed, so that a place in it is a place in the file. whole: all of it, where that is kept.
    """

    name: str
    reader: io.BufferedReader[Any]
    budget: Budget
    plain: bool
    whole: bytes = b""


def files_of(sources: Sequence[str | os.PathLike[str]]) -> list[Path | str]:
    """The files that the sources are: a file is itself, a directory all files under it in order of name, a URL a
    URL.

    Hidden files and the marks of running recordings (`*.open.<pid>`, see `marks_beside`) are no part of a
    directory.

    Raises SourceError FILE_NOT_FOUND (with the nearest names of that folder) or CANNOT_READ.
    """
    found: list[Path | str] = []
    for source in sources:
        text = os.fspath(source)
        if is_url(text):
            found.append(text)
            continue
        path = Path(text)
        try:
            if path.is_dir():
                found += _inside(path)
            elif os.path.lexists(path):
                found.append(path)
            else:
                raise _missing(path)
        except OSError as error:
            raise _unreadable(path, error) from None
        except ValueError:
            raise SourceError(f"{text!r} cannot be a path: it holds a NUL", code="FILE_NOT_FOUND") from None
    return found


def marks_beside(paths: Sequence[Path]) -> list[Path]:
    """The marks (`<file>.open.<pid>`) beside these files, but for those that are among them.

    Beside a file that is reached by a link means both places: where the link is, and where it leads.
    """
    real = [Path(os.path.realpath(path)) for path in paths]
    wanted: dict[Path, set[str]] = {}
    for path in (*paths, *real):
        wanted.setdefault(path.parent, set()).add(path.name)
    seen = set(real)
    found: list[Path] = []
    for folder, files in wanted.items():
        try:
            beside = sorted(one.name for one in os.scandir(folder) if _marked(one.name) in files)
        except OSError:
            continue  # a folder that may not be listed; the files in it have been found all the same
        for name in beside:
            target = Path(os.path.realpath(folder / name))
            if target not in seen:
                seen.add(target)
                found.append(folder / name)
    return [path for path in found if path.is_file()]


def logs_beside(paths: Sequence[Path]) -> list[Path]:
    """The files of log events beside these: `run.logs.otlp.jsonl` beside `run.otlp.jsonl`, without those that are
    given."""
    given = {Path(os.path.realpath(path)) for path in paths}
    found = []
    for path in paths:
        stem, dot, rest = path.name.partition(".")
        beside = path.with_name(f"{stem}.logs.{rest}") if dot and not rest.startswith("logs.") else None
        if beside is not None and beside.is_file() and Path(os.path.realpath(beside)) not in given:
            found.append(beside)
    return found


@contextmanager
def opened(source: Path | Blob, room: Room | None = None) -> Iterator[Stream]:
    """Open one file, or what is read like one, and unpack it (gzip, zstd) on the way.

    room:  for the whole of it in memory, if that is wanted.

    Raises SourceError CANNOT_READ here or while reading, and what the blob raises; FormatError as
    `unpack.unpacked` does.
    """
    if isinstance(source, Blob):
        with source.open() as chunks, _stream(source.name, chunks, Budget(source.name)) as stream:
            yield stream
        return
    try:
        raw = source.open("rb", 0)
    except OSError as error:
        raise _unreadable(source, error) from None
    with io.BufferedReader(raw) as file:
        try:
            plain = file.seekable() and not compressed(file.peek(_MAGIC)[:_MAGIC])
            whole = _whole(raw, room) if plain and room is not None else b""
            if plain:
                raw.seek(0)
        except OSError as error:
            raise _unreadable(source, error) from None
        if plain:  # as most are: nothing is to be done between the file and what reads its lines
            budget = Budget(str(source))
            lines: Any = io.BytesIO(whole) if whole else _Plain(raw, source, budget)
            budget.packed = len(whole)
            with io.BufferedReader(lines, _CHUNK) as reader:
                yield Stream(str(source), reader, budget, True, whole)
            return
        with _stream(str(source), _chunks(file, source), Budget(str(source))) as stream:
            yield stream


@contextmanager
def _stream(name: str, chunks: Iterator[bytes], budget: Budget) -> Iterator[Stream]:
    counted = unpacked(_counted(chunks, budget), budget)
    with io.BufferedReader(_Chunks(counted), _CHUNK) as reader:
        yield Stream(name, reader, budget, plain=False)


def _counted(chunks: Iterator[bytes], budget: Budget) -> Iterator[bytes]:
    for chunk in chunks:
        budget.packed += len(chunk)
        yield chunk


class Room:
    """How many bytes of a recording's files are kept in memory. left: how many more may be."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = _KEPT


_KEPT = 16 * 2**20


def _whole(raw: io.FileIO, room: Room) -> bytes:
    """All of a file; b"" where there is no room for it, or it has no size (a device, which has no end either)."""
    found = os.fstat(raw.fileno())
    if not stat.S_ISREG(found.st_mode) or found.st_size > room.left:
        return b""
    parts, left = [], found.st_size  # what is written meanwhile is no part of it
    raw.seek(0)
    while left and (part := raw.read(left)):
        parts.append(part)
        left -= len(part)
    whole = b"".join(parts)
    room.left -= len(whole)
    return whole


def _chunks(file: io.BufferedReader[Any], path: Path) -> Iterator[bytes]:
    while True:
        try:
            chunk = file.read(_CHUNK)
        except OSError as error:
            raise _unreadable(path, error) from None
        if not chunk:
            return
        yield chunk


class _Plain(io.RawIOBase):
    """A file, whose errors say which one it is."""

    def __init__(self, raw: io.FileIO, path: Path, budget: Budget) -> None:
        self._raw, self._path, self._budget = raw, path, budget

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            size = self._raw.readinto(buffer) or 0
        except OSError as error:
            raise _unreadable(self._path, error) from None
        self._budget.packed += size
        return size


class _Chunks(io.RawIOBase):
    """Chunks as a raw file, so that io.BufferedReader finds the lines in C."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fills the buffer unless the chunks end, so that a peek sees as much as there is."""
        filled = 0
        while filled < len(buffer):
            if not self._left:
                chunk = next(self._chunks, None)
                if chunk is None:
                    break
                self._left = memoryview(chunk)
            size = min(len(buffer) - filled, len(self._left))
            buffer[filled : filled + size] = self._left[:size]
            self._left = self._left[size:]
            filled += size
        return filled


def _inside(folder: Path) -> list[Path]:
    seen: set[tuple[int, int]] = set()
    found: list[Path] = []
    # No recursion: folders may be nested deeper than Python's stack. The next path is the last of the list.
    waiting = [folder]
    while waiting:
        path = waiting.pop()
        if path.is_dir():
            status = path.stat()
            # A link to a folder above would go round for ever.
            if (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                shown = (one for one in path.iterdir() if not one.name.startswith("."))
                waiting += sorted((one for one in shown if not _is_beside(one.name)), reverse=True)
        elif path.is_file():
            found.append(path)
        else:
            raise SourceError(
                f"{path} is not a file that can be read (a broken link, a pipe or a socket). Remove it, or give "
                f"the files of {path.parent} one by one.",
                code="CANNOT_READ",
            )
    return found


def _marked(name: str) -> str | None:
    """The file that a name of marks belongs to; None for another name."""
    found = names.MARKS_NAME.fullmatch(name)
    return found["file"] if found is not None else None


def _is_beside(name: str) -> bool:
    """What stands beside a file and is no part of its folder: marks, an index."""
    return _marked(name) is not None or name.endswith(ENDING)


def _missing(path: Path) -> SourceError:
    folder = path.parent
    if not folder.is_dir():
        return SourceError(f"{path}: no such file, and no folder {folder}", code="FILE_NOT_FOUND")
    known = sorted(one.name for one in folder.iterdir() if not one.name.startswith("."))
    return SourceError(
        f"{path}: no such file in {folder.resolve()}{nearest(path.name, known)}", code="FILE_NOT_FOUND"
    )


def _unreadable(path: Path, error: OSError) -> SourceError:
    if isinstance(error, PermissionError):
        advice = "Ask its owner for the right to read it, or copy it as that user."
    else:
        advice = "Copy it to a local disk and try again."
    return SourceError(f"{path} cannot be read: {error.strerror or error}. {advice}", code="CANNOT_READ")
