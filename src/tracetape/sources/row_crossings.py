"""The crossings of a run that was read from files, made of its rows when they are asked for."""

from __future__ import annotations

import weakref
from array import array
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tracetape.model.crossing import EXACT, Crossing, Kin, ValueReader
from tracetape.model.crossings import Crossings, Moment, Stored, input_digest_of, moment_of, returned_by
from tracetape.sources.rows import Rows

__all__ = ["Claimed", "RowCrossings"]

_LEAST_MADE = 64


class Claimed(NamedTuple):
    """A crossing as its convention has it: by itself. rows: of its spans, the main one first; none for one that no
    span shows."""

    crossing: Crossing
    rows: tuple[int, ...]


class RowCrossings(Crossings):
    """Numbered, and hung into a tree: under the nearest ancestor that is a crossing, through structure spans.

    order:    the rows that count, in start order. parents: by row, that of its parent; -1 where it has none.
    claimed:  what conventions found in whole spans, by the row of the main one. The other rows are crossings. One
              that no span shows has a row behind all others, in `order` and `parents` too.
    values:   turns payloads into values.
    """

    def __init__(
        self,
        rows: Rows,
        order: Sequence[int],
        parents: Sequence[int],
        claimed: Mapping[int, Claimed],
        values: ValueReader | None,
    ) -> None:
        self._rows, self._claimed, self._values = rows, claimed, values
        more = len(parents) - len(rows)
        self._templates = rows.templates + [None] * more if more else rows.templates
        self._row_of = array("I")
        self._occurrences = array("I")
        self._named: dict[str, array[int]] = {}
        at = array("i", [-1]) * len(parents)
        self._number(order, at)
        self._parents = self._hung(parents, at)
        rows.count()  # now: a signal handler that asks in the middle would begin it anew
        self._children: dict[int, list[int]] | None = None
        # Not locked, for a fork or a signal may come at any time: a key is set once until it is let go.
        self._made: dict[int, weakref.ref[Crossing]] = {}
        self._most_made = _LEAST_MADE

    def _number(self, order: Sequence[int], at: array[int]) -> None:
        """`at` is told, by row, the position of the crossing that it belongs to."""
        templates, claimed, row_of = self._templates, self._claimed, self._row_of
        for row in order:
            template = templates[row]
            position = len(row_of)
            if template is not None:
                boundary = template.boundary
                at[row] = position
            elif row in claimed:
                boundary = claimed[row].crossing.boundary
                at[row] = position
                # What began before a crossing that stands apart does not lie inside it.
                for one in claimed[row].rows if row < len(self._rows) else ():
                    if at[one] < 0:
                        at[one] = position
            else:
                continue
            row_of.append(row)
            same = self._named.get(boundary)
            if same is None:
                same = self._named[boundary] = array("I")
            same.append(position)
            self._occurrences.append(len(same))

    def _hung(self, parents: Sequence[int], at: array[int]) -> array[int]:
        """By position, that of the parent; -1 at the top."""
        hung = array("i", [-1]) * len(self._row_of)
        # By row of a structure span, the crossing over it: deep trees are walked once.
        over: dict[int, int] = {}
        for position, row in enumerate(self._row_of):
            above = parents[row]
            if above < 0:
                continue
            found = at[above]
            if found < 0:
                found = _nearest(above, parents, at, over)
            if found != position:
                hung[position] = found
        return hung

    def __len__(self) -> int:
        return len(self._row_of)

    def _at(self, position: int) -> Crossing:
        made = self._made.get(position)
        found = made() if made is not None else None
        while found is None:
            if made is not None and self._made.get(position) is made:
                self._made.pop(position, None)
            new = self._make(position)
            mine = weakref.ref(new)
            made = self._made.setdefault(position, mine)
            found = new if made is mine else made()
        if len(self._made) > self._most_made:
            self._let_go()
        return found

    def _let_go(self) -> None:
        """Forget those that nobody has any more. Not told of each by a callback: that would run wherever the
        collector does, as in the middle of setting a ContextVar, which a signal handler then may break."""
        for position, made in self._made.copy().items():  # in one step, whatever other threads do
            if made() is None and self._made.get(position) is made:
                self._made.pop(position, None)
        self._most_made = 2 * len(self._made) + _LEAST_MADE

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_made": {}}

    def _make(self, position: int) -> Crossing:
        row = self._row_of[position]
        template = self._templates[row]
        occurrence, kin = self._occurrences[position], _RowKin(self, position)
        if template is None:
            return replace(self._claimed[row].crossing, occurrence=occurrence, values=self._values, kin=kin)
        return self._rows.crossing(row, template, occurrence=occurrence, values=self._values, kin=kin)

    def position(self, crossing: Crossing) -> int | None:
        kin = crossing.kin
        if not isinstance(kin, _RowKin) or kin.crossings is not self:
            return None
        return kin.position if self._at(kin.position) is crossing else None  # else it is a copy

    def parents(self) -> Sequence[int]:
        return self._parents

    def children(self, position: int) -> Sequence[int]:
        """The positions of the crossings inside one."""
        if self._children is None:
            children: dict[int, list[int]] = {}
            for one, above in enumerate(self._parents):
                if above >= 0:
                    children.setdefault(above, []).append(one)
            self._children = children
        return self._children.get(position, ())

    def boundary(self, position: int) -> str:
        row = self._row_of[position]
        template = self._templates[row]
        return self._claimed[row].crossing.boundary if template is None else template.boundary

    def counts(self) -> Mapping[str, int]:
        return {boundary: len(same) for boundary, same in self._named.items()}

    def named(self, boundary: str) -> Sequence[int]:
        return self._named.get(boundary, ())

    def numbered(self, boundary: str, occurrence: int) -> Crossing | None:
        same = self.named(boundary)
        is_there = isinstance(occurrence, int) and 1 <= occurrence <= len(same)
        return self._at(same[occurrence - 1]) if is_there else None

    def _of_whole(self) -> Iterable[int]:
        claimed = self._claimed
        return (position for position, row in enumerate(self._row_of) if row in claimed)

    def flawed(self) -> Iterable[Crossing]:
        claimed, row_of = self._claimed, self._row_of
        return (self._at(at) for at in self._of_whole() if claimed[row_of[at]].crossing.grade != EXACT)

    def occurrence(self, position: int) -> int:
        return self._occurrences[position]

    def returned(self, position: int) -> Stored | None:
        row = self._row_of[position]
        template = self._templates[row]
        if template is None:
            return returned_by(self._claimed[row].crossing)
        if template.crossing["outcome"] != "returned":
            return None
        return self._rows.text_of_result(row, template), template.crossing["shape"], True

    def moment(self, position: int) -> Moment:
        row = self._row_of[position]
        template = self._templates[row]
        return moment_of(self._claimed[row].crossing) if template is None else self._rows.moment(row, template)

    def follows(self, position: int, before: int | None) -> bool | None:
        row = self._row_of[position]
        template = self._templates[row]
        if template is None:
            return super().follows(position, before)
        seq_before = self._rows.count_of(row, template.before_at)
        if seq_before is None or before is None:
            return None if seq_before is None else seq_before == 0
        row = self._row_of[before]
        other = self._templates[row]
        if other is None:
            return super().follows(position, before)
        # Spans of one template are of one process.
        is_here = other is template or other.crossing["process_id"] == template.crossing["process_id"]
        return is_here and self._rows.count_of(row, other.seq_at) == seq_before

    def predecessors(self) -> Sequence[Hashable]:
        claimed = self._claimed
        whole = {row: claimed[row].crossing.seq_before for row in claimed if row < len(self._rows)}
        return self._rows.predecessors(self._row_of, whole)

    def has_input(self, position: int) -> bool:
        row = self._row_of[position]
        return self._templates[row] is not None or self._claimed[row].crossing.input is not None

    def input_text(self, position: int) -> str | None:
        row = self._row_of[position]
        template = self._templates[row]
        if template is not None:
            return self._rows.text_of_input(row, template)
        payload = self._claimed[row].crossing.input
        return None if payload is None else payload.text

    def input_digests(self) -> Sequence[bytes | None]:
        claimed, digest = self._claimed, self._rows.digest_of_input
        return [
            digest(row) if template is not None else input_digest_of(claimed[row].crossing)
            for row, template in ((row, self._templates[row]) for row in self._row_of)
        ]


class _RowKin(Kin):
    """The same, by position. What was asked for is kept: whoever asks each child for its parent, and that one for
    its children, would have all of them made again and again."""

    __slots__ = ("_children", "_parent", "crossings", "position")

    def __init__(self, crossings: RowCrossings, position: int) -> None:
        self.crossings, self.position = crossings, position
        self._parent: Crossing | None = None
        self._children: tuple[Crossing, ...] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _RowKin, (self.crossings, self.position)

    def __deepcopy__(self, _: object) -> _RowKin:
        """Whoever copies a crossing does not mean the recording around it."""
        return self

    @property
    def parent(self) -> Crossing | None:  # type: ignore[override]
        above = self.crossings.parents()[self.position]
        if self._parent is None and above >= 0:
            self._parent = self.crossings[above]
        return self._parent

    @property
    def children(self) -> tuple[Crossing, ...]:  # type: ignore[override]
        if self._children is None:
            self._children = tuple(self.crossings[one] for one in self.crossings.children(self.position))
        return self._children


def _nearest(row: int, parents: Sequence[int], at: Sequence[int], over: dict[int, int]) -> int:
    """The position of the crossing over a structure span; -1 where there is none."""
    path: list[int] = []
    found = -1
    while row >= 0:
        found = at[row] if at[row] >= 0 else over.get(row, -2)
        if found > -2:
            break
        path.append(row)
        row = parents[row]
    else:
        found = -1
    for one in path:
        over[one] = found
    return found
