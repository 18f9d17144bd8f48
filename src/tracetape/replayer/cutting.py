"""Which crossings of a recording are after the cut."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from tracetape.model.crossing import Crossing
from tracetape.model.crossings import Crossings, Moment
from tracetape.model.plan import ReplayPlan

__all__ = ["after_cut"]


def after_cut(crossings: Crossings, plan: ReplayPlan) -> list[bool]:
    """For each crossing: is it after the cut, going by the recording alone?

    It is when it started no earlier than a live or patched crossing ended. Within one process `seq` is
    the order of starts, and a clock that stepped back cannot undo it: a smaller seq is never after, a
    larger one is unless it started inside the live crossing's interval.
    """
    named = dict.fromkeys(entry.boundary for entry in plan.entries if entry.mode in ("live", "patched"))
    cuts = [
        (position, crossings.moment(position))
        for position in sorted(position for boundary in named for position in crossings.named(boundary))
        if _is_cut(crossings[position], plan)
    ]
    if not cuts:
        return [False] * len(crossings)
    earliest: dict[str, list[Moment]] = defaultdict(list)
    for _, cut in cuts:
        if cut.seq is not None and cut.process_id is not None:
            earliest[cut.process_id].append(cut)
    first_end = {process: _running_first_ends(some) for process, some in earliest.items()}
    return [_is_after(one, crossings.moment(one), cuts, first_end) for one in range(len(crossings))]


def _is_cut(one: Crossing, plan: ReplayPlan) -> bool:
    return plan.mode_of(one) in ("live", "patched") and one.ended is not None and plan.reaches(one)


def _running_first_ends(cuts: Iterable[Moment]) -> list[tuple[int, int, int]]:
    """(seq, start, end) of the cuts of one process, each with the earliest end up to its seq."""
    found: list[tuple[int, int, int]] = []
    for cut in sorted(cuts, key=lambda cut: cut.seq or 0):
        end = cut.ended or 0
        if not found or end < found[-1][2]:
            found.append((cut.seq or 0, cut.started, end))
    return found


def _is_after(
    position: int,
    one: Moment,
    cuts: Sequence[tuple[int, Moment]],
    first_end: dict[str, list[tuple[int, int, int]]],
) -> bool:
    own = first_end.get(one.process_id or "") if one.seq is not None else None
    if own is not None and one.seq is not None:
        for seq, start, end in own:
            if seq >= one.seq:
                break
            if not start <= one.started < end:
                return True
    return any(
        (cut.process_id != one.process_id or cut.seq is None or one.seq is None)
        and at != position
        and one.started >= (cut.ended or 0)
        for at, cut in (cuts if own is None or len(first_end) > 1 else ())
    )
