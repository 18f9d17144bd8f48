"""Recording → stub table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, overload

import orjson

from tracetape.codec import parse
from tracetape.codec.canonical import canonical, match_key
from tracetape.codec.ignore_paths import IgnorePaths
from tracetape.codec.reader import may_be_tagged
from tracetape.codec.text_keys import key_of_text
from tracetape.model.call import Returned
from tracetape.model.crossing import Crossing
from tracetape.model.crossings import Crossings, Moment, Stored
from tracetape.model.plan import ReplayPlan
from tracetape.model.recording import Recording
from tracetape.replayer.generated_ids import masked
from tracetape.replayer.outcomes import tree_of
from tracetape.replayer.signatures import Signature, signature

__all__ = ["Stub", "StubTable", "Stubs", "after_cut"]


class Stub:
    """One crossing, ready to answer.

    position:   in start order, from 0.
    """

    __slots__ = ("_crossing", "_moment", "_table", "position")

    def __init__(self, table: StubTable, position: int) -> None:
        self._table, self.position = table, position
        self._crossing: Crossing | None = None
        self._moment: Moment | None = None

    def __repr__(self) -> str:
        return f"<{self._table.crossings.boundary(self.position)}@{self.occurrence}>"

    @property
    def crossing(self) -> Crossing:
        """Made when it is asked for."""
        if self._crossing is None:
            self._crossing = self._table.crossings[self.position]
        return self._crossing

    @property
    def moment(self) -> Moment:
        """When the crossing was made, told without it."""
        if self._moment is None:
            self._moment = self._table.crossings.moment(self.position)
        return self._moment

    def follows(self, before: int) -> bool | None:
        """Whether it came right after the one at that position, in its task or thread; None where that is not
        known."""
        return self._table.crossings.follows(self.position, before)

    @property
    def occurrence(self) -> int:
        return self._table.crossings.occurrence(self.position)

    @property
    def returned(self) -> Stored | None:
        """What it returned; None where it ended otherwise, or that is not there."""
        return self._table.crossings.returned(self.position)

    def plainly(self) -> Returned | None:
        """What it returned, made of its text alone; None where that takes more. Raises what reading raises."""
        found = self._table.crossings.returned(self.position)
        if found is None or may_be_tagged(found[0]):
            return None
        utf8, shape, is_ours = found
        return Returned(orjson.loads(utf8) if is_ours else parse(utf8), shape)

    def plain_result(self) -> Any:
        """The value of that."""
        returned = self.plainly()
        return None if returned is None else returned.value

    @property
    def key(self) -> bytes | None:
        """None where no input was recorded: it fits any call."""
        return self._table.keys[self.position]

    @property
    def after_cut(self) -> bool:
        """Recorded after a crossing that the plan runs live or patches had ended."""
        return self._table.after[self.position]

    @property
    def tree(self) -> Any:
        """What its inputs are compared by. Whole inputs are read when they are asked for, and not kept."""
        return self._table.tree(self.position)


class Stubs(Sequence[Stub]):
    """Some of a table's stubs, in start order."""

    __slots__ = ("_table", "positions")

    def __init__(self, table: StubTable, positions: Sequence[int]) -> None:
        self._table, self.positions = table, positions

    def __len__(self) -> int:
        return len(self.positions)

    @overload
    def __getitem__(self, index: int) -> Stub: ...
    @overload
    def __getitem__(self, index: slice) -> Stubs: ...
    def __getitem__(self, index: int | slice) -> Stub | Stubs:
        if isinstance(index, slice):
            return Stubs(self._table, self.positions[index])
        return Stub(self._table, self.positions[index])

    def __iter__(self) -> Iterator[Stub]:
        table = self._table
        return (Stub(table, position) for position in self.positions)


class StubTable:
    """All stubs of a recording. Immutable: what has been used up is known to the ledger alone. The sequences that
    it gives are its own: the same one for the same question.

    after, keys:  by position. keyed: what is compared of those whose boundary has a `key=`.
    """

    def __init__(
        self,
        crossings: Crossings,
        after: Sequence[bool],
        keys: Sequence[bytes | None],
        ignore: IgnorePaths,
        keyed: Mapping[int, Any],
    ) -> None:
        self.crossings, self.after, self.keys = crossings, after, keys
        self._ignore, self._keyed = ignore, keyed
        self.stubs = Stubs(self, range(len(crossings)))
        self._none = Stubs(self, ())
        self._parents = crossings.parents()
        self._signatures: dict[int, Signature] = {}
        # By key, the only position that has it, or all of them. They are told apart when one is first asked for.
        self._positions: dict[bytes, int | list[int]] = {}
        self._equal: dict[bytes, dict[tuple[str, int | None], Stubs]] = {}
        self._under: dict[str, dict[int, Stubs]] = {}
        self._named: dict[str, Stubs] = {}
        # By the sequence that it is made of: those of each text but for ids. Made when one is first looked for so.
        self._alike: dict[int, dict[bytes, Stubs]] = {}
        known = self._positions.setdefault
        for position, key in enumerate(keys):
            if key is not None:
                found = known(key, position)
                if found != position:
                    if isinstance(found, list):
                        found.append(position)
                    else:
                        self._positions[key] = [found, position]
        # Now, of keys that several have: a signal handler that asks in the middle would begin it anew.
        for key in [key for key, found in self._positions.items() if type(found) is list]:
            self._equal_in(key)

    @classmethod
    def of(cls, recording: Recording, plan: ReplayPlan, ignore: IgnorePaths) -> StubTable:
        crossings = recording.crossings
        keys, unknown = crossings.known_keys()
        for position in range(len(keys)) if ignore else unknown:
            keys[position] = _key(crossings[position], ignore)
        return cls(crossings, after_cut(crossings, plan), keys, ignore, {})

    def with_cut(self, position: int, ignore: IgnorePaths) -> StubTable:
        """The same stubs, with those after the cut too that started no earlier than that one ended."""
        ended = self.crossings.moment(position).ended
        if ended is None:
            return self
        after = [
            known or (one != position and self.crossings.moment(one).started >= ended)
            for one, known in enumerate(self.after)
        ]
        return StubTable(self.crossings, after, self.keys, ignore, self._keyed)

    def compared_by(
        self, boundary: str, compared: Callable[[Mapping[str, Any]], Any], ignore: IgnorePaths
    ) -> StubTable:
        """The same stubs, those of one boundary compared by the tree that `compared` makes of their inputs. Raises
        what that raises."""
        keys, keyed = list(self.keys), dict(self._keyed)
        for position in self.crossings.named(boundary):
            crossing = self.crossings[position]
            if tree_of(crossing.input) is not None:
                # Kept: the program's function is asked once, and not while anything is locked.
                tree = ignore.prune(canonical(compared(crossing.inputs)))
                keyed[position], keys[position] = tree, match_key(tree)
        return StubTable(self.crossings, self.after, keys, ignore, keyed)

    def tree(self, position: int) -> Any:
        """What the inputs of a stub are compared by; None where there are none."""
        if position in self._keyed:
            return self._keyed[position]
        tree = tree_of(self.crossings[position].input)
        return None if tree is None else self._ignore.prune(tree)

    def alike(self, stubs: Stubs, text: str) -> Stubs:
        """Of `stubs`, a sequence of this table, those with this text but for ids (`masked`)."""
        index = self._alike.get(id(stubs))
        if index is None:
            texts: dict[bytes, list[int]] = defaultdict(list)
            for stub in stubs:
                if stub.key is not None:
                    texts[match_key(masked(stub.tree))].append(stub.position)
            index = self._alike[id(stubs)] = {key: Stubs(self, positions) for key, positions in texts.items()}
        return index.get(match_key(text), self._none)

    def signature(self, stub: Stub) -> Signature:
        """Of what its inputs are compared by. Made when one is first looked for by it, and kept."""
        found = self._signatures.get(stub.position)
        if found is None:
            found = self._signatures[stub.position] = signature(stub.tree)
        return found

    def sole(self, boundary: str, parent: Crossing | None, key: bytes) -> Stub | None:
        """The only stub with that key, if it is of that boundary and place; None where there are others."""
        position = self._positions.get(key)
        if type(position) is not int:
            return None
        if self._parents[position] != (-1 if parent is None else self._place(parent)):
            return None
        return Stub(self, position) if self.crossings.boundary(position) == boundary else None

    def equal_under(self, boundary: str, parent: Crossing | None, key: bytes) -> Stubs:
        return self._equal_in(key).get((boundary, self._place(parent)), self._none)

    def equal_anywhere(self, boundary: str, key: bytes) -> Stubs:
        return self._equal_in(key).get((boundary, None), self._none)

    def under(self, boundary: str, parent: Crossing | None) -> Stubs:
        found = self._under.get(boundary)
        if found is None:
            places: dict[int, list[int]] = {}
            for position in self.crossings.named(boundary):
                places.setdefault(self._parents[position], []).append(position)
            found = {place: Stubs(self, positions) for place, positions in places.items()}
            found = self._under.setdefault(boundary, found)
        return found.get(self._place(parent), self._none)

    def named(self, boundary: str) -> Stubs:
        found = self._named.get(boundary)
        if found is None:
            found = self._named.setdefault(boundary, Stubs(self, self.crossings.named(boundary)))
        return found

    def _equal_in(self, key: bytes) -> dict[tuple[str, int | None], Stubs]:
        """Those with a key: by boundary and place, and by boundary alone (None)."""
        found = self._equal.get(key)
        if found is None:
            positions = self._positions.get(key, ())
            places: dict[tuple[str, int | None], list[int]] = {}
            for position in (positions,) if isinstance(positions, int) else positions:
                boundary = self.crossings.boundary(position)
                places.setdefault((boundary, self._parents[position]), []).append(position)
                places.setdefault((boundary, None), []).append(position)
            found = {place: Stubs(self, some) for place, some in places.items()}
            if found:  # what the program makes up is not kept
                found = self._equal.setdefault(key, found)
        return found

    def _place(self, parent: Crossing | None) -> int:
        """The position of a parent; -1 at the top."""
        if parent is None:
            return -1
        position = self.crossings.position(parent)
        return -2 if position is None else position


def _key(crossing: Crossing, ignore: IgnorePaths) -> bytes | None:
    if crossing.input is None:
        return None
    if not ignore:
        utf8 = crossing.input.text.encode("utf-8")
        return key_of_text(utf8, sha256(utf8).digest())
    tree = tree_of(crossing.input)
    return None if tree is None else match_key(ignore.prune(tree))


def after_cut(crossings: Crossings, plan: ReplayPlan) -> list[bool]:
    """For each crossing: is it after the cut, going by the recording alone?

    It is when it started no earlier than a live or patched crossing ended. Within one process `seq` is
    the order of starts, and a clock that stepped back cannot undo it: a smaller seq is never after, a
    larger one is unless it started inside the live crossing's interval.
    """
    named = dict.fromkeys(entry.boundary for entry in plan.entries if entry.mode in ("live", "patched"))
    cuts = [
        (position, crossings.moment(position))
        for position in sorted(position for boundary in named for position in crossings.named(boundary))
        if _is_cut(crossings[position], plan)
    ]
    if not cuts:
        return [False] * len(crossings)
    earliest: dict[str, list[Moment]] = defaultdict(list)
    for _, cut in cuts:
        if cut.seq is not None and cut.process_id is not None:
            earliest[cut.process_id].append(cut)
    first_end = {process: _running_first_ends(some) for process, some in earliest.items()}
    return [_is_after(one, crossings.moment(one), cuts, first_end) for one in range(len(crossings))]


def _is_cut(one: Crossing, plan: ReplayPlan) -> bool:
    return plan.mode_of(one) in ("live", "patched") and one.ended is not None and plan.reaches(one)


def _running_first_ends(cuts: Iterable[Moment]) -> list[tuple[int, int, int]]:
    """(seq, start, end) of the cuts of one process, each with the earliest end up to its seq."""
    found: list[tuple[int, int, int]] = []
    for cut in sorted(cuts, key=lambda cut: cut.seq or 0):
        end = cut.ended or 0
        if not found or end < found[-1][2]:
            found.append((cut.seq or 0, cut.started, end))
    return found


def _is_after(
    position: int,
    one: Moment,
    cuts: Sequence[tuple[int, Moment]],
    first_end: dict[str, list[tuple[int, int, int]]],
) -> bool:
    own = first_end.get(one.process_id or "") if one.seq is not None else None
    if own is not None and one.seq is not None:
        for seq, start, end in own:
            if seq >= one.seq:
                break
            if not start <= one.started < end:
                return True
    return any(
        (cut.process_id != one.process_id or cut.seq is None or one.seq is None)
        and at != position
        and one.started >= (cut.ended or 0)
        for at, cut in (cuts if own is None or len(first_end) > 1 else ())
    )
