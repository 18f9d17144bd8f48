"""Two recordings → how the second differs from the first."""

from __future__ import annotations

from collections.abc import Iterator

from tracetape.codec.ignore_paths import IgnorePaths
from tracetape.errors import UsageError
from tracetape.model.crossing import Crossing
from tracetape.model.plan import ReplayPlan
from tracetape.model.recording import Recording
from tracetape.model.report import Difference, Divergence
from tracetape.replayer.ledger import Ledger
from tracetape.replayer.matching import Asked, Match, unexplained
from tracetape.replayer.outcomes import outcome_changes, recorded_shape, tree_of
from tracetape.replayer.renaming import Renaming
from tracetape.replayer.stubs import Stub, StubTable

__all__ = ["compare"]


def compare(a: Recording, b: Recording) -> list[Divergence]:
    """How `b` differs from `a`, in the order of `b`, then what only `a` has. Empty where they are the same.

    Crossings are paired as a replay pairs them: by boundary, parent and inputs, not by position; ids that each run
    generates anew are the same if one renaming explains them all. Kinds:
    `changed` (other inputs), `moved` (under another parent), `outcome` (another outcome for the same
    inputs), `added` (only in b), `missing` (only in a).

    Raises UsageError for what is no Recording.
    """
    for one in (a, b):
        if not isinstance(one, Recording):
            raise UsageError(f"compare takes two Recordings, not {one!r}: tracetape.load(…) reads one")
    renaming = Renaming()
    ledger = Ledger(StubTable.of(a, ReplayPlan(), IgnorePaths(())), renaming, [])
    pairs: dict[Crossing, Stub | None] = {}
    calls = {(one.process_id, one.seq): one for one in b.crossings}
    found: list[Divergence] = []
    for crossing in b.crossings:
        before = calls.get((crossing.process_id, crossing.seq_before)) if crossing.seq_before is not None else None
        match = ledger.claim(_asked(crossing, pairs, before))
        pairs[crossing] = match.stub
        found += _divergences(crossing, match, renaming)
    for stub in ledger.unasked():
        name = stub.crossing.name
        found.append(Divergence("missing", name, f"{name} is only in the first recording"))
    return found


def _asked(crossing: Crossing, pairs: dict[Crossing, Stub | None], before: Crossing | None) -> Asked:
    tree = tree_of(crossing.input)
    parent = crossing.parent
    around = pairs.get(parent) if parent is not None else None
    last = pairs.get(before) if before is not None else None
    under = None if around is None else around.crossing
    return Asked(
        crossing.boundary,
        lambda: tree,
        under,
        loose=parent is not None and under is None,
        before=None if last is None else last.position,
    )


def _divergences(crossing: Crossing, match: Match, renaming: Renaming) -> Iterator[Divergence]:
    name = crossing.name
    if match.stub is None:
        yield Divergence("added", name, f"{name} is only in the second recording", match.changes)
        return
    first = match.stub.crossing
    pair = name if first.name == name else f"{first.name} → {name}"
    if match.kind == "changed" and match.changes:
        yield Divergence("changed", name, _text(f"{pair}: other inputs", match.changes), match.changes)
    elif match.kind == "moved":
        yield Divergence("moved", name, f"{pair}: called from another place")
    one, other = recorded_shape(first), recorded_shape(crossing)
    changes = outcome_changes(one, other)
    is_alike = (one.outcome, one.stream_end) == (other.outcome, other.stream_end)
    if changes and is_alike and not unexplained(one.tree, other.tree, renaming):
        renaming.accept(one.tree, other.tree)
    elif changes:
        yield Divergence("outcome", name, _text(f"{pair}: another outcome", changes), changes)


def _text(first: str, changes: tuple[Difference, ...]) -> str:
    return "\n".join([first, *(f"  {change}" for change in changes)])
