"""Text from a trace, made harmless for a terminal."""

from __future__ import annotations

import unicodedata

__all__ = ["escaped", "escaped_lines"]


def escaped(text: str) -> str:
    """Text from a trace: control and format characters shown as escapes, so that a terminal obeys none."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or _is_space(one) else _escape(one) for one in text)


def escaped_lines(text: str) -> str:
    """The same for a text of several lines."""
    return "\n".join(escaped(line) for line in text.split("\n"))


def _is_space(one: str) -> bool:
    """The spaces of other scripts move nothing, and Japanese is full of U+3000."""
    return unicodedata.category(one) == "Zs"


def _escape(one: str) -> str:
    return one.encode("unicode_escape").decode("ascii")
