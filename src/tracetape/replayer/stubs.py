"""Recording → stub table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tracetape.codec import to_tree
from tracetape.codec.canonical import canonical, match_key
from tracetape.codec.ignore_paths import IgnorePaths
from tracetape.model.crossing import Crossing
from tracetape.model.plan import ReplayPlan
from tracetape.model.recording import Recording
from tracetape.replayer.generated_ids import masked
from tracetape.replayer.outcomes import tree_of
from tracetape.replayer.signatures import Signature, signature

__all__ = ["Stub", "StubTable"]


@dataclass(frozen=True, slots=True, eq=False)
class Stub:
    """One crossing, ready to answer. `key` is None where no input was recorded: it fits any call.

    position:   in start order, from 0.
    after_cut:  recorded after a crossing that the plan runs live or patches had ended.
    compared:   gives the tree that its inputs are compared by.
    """

    crossing: Crossing
    position: int
    key: bytes | None
    after_cut: bool
    compared: Callable[[], Any]

    @property
    def tree(self) -> Any:
        """What its inputs are compared by. Whole inputs are read when they are asked for, and not kept."""
        return self.compared()


class StubTable:
    """All stubs of a recording. Immutable: what has been used up is known to the ledger alone."""

    def __init__(self, stubs: Sequence[Stub]) -> None:
        self.stubs = stubs
        self._signatures: dict[int, Signature] = {}
        self._equal: dict[tuple[str, Crossing | None, bytes], list[Stub]] = defaultdict(list)
        self._equal_anywhere: dict[tuple[str, bytes], list[Stub]] = defaultdict(list)
        self._under: dict[tuple[str, Crossing | None], list[Stub]] = defaultdict(list)
        self._named: dict[str, list[Stub]] = defaultdict(list)
        # By the sequence that it is made of: those of each text but for ids. Made when one is first looked for so.
        self._alike: dict[int, dict[bytes, list[Stub]]] = {}
        for stub in stubs:
            crossing = stub.crossing
            self._under[crossing.boundary, crossing.parent].append(stub)
            self._named[crossing.boundary].append(stub)
            if stub.key is not None:
                self._equal[crossing.boundary, crossing.parent, stub.key].append(stub)
                self._equal_anywhere[crossing.boundary, stub.key].append(stub)

    @classmethod
    def of(cls, recording: Recording, plan: ReplayPlan, ignore: IgnorePaths) -> StubTable:
        after = after_cut(recording.crossings, plan)
        return cls(
            tuple(
                _stub(crossing, position, after[position], ignore, None)
                for position, crossing in enumerate(recording.crossings)
            )
        )

    def with_key(self, boundary: str, key: Callable[..., Any], ignore: IgnorePaths) -> StubTable:
        """The same stubs, those of one boundary compared by its `key=`. Raises what that raises."""
        return StubTable(
            tuple(
                _stub(stub.crossing, stub.position, stub.after_cut, ignore, key)
                if stub.crossing.boundary == boundary
                else stub
                for stub in self.stubs
            )
        )

    def alike(self, stubs: Sequence[Stub], text: str) -> Sequence[Stub]:
        """Of `stubs`, a sequence of this table, those with this text but for ids (`masked`)."""
        index = self._alike.get(id(stubs))
        if index is None:
            index = defaultdict(list)
            for stub in stubs:
                if stub.key is not None:
                    index[match_key(masked(stub.tree))].append(stub)
            self._alike[id(stubs)] = index
        return index.get(match_key(text), ())

    def signature(self, stub: Stub) -> Signature:
        """Of what its inputs are compared by. Made when one is first looked for by it, and kept."""
        found = self._signatures.get(stub.position)
        if found is None:
            found = self._signatures[stub.position] = signature(stub.tree)
        return found

    def equal_under(self, boundary: str, parent: Crossing | None, key: bytes) -> Sequence[Stub]:
        return self._equal.get((boundary, parent, key), ())

    def equal_anywhere(self, boundary: str, key: bytes) -> Sequence[Stub]:
        return self._equal_anywhere.get((boundary, key), ())

    def under(self, boundary: str, parent: Crossing | None) -> Sequence[Stub]:
        return self._under.get((boundary, parent), ())

    def named(self, boundary: str) -> Sequence[Stub]:
        return self._named.get(boundary, ())


def after_cut(crossings: Sequence[Crossing], plan: ReplayPlan) -> list[bool]:
    """For each crossing: is it after the cut, going by the recording alone?

    It is when it started no earlier than a live or patched crossing ended. Within one process `seq` is
    the order of starts, and a clock that stepped back cannot undo it: a smaller seq is never after, a
    larger one is unless it started inside the live crossing's interval.
    """
    cuts = [
        one
        for one in crossings
        if plan.mode_of(one) in ("live", "patched") and one.ended is not None and _is_reached(one, plan)
    ]
    if not cuts:
        return [False] * len(crossings)
    earliest: dict[str, list[tuple[int, Crossing]]] = defaultdict(list)
    for cut in cuts:
        if cut.seq is not None and cut.process_id is not None:
            earliest[cut.process_id].append((cut.seq, cut))
    first_end = {process: _running_first_ends(seqs) for process, seqs in earliest.items()}
    return [_is_after(one, cuts, first_end) for one in crossings]


def _is_reached(one: Crossing, plan: ReplayPlan) -> bool:
    """Inside a call that is served nothing is called, so nothing there can be a cut."""
    above = one.parent
    while above is not None:
        if plan.mode_of(above) != "live":
            return False
        above = above.parent
    return True


def _running_first_ends(cuts: Iterable[tuple[int, Crossing]]) -> list[tuple[int, int, int]]:
    """(seq, start, end) of the cuts of one process, each with the earliest end up to its seq."""
    found: list[tuple[int, int, int]] = []
    for seq, cut in sorted(cuts, key=lambda pair: pair[0]):
        end = cut.ended or 0
        if not found or end < found[-1][2]:
            found.append((seq, cut.started, end))
    return found


def _is_after(one: Crossing, cuts: Sequence[Crossing], first_end: dict[str, list[tuple[int, int, int]]]) -> bool:
    own = first_end.get(one.process_id or "") if one.seq is not None else None
    if own is not None and one.seq is not None:
        for seq, start, end in own:
            if seq >= one.seq:
                break
            if not start <= one.started < end:
                return True
    return any(
        (cut.process_id != one.process_id or cut.seq is None or one.seq is None)
        and cut is not one
        and one.started >= (cut.ended or 0)
        for cut in (cuts if own is None or len(first_end) > 1 else ())
    )


def _stub(
    crossing: Crossing, position: int, after: bool, ignore: IgnorePaths, key: Callable[..., Any] | None
) -> Stub:
    tree = tree_of(crossing.input)
    if tree is None:
        return Stub(crossing, position, None, after, lambda: None)
    if key is None:
        return Stub(crossing, position, match_key(ignore.prune(tree)), after, lambda: _inputs(crossing, ignore))
    # Kept, for it is small: the program's function is asked once, and not while anything is locked.
    keyed = ignore.prune(canonical({"key": to_tree(key(**crossing.inputs))}))
    return Stub(crossing, position, match_key(keyed), after, lambda: keyed)


def _inputs(crossing: Crossing, ignore: IgnorePaths) -> Any:
    return ignore.prune(tree_of(crossing.input))
