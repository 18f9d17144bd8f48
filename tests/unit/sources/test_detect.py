"""The first bytes tell how a file is cut."""

from __future__ import annotations

import pytest

from tracetape.errors import FormatError
from tracetape.sources.detect import FRAMED, MESSAGE, TEXT, VARINT, framing_of, varint


@pytest.mark.parametrize(
    ("head", "framing"),
    [
        (b'{"resourceSpans":[]}', TEXT),
        (b'{\n  "a": 1', TEXT),
        (b"[\n{}", TEXT),
        (b"\xef\xbb\xbf{}", TEXT),
        (b"2025 \x1b[31minfo\x1b[0m started\n{}", TEXT),
        (b'{"a":"\x00', TEXT),
        (b"\x0a\x9b\x2b\x0a\xd1\x01", MESSAGE),
        (b"\x00\x00\x0b\x6e\x0a\xeb\x16", FRAMED),
        (b'\x00\x00\x00\x20{"a"', FRAMED),
        (b"\x00\x00\x06\x10\x28\xb5\x2f\xfd", FRAMED),
        (b"\x01\x00\x06\x10\x28\xb5\x2f\xfd", FRAMED),
        (b"\x01\x00\x06\x10\x0a\xeb\x16", FRAMED),
        (b"\x0a\x80\x80\x01\x0a\xd1\x01", MESSAGE),
        (b"\xc4\x09\x0a\xc1\x09\x0a\xd1\x01", VARINT),
        # A delimited message of 123 bytes begins like pretty JSON; its next tags are no text.
        (b"{\x0a\x79\x0a\x02\x0a\x00\x12", VARINT),
    ],
)
def test_framings(head, framing):
    assert framing_of(head, "f") == framing


@pytest.mark.parametrize("text", ['{"a"', "[1, 2"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
def test_wide_text_is_refused(text, encoding):
    marks = {"utf-32-be": b"\0\0\xfe\xff"}

    with pytest.raises(FormatError) as caught:
        framing_of(marks.get(encoding, b"") + text.encode(encoding), "f")

    assert caught.value.code == "BAD_ENCODING"


@pytest.mark.parametrize("head", [b"\x00" * 64, b"\x89PNG\r\n\x1a\n", b"PK\x03\x04\x14\x00"])
def test_other_bytes_are_refused(head):
    with pytest.raises(FormatError) as caught:
        framing_of(head, "f")

    assert caught.value.code == "UNKNOWN_FORMAT"


@pytest.mark.parametrize(
    ("data", "expected"), [(b"\x05", (5, 1)), (b"\xac\x02", (300, 2)), (b"\x80", None), (b"\xff" * 9, None)]
)
def test_varints(data, expected):
    assert varint(data, 0) == expected
