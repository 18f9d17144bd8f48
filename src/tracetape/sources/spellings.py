"""How a trace's id is written in a text."""

from __future__ import annotations

import base64

__all__ = ["spellings_of"]


def spellings_of(trace_id: str) -> list[bytes]:
    """The id as it may stand in JSON: in hex of one case or the other, in base64 of either alphabet without its
    padding, with `/` plain or escaped.

    trace_id: 32 lower-case hex digits.
    """
    raw = bytes.fromhex(trace_id)
    standard, url_safe = base64.b64encode(raw)[:22], base64.urlsafe_b64encode(raw)[:22]
    written = (trace_id.encode(), trace_id.upper().encode(), standard, url_safe, standard.replace(b"/", b"\\/"))
    return list(dict.fromkeys(written))
