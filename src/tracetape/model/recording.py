"""One run read back: crossings in a tree, plus what it lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracetape.errors import UsageError
from tracetape.model.crossing import EXACT, GRADES, UNUSABLE, Crossing
from tracetape.model.crossings import Crossings
from tracetape.model.names import nearest
from tracetape.model.plan import ReplayPlan
from tracetape.model.span import Gap, SpanRecord

__all__ = ["Recording"]


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Recording:
    """One run read back.

    trace_id:   32 hex digits.
    crossings:  a sequence in start order. roots: those with no parent.
    gaps:       what the recording as a whole lacks; each crossing has its own besides.
    spans:      every span of the run, structure included, a sequence in start order.
    source:     what it was read from, for messages.

    Crossings and spans of a file are made when they are asked for: a run may have more than fit into memory.
    """

    trace_id: str
    crossings: Crossings
    gaps: tuple[Gap, ...]
    spans: Sequence[SpanRecord]
    source: str

    def __init__(
        self,
        trace_id: str,
        crossings: Sequence[Crossing],
        gaps: tuple[Gap, ...] = (),
        spans: Sequence[SpanRecord] = (),
        source: str = "",
    ) -> None:
        listed = crossings if isinstance(crossings, Crossings) else Crossings(crossings)
        told = (trace_id, listed, gaps, spans, source)
        for name, value in zip(self.__slots__, told, strict=True):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"<Recording of {self.source or self.trace_id}: {len(self.crossings)} crossings, {self.grade}>"

    @property
    def roots(self) -> tuple[Crossing, ...]:
        parents = self.crossings.parents()
        return tuple(self.crossings[position] for position, above in enumerate(parents) if above < 0)

    @property
    def grade(self) -> str:
        """The grade of its worst crossing; a recording without crossings is unusable."""
        if not self.crossings:
            return UNUSABLE
        return max((crossing.grade for crossing in self.crossings.flawed()), key=GRADES.index, default=EXACT)

    @property
    def names(self) -> tuple[str, ...]:
        """The boundary names, in order of first appearance."""
        return tuple(self.counts)

    @property
    def counts(self) -> Mapping[str, int]:
        """How many crossings there are of each boundary name, in order of first appearance."""
        return self.crossings.counts()

    def __getitem__(self, key: tuple[str, int]) -> Crossing:
        """`recording["place_order", 1]`: by boundary name and occurrence, from 1.

        Raises UsageError naming what is there.
        """
        if not (isinstance(key, tuple) and len(key) == 2):
            raise UsageError(f'a crossing is looked up as recording["name", 1], not by {key!r}')
        boundary, occurrence = key
        found = self.crossings.numbered(boundary, occurrence)
        if found is not None:
            return found
        same = self.counts.get(boundary, 0)
        if same:
            raise UsageError(
                f"{boundary}@{occurrence} is not in the recording: {boundary} has {same} crossing(s), "
                f"so the last is {boundary}@{same}"
            )
        raise UsageError(f"no crossing of {boundary!r} in the recording{nearest(boundary, self.names)}")

    def obstacles(self, plan: ReplayPlan | None = None) -> list[str]:
        """Reasons against replaying under `plan` (default: everything served), one line each."""
        if not self.crossings:
            why = "".join(f". {gap.text}" for gap in self.gaps if gap.code.startswith("NO_"))
            return [
                f"the recording has no crossings: none of its spans was written at a boundary that we read{why}"
            ]
        return [
            f"{one.name}: {'; '.join(gap.text for gap in one.gaps) or 'its outcome was not recorded'}"
            for one in self.blocked(plan)
        ]

    def blocked(self, plan: ReplayPlan | None = None) -> list[Crossing]:
        """The crossings that `plan` (default: everything served) would serve and that are unusable.

        One inside a crossing that is served is never asked for; where a run was cut off, a replay goes as far as
        that, and ends there.
        """
        chosen = plan or ReplayPlan()
        return [
            one
            for one in self.crossings.flawed()
            if one.grade == UNUSABLE
            and one.outcome != "unfinished"
            and chosen.mode_of(one) not in ("live", "patched")
            and not self._inside_served(one, chosen)
        ]

    @staticmethod
    def _inside_served(crossing: Crossing, plan: ReplayPlan) -> bool:
        above = crossing.parent
        while above is not None:
            if plan.mode_of(above) != "live" and above.grade != UNUSABLE:
                return True
            above = above.parent
        return False
