"""A value as stored: JSON text, with what proves that it is whole."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

__all__ = ["Payload", "digest_of"]


def digest_of(utf8: bytes) -> str:
    """`sha256:` and the hex digest. Proves that a payload is whole; never used for matching."""
    return "sha256:" + hashlib.sha256(utf8).hexdigest()


@dataclass(frozen=True, slots=True)
class Payload:
    """JSON text of one value (the value language is described in `tracetape.codec`).

    text:    the JSON text, always encodable as UTF-8.
    digest:  `sha256:…` of its UTF-8 bytes.
    size:    how many bytes that is.
    """

    text: str
    digest: str
    size: int

    @classmethod
    def of(cls, text: str) -> Payload:
        utf8 = text.encode("utf-8")
        return cls(text, digest_of(utf8), len(utf8))
