"""Compressed data comes out plain, whatever it is wrapped in, and never without bound."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

import pytest
import zstandard

from tracetape.errors import FormatError
from tracetape.sources.unpack import Budget, unpacked

TEXT = b"".join(b"line %d\n" % number for number in range(20_000))


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def chunks(data: bytes, size: int, budget: Budget) -> Iterator[bytes]:
    for at in range(0, len(data), size):
        budget.packed += len(data[at : at + size])
        yield data[at : at + size]


def unpack(data: bytes, size: int = 1000) -> tuple[bytes, str]:
    budget = Budget("f")
    return b"".join(unpacked(chunks(data, size, budget), budget)), budget.cut


@pytest.mark.parametrize("size", [1, 7, 100_000_000])
@pytest.mark.parametrize(
    "data",
    [
        TEXT,
        gzip.compress(TEXT),
        gzip.compress(TEXT[:999]) + gzip.compress(TEXT[999:]) + b"\0" * 512,
        zstd(TEXT),
        zstd(TEXT[:999]) + zstd(TEXT[999:]),
        b"\x50\x2a\x4d\x18\x04\0\0\0skip" + zstd(TEXT),
        gzip.compress(zstd(gzip.compress(TEXT))),
    ],
    ids=["plain", "gzip", "members", "zstd", "frames", "skippable frame", "nested"],
)
def test_all_of_it_comes_out(data, size):
    assert unpack(data, size) == (TEXT, "")


@pytest.mark.parametrize(("pack", "kind"), [(gzip.compress, "gzip"), (zstd, "zstd")])
def test_cut_data_is_given_as_far_as_it_goes(pack, kind):
    found, cut = unpack(pack(TEXT[:999]) + pack(TEXT[999:])[:-40])

    assert TEXT.startswith(found)
    assert len(found) >= 999
    assert kind in cut


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (gzip.compress(TEXT)[:-8] + b"\1" * 8, "BAD_COMPRESSION"),
        (gzip.compress(TEXT) + b"tail", "BAD_COMPRESSION"),
        (zstd(TEXT) + b"tail of a file", "BAD_COMPRESSION"),
        (zstd(TEXT)[:-4] + b"\1" * 4, "BAD_COMPRESSION"),
        (gzip.compress(gzip.compress(gzip.compress(gzip.compress(gzip.compress(b"x"))))), "TOO_DEEP"),
        (gzip.compress(b"\0" * 70_000_000), "TOO_LARGE"),
    ],
    ids=["checksum", "gzip tail", "zstd tail", "zstd checksum", "layers", "ratio"],
)
def test_damage_and_bombs_are_refused(data, code):
    with pytest.raises(FormatError) as caught:
        unpack(data)

    assert caught.value.code == code
    assert str(caught.value).startswith("f: ")
