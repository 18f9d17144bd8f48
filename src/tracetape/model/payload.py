"""A value as stored: JSON text, with what proves that it is whole."""

from __future__ import annotations

import hashlib
from typing import Protocol

__all__ = ["Payload", "StoredText", "digest_of"]


def digest_of(utf8: bytes) -> str:
    """`sha256:` and the hex digest. Proves that a payload is whole; never used for matching."""
    return "sha256:" + hashlib.sha256(utf8).hexdigest()


class StoredText(Protocol):
    """A text that stays where it is stored until somebody asks for it.

    digest:  `sha256:…` of its UTF-8 bytes. size: how many they are.
    marked:  whether a part of the value could not be stored.
    """

    @property
    def digest(self) -> str: ...

    @property
    def size(self) -> int: ...

    @property
    def marked(self) -> bool: ...

    def read(self) -> str: ...


class Payload:
    """JSON text of one value (the value language is described in `tracetape.codec`).

    text:    the JSON text, always encodable as UTF-8. Of a recording it is read from its file when asked
             for, and not kept: a run's payloads may be larger than memory.
    digest:  `sha256:…` of its UTF-8 bytes.
    size:    how many bytes that is.
    """

    __slots__ = ("_text", "digest", "size")

    def __init__(self, text: str | StoredText, digest: str, size: int) -> None:
        self._text, self.digest, self.size = text, digest, size

    @classmethod
    def of(cls, text: str) -> Payload:
        utf8 = text.encode("utf-8")
        return cls(text, digest_of(utf8), len(utf8))

    @property
    def text(self) -> str:
        return self._text if isinstance(self._text, str) else self._text.read()

    @property
    def stored(self) -> str | StoredText:
        """The text, or what reads it."""
        return self._text

    @property
    def may_lack_parts(self) -> bool:
        """Cheap: False where every part of the value was stored."""
        return True if isinstance(self._text, str) else self._text.marked

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Payload) and (other.digest, other.size) == (self.digest, self.size)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"<Payload of {self.size:,} bytes, {self.digest[:15]}…>"
