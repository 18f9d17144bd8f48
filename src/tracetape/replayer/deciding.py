"""What a replay does with a call: the table of the plan, as one pure function."""

from __future__ import annotations

from dataclasses import dataclass

from tracetape.model.plan import PlanEntry

__all__ = ["AFTER_CUT", "SERVE", "Decision", "Situation", "decide"]

AFTER_CUT = ("serve", "halt", "live")


@dataclass(slots=True)
class Situation:
    """What is known of a call.

    match:         equal, changed, moved or unrecorded.
    after_cut:     the recorded crossing is after the cut; for an unrecorded call, a live one has ended.
    inside_live:   a call around it runs live.
    kind:          of the boundary.
    """

    match: str
    after_cut: bool
    inside_live: bool
    kind: str


@dataclass(frozen=True, slots=True)
class Decision:
    """`action`: serve, patch, run, halt or end (of the recording). `stale`: served although changed,
    without the plan having said so."""

    action: str
    stale: bool = False


SERVE = Decision("serve")
"""What is decided for each call that is equal and that the plan does not name."""


def decide(entry: PlanEntry | None, call: Situation, after_cut: str, strict: bool) -> Decision:
    """The decision table of the plan.

    | the plan says   | equal | changed, before | changed, after | unrecorded         |
    |-----------------|-------|-----------------|----------------|--------------------|
    | nothing         | serve | halt            | serve, stale   | halt; after: end   |
    | stub            | serve | serve           | serve          | halt; after: end   |
    | live            | run   | run             | run            | run                |
    | patch           | patch | patch           | patch          | halt; after: end   |
    | nothing, a tool or memory inside a live call | serve | halt | halt | halt       |

    `after_cut` is "serve", "halt" or "live" and rules what the plan does not name; `strict` means "halt".
    """
    if strict:
        after_cut = "halt"
    if entry is not None and entry.mode == "live":
        return Decision("run")
    if call.match == "unrecorded":
        return _unrecorded(entry, call, after_cut)
    if entry is not None:
        return Decision("patch") if entry.mode == "patched" else SERVE
    if call.match != "changed":
        return SERVE
    if call.inside_live and call.kind in ("tool", "memory"):
        return Decision("halt")
    if not call.after_cut:
        return Decision("halt")
    if after_cut == "live":
        return Decision("run")
    return Decision("halt") if after_cut == "halt" else Decision("serve", stale=True)


def _unrecorded(entry: PlanEntry | None, call: Situation, after_cut: str) -> Decision:
    if not call.after_cut or (entry is None and call.inside_live and call.kind in ("tool", "memory")):
        return Decision("halt")
    if call.kind == "checkpoint" and entry is None and after_cut != "halt":
        return SERVE  # a state is stated, and nothing needs to be served for it
    if after_cut == "live":
        return Decision("run")
    return Decision("halt") if after_cut == "halt" else Decision("end")
