"""Match keys of stored texts, made without a walk over values that need none."""

from __future__ import annotations

from hashlib import sha256

from orjson import OPT_SORT_KEYS, JSONDecodeError, JSONEncodeError, dumps, loads

from tracetape.codec.canonical import KEY_LIMIT, canonical, match_key
from tracetape.codec.decoder import parse
from tracetape.errors import ValueNotRebuilt

__all__ = ["key_of_text"]


def key_of_text(utf8: bytes, digest: bytes) -> bytes | None:
    """The `match_key` of the canonical form of JSON text; None for `null`, or for what is no JSON.

    A text that comes back byte for byte from a fast parser, and has no tag in it, is its own canonical form: no
    number of it was rounded, and no key of it hides a tag behind an escape.

    digest:  SHA-256 of the text.
    """
    try:
        tree = loads(utf8)
        key = dumps(tree, None, OPT_SORT_KEYS)
        if (key == utf8 or dumps(tree) == utf8) and (b"$" not in utf8 or b'"$type"' not in utf8):
            if tree is None:
                return None
            if len(key) <= KEY_LIMIT:
                return bytes(memoryview(key))  # a copy: see `match_key`
            return digest if key == utf8 else sha256(key).digest()
    except (JSONDecodeError, JSONEncodeError):
        pass  # the standard library takes what other writers do
    try:
        tree = canonical(parse(utf8.decode("utf-8")))
    except ValueNotRebuilt:
        return None
    return None if tree is None else match_key(tree)
