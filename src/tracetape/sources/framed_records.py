"""Cuts binary files into messages: 4-byte frames, varint-delimited ones, one alone."""

from __future__ import annotations

import io
from collections.abc import Iterator

from tracetape.errors import FormatError
from tracetape.model.span import Gap
from tracetape.sources.detect import FRAMED, VARINT, varint
from tracetape.sources.json_records import read_text
from tracetape.sources.records import SKIPPED, TRUNCATED, Record
from tracetape.sources.unpack import LINE_LIMIT, Budget, compressed, unpacked

__all__ = ["read_binary"]


def read_binary(framing: str, reader: io.BufferedIOBase, budget: Budget) -> Iterator[Record | Gap]:
    """Every message of the file; one that holds JSON gives its objects.

    FRAMED is the Collector's file exporter with `format: proto` or with compression: a 4-byte big-endian
    length before each message, each compressed alone. VARINT is protobuf's delimited stream.

    A file that ends inside a message gives gap TRUNCATED_LAST_RECORD; a message whose compressed data is
    cut gives SKIPPED_LINE. Raises FormatError TOO_LARGE for a message over 256 MiB.
    """
    if framing == FRAMED:
        yield from _frames(reader, budget, 4)
    elif framing == VARINT:
        yield from _frames(reader, budget, 0)
    else:
        yield Record(reader.read(), budget.name)


def _frames(reader: io.BufferedIOBase, budget: Budget, width: int) -> Iterator[Record | Gap]:
    number = 0
    while True:
        number += 1
        prefix = reader.read(width) if width else _varint_bytes(reader)
        if not prefix:
            return
        where = f"{budget.name}, record {number}"
        size = _size(prefix, width)
        if size is None:
            yield _cut(f"its length is {len(prefix)} bytes long", where)
            return
        if size > LINE_LIMIT:
            raise FormatError(
                f"{where}: says that it is {size:,} bytes long, more than the {LINE_LIMIT:,} that are read. The "
                "file is damaged there, or not in this form.",
                code="TOO_LARGE",
            )
        body = reader.read(size)
        if len(body) < size:
            yield _cut(f"{len(body):,} of {size:,} bytes are there", where)
            return
        yield from _message(body, where, budget)


def _size(prefix: bytes, width: int) -> int | None:
    if width:
        return int.from_bytes(prefix, "big") if len(prefix) == width else None
    found = varint(prefix, 0)
    return None if found is None else found[0]


def _varint_bytes(reader: io.BufferedIOBase) -> bytes:
    taken = b""
    while len(taken) < 5 and (byte := reader.read(1)):
        taken += byte
        if byte < b"\x80":
            break
    return taken


def _message(body: bytes, where: str, budget: Budget) -> Iterator[Record | Gap]:
    if compressed(body):
        # Bounded by the file's budget: a thousand small bombs are one big one.
        inner = Budget(where, budget.packed, budget.unpacked)
        body = b"".join(unpacked((body,), inner))
        budget.unpacked = inner.unpacked
        if inner.cut:
            yield Gap(SKIPPED, f"the record is left out: {inner.cut}", where)
            return
    if body[:1] in (b"{", b"["):
        yield from read_text(io.BytesIO(body), where)
    elif body:
        yield Record(body, where)


def _cut(what: str, where: str) -> Gap:
    return Gap(
        TRUNCATED,
        f"the last record is cut off: {what}; the records before it are kept. The process was killed, or is still "
        "writing.",
        where,
    )
