"""Boundary names as people type them."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["nearest", "split_name"]

_NUMBERED = re.compile(r"^(?P<name>.+)@(?P<number>\d+)$", re.DOTALL)


def split_name(text: str) -> tuple[str, int | None]:
    """`place_order@2` → ("place_order", 2); `place_order` → ("place_order", None).

    Splits at the last `@` that digits follow, so that `user@host@1` is boundary `user@host`.
    """
    found = _NUMBERED.match(text)
    return (found["name"], int(found["number"])) if found else (text, None)


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of an error's sentence: the names most like `name`, else those that there are."""
    import difflib  # for a mistake alone

    names = list(dict.fromkeys(known))
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        return "; did you mean " + " or ".join(repr(one) for one in close) + "?"
    if names:
        return "; there are: " + ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return "; there are none"
