"""Generated ids differ in every run: one renaming that holds for the whole replay may explain it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

__all__ = ["Renaming", "ids_of", "masked"]

# A UUID; or a prefix of letters, `_` or `-`, then at least 8 letters and digits, both of them: a plain word
# (`get_temperature`) and a plain number (`ORDER-10000000`) say something themselves.
_ID = re.compile(
    r"(?<![0-9A-Za-z])"
    r"(?:(?P<uuid>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})"
    r"|(?P<prefix>[A-Za-z]+(?:[_-]+[A-Za-z]+)*[_-]+)(?P<rest>(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[0-9A-Za-z]{8,}))"
    r"(?![0-9A-Za-z-])"
)


def masked(tree: Any) -> Any:
    """A canonical tree with each generated id replaced by its kind: what is left must be equal."""
    if isinstance(tree, str):
        return _ID.sub(lambda found: f"\0{_kind(found)}\0", tree) if len(tree) >= _LEAST else tree
    if isinstance(tree, list):
        return [masked(item) for item in tree]
    if isinstance(tree, dict):
        return {masked(key): masked(item) for key, item in tree.items()}
    return tree


def ids_of(tree: Any) -> Iterator[tuple[str, str]]:
    """(kind, id) of each generated id, in an order that depends on the masked tree alone."""
    if isinstance(tree, str):
        if len(tree) >= _LEAST:
            yield from ((_kind(found), found[0]) for found in _ID.finditer(tree))
    elif isinstance(tree, list):
        for item in tree:
            yield from ids_of(item)
    elif isinstance(tree, dict):
        for key in sorted(tree, key=masked):
            yield from ids_of(key)
            yield from ids_of(tree[key])


class Renaming:
    """Recorded ids → ids of this replay, one to one within each kind, for as long as the replay lasts."""

    def __init__(self) -> None:
        self._forward: dict[tuple[str, str], str] = {}
        self._backward: dict[tuple[str, str], str] = {}

    @property
    def renamed(self) -> int:
        """How many ids have another name in this replay."""
        return sum(recorded != now for (_, recorded), now in self._forward.items())

    def explains(self, recorded: Any, now: Any) -> bool:
        """Whether two trees with equal masks are equal under the renaming, extended where it says nothing.

        Does not extend it: see `accept`.
        """
        forward, backward = dict[tuple[str, str], str](), dict[tuple[str, str], str]()
        for (kind, one), (_, other) in zip(ids_of(recorded), ids_of(now), strict=True):
            there = self._forward.get((kind, one), forward.get((kind, one), other))
            back = self._backward.get((kind, other), backward.get((kind, other), one))
            if there != other or back != one:
                return False
            forward[kind, one], backward[kind, other] = other, one
        return True

    def accept(self, recorded: Any, now: Any) -> None:
        """Take the pairs of two trees that `explains` has found equal."""
        for (kind, one), (_, other) in zip(ids_of(recorded), ids_of(now), strict=True):
            self._forward[kind, one], self._backward[kind, other] = other, one


_LEAST = 10


def _kind(found: re.Match[str]) -> str:
    return "uuid" if found["uuid"] else found["prefix"]
