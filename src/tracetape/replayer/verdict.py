"""What a replay that has come to its end is found to lack."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tracetape.model.crossing import Crossing
from tracetape.model.plan import ReplayPlan
from tracetape.model.report import Divergence, Report, Step
from tracetape.replayer import messages
from tracetape.replayer.ledger import Ledger
from tracetape.replayer.player import Options

__all__ = ["Lacking", "lacking", "listed", "unused"]


@dataclass(frozen=True, slots=True)
class Lacking:
    """What goes into the report."""

    divergences: list[Divergence] = field(default_factory=list)
    untouched: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def lacking(
    report: Report, ledger: Ledger, options: Options, names: Iterable[str], marked: Collection[str]
) -> Lacking:
    """The recorded calls that nobody made: as divergences, or listed where that is none.

    names:   of the recording's crossings. marked: the names that this process has marked.
    """
    found = Lacking()
    missing: list[Crossing] = []
    for stub in ledger.unasked():
        crossing = stub.crossing
        if _is_inside_served(ledger, crossing):
            continue
        if options.strict:
            missing.append(crossing)
        elif crossing.detached and _ran_during_served(report.steps, crossing):
            found.notes.append(f"not called: {crossing.name}, made by a thread of a served call")
        elif crossing.outcome == "cancelled":
            # Whoever cancelled it is served at once, and may be faster than its call.
            found.notes.append(f"not called: {crossing.name}, which had been cancelled when it was recorded")
        elif crossing.boundary not in marked:
            found.untouched.append(crossing.name)
        elif stub.after_cut or crossing.parent is not None:  # then what is around it ran live
            found.notes.append(f"not called after the cut: {crossing.name}")
        else:
            missing.append(crossing)
    told = tuple(names)
    if not report.steps and told and not missing:
        found.divergences.append(Divergence("missing", "", messages.nothing_asked(", ".join(told))))
    found.divergences.extend(
        Divergence("missing", one.name, messages.missing(one, first=one is missing[0])) for one in missing
    )
    for name in _never_live(report, options.plan):
        found.notes.append(f"{name} never ran live: it was not called, or inside a call that was served")
    return found


def listed(report: Report, plan: ReplayPlan) -> Iterator[Divergence]:
    """Under `strict`, whatever would only be listed."""
    for step in report.steps:
        if step.moved:
            yield _divergence(step.name, "it was served from another place in the recording")
        is_served = step.mode in ("stub", "patched")
        if step.changes and (is_served or (step.mode == "live" and not step.after_cut)):
            yield _divergence(step.name, f"its inputs differ from the recorded ones at {step.changes[0]}")
        for note in step.notes:
            yield _divergence(step.name, note)
    if not report.ended and all(one.kind == "missing" for one in report.divergences):  # else it had no time to
        for name in _never_live(report, plan):
            yield _divergence(name, "never ran live")
    if not any(one.kind == "refused" for one in report.divergences):
        for address in report.network_attempts:
            yield _divergence(address, "a connection to it was refused in another thread")


def _divergence(name: str, text: str) -> Divergence:
    return Divergence("listed", name, messages.listed(name, text))


def _never_live(report: Report, plan: ReplayPlan) -> list[str]:
    ran = {name for step in report.live_calls for name in _names_of(step)}
    return [one.name for one in plan.entries if one.mode == "live" and one.name not in ran]


def _names_of(step: Step) -> Iterator[str]:
    """Of the function, and of the recorded call where that has another."""
    yield from (step.boundary, step.name)
    if step.recorded is not None:
        yield from (step.recorded.boundary, step.recorded.name)


def unused(report: Report, plan: ReplayPlan, recorded: Collection[str]) -> Iterator[Divergence]:
    """Of a recording of others: what a plan says of a function of the program, and no call of it came to. Which
    recorded calls are a function's, only its calls tell.

    recorded:  the names that the recording has.
    """
    called = {name for step in report.steps for name in (step.boundary, step.name)}
    for entry in plan.entries:
        if entry.mode != "live" and entry.boundary not in recorded and entry.name not in called:
            yield Divergence("missing", entry.name, messages.never_meant(entry))


def _is_inside_served(ledger: Ledger, crossing: Crossing) -> bool:
    """Under a crossing that was served, or that was not called itself: one message is enough."""
    above = crossing.parent
    while above is not None:
        step = ledger.step_of(above)
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
