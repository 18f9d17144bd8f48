"""What a replay that has come to its end is found to lack."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tracetape.model.crossing import Crossing
from tracetape.model.plan import ReplayPlan
from tracetape.model.report import Divergence, Report, Step
from tracetape.replayer import messages
from tracetape.replayer.ledger import Ledger
from tracetape.replayer.player import Options

__all__ = ["look_for_missing", "tell_what_is_listed"]


def look_for_missing(
    report: Report, ledger: Ledger, options: Options, names: Iterable[str], marked: Collection[str]
) -> None:
    """Add the recorded calls that nobody made to the report: as divergences, or listed where that is none.

    names:   of the recording's crossings. marked: the names that this process has marked.
    """
    missing: list[Crossing] = []
    for stub in ledger.unasked():
        crossing = stub.crossing
        if _is_inside_served(ledger, crossing):
            continue
        if options.strict:
            missing.append(crossing)
        elif crossing.detached and _ran_during_served(report.steps, crossing):
            report.notes.append(f"not called: {crossing.name}, made by a thread of a served call")
        elif crossing.outcome == "cancelled":
            # Whoever cancelled it is served at once, and may be faster than its call.
            report.notes.append(f"not called: {crossing.name}, which had been cancelled when it was recorded")
        elif crossing.boundary not in marked:
            report.untouched.append(crossing.name)
        elif stub.after_cut or crossing.parent is not None:  # then what is around it ran live
            report.notes.append(f"not called after the cut: {crossing.name}")
        else:
            missing.append(crossing)
    told = tuple(names)
    if not report.steps and told and not missing:
        report.divergences.append(Divergence("missing", "", messages.nothing_asked(", ".join(told))))
    report.divergences += [
        Divergence("missing", one.name, messages.missing(one, first=one is missing[0])) for one in missing
    ]
    for name in _never_live(report, options.plan):
        report.notes.append(f"{name} never ran live: it was not called, or inside a call that was served")


def tell_what_is_listed(report: Report, plan: ReplayPlan) -> None:
    """Under `strict`, whatever would only be listed is a divergence."""
    for step in report.steps:
        listed = []
        if step.moved:
            listed.append("it was served from another place in the recording")
        is_served = step.mode in ("stub", "patched")
        if step.changes and (is_served or (step.mode == "live" and not step.after_cut)):
            listed.append(f"its inputs differ from the recorded ones at {step.changes[0]}")
        listed += step.notes
        for text in listed:
            _list(report, step.name, text)
    for name in _never_live(report, plan):
        _list(report, name, "never ran live")
    if not any(one.kind == "refused" for one in report.divergences):
        for address in report.network_attempts:
            _list(report, address, "a connection to it was refused in another thread")


def _list(report: Report, name: str, text: str) -> None:
    report.divergences.append(Divergence("listed", name, messages.listed(name, text)))


def _never_live(report: Report, plan: ReplayPlan) -> list[str]:
    ran = {step.boundary for step in report.live_calls} | {step.name for step in report.live_calls}
    return [one.name for one in plan.entries if one.mode == "live" and one.name not in ran]


def _is_inside_served(ledger: Ledger, crossing: Crossing) -> bool:
    """Under a crossing that was served, or that was not called itself: one message is enough."""
    above = crossing.parent
    while above is not None:
        step = ledger.asked(above)
        if step is None or step.mode != "live":
            return True
        above = above.parent
    return False


def _ran_during_served(steps: Sequence[Step], crossing: Crossing) -> bool:
    """For a call that had no context: whether it may have been made by a call that was served."""
    return any(
        step.mode != "live"
        and step.recorded is not None
        and step.recorded.started <= crossing.started
        and (step.recorded.ended or 0) >= crossing.started
        for step in steps
    )
