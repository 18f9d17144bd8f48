"""Which recorded calls have the same: a key, the text of their inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence

from tracetape.model.crossings import Crossings

__all__ = ["ByDigest", "Index", "Queue"]


class Queue:
    """Positions in start order. start: so many of the first are known to be used up."""

    __slots__ = ("positions", "start")

    def __init__(self, positions: Sequence[int]) -> None:
        self.positions, self.start = positions, 0


class Index(dict[bytes, "int | list[int]"]):
    """By key, the only position that has it, or all of them in order."""

    def __init__(self, keys: Iterable[tuple[int, bytes | None]]) -> None:
        known = self.setdefault
        for position, key in keys:
            if key is not None:
                found = known(key, position)
                if found != position:
                    if isinstance(found, list):
                        found.append(position)
                    else:
                        self[key] = [found, position]

    def several(self) -> Iterator[tuple[bytes, list[int]]]:
        return ((key, found) for key, found in self.items() if isinstance(found, list))


def _beside(predecessors: Sequence[Hashable], parents: Sequence[int]) -> frozenset[int]:
    # By their hashes, which are smaller: who is taken for such a one is looked up by his key, and found too.
    places = list(map(hash, zip(predecessors, parents, strict=True)))
    if len(set(places)) == len(places):
        return frozenset()
    times = Counter(places)
    return frozenset(position for position, place in enumerate(places) if times[place] > 1)


class ByDigest:
    """The calls of a recording by the SHA-256 of the text that their inputs are stored as. Of one replay.

    beside:  the positions of those that came right after the same call as another one under the same parent: in
             tasks or threads of their own.
    """

    def __init__(self, crossings: Crossings) -> None:
        self._boundary, self._parents = crossings.boundary, crossings.parents()
        self.beside = _beside(crossings.predecessors(), self._parents)
        self._positions = Index(enumerate(crossings.input_digests()))
        self._queues: dict[tuple[str, int, bytes], Queue] = {}
        # Now: a signal handler that asks in the middle would begin it anew.
        for digest, positions in self._positions.several():
            places: dict[tuple[str, int], list[int]] = {}
            for position in positions:
                places.setdefault((crossings.boundary(position), self._parents[position]), []).append(position)
            for (boundary, place), some in places.items():
                self._queues[boundary, place, digest] = Queue(some)

    def find(self, boundary: str, place: int, digest: bytes) -> Queue | int | None:
        """Of one boundary, under the parent at that position (-1 for the top): the position of the only call with
        that digest in the whole recording, else those there. None where there is none."""
        found = self._positions.get(digest)
        if found is None:
            return None
        if type(found) is not int:
            return self._queues.get((boundary, place, digest))
        is_there = self._parents[found] == place and self._boundary(found) == boundary
        return found if is_there else None
