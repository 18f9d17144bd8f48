"""Which recorded crossing answers a call. Pure: nothing is remembered here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tracetape.codec.canonical import differences
from tracetape.model.crossing import Crossing
from tracetape.model.report import Difference
from tracetape.replayer.renaming import Renaming, masked
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

    nearest:  for unrecorded: the recorded call most like it.
    renamed:  it is equal but for generated ids.
    """

    kind: str
    stub: Stub | None = None
    changes: tuple[Difference, ...] = ()
    nearest: Stub | None = None
    renamed: bool = False


_NOTHING_LIKE_IT = Match("unrecorded")
LOOKED_AT = 1_000


def find(
    table: StubTable,
    asked: Asked,
    unused: Callable[[Sequence[Stub]], Iterator[Stub]],
    renaming: Renaming | None = None,
) -> Match:
    """The crossing that answers.

    unused:    gives the stubs of a sequence that nobody has asked for yet.
    renaming:  of the generated ids; None where ids must be the recorded ones.

    First an equal one under the same parent; else the nearest unused one there, which is equal if it differs
    in generated ids alone, and has changed otherwise; else an equal one elsewhere has moved.
    """
    boundary, key = asked.boundary, asked.key
    equal = next(unused(table.equal_under(boundary, asked.under, key)), None)
    if equal is not None:
        return Match("equal", equal)
    here = _nearest(unused(table.under(boundary, asked.under)), asked.tree, renaming)
    if here is not None:
        return here
    elsewhere = next(unused(table.equal_anywhere(boundary, key)), None)
    if elsewhere is not None:
        return Match("equal" if asked.loose else "moved", elsewhere)
    if asked.loose:
        anywhere = _nearest(unused(table.named(boundary)), asked.tree, renaming)
        if anywhere is not None:
            return anywhere
    like = _nearest(iter(table.named(boundary)), asked.tree, None)
    return _NOTHING_LIKE_IT if like is None else Match("unrecorded", None, like.changes, like.stub)


def _nearest(stubs: Iterator[Stub], tree: Any, renaming: Renaming | None) -> Match | None:
    """The stub with the fewest differing leaves, the earliest of equals. Looks at the first
    `LOOKED_AT` only: a report about more would not be read."""
    best: Match | None = None
    for looked, stub in enumerate(stubs):
        if looked >= LOOKED_AT:
            break
        if stub.key is None:
            return Match("equal", stub)
        changes = _unexplained(stub.tree, tree, renaming)
        if not changes:
            return Match("equal", stub, renamed=True)
        if best is None or len(changes) < len(best.changes):
            best = Match("changed", stub, changes)
    return best


def _unexplained(recorded: Any, now: Any, renaming: Renaming | None) -> tuple[Difference, ...]:
    """Where two trees differ, without what a renaming of generated ids explains."""
    changes = differences(recorded, now)
    if renaming is None or not changes:
        return changes
    masks = masked(recorded), masked(now)
    unlike = {change.path for change in differences(*masks)}
    if not unlike:
        return () if renaming.explains(recorded, now) else changes
    return tuple(change for change in changes if change.path in unlike) or changes
