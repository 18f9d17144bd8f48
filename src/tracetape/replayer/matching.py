"""Which recorded crossing answers a call. Pure: nothing is remembered here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tracetape.codec.canonical import differences
from tracetape.model.crossing import Crossing
from tracetape.model.report import Difference
from tracetape.replayer.stubs import Stub, StubTable

__all__ = ["LOOKED_AT", "Asked", "Match", "find"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A call, as it is looked up.

    under:  the matched crossing of the nearest live call around it, or None at the top.
    loose:  that call ran live or is unrecorded, so that its inside may have changed: the search goes on
            anywhere.
    """

    boundary: str
    tree: Any
    key: bytes
    under: Crossing | None
    loose: bool


@dataclass(frozen=True, slots=True)
class Match:
    """`kind`: equal, changed, moved or unrecorded. `stub` is None for unrecorded alone.

    nearest:  for unrecorded: the recorded call most like it, and whether it was used up.
    """

    kind: str
    stub: Stub | None = None
    changes: tuple[Difference, ...] = ()
    nearest: Stub | None = None


_NOTHING_LIKE_IT = Match("unrecorded")
LOOKED_AT = 1_000


def find(table: StubTable, asked: Asked, unused: Callable[[Sequence[Stub]], Iterator[Stub]]) -> Match:
    """The crossing that answers.

    `unused` gives the stubs of a sequence that nobody has asked for yet. First an equal one under the
    same parent; else the nearest unused one there has changed; else an equal one elsewhere has moved.
    """
    boundary, key = asked.boundary, asked.key
    equal = next(unused(table.equal_under(boundary, asked.under, key)), None)
    if equal is not None:
        return Match("equal", equal)
    changed = _nearest(unused(table.under(boundary, asked.under)), asked.tree)
    if changed is not None:
        return _changed(changed, asked.tree)
    elsewhere = next(unused(table.equal_anywhere(boundary, key)), None)
    if elsewhere is not None:
        return Match("equal" if asked.loose else "moved", elsewhere)
    if asked.loose:
        anywhere = _nearest(unused(table.named(boundary)), asked.tree)
        if anywhere is not None:
            return _changed(anywhere, asked.tree)
    like = _nearest(iter(table.named(boundary)), asked.tree)
    if like is None:
        return _NOTHING_LIKE_IT
    return Match("unrecorded", None, differences(like.tree, asked.tree) if like.key is not None else (), like)


def _changed(stub: Stub, tree: Any) -> Match:
    if stub.key is None:
        return Match("equal", stub)
    return Match("changed", stub, differences(stub.tree, tree))


def _nearest(stubs: Iterator[Stub], tree: Any) -> Stub | None:
    """The stub with the fewest differing leaves, the earliest of equals. Looks at the first
    `LOOKED_AT` only: a report about more would not be read."""
    best: tuple[int, Stub] | None = None
    for looked, stub in enumerate(stubs):
        if looked >= LOOKED_AT:
            break
        recorded = stub.tree
        distance = 0 if recorded is None else len(differences(recorded, tree))
        if best is None or distance < best[0]:
            best = (distance, stub)
        if distance == 0:
            break
    return best[1] if best else None
