"""What a replay of a recording would do, before one is made."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from rich.text import Text

from tracetape.cli.render import counted
from tracetape.errors import UsageError
from tracetape.model.crossing import Crossing
from tracetape.model.names import nearest
from tracetape.model.plan import ReplayPlan
from tracetape.model.printing import escaped
from tracetape.model.recording import Recording
from tracetape.replayer.cutting import after_cut

__all__ = ["check_plan", "preflight_lines"]

_SHOWN = 5


def check_plan(recording: Recording, plan: ReplayPlan) -> None:
    """Raises UsageError for a name that the recording does not have: nothing can be foretold of it."""
    for entry in plan.entries:
        count = recording.counts.get(entry.boundary, 0)
        if not count:
            raise UsageError(
                f"--live {entry.name}: no crossing of that name in the recording"
                + nearest(entry.boundary, recording.names)
            )
        if entry.occurrence is not None and entry.occurrence > count:
            raise UsageError(
                f"--live {entry.name}: {entry.boundary} has {counted(count, 'crossing')}, the last is "
                f"{entry.boundary}@{count}"
            )


def preflight_lines(recording: Recording, plan: ReplayPlan) -> Iterator[Text]:
    """The stubs, the cut, and what would halt. The recording has crossings."""
    crossings, blocked = recording.crossings, recording.blocked(plan)
    places = [at for at, one in enumerate(crossings) if plan.reaches(one)]
    asked = [crossings[at] for at in places]
    live = [one for one in asked if plan.mode_of(one) == "live"]
    others = {one.name for one in (*live, *blocked)}
    served = [one for one in asked if one.name not in others and one.outcome != "unfinished"]
    yield Text(f"a replay serves {_named(served)}" + (f", and runs {_named(live)}" if live else ""))
    inside = len(crossings) - len(asked)
    if inside:
        yield Text(f"  never asked for: {counted(inside, 'crossing')} inside of those that are served")
    if live:
        flags = after_cut(crossings, plan)
        behind = [one for at, one in zip(places, asked, strict=True) if flags[at] and one.name not in others]
        first = min(live, key=lambda one: one.ended or sys.maxsize)
        yield Text(
            f"  the cut is where {escaped(first.name)} ends: a call with other inputs halts before it, and is "
            f"served as stale behind it: {_named(behind)}"
        )
    else:
        yield Text("  nothing is live, so there is no cut: a call with other inputs than recorded halts")
    if blocked:
        yield Text(f"  it halts at {_named(blocked)}: what cannot be served", style="red")


def _named(crossings: Sequence[Crossing]) -> str:
    if not crossings:
        return "none"
    shown = ", ".join(escaped(one.name) for one in crossings[:_SHOWN])
    return f"{len(crossings):,} ({shown}" + (", …)" if len(crossings) > _SHOWN else ")")
