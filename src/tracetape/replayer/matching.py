"""Which recorded crossing answers a call. Pure: nothing is remembered here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from math import inf
from typing import Any

from tracetape.codec.canonical import differences, match_key, shared_length
from tracetape.model.crossing import Crossing
from tracetape.model.crossings import Moment
from tracetape.model.report import Difference
from tracetape.replayer.generated_ids import has_ids, masked
from tracetape.replayer.renaming import Renaming
from tracetape.replayer.signatures import signature, unlike
from tracetape.replayer.stubs import Stub, Stubs, StubTable

__all__ = ["Asked", "Match", "find", "unexplained"]


@dataclass(slots=True)
class Asked:
    """A call, as it is looked up.

    compared: gives the tree that it is compared by, where the digest is not enough.
    under:  the matched crossing of the nearest live call around it, or None at the top.
    loose:  that call ran live or is unrecorded, so that its inside may have changed: the search goes on
            anywhere.
    before: the position of the recorded call that the one before it in the same task or thread was matched with.
    digest: SHA-256 of the text that its inputs are stored as, where they are compared as they are.
    """

    boundary: str
    compared: Callable[[], Any]
    under: Crossing | None
    loose: bool
    before: int | None = None
    digest: bytes | None = None
    _tree: Any = field(default=None, init=False, repr=False)

    @property
    def tree(self) -> Any:
        if self._tree is None:
            self._tree = self.compared()
        return self._tree

    @property
    def key(self) -> bytes:
        """What a stub with equal inputs has too."""
        return match_key(self.tree)


@dataclass(slots=True)
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


Unused = Callable[[Stubs], Iterator[Stub]]

_NOTHING_LIKE_IT = Match("unrecorded")
_LOOKED_AT = 1_000
_READ = 250
_READ_CHARACTERS = 4_000_000


def find(
    table: StubTable,
    asked: Asked,
    unused: Unused,
    renaming: Renaming | None = None,
    lent: Collection[int] = (),
) -> Match:
    """The crossing that answers.

    unused:    gives the stubs of a sequence that nobody has asked for yet.
    lent:      the positions of those among them that have answered a call with other inputs: they are left for
               one with theirs.
    renaming:  of the generated ids; None where ids must be the recorded ones.

    First an equal one under the same parent, then one that differs in generated ids alone, then the nearest
    unused one there has changed; else an equal one elsewhere has moved.
    """
    boundary, key = asked.boundary, asked.key
    equal = _next(unused(table.equal_under(boundary, asked.under, key)), asked.before)
    if equal is not None:
        return Match("equal", equal)
    renamed = renaming if renaming is not None and has_ids(asked.tree) else None
    if asked.under is not None or not asked.loose:
        siblings = table.under(boundary, asked.under)
        known = partial(table.equal_under, boundary, asked.under)
        here = _renamed(table, siblings, known, asked, unused, renamed) or _nearest(
            table, siblings, unused, asked.tree, renaming, lent
        )
        if here is not None:
            return here
    elsewhere = _next(unused(table.equal_anywhere(boundary, key)), asked.before)
    if elsewhere is not None:
        return Match("equal" if asked.loose else "moved", elsewhere)
    every = table.named(boundary)
    if asked.loose:
        known = partial(table.equal_anywhere, boundary)
        anywhere = _renamed(table, every, known, asked, unused, renamed) or _nearest(
            table, every, unused, asked.tree, renaming, lent
        )
        if anywhere is not None:
            return anywhere
    like = _nearest(table, every, iter, asked.tree, None, ())
    return _NOTHING_LIKE_IT if like is None else Match("unrecorded", None, like.changes, like.stub)


def _next(stubs: Iterator[Stub], before: int | None) -> Stub | None:
    """Of equal ones that which followed the same call in its own task or thread, else the first."""
    first = next(stubs, None)
    if first is None or _may_follow(first, before):
        return first
    return next((stub for stub in islice(stubs, _READ) if before is not None and stub.follows(before)), first)


def _may_follow(stub: Stub, before: int | None) -> bool:
    """Whether the recorded call followed that one in its own task or thread, as far as is known."""
    return before is None or stub.follows(before) is not False


def _renamed(
    table: StubTable,
    stubs: Stubs,
    equal: Callable[[bytes], Stubs],
    asked: Asked,
    unused: Unused,
    renaming: Renaming | None,
) -> Match | None:
    """One of `stubs` that is equal but for ids. Where all of these are known, that is a look-up.

    equal:  gives those of `stubs` with a key.
    """
    if renaming is None:
        return None
    key = match_key(renaming.as_recorded(asked.tree))
    if key != asked.key:
        known = _next(unused(equal(key)), asked.before)
        if known is not None:
            return Match("equal", known, renamed=True)
    if renaming.knows(asked.tree):
        return None
    for stub in islice(unused(table.alike(stubs, masked(asked.tree))), _LOOKED_AT):
        if not renaming.unexplained(stub.tree, asked.tree):
            return Match("equal", stub, renamed=True)
    return None


def _nearest(
    table: StubTable,
    stubs: Stubs,
    unused: Unused,
    tree: Any,
    renaming: Renaming | None,
    lent: Collection[int],
) -> Match | None:
    """The unused stub with the fewest differing leaves. Looks at the first `_LOOKED_AT` only: a report about
    more would not be read."""
    asked, fewest = signature(tree), inf
    found: list[Stub] = []
    for stub in islice((stub for stub in unused(stubs) if stub.position not in lent), _LOOKED_AT):
        if stub.key is None:
            return Match("equal", stub)
        differing = unlike(table.signature(stub), asked)
        if differing < fewest:
            found, fewest = [stub], differing
        elif differing == fewest:
            found.append(stub)
    if not found:
        return None
    best, *as_near = _most_alike(_in_any_order(found, stubs, unused), tree)
    return Match("changed", best, unexplained(best.tree, tree, renaming), as_near=tuple(as_near))


def _most_alike(stubs: Sequence[Stub], tree: Any) -> list[Stub]:
    """The stub whose text is most like what was asked, the earliest of equals; then those equals. Generated ids
    are alike."""
    if len(stubs) == 1:
        return list(stubs)
    text = masked(tree)
    likeness: dict[Stub, tuple[float, int]] = {}
    read = 0
    for stub in stubs[:_READ]:
        other = masked(stub.tree)
        likeness[stub] = _likeness(other, text)
        read += len(other)
        if read > _READ_CHARACTERS:
            break
    most = max(likeness.values())
    return [stub for stub in likeness if likeness[stub] == most]


def _in_any_order(candidates: Sequence[Stub], stubs: Stubs, unused: Unused) -> Sequence[Stub]:
    """Those of the candidates of which any may be the next one.

    Calls that were made one after the other come one after the other: the first is. Those that were made at the
    same time, or in tasks of their own, come as they like; so do all of them, once a later one has come before the
    first.
    """
    first = candidates[0]
    free = {stub.position for stub in unused(stubs)}
    if any(stub.position > first.position and stub.position not in free for stub in stubs):
        return candidates
    peers = _at_the_same_time(first, stubs)
    return [
        stub for stub in candidates if stub.position in peers or _in_tasks_of_their_own(first.moment, stub.moment)
    ]


def _in_tasks_of_their_own(one: Moment, other: Moment) -> bool:
    """Whether both had the same call before them in their task or thread, or none: a call has one after it."""
    is_known = one.seq_before is not None and one.process_id is not None
    return is_known and (one.process_id, one.seq_before) == (other.process_id, other.seq_before)


def _at_the_same_time(first: Stub, stubs: Sequence[Stub]) -> set[int]:
    """The positions of those that ran together: each began before an earlier one of them had ended."""
    together: set[int] = set()
    last_end: float = 0
    for stub in stubs:
        moment = stub.moment
        if together and moment.started >= last_end:
            if first.position in together:
                return together
            together, last_end = set(), 0
        together.add(stub.position)
        last_end = max(last_end, inf if moment.ended is None else moment.ended)
    return together


def _likeness(one: str, other: str) -> tuple[float, int]:
    """How much of two texts is the same from the front and from the back; then from the front."""
    front = shared_length(one, other)
    left = min(len(one), len(other)) - front
    back = shared_length(one[::-1][:left], other[::-1][:left])
    return (front + back) / max(len(one), len(other)), front


def unexplained(recorded: Any, now: Any, renaming: Renaming | None) -> tuple[Difference, ...]:
    """Where two trees differ, without what a renaming of generated ids explains."""
    return differences(recorded, now) if renaming is None else renaming.unexplained(recorded, now)
