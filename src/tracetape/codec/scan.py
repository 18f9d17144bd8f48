"""Says which parts of a payload were not stored."""

from __future__ import annotations

import re

from tracetape.codec.decoder import parse
from tracetape.codec.opaque import OpaquePart, walk_opaque
from tracetape.codec.registry import Tree

__all__ = ["scan"]

_MARK = re.compile(r'"\$type"\s*:\s*"opaque"')


def scan(payload: str | Tree) -> tuple[OpaquePart, ...]:
    """The opaque parts of a payload's text or tree, with path and type; the whole value has the path `$`.

    Cheap where there are none. A str is taken for JSON text. Raises ValueNotRebuilt where that is none.
    """
    if type(payload) is str:
        if not _MARK.search(payload):
            return ()
        payload = parse(payload)
    return tuple(walk_opaque(payload))
