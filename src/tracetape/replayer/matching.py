"""Which recorded crossing answers a call. Pure: nothing is remembered here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import Any

from tracetape.codec.canonical import differences, text_of
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
    as_near:  for changed: others, made at the same time, that it might as well have been.
    """

    kind: str
    stub: Stub | None = None
    changes: tuple[Difference, ...] = ()
    nearest: Stub | None = None
    renamed: bool = False
    as_near: tuple[Stub, ...] = ()


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
    if asked.under is not None or not asked.loose:
        siblings = table.under(boundary, asked.under)
        here = _nearest(unused(siblings), siblings, asked.tree, renaming)
        if here is not None:
            return here
    elsewhere = next(unused(table.equal_anywhere(boundary, key)), None)
    if elsewhere is not None:
        return Match("equal" if asked.loose else "moved", elsewhere)
    if asked.loose:
        anywhere = _nearest(unused(table.named(boundary)), table.named(boundary), asked.tree, renaming)
        if anywhere is not None:
            return anywhere
    like = _nearest(iter(table.named(boundary)), table.named(boundary), asked.tree, None)
    return _NOTHING_LIKE_IT if like is None else Match("unrecorded", None, like.changes, like.stub)


def _nearest(stubs: Iterator[Stub], all_: Sequence[Stub], tree: Any, renaming: Renaming | None) -> Match | None:
    """The stub with the fewest differing leaves. Looks at the first `LOOKED_AT` only: a report about more
    would not be read.

    all_:  the used ones too, which tell what was made at the same time.
    """
    found: list[tuple[Stub, tuple[Difference, ...]]] = []
    for stub in islice(stubs, LOOKED_AT):
        if stub.key is None:
            return Match("equal", stub)
        changes = _unexplained(stub.tree, tree, renaming)
        if not changes:
            return Match("equal", stub, renamed=True)
        if not found or len(changes) < len(found[0][1]):
            found = [(stub, changes)]
        elif len(changes) == len(found[0][1]):
            found.append((stub, changes))
    if not found:
        return None
    if len(found) == 1:
        return Match("changed", *found[0])
    best, *as_near = _most_alike([stub for stub, _ in found], all_, tree)
    return Match("changed", best, dict(found)[best], as_near=tuple(as_near))


def _most_alike(stubs: Sequence[Stub], all_: Sequence[Stub], tree: Any) -> list[Stub]:
    """Of stubs that differ in as many leaves, the one meant; then those that it might have been as well.

    Calls that were made one after the other come one after the other: the earliest is meant. Those that were made
    at the same time come in any order: there the one whose text is most like it, the earliest of equals.
    """
    peers = _at_the_same_time(stubs[0], all_)
    text = text_of(tree)
    likeness = {stub: _likeness(text_of(stub.tree), text) for stub in stubs if stub.position in peers}
    most = max(likeness.values())
    return [stub for stub in likeness if likeness[stub] == most]


def _at_the_same_time(first: Stub, all_: Sequence[Stub]) -> set[int]:
    """The positions of those that ran together: each began before an earlier one of them had ended."""
    together: set[int] = set()
    last_end: float = 0
    for stub in all_:
        crossing = stub.crossing
        if together and crossing.started >= last_end:
            if first.position in together:
                return together
            together, last_end = set(), 0
        together.add(stub.position)
        last_end = max(last_end, inf if crossing.ended is None else crossing.ended)
    return together


def _likeness(one: str, other: str) -> tuple[float, int]:
    """How much of two texts is the same from the front and from the back; then from the front."""
    front = _shared(one, other)
    left = min(len(one), len(other)) - front
    back = _shared(one[::-1][:left], other[::-1][:left])
    return (front + back) / max(len(one), len(other)), front


def _shared(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


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
