"""The crossings of one run in start order, whether they are at hand or made when they are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, overload

from tracetape.model.crossing import EXACT, Crossing

__all__ = ["Crossings", "Moment", "Stored", "input_digest_of", "moment_of", "returned_by"]


Stored = tuple[str, str, bool]
"""The stored text of a result; the shape that it came in; whether it was written by us for sure, for of others a
number may have more digits than a fast parser keeps."""


class Moment(NamedTuple):
    """When a crossing was made: `started`, `ended` in nanoseconds since the epoch (None while unfinished), and
    `seq`, `process_id`, `seq_before` as in Crossing."""

    started: int
    ended: int | None
    seq: int | None
    process_id: str | None
    seq_before: int | None


class Crossings(Sequence[Crossing]):
    """A sequence that also tells, of positions from 0, what can be told without a crossing.

    The same crossing comes each time for as long as anybody has it.
    """

    def __init__(self, listed: Iterable[Crossing]) -> None:
        self._listed = tuple(listed)

    def __len__(self) -> int:
        return len(self._listed)

    @overload
    def __getitem__(self, index: int) -> Crossing: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Crossing, ...]: ...
    def __getitem__(self, index: int | slice) -> Crossing | tuple[Crossing, ...]:
        if isinstance(index, slice):
            return tuple(self._at(position) for position in range(len(self))[index])
        return self._at(range(len(self))[index])

    def __iter__(self) -> Iterator[Crossing]:
        return map(self._at, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Crossings, tuple, list)):
            return NotImplemented
        return len(self) == len(other) and all(one is two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, one: object) -> bool:
        return isinstance(one, Crossing) and self.position(one) is not None

    def _at(self, position: int) -> Crossing:
        return self._listed[position]

    def position(self, crossing: Crossing) -> int | None:
        """None where it is none of these."""
        return next((at for at, one in enumerate(self._listed) if one is crossing), None)

    def parents(self) -> Sequence[int]:
        """By position, that of the parent; -1 at the top."""
        at = {id(one): position for position, one in enumerate(self._listed)}
        return [-1 if one.parent is None else at.get(id(one.parent), -1) for one in self._listed]

    def boundary(self, position: int) -> str:
        return self._listed[position].boundary

    def counts(self) -> Mapping[str, int]:
        """How many there are of each boundary, in order of first appearance."""
        return Counter(one.boundary for one in self._listed)

    def named(self, boundary: str) -> Sequence[int]:
        """The positions of one boundary's crossings."""
        return [position for position, one in enumerate(self._listed) if one.boundary == boundary]

    def numbered(self, boundary: str, occurrence: int) -> Crossing | None:
        same = (one for one in self._listed if one.boundary == boundary)
        return next((one for one in same if one.occurrence == occurrence), None)

    def flawed(self) -> Iterable[Crossing]:
        """Those whose grade is not `exact`."""
        return (one for one in self._listed if one.grade != EXACT)

    def occurrence(self, position: int) -> int:
        return self._listed[position].occurrence

    def returned(self, position: int) -> Stored | None:
        """What a crossing returned; None where it ended otherwise, or that is not there."""
        return returned_by(self._listed[position])

    def moment(self, position: int) -> Moment:
        return moment_of(self._listed[position])

    def follows(self, position: int, before: int | None) -> bool | None:
        """Whether a crossing came right after another in its task or thread, or was the first there (None). None
        where nothing is known of it."""
        one = self.moment(position)
        if one.seq_before is None:
            return None
        if before is None:
            return one.seq_before == 0
        other = self.moment(before)
        return (one.process_id, one.seq_before) == (other.process_id, other.seq)

    def predecessors(self) -> Sequence[Hashable]:
        """By position what `follows` asks: the process, and which call came before; None where that is unknown."""
        moments = map(self.moment, range(len(self)))
        return [None if one.seq_before is None else (one.process_id, one.seq_before) for one in moments]

    def has_input(self, position: int) -> bool:
        return self._listed[position].input is not None

    def input_text(self, position: int) -> str | None:
        """The text that the inputs are stored as; None where none are."""
        payload = self._listed[position].input
        return None if payload is None else payload.text

    def input_digests(self) -> Sequence[bytes | None]:
        """By position, the SHA-256 of that text."""
        return list(map(input_digest_of, self._listed))


def moment_of(one: Crossing) -> Moment:
    """What `Crossings.moment` gives for a crossing at hand."""
    return Moment(one.started, one.ended, one.seq, one.process_id, one.seq_before)


def input_digest_of(one: Crossing) -> bytes | None:
    """What `Crossings.input_digests` has for a crossing at hand."""
    return None if one.input is None else bytes.fromhex(one.input.digest.removeprefix("sha256:"))


def returned_by(one: Crossing) -> Stored | None:
    """What `Crossings.returned` gives for a crossing at hand."""
    if one.outcome != "returned" or one.output is None:
        return None
    return one.output.text, one.shape, False
