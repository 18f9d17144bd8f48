"""What of a recording has been asked for: which stubs are used up, which steps the calls were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tracetape.model.crossing import Crossing
from tracetape.model.report import Step
from tracetape.replayer.indexes import Queue
from tracetape.replayer.matching import Asked, Match, find
from tracetape.replayer.outcomes import tree_of
from tracetape.replayer.renaming import Renaming
from tracetape.replayer.stubs import Stub, Stubs, StubTable

__all__ = ["Ledger"]


class Ledger:
    """Of one replay. Whoever claims and enters holds a lock around both, under which a signal handler may come
    in between all the same.

    renaming:  of the generated ids; None where they must be the recorded ones.
    steps:     are added to, as calls are entered.
    """

    def __init__(self, table: StubTable, renaming: Renaming | None, steps: list[Step]) -> None:
        self.table, self.renaming = table, renaming
        self._used: dict[int, object] = {}  # by position, as the next
        self._lent: dict[int, Step] = {}
        self._new: Counter[str] = Counter()
        self._entered = steps
        self._steps: dict[tuple[str, str], Step] = {}  # of the first so many of those
        self._told = 0

    def claim(self, asked: Asked) -> Match:
        """The match of a call, with its stub marked as used. A signal handler may call a boundary in the middle
        of this and take the same stub: then look again."""
        while True:
            match = self._found(asked)
            if match.stub is None or self._mark(match.stub.position):
                self._name_ids(match, asked)
                return match

    def _found(self, asked: Asked) -> Match:
        if asked.digest is not None:
            stub = self.next_same(asked.boundary, asked.under, asked.digest, asked.before)
            if stub is not None:
                return Match("equal", stub)
            if self.table.is_indexing(asked.boundary):
                position = self._next_of(asked.boundary, asked.under, asked.digest)
                if position is not None and position not in self._used:
                    return Match("equal", Stub(self.table, position))
        return find(self.table, asked, self._unused, self.renaming, self._lent)

    def next_same(self, boundary: str, under: Crossing | None, digest: bytes, before: int | None) -> Stub | None:
        """The stub of a call whose inputs are stored as the same text, byte for byte, and which alone came next in
        the same task or thread too: that it is, whatever others are equal. None where another might be meant.

        The parameters are those of `Asked`.
        """
        table = self.table
        position = self._next_of(boundary, under, digest)
        if position is None or position in self._used or not table.crossings.follows(position, before):
            return None
        return None if position in table.by_digest.beside else Stub(table, position)

    def _next_of(self, boundary: str, under: Crossing | None, digest: bytes) -> int | None:
        """The position of the first one there with that digest that may be unused."""
        table = self.table
        found = table.by_digest.find(boundary, -1 if under is None else table.place(under), digest)
        if found is None or isinstance(found, int):
            return found
        start, positions = self._start(found), found.positions
        return positions[start] if start < len(positions) else None

    def claim_next(self, boundary: str, under: Crossing | None) -> Match:
        """The first that has answered nobody, whatever its inputs: under the same parent, else anywhere."""
        while True:
            here, anywhere = self.table.under(boundary, under), self.table.named(boundary)
            free = (stub for stubs in (here, anywhere) for stub in self._unused(stubs))
            stub = next((stub for stub in free if stub.position not in self._lent), None)
            if stub is None:
                return Match("unrecorded")
            if self._mark(stub.position):
                return Match("equal", stub)

    def _mark(self, position: int) -> bool:
        """Note that a stub is used. False where somebody else has been faster."""
        mine = object()
        return self._used.setdefault(position, mine) is mine

    def _name_ids(self, match: Match, asked: Asked) -> None:
        stub, renaming = match.stub, self.renaming
        if stub is None or renaming is None:
            return
        if match.renamed:
            renaming.accept(stub.tree, asked.tree)
        elif match.kind in ("equal", "moved"):
            renaming.see(_compared_of, stub)

    def use(self, step: Step, stub: Stub) -> bool:
        """Mark the stub of an equal call as used, and enter the step, which is served what was recorded. False
        where somebody else has been faster."""
        if not self._mark(stub.position):
            return False
        if self.renaming is not None:
            self.renaming.see(_compared_of, stub)
            self.renaming.see(_outcome_of, stub)
        self.enter(step, stub)
        return True

    def served(self, stub: Stub) -> None:
        """What was recorded has gone to the program."""
        if self.renaming is not None:
            self.renaming.see(_outcome_of, stub)

    def enter(self, step: Step, stub: Stub | None, *, lends: bool = False) -> None:
        """Remember the step of a claimed call.

        lends:  the stub answers a call with other inputs, and is still there for one with its own. When that
                comes, the other turns out to be a call that the recording does not have.
        """
        self._entered.append(step)
        if stub is None:
            self._number(step)
        elif lends:
            self._lent[stub.position] = step
            del self._used[stub.position]
        elif self._lent and (other := self._lent.pop(stub.position, None)) is not None:
            self._number(other)

    def _number(self, step: Step) -> None:
        self._new[step.boundary] += 1
        step.numbered = f"new@{self._new[step.boundary]}"
        self._steps[step.boundary, step.numbered] = step

    def step(self, boundary: str, number: str) -> Step | None:
        # Most replays are never asked: it is told here what has been entered since.
        entered = len(self._entered)
        for step in self._entered[self._told : entered]:
            self._steps[step.boundary, step.number] = step
        self._told = entered
        return self._steps.get((boundary, number))

    def step_of(self, crossing: Crossing) -> Step | None:
        """The call that it has answered."""
        return self.step(crossing.boundary, str(crossing.occurrence))

    def is_taken(self, stub: Stub) -> bool:
        return stub.position in self._used or stub.position in self._lent

    def unasked(self) -> Iterator[Stub]:
        """The stubs that nobody has asked for, in start order."""
        return (stub for stub in self.table.stubs if not self.is_taken(stub))

    def _start(self, stubs: Stubs | Queue) -> int:
        """Of the first one that nobody has asked for; starts behind those that are known to be used, so that the
        thousandth of a thousand identical calls is found as fast as the first."""
        positions, used, start = stubs.positions, self._used, stubs.start
        while start < len(positions) and positions[start] in used:
            start += 1
        stubs.start = start
        return start

    def _unused(self, stubs: Stubs) -> Iterator[Stub]:
        positions, used = stubs.positions, self._used
        rest = range(self._start(stubs), len(positions))
        return (stubs[number] for number in rest if positions[number] not in used)


def _compared_of(stub: Stub) -> Any:
    return stub.tree


def _outcome_of(stub: Stub) -> Any:
    return tree_of(stub.crossing.output)
