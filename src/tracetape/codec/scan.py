"""Says which parts of a payload were not stored."""

from __future__ import annotations

import re

from tracetape.codec.decoder import parse
from tracetape.codec.opaque import OpaquePart, walk_opaque
from tracetape.codec.registry import Tree

__all__ = ["may_be_opaque", "scan"]

_MARK = re.compile(r'"\$type"\s*:\s*"opaque"')


def may_be_opaque(text: str) -> bool:
    """Whether JSON text may have an opaque part. Cheap where it has no tag."""
    # One character is found faster than the regular expression gets going.
    return "$" in text and _MARK.search(text) is not None


def scan(payload: str | Tree) -> tuple[OpaquePart, ...]:
    """The opaque parts of a payload's text or tree, with path and type; the whole value has the path `$`.

    Cheap where there are none. A str is taken for JSON text. Raises ValueNotRebuilt where that is none.
    """
    if type(payload) is str:
        if not may_be_opaque(payload):
            return ()
        payload = parse(payload)
    return tuple(walk_opaque(payload))
