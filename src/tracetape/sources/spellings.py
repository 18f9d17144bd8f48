"""How a trace's id is written in a text."""

from __future__ import annotations

import base64
import re

__all__ = ["spellings_in", "spelt"]

_TRACE = re.compile(rb'"(?:traceId|trace_id|traceID)"\s*:\s*"([^"]{20,64})"')
_LOWER, _UPPER, _STANDARD, _URL_SAFE = range(4)


def spellings_in(text: bytes) -> set[int]:
    """By which ways the ids of a piece of OTLP JSON are written; empty where there is none that is known."""
    found: set[int] = set()
    for one in _TRACE.finditer(text):
        written = one.group(1)
        if len(written) == 32 and re.fullmatch(rb"[0-9A-Fa-f]{32}", written):
            found |= {_LOWER} if written == written.lower() else {_UPPER} if written == written.upper() else {-1}
        else:
            found |= {_URL_SAFE if re.search(rb"[-_]", written) else _STANDARD}
            if b"\\" in written:
                found.add(-1)
    return found


def spelt(trace_id: str, ways: set[int]) -> list[bytes] | None:
    """The trace's id in those ways, as bytes that stand in the text; None where one of the ways is not known.

    trace_id: 32 lower-case hex digits.
    """
    if -1 in ways or not ways:
        return None
    raw = bytes.fromhex(trace_id)
    written = {
        _LOWER: trace_id.encode(),
        _UPPER: trace_id.upper().encode(),
        _STANDARD: base64.b64encode(raw)[:22],
        _URL_SAFE: base64.urlsafe_b64encode(raw)[:22],
    }
    if ways & {_STANDARD, _URL_SAFE}:
        ways = ways | {_STANDARD, _URL_SAFE}  # an id without + and / is the same in both
    return list(dict.fromkeys(written[way] for way in sorted(ways)))
