"""Ids from what exporters write for them."""

from __future__ import annotations

import base64
import binascii

from tracetape.errors import FormatError
from tracetape.sources.records import brief

__all__ = ["BAD_SPAN_ID", "BAD_TRACE_ID", "SPAN_ID_BYTES", "TRACE_ID_BYTES", "id_from_bytes", "id_from_text"]

BAD_SPAN_ID, BAD_TRACE_ID = "BAD_SPAN_ID", "BAD_TRACE_ID"
TRACE_ID_BYTES, SPAN_ID_BYTES = 16, 8

_URL_SAFE = str.maketrans("-_", "+/")


def id_from_text(text: object, size: int, what: str) -> str:
    """Lower-case hex of an id given in hex of any case, or in base64 (standard or URL-safe, padded or not).

    OTLP/JSON writes hex (OTLP specification, "JSON Protobuf Encoding"); protobuf's own JSON mapping writes
    base64. Their lengths never collide: 32 against 24 or 22, 16 against 12 or 11.

    text: as read; size: bytes it must have; what: for the message, such as "span 'plan' (a.json:1)".
    Returns "" for an empty id. Raises FormatError BAD_TRACE_ID or BAD_SPAN_ID.
    """
    if text is None or text == "":
        return ""
    if type(text) is str:
        if len(text) == 2 * size:
            try:
                raw = bytes.fromhex(text)
            except ValueError:
                raw = b""
        else:
            decoded = _from_base64(text)
            if decoded is None:
                raise _bad(f"{text[:80]!r}, which is neither hex nor base64", size, what)
            raw = decoded
        if len(raw) == size:
            return raw.hex()
        if raw:
            raise _bad(f"{text[:80]!r}, which decodes to {len(raw)} bytes", size, what)
    raise _bad(brief(text), size, what)


def id_from_bytes(raw: bytes, size: int, what: str) -> str:
    """The same for an id in protobuf."""
    if len(raw) == size or not raw:
        return raw.hex()
    raise _bad(f"{len(raw)} bytes long", size, what)


def _from_base64(text: str) -> bytes | None:
    padded = text.translate(_URL_SAFE).rstrip("=")
    if not padded.isascii() or len(text) > 64:
        return None
    try:
        return base64.b64decode(padded + "=" * (-len(padded) % 4), validate=True)
    except binascii.Error:
        return None


def _bad(found: str, size: int, what: str) -> FormatError:
    kind, code = ("trace", BAD_TRACE_ID) if size == TRACE_ID_BYTES else ("span", BAD_SPAN_ID)
    return FormatError(
        f"{what}: its {kind} id is {found}; expected are {size} bytes, as {2 * size} hex digits or in base64. "
        "The file is damaged or was edited: export it again.",
        code=code,
    )
