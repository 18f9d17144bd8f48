"""Generated ids differ in every run: one renaming that holds for the whole replay may explain it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tracetape.codec.canonical import differences, text_of, unordered_items
from tracetape.model.report import Difference
from tracetape.replayer.generated_ids import Id, found_in, has_ids, ids_in, map_ids, masked

__all__ = ["Renaming"]

_Group = tuple[Sequence[Any], Sequence[Any]]


class Renaming:
    """Recorded ids → ids of this replay, one to one within each kind, for as long as the replay lasts.

    An id that the replay has under its recorded name (in inputs that were equal, in what was served) is its own
    name: no other may be taken for it.

    renamed:  how many ids have another name in this replay.
    """

    def __init__(self) -> None:
        self._forward: dict[Id, str] = {}
        self._backward: dict[Id, str] = {}
        self.renamed = 0
        self._seen: list[Any] = []  # what gives a tree, and of what, in turn

    def see(self, tree: Callable[[Any], Any], of: Any) -> None:
        """The ids of the tree that `tree(of)` gives have their recorded names. It is read when a renaming is first
        asked for."""
        # At once, and no pair of it is kept: a replay of many calls would keep the collector busy with them.
        self._seen += (tree, of)

    def _settle(self) -> None:
        for tree, of in zip(self._seen[::2], self._seen[1::2], strict=True):
            for one in ids_in(tree(of)):
                if one not in self._forward and one not in self._backward:
                    self._forward[one] = self._backward[one] = one[1]
        self._seen.clear()

    def as_recorded(self, now: Any) -> Any:
        """The tree with the recorded names of the ids, where they are known."""
        self._settle()
        return map_ids(now, lambda one: self._backward.get(one, one[1]))

    def knows(self, now: Any) -> bool:
        """Whether all ids of the tree are known: then it is one recorded call's, or nobody's."""
        self._settle()
        return all(one in self._backward for one in ids_in(now))

    def unexplained(self, recorded: Any, now: Any) -> tuple[Difference, ...]:
        """Where two canonical trees differ, but for what the renaming explains; extended where it says nothing.

        Does not extend it for good: see `accept`.
        """
        changes = differences(recorded, now)
        if not changes or not has_ids(now):
            return changes
        self._settle()
        trial = _Trial(self._forward, self._backward)
        trial.align(recorded, now)
        left = differences(map_ids(recorded, trial.name), now)
        # As it was recorded, wherever that is the same place.
        told = {change.path: change for change in changes}
        return tuple(
            told[change.path] if _is_same(told.get(change.path), change, trial) else change for change in left
        )

    def accept(self, recorded: Any, now: Any) -> None:
        """Take the pairs of two trees in which nothing was left unexplained."""
        self._settle()
        trial = _Trial(self._forward, self._backward)
        trial.align(recorded, now)
        self.renamed += sum(one not in self._forward and one[1] != now for one, now in trial.forward.items())
        self._forward |= trial.forward
        self._backward |= trial.backward


def _is_same(told: Difference | None, left: Difference, trial: _Trial) -> bool:
    return (
        told is not None and told.replayed == left.replayed and map_ids(told.recorded, trial.name) == left.recorded
    )


class _Trial:
    """The renaming, extended by what two trees say. What contradicts it, or what was said before, is left out."""

    def __init__(self, forward: dict[Id, str], backward: dict[Id, str]) -> None:
        self._known_forward, self._known_backward = forward, backward
        self.forward: dict[Id, str] = {}
        self.backward: dict[Id, str] = {}

    def name(self, one: Id) -> str:
        """What a recorded id is called now; itself where that is not known."""
        return self.forward.get(one) or self._known_forward.get(one) or one[1]

    def align(self, recorded: Any, now: Any) -> None:
        """Take the pairs of ids that stand in the same places. Of elements without an order, and of entries by
        ids, the places are known last: by then most of their ids are."""
        later: list[_Group] = []
        self._walk(recorded, now, later)
        while later:
            recorded, now = later.pop(0)
            for one, other in self._paired(recorded, now):
                self._walk(one, other, later)

    def _walk(self, recorded: Any, now: Any, later: list[_Group]) -> None:
        if isinstance(recorded, str) and isinstance(now, str):
            self._take(recorded, now)
        elif isinstance(recorded, list) and isinstance(now, list):
            for one, other in zip(recorded, now, strict=False):
                self._walk(one, other, later)
        elif isinstance(recorded, dict) and isinstance(now, dict):
            self._walk_objects(recorded, now, later)

    def _walk_objects(self, recorded: dict[str, Any], now: dict[str, Any], later: list[_Group]) -> None:
        items, others = unordered_items(recorded), now.get("items")
        if items is not None:
            if isinstance(others, list):
                later.append((items, others))
            return
        for key in recorded:
            if key in now:
                self._walk(recorded[key], now[key], later)
        by_id = [[key, item] for key, item in recorded.items() if key not in now and has_ids(key)]
        if by_id:
            later.append((by_id, [[key, item] for key, item in now.items() if key not in recorded]))

    def _take(self, recorded: str, now: str) -> None:
        ids, others = ([one for one, _ in found_in(text)] for text in (recorded, now))
        if [kind for kind, _ in ids] != [kind for kind, _ in others]:
            return
        for one, other in zip(ids, others, strict=True):
            if self._fits(one, other):
                self.forward[one], self.backward[other] = other[1], one[1]

    def _fits(self, one: Id, other: Id) -> bool:
        there = self.forward.get(one) or self._known_forward.get(one)
        back = self.backward.get(other) or self._known_backward.get(other)
        return there in (None, other[1]) and back in (None, one[1])

    def _paired(self, recorded: Sequence[Any], now: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        """Elements that belong together: first those that are equal by what is known; then those that are alike
        but for ids; then entries of which the keys alone are."""
        left, free = list(recorded), list(now)
        for of_recorded, of_now in ((self._named, text_of), (masked, masked), (_head, _head)):
            alike: dict[str, list[Any]] = defaultdict(list)
            for other in free:
                alike[of_now(other)].append(other)
            rest = []
            for one in left:
                others = alike[of_recorded(one)]
                if others:
                    yield one, others.pop(0)
                else:
                    rest.append(one)
            left, free = rest, [other for others in alike.values() for other in others]

    def _named(self, tree: Any) -> str:
        return text_of(map_ids(tree, self.name))


def _head(element: Any) -> str:
    return masked(element[0]) if isinstance(element, list) and len(element) == 2 else ""
