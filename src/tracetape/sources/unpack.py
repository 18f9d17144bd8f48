"""Compressed chunks → plain chunks, within bounds."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import zstandard

from tracetape.errors import FormatError

__all__ = ["LINE_LIMIT", "Budget", "compressed", "unpacked"]

LINE_LIMIT = 256 * 2**20
UNPACKED_LIMIT = 4 * 2**30
RATIO_LIMIT = 200
RATIO_FREE = 64 * 2**20
LAYER_LIMIT = 4

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_PIECE = 2**20
# A zstd block of 4 bytes may unpack to 128 KiB, and its decompressor takes no bound on what it gives back:
# 2 KiB in is at most 64 MiB out.
_ZSTD_BITE = 2048


@dataclass(slots=True)
class Budget:
    """How much of one file was read and unpacked.

    cut: why the packed data ends early, or "".
    """

    name: str
    packed: int = 0
    unpacked: int = 0
    cut: str = ""

    def spend(self, size: int) -> None:
        """Count unpacked bytes. Raises FormatError TOO_LARGE past 4 GiB, or past 200 times the packed size."""
        self.unpacked += size
        if self.unpacked > UNPACKED_LIMIT:
            raise FormatError(
                f"{self.name}: unpacks to more than {UNPACKED_LIMIT:,} bytes, which is the most that is read. "
                "Unpack it yourself and give the part that you need.",
                code="TOO_LARGE",
            )
        if self.unpacked > RATIO_FREE and self.unpacked > RATIO_LIMIT * self.packed:
            raise FormatError(
                f"{self.name}: {self.packed:,} bytes unpack to more than {self.unpacked:,}, over {RATIO_LIMIT} "
                "times as many: it looks like a decompression bomb. If you trust it, unpack it yourself.",
                code="TOO_LARGE",
            )


def compressed(head: bytes) -> bool:
    """Whether bytes begin like gzip or zstd data."""
    return _unpacker(head) is not None


def unpacked(chunks: Iterable[bytes], budget: Budget) -> Iterator[bytes]:
    """The chunks without gzip and zstd around them, however they are nested, told by content.

    Several gzip members (RFC 1952, 2.2) or zstd frames (RFC 8878, 3) in a row are one stream. Where the
    data ends early `budget.cut` is set and what could be unpacked is given.

    Raises FormatError TOO_LARGE, TOO_DEEP (more than 4 layers), BAD_COMPRESSION (damaged data).
    """
    layers = 0
    while True:
        source = iter(chunks)
        head = b""
        for chunk in source:
            head += chunk
            if len(head) >= len(_ZSTD):
                break
        unpacker = _unpacker(head)
        if unpacker is None:
            return chain((head,), source) if head else iter(())
        layers += 1
        if layers > LAYER_LIMIT:
            raise FormatError(
                f"{budget.name}: compressed more than {LAYER_LIMIT} times over. Unpack it yourself.",
                code="TOO_DEEP",
            )
        chunks = unpacker(chain((head,), source), budget)


def _unpacker(head: bytes) -> Callable[[Iterable[bytes], Budget], Iterator[bytes]] | None:
    if head.startswith(_GZIP):
        return _gunzip
    skippable = head[1:4] == b"\x2a\x4d\x18" and head[0] & 0xF0 == 0x50
    return _unzstd if head.startswith(_ZSTD) or skippable else None


def _gunzip(chunks: Iterable[bytes], budget: Budget) -> Iterator[bytes]:
    member = None
    for chunk in chunks:
        rest = chunk
        while rest:
            if member is None:
                # Tapes and some archivers pad with zeros after the last member.
                rest = rest.lstrip(b"\0")
                if not rest:
                    break
                member = zlib.decompressobj(wbits=31)
            try:
                piece = member.decompress(rest, _PIECE)
            except zlib.error as error:
                raise _damaged(budget, "gzip", error) from None
            if piece:
                budget.spend(len(piece))
                yield piece
            if member.eof:
                rest, member = member.unused_data, None
            else:
                rest = member.unconsumed_tail
    if member is not None:
        # What zlib holds back when the input ends is less than a piece.
        piece = member.flush()
        if piece:
            budget.spend(len(piece))
            yield piece
        if not member.eof:
            budget.cut = "its gzip data ends in the middle of a member"


def _unzstd(chunks: Iterable[bytes], budget: Budget) -> Iterator[bytes]:
    frame = None
    for chunk in chunks:
        for at in range(0, len(chunk), _ZSTD_BITE):
            rest = chunk[at : at + _ZSTD_BITE]
            while rest:
                if frame is None:
                    frame = zstandard.ZstdDecompressor().decompressobj()
                try:
                    piece = frame.decompress(rest)
                except zstandard.ZstdError as error:
                    raise _damaged(budget, "zstd", error) from None
                if piece:
                    budget.spend(len(piece))
                    yield piece
                rest = b""
                if frame.eof:
                    rest, frame = frame.unused_data, None
    if frame is not None:
        budget.cut = "its zstd data ends in the middle of a frame"


def _damaged(budget: Budget, kind: str, error: Exception) -> FormatError:
    return FormatError(
        f"{budget.name}: its {kind} data is damaged after {budget.unpacked:,} unpacked bytes ({error}). "
        "Get the file again.",
        code="BAD_COMPRESSION",
    )
