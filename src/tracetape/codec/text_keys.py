"""Match keys of stored texts, made without a walk over values that need none."""

from __future__ import annotations

from orjson import OPT_SORT_KEYS, JSONDecodeError, JSONEncodeError, dumps, loads

from tracetape.codec.canonical import canonical, match_key, shortened
from tracetape.codec.decoder import may_be_rounded, parse
from tracetape.codec.reader import may_be_tagged
from tracetape.errors import ValueNotRebuilt

__all__ = ["key_of_text"]


def key_of_text(utf8: bytes) -> bytes | None:
    """The `match_key` of the canonical form of JSON text; None for `null`, or for what is no JSON.

    A text of which a fast parser has rounded no number, and which has no tag in it, is its own canonical form.
    """
    try:
        tree = loads(utf8)
        key = dumps(tree, None, OPT_SORT_KEYS)
        # In what was written, a tag may hide behind an escape.
        if not may_be_tagged(key) and (not may_be_rounded(utf8) or dumps(tree) == utf8):
            return None if tree is None else shortened(key)
    except (JSONDecodeError, JSONEncodeError):
        pass  # the standard library takes what other writers do
    try:
        tree = canonical(parse(utf8.decode("utf-8")))
    except ValueNotRebuilt:
        return None
    return None if tree is None else match_key(tree)
