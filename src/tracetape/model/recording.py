"""One run read back: crossings in a tree, plus what it lacks."""

from __future__ import annotations

from dataclasses import dataclass, field

from tracetape.errors import UsageError
from tracetape.model.crossing import EXACT, GRADES, UNUSABLE, Crossing
from tracetape.model.names import nearest
from tracetape.model.plan import ReplayPlan
from tracetape.model.span import Gap, SpanRecord

__all__ = ["Recording"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Recording:
    """One run read back.

    trace_id:   32 hex digits.
    crossings:  in start order. roots: those with no parent.
    gaps:       what the recording as a whole lacks; each crossing has its own besides.
    spans:      every span of the run, structure included, in start order.
    source:     what it was read from, for messages.
    """

    trace_id: str
    crossings: tuple[Crossing, ...]
    gaps: tuple[Gap, ...] = ()
    spans: tuple[SpanRecord, ...] = field(default=(), repr=False)
    source: str = ""

    def __repr__(self) -> str:
        return f"<Recording of {self.source or self.trace_id}: {len(self.crossings)} crossings, {self.grade}>"

    @property
    def roots(self) -> tuple[Crossing, ...]:
        return tuple(crossing for crossing in self.crossings if crossing.parent is None)

    @property
    def grade(self) -> str:
        """The grade of its worst crossing; a recording without crossings is unusable."""
        if not self.crossings:
            return UNUSABLE
        return max((crossing.grade for crossing in self.crossings), key=GRADES.index, default=EXACT)

    @property
    def names(self) -> tuple[str, ...]:
        """The boundary names, in order of first appearance."""
        return tuple(dict.fromkeys(crossing.boundary for crossing in self.crossings))

    def __getitem__(self, key: tuple[str, int]) -> Crossing:
        """`recording["place_order", 1]`: by boundary name and occurrence, from 1.

        Raises UsageError naming what is there.
        """
        if not (isinstance(key, tuple) and len(key) == 2):
            raise UsageError(f'a crossing is looked up as recording["name", 1], not by {key!r}')
        boundary, occurrence = key
        same = [crossing for crossing in self.crossings if crossing.boundary == boundary]
        for crossing in same:
            if crossing.occurrence == occurrence:
                return crossing
        if same:
            raise UsageError(
                f"{boundary}@{occurrence} is not in the recording: {boundary} has {len(same)} crossing(s), "
                f"so the last is {boundary}@{len(same)}"
            )
        raise UsageError(f"no crossing of {boundary!r} in the recording{nearest(boundary, self.names)}")

    def obstacles(self, plan: ReplayPlan | None = None) -> list[str]:
        """Reasons against replaying under `plan` (default: everything served), one line each.

        A crossing is an obstacle if the plan would serve it and it is unusable. One inside a crossing
        that is served is never asked for.
        """
        if not self.crossings:
            return ["the recording has no crossings: none of its spans was written at a boundary that we read"]
        chosen = plan or ReplayPlan()
        blocked = []
        for crossing in self.crossings:
            if crossing.grade != UNUSABLE or crossing.outcome == "unfinished":
                continue  # where a run was cut off, a replay goes as far as that, and ends there
            if chosen.mode_of(crossing) in ("live", "patched"):
                continue
            if self._inside_served(crossing, chosen):
                continue
            why = "; ".join(gap.text for gap in crossing.gaps) or "its outcome was not recorded"
            blocked.append(f"{crossing.name}: {why}")
        return blocked

    @staticmethod
    def _inside_served(crossing: Crossing, plan: ReplayPlan) -> bool:
        above = crossing.parent
        while above is not None:
            if plan.mode_of(above) != "live" and above.grade != UNUSABLE:
                return True
            above = above.parent
        return False
