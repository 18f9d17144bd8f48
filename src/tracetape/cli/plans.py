"""What `replay` was told to stub, run live or patch, as a plan."""

from __future__ import annotations

import json
import re

from tracetape import _sessions
from tracetape.errors import UsageError
from tracetape.model.names import nearest, split_name
from tracetape.model.plan import ReplayPlan
from tracetape.model.recording import Recording

__all__ = ["chosen_plan", "unknown"]

_PATCH = re.compile(r"(?P<name>.+?)@(?P<number>\d+)=(?P<json>.*)", re.DOTALL)


def chosen_plan(stub: tuple[str, ...], patch: tuple[str, ...], live: tuple[str, ...]) -> ReplayPlan:
    """The plan of `--stub`, `--patch` and `--live`. Raises UsageError for what cannot be meant."""
    plan = ReplayPlan()
    for option, names in (("--stub", stub), ("--live", live)):
        for name in names:
            if not name:
                raise UsageError(f"{option} takes the name of a boundary, NAME or NAME@N, not an empty text")
            boundary, number = split_name(name)
            plan = plan.stub(boundary, number) if option == "--stub" else plan.live(boundary, number)
    for given in patch:
        plan = _patched(plan, given)
    return plan


def _patched(plan: ReplayPlan, given: str) -> ReplayPlan:
    found = _PATCH.fullmatch(given)
    if found is None:
        raise UsageError(
            f"--patch takes NAME@N=JSON, as in --patch 'plan@1={{\"quantity\": 5}}', not {given[:200]!r}"
        )
    try:
        value = json.loads(found["json"])
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"--patch {found['name']}@{found['number']}: {found['json'][:200]!r} is not JSON ({error}); a text "
            f"has quotes of its own: --patch '{found['name']}@{found['number']}=\"text\"'"
        ) from None
    return plan.patch(found["name"], int(found["number"]), value)


def unknown(plan: ReplayPlan, recording: Recording) -> str:
    """What to say of the names that neither the recording has nor the program has marked, now that it has run; ""
    where there are none. Before the run nobody could know."""
    known = [*recording.names, *sorted(set(_sessions.marked()) - set(recording.names))]
    found = next((one for one in plan.entries if one.boundary not in known), None)
    if found is None:
        return ""
    option = "--patch" if found.mode == "patched" else f"--{found.mode}"
    return (
        f"{option} {found.boundary}: neither the recording nor the program has a boundary of that name"
        f"{nearest(found.boundary, known)}"
    )
