"""How many leaves of two inputs differ, told without comparing them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tracetape.codec.canonical import is_transparent, unordered_items
from tracetape.replayer.generated_ids import has_ids, masked

__all__ = ["Signature", "signature", "unlike"]

_DEPTH = 6  # what lies deeper is one leaf


@dataclass(frozen=True, slots=True)
class Signature:
    """Hashes of a tree's paths, and of its paths with what stands there; generated ids are alike."""

    paths: frozenset[int]
    leaves: frozenset[int]


def signature(tree: Any) -> Signature:
    found = list(_leaves(tree, "$", _DEPTH))
    return Signature(frozenset(hash(path) for path, _ in found), frozenset(map(hash, found)))


def unlike(one: Signature, other: Signature) -> int:
    """How many leaves differ; 0 where they are equal but for generated ids."""
    return len(one.paths | other.paths) - len(one.leaves & other.leaves)


def _leaves(tree: Any, path: str, depth: int) -> Iterator[tuple[str, str]]:
    """(path, text) of each leaf. Elements without an order and entries by ids are told by what they are."""
    if not depth or not tree or not isinstance(tree, (list, dict)):
        yield path, masked(tree)
    elif isinstance(tree, list):
        for index, item in enumerate(tree):
            yield from _leaves(item, f"{path}[{index}]", depth - 1)
    elif (items := unordered_items(tree)) is not None:
        for item in items:
            text = masked(item)
            yield f"{path}[{text}]", text
    else:
        for key, item in tree.items():
            if has_ids(key):
                text = masked(item)
                yield f"{path}.{masked(key)}[{text}]", text
                continue
            # What a tag wraps its content in is no level of its own.
            left = depth if is_transparent(tree, key) else depth - 1
            yield from _leaves(item, f"{path}.{key}", left)
