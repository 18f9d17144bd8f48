"""Which crossings are served, run live or patched."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tracetape.errors import UsageError
from tracetape.model.crossing import Crossing
from tracetape.model.names import split_name

__all__ = ["PlanEntry", "ReplayPlan"]


@dataclass(frozen=True, slots=True)
class PlanEntry:
    """`mode` is stub, live or patched. `occurrence` None means every one, the unrecorded too."""

    boundary: str
    occurrence: int | None
    mode: str
    patch: Any = None

    @property
    def name(self) -> str:
        return self.boundary if self.occurrence is None else f"{self.boundary}@{self.occurrence}"


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """What a replay does with each crossing. What no entry names is served, and must be as recorded.

    Built by chaining; each call returns a new plan, and a later entry wins over an earlier one,
    an entry for one occurrence over one for all:

        ReplayPlan().stub("agent", 1).live("place_order", 1).patch("plan", 2, {"quantity": 5})
    """

    entries: tuple[PlanEntry, ...] = ()

    def stub(self, boundary: str, occurrence: int | None = None) -> ReplayPlan:
        """Serve the recorded outcome, even where the inputs differ (that is listed)."""
        return self._with(PlanEntry(boundary, occurrence, "stub"))

    def live(self, boundary: str, occurrence: int | None = None) -> ReplayPlan:
        """Run the real function."""
        return self._with(PlanEntry(boundary, occurrence, "live"))

    def patch(self, boundary: str, occurrence: int | None, outcome: Any) -> ReplayPlan:
        """Serve `outcome` instead: a value; an exception, which is raised; or a function of the recorded
        result, whose result is served and whose exception is raised. A stream is patched by its items."""
        return self._with(PlanEntry(boundary, occurrence, "patched", outcome))

    def _with(self, entry: PlanEntry) -> ReplayPlan:
        if not isinstance(entry.boundary, str) or not entry.boundary:
            raise UsageError(f"a plan names a boundary by its name, a str, not {entry.boundary!r}")
        n = entry.occurrence
        if n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 1):
            raise UsageError(f"occurrences are counted from 1: {entry.boundary}@{n!r} cannot be")
        return ReplayPlan((*self.entries, entry))

    def with_live(self, names: str | Iterable[str]) -> ReplayPlan:
        """`live=["place_order", "agent@2"]` of `replay` and of the command line."""
        plan = self
        for name in [names] if isinstance(names, str) else names:
            if not isinstance(name, str):
                raise UsageError(f"live=[…] takes names such as 'place_order' or 'agent@2', not {name!r}")
            plan = plan.live(*split_name(name))
        return plan

    def entry_for(self, boundary: str, occurrence: int | None, other: str | None = None) -> PlanEntry | None:
        """The entry that rules, or None. `occurrence` None is a call that the recording does not have. other:
        another name that means it too."""
        if not self.entries:
            return None
        for whole in (False, True):
            for entry in reversed(self.entries):
                if entry.boundary not in (boundary, other):
                    continue
                if entry.occurrence is None if whole else entry.occurrence == occurrence is not None:
                    return entry
        return None

    def reaches(self, crossing: Crossing) -> bool:
        """Whether the crossing is asked for: inside a call that is served nothing is called."""
        above = crossing.parent
        while above is not None:
            if self.mode_of(above) != "live":
                return False
            above = above.parent
        return True

    def mode_of(self, crossing: Crossing) -> str:
        """stub, live or patched."""
        entry = self.entry_for(crossing.boundary, crossing.occurrence)
        return entry.mode if entry else "stub"
