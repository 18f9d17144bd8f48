"""Tells by the first bytes how a file is cut into records."""

from __future__ import annotations

from tracetape.errors import FormatError
from tracetape.sources.records import quoted
from tracetape.sources.unpack import LINE_LIMIT, compressed

__all__ = ["BOM", "FRAMED", "HEAD", "MESSAGE", "TEXT", "VARINT", "framing_of", "varint"]

TEXT, FRAMED, VARINT, MESSAGE = "text", "framed", "varint", "message"
HEAD = 1024
BOM = b"\xef\xbb\xbf"

_WIDE = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\x00\x00\xfe\xff": "UTF-32"}
# Terminal colours (ESC) are common in logs; other control characters are not, and no protobuf is without.
_CONTROL = bytes(set(range(32)) - set(b"\t\n\r\f\x1b"))
_SPACE = b" \t\r\n"


def framing_of(head: bytes, name: str) -> str:
    """TEXT (JSON in any arrangement, log lines between), FRAMED (each record after its length as 4 bytes,
    the Collector's file exporter), VARINT (protobuf's delimited stream) or MESSAGE (one protobuf message).

    Raises FormatError BAD_ENCODING for UTF-16 and UTF-32, UNKNOWN_FORMAT for other bytes.
    """
    _refuse_wide(head, name)
    if head.startswith(BOM) or not _has_control(head):
        return TEXT
    if _is_framed(head):
        return FRAMED
    if head[0] == 0x0A:
        return MESSAGE
    if _is_delimited(head):
        return VARINT
    if head.lstrip(_SPACE)[:1] in (b"{", b"["):
        return TEXT
    raise FormatError(
        f"{name}: starts with {quoted(head[:16])}, which is neither JSON text nor OTLP protobuf. Read are "
        "OTLP JSON and OTLP protobuf, also inside gzip and zstd.",
        code="UNKNOWN_FORMAT",
    )


def varint(data: bytes, at: int) -> tuple[int, int] | None:
    """The number at a position and the position after it; None where none ends within 5 bytes."""
    value = 0
    for step in range(5):
        if at + step >= len(data):
            return None
        byte = data[at + step]
        value |= (byte & 0x7F) << (7 * step)
        if byte < 0x80:
            return value, at + step + 1
    return None


def _refuse_wide(head: bytes, name: str) -> None:
    encoding = next((wide for mark, wide in _WIDE.items() if head.startswith(mark)), None)
    if encoding is None and (head[:4:2] == b"\0\0" and head[1:2] in (b"{", b"[")):
        encoding = "UTF-16"
    if encoding is None and head[1:4:2] == b"\0\0" and head[:1] in (b"{", b"["):
        encoding = "UTF-16"
    if encoding is not None:
        raise FormatError(
            f"{name}: is text in {encoding}; OTLP JSON is UTF-8. Save it again as UTF-8 (PowerShell's `>` writes "
            f"UTF-16: use `| Out-File -Encoding utf8`), or: iconv -f {encoding} -t UTF-8",
            code="BAD_ENCODING",
        )


def _has_control(head: bytes) -> bool:
    return len(head.translate(None, _CONTROL)) != len(head)


def _is_framed(head: bytes) -> bool:
    if len(head) < 5:
        return False
    size = int.from_bytes(head[:4], "big")
    body = head[4:]
    if compressed(body):
        return size <= LINE_LIMIT
    # A message by itself begins with 0A, and its length may look like the rest of a frame's.
    return 0 < size <= LINE_LIMIT and head[0] != 0x0A and body[0] in b"\x0a{["


def _is_delimited(head: bytes) -> bool:
    """A length, then a message whose first field is number 1 of wire type 2 and fits into that length."""
    outer = varint(head, 0)
    if outer is None or head[outer[1] : outer[1] + 1] != b"\x0a":
        return False
    inner = varint(head, outer[1] + 1)
    return inner is not None and inner[1] - outer[1] + inner[0] <= outer[0]
