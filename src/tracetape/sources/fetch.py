"""Opens files: with `remote`, the only I/O of reading."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tracetape.errors import SourceError
from tracetape.model.names import nearest
from tracetape.semconv import names
from tracetape.sources.addresses import is_url
from tracetape.sources.blobs import Blob
from tracetape.sources.detect import BOM
from tracetape.sources.trace_index import ENDING
from tracetape.sources.unpack import Budget, compressed, unpacked

__all__ = ["Room", "Stream", "Strings", "files_of", "line_at", "logs_beside", "marks_beside", "opened"]

_CHUNK = 2**20
_MAGIC = 4


@dataclass(frozen=True, slots=True)
class Stream:
    """One open file, unpacked.

    name: the path as given, for messages. budget: how much was read, and whether packed data was cut.
    plain: it is not packed, so that a place in it is a place in the file.
    """

    name: str
    reader: io.BufferedReader[Any]
    budget: Budget
    plain: bool


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
def opened(source: Path | Blob) -> Iterator[Stream]:
    """Open one file, or what is read like one, and unpack it (gzip, zstd) on the way.

    Raises SourceError CANNOT_READ here or while reading, and what the blob raises; FormatError as
    `unpack.unpacked` does.
    """
    if isinstance(source, Blob):
        with source.open() as chunks, _stream(source.name, chunks, Budget(source.name), plain=False) as stream:
            yield stream
        return
    try:
        raw = source.open("rb", 0)
    except OSError as error:
        raise _unreadable(source, error) from None
    with io.BufferedReader(raw) as file:
        try:
            plain = file.seekable() and not compressed(file.peek(_MAGIC)[:_MAGIC])
            if plain:
                raw.seek(0)
        except OSError as error:
            raise _unreadable(source, error) from None
        if plain:  # as most are: nothing is to be done between the file and what reads its lines
            with io.BufferedReader(_Plain(raw, source), _CHUNK) as reader:
                yield Stream(str(source), reader, Budget(str(source)), plain=True)
            return
        with _stream(str(source), _chunks(file, source), Budget(str(source)), plain=False) as stream:
            yield stream


@contextmanager
def _stream(name: str, chunks: Iterator[bytes], budget: Budget, *, plain: bool) -> Iterator[Stream]:
    counted = unpacked(_counted(chunks, budget), budget)
    with io.BufferedReader(_Chunks(counted), _CHUNK) as reader:
        yield Stream(name, reader, budget, plain)


def _counted(chunks: Iterator[bytes], budget: Budget) -> Iterator[bytes]:
    for chunk in chunks:
        budget.packed += len(chunk)
        yield chunk


def line_at(path: Path, place: tuple[int, int]) -> dict[str, Any] | None:
    """The JSON object of a line that has been read before; None where it is not there any more.

    place: where it begins, and how long it is, in bytes.
    """
    begin, size = place
    try:
        with path.open("rb") as file:
            file.seek(begin)
            found = orjson.loads(file.read(size).strip().removeprefix(BOM))
    except (OSError, orjson.JSONDecodeError):
        return None
    return found if isinstance(found, dict) else None


class Room:
    """How many bytes of a recording's files are kept in memory. left: how many more may be."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = _KEPT


_KEPT = 16 * 2**20


class Strings:
    """The JSON strings of a file that was read before, each by its place. A file for which there is room is kept
    in memory: its strings are those that stood there then, whatever has become of it. Of a larger one, whose
    strings are asked for in their order, some more are read with each.

    path: of a file that is not packed. room: of its recording.
    """

    __slots__ = ("_block", "_next", "_whole", "path")

    def __init__(self, path: str, room: Room) -> None:
        self.path = path
        self._whole = b""
        # The bytes that were read last, with their place. Not locked: one pair is set in place of the other.
        self._block = (0, b"")
        self._next = -1  # where the string behind the last one may begin
        try:
            size = os.stat(path).st_size  # noqa: PTH116 (a str)
            if size <= room.left:
                self._whole = self._read(0, size)
                room.left -= len(self._whole)
        except OSError:
            pass  # told where a string is asked for

    def text(self, begin: int, size: int) -> str | None:
        """The text of a string; None where there is none any more.

        begin, size: where it begins, quotes included, and how long it is, in bytes.
        """
        end = begin + size
        try:
            found = orjson.loads(self._whole[begin:end] if end <= len(self._whole) else self._of_large(begin, end))
        except (OSError, orjson.JSONDecodeError):
            return None
        return found if type(found) is str else None

    def look_again(self) -> None:
        """From now on, what stands in the file then: what was kept is something else."""
        self._whole, self._block = b"", (0, b"")

    def _of_large(self, begin: int, end: int) -> bytes:
        at, block = self._block
        if not at <= begin <= end <= at + len(block):
            is_next = 0 <= begin - self._next <= _AHEAD
            at, block = begin, self._read(begin, max(end - begin, _AHEAD) if is_next else end - begin)
            self._block = (at, block)
        self._next = end
        return block[begin - at : end - at]

    def _read(self, begin: int, size: int) -> bytes:
        # Not kept open: what closes a file behind the last one who has it is code that the collector runs wherever
        # it comes; see `_tapes` in the replayer.
        file = os.open(self.path, os.O_RDONLY)
        try:
            return os.pread(file, size, begin)
        finally:
            os.close(file)


_AHEAD = 2**16


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

    def __init__(self, raw: io.RawIOBase, path: Path) -> None:
        self._raw, self._path = raw, path

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int | None:  # type: ignore[override]
        try:
            return self._raw.readinto(buffer)
        except OSError as error:
            raise _unreadable(self._path, error) from None


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
