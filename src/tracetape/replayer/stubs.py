"""Recording → stub table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from tracetape.replayer.cutting import after_cut
from tracetape.replayer.generated_ids import masked
from tracetape.replayer.indexes import ByDigest, Index
from tracetape.replayer.outcomes import tree_of
from tracetape.replayer.signatures import Signature, signature

__all__ = ["Stub", "StubTable", "Stubs", "plainly"]


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

    def follows(self, before: int | None) -> bool | None:
        """Whether it came right after the one at that position in its task or thread, or first (None); None where
        that is not known."""
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
        return None if found is None else plainly(found)

    def plain_result(self) -> Any:
        """The value of what `plainly` gives, which has to be something."""
        returned = self.plainly()
        return None if returned is None else returned.value

    @property
    def key(self) -> bytes | None:
        """None where no input was recorded: it fits any call."""
        return self._table.key(self.position)

    @property
    def has_inputs(self) -> bool:
        """Whether any were recorded."""
        return self._table.crossings.has_input(self.position)

    @property
    def after_cut(self) -> bool:
        """Recorded after a crossing that the plan runs live or patches had ended."""
        return self._table.after[self.position]

    @property
    def tree(self) -> Any:
        """What its inputs are compared by. Whole inputs are read when they are asked for, and not kept."""
        return self._table.tree(self.position)


def plainly(stored: Stored) -> Returned | None:
    """What `Stub.plainly` gives for what is at hand."""
    text, shape, is_ours = stored
    if may_be_tagged(text):
        return None
    return Returned(orjson.loads(text) if is_ours else parse(text), shape)


class Stubs(Sequence[Stub]):
    """Some of a table's stubs, in start order. start: as of a Queue."""

    __slots__ = ("_table", "positions", "start")

    def __init__(self, table: StubTable, positions: Sequence[int]) -> None:
        self._table, self.positions, self.start = table, positions, 0

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
    """All stubs of a recording. Immutable, but for the `start` of its sequences: what has been used up is known to
    the ledger alone. The sequences that it gives are its own: the same one for the same question.

    after:      by position.
    keys:       by position, as far as they are known.
    keyed:      by position, what is compared of those whose boundary is compared by another tree than its inputs.
    by_digest:  finds stubs by the text of their inputs.
    """

    def __init__(
        self,
        crossings: Crossings,
        after: Sequence[bool],
        ignore: IgnorePaths,
        keys: dict[int, bytes | None],
        keyed: Mapping[int, Any],
        by_digest: ByDigest,
    ) -> None:
        self.crossings, self.after, self.by_digest = crossings, after, by_digest
        self._ignore, self._keys, self._keyed = ignore, keys, keyed
        self.stubs = Stubs(self, range(len(crossings)))
        self._none = Stubs(self, ())
        self._parents = crossings.parents()
        self._signatures: dict[int, Signature] = {}
        # Of each boundary by key, which is made of the inputs: when one is first asked for.
        self._by_key: dict[str, Index] = {}
        self._indexing: set[str] = set()
        self._equal: dict[tuple[str, bytes], dict[int | None, Stubs]] = {}
        self._under: dict[str, dict[int, Stubs]] = {}
        self._named: dict[str, Stubs] = {}
        # By the sequence that it is made of: those of each text but for ids. Made when one is first looked for so.
        self._alike: dict[int, dict[bytes, Stubs]] = {}

    @classmethod
    def of(cls, recording: Recording, plan: ReplayPlan, ignore: IgnorePaths) -> StubTable:
        crossings = recording.crossings
        return cls(crossings, after_cut(crossings, plan), ignore, {}, {}, ByDigest(crossings))

    def with_cut(self, position: int) -> StubTable:
        """The same stubs, with those after the cut too that started no earlier than that one ended."""
        ended = self.crossings.moment(position).ended
        if ended is None:
            return self
        after = [
            known or (one != position and self.crossings.moment(one).started >= ended)
            for one, known in enumerate(self.after)
        ]
        return StubTable(self.crossings, after, self._ignore, self._keys, self._keyed, self.by_digest)

    def compared_by(self, boundary: str, compared: Callable[[Mapping[str, Any]], Any]) -> StubTable:
        """The same stubs, those of one boundary compared by the tree that `compared` makes of their inputs. Raises
        what that raises."""
        keys, keyed = dict(self._keys), dict(self._keyed)
        for position in self.crossings.named(boundary):
            crossing = self.crossings[position]
            if tree_of(crossing.input) is not None:
                # Kept: the program's function is asked once, and not while anything is locked.
                tree = self._ignore.prune(canonical(compared(crossing.inputs)))
                keyed[position], keys[position] = tree, match_key(tree)
        return StubTable(self.crossings, self.after, self._ignore, keys, keyed, self.by_digest)

    def tree(self, position: int) -> Any:
        """What the inputs of a stub are compared by; None where there are none."""
        if position in self._keyed:
            return self._keyed[position]
        tree = tree_of(self.crossings[position].input)
        return None if tree is None else self._ignore.prune(tree)

    def key(self, position: int) -> bytes | None:
        """What stubs that are compared as equal have in common. Made when it is first asked for."""
        if position in self._keys:
            return self._keys[position]
        if self._ignore:
            tree = self.tree(position)
            key = None if tree is None else match_key(tree)
        else:
            text = self.crossings.input_text(position)
            key = None if text is None else key_of_text(text.encode())
        return self._keys.setdefault(position, key)

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

    def is_indexing(self, boundary: str) -> bool:
        """Whether this is asked in the middle of making the keys of a boundary, as a signal handler may: it would
        begin that anew, and so would the next one."""
        return boundary in self._indexing

    def equal_under(self, boundary: str, parent: Crossing | None, key: bytes) -> Stubs:
        return self._equal_in(boundary, key).get(self.place(parent), self._none)

    def equal_anywhere(self, boundary: str, key: bytes) -> Stubs:
        return self._equal_in(boundary, key).get(None, self._none)

    def under(self, boundary: str, parent: Crossing | None) -> Stubs:
        found = self._under.get(boundary)
        if found is None:
            places: dict[int, list[int]] = {}
            for position in self.crossings.named(boundary):
                places.setdefault(self._parents[position], []).append(position)
            found = {place: Stubs(self, positions) for place, positions in places.items()}
            found = self._under.setdefault(boundary, found)
        return found.get(self.place(parent), self._none)

    def named(self, boundary: str) -> Stubs:
        found = self._named.get(boundary)
        if found is None:
            found = self._named.setdefault(boundary, Stubs(self, self.crossings.named(boundary)))
        return found

    def _equal_in(self, boundary: str, key: bytes) -> dict[int | None, Stubs]:
        """Those of a boundary with a key: by place, and all of them (None)."""
        found = self._equal.get((boundary, key))
        if found is None:
            positions = self._index(boundary).get(key, ())
            places: dict[int | None, list[int]] = {}
            for position in (positions,) if isinstance(positions, int) else positions:
                places.setdefault(self._parents[position], []).append(position)
                places.setdefault(None, []).append(position)
            found = {place: Stubs(self, some) for place, some in places.items()}
            if found:  # what the program makes up is not kept
                found = self._equal.setdefault((boundary, key), found)
        return found

    def _index(self, boundary: str) -> Index:
        index = self._by_key.get(boundary)
        if index is None:
            self._indexing.add(boundary)
            try:
                made = Index((one, self.key(one)) for one in self.crossings.named(boundary))
                index = self._by_key.setdefault(boundary, made)
            finally:
                self._indexing.discard(boundary)
        return index

    def place(self, parent: Crossing | None) -> int:
        """The position of a parent; -1 at the top."""
        if parent is None:
            return -1
        position = self.crossings.position(parent)
        return -2 if position is None else position
