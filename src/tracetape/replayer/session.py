"""`replay`: one recorded run, run again."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tracetape import _sessions
from tracetape.codec.ignore_paths import IgnorePaths
from tracetape.config import settings
from tracetape.errors import NotReplayable, PlanError, UsageError
from tracetape.model.names import nearest
from tracetape.model.plan import ReplayPlan
from tracetape.model.recording import Recording
from tracetape.replayer.adopted import Adopted
from tracetape.replayer.deciding import AFTER_CUT
from tracetape.replayer.player import Options
from tracetape.replayer.tape import ENDED, Tape
from tracetape.sources.addresses import is_url
from tracetape.sources.loading import load

__all__ = ["ENDED", "Tape", "open_tape", "replay"]


def replay(
    source: str | os.PathLike[str] | Recording,
    plan: ReplayPlan | None = None,
    *,
    live: str | Iterable[str] = (),
    ignore: str | Iterable[str] = (),
    types: Iterable[type] = (),
    strict: bool = False,
    after_cut: str = "serve",
    network: str = "deny",
    allow_hosts: Iterable[str] = (),
    trace_id: str | None = None,
    traces: str = "one",
    emit: bool = True,
) -> Tape:
    """Run a recorded run again: each boundary gets what was recorded, except what `plan` or `live` names.

    source:       a file, a folder of rotated files, or a Recording.
    plan, live:   what runs for real or is patched; `live=["place_order", "agent@2"]` adds to the plan.
    ignore:       paths left out when inputs are compared: `$.messages[*].id`, `..created`.
    types:        classes for rebuilding values that are in no module's namespace.
    strict:       whatever would only be listed is a divergence, and `after_cut` is "halt".
    after_cut:    "serve" what was recorded although its inputs changed (it is listed as stale), "halt",
                  or "live".
    network:      "deny" all but this machine, "deny-all", "allow"; `allow_hosts` names exceptions.
    trace_id, traces:  which run of the source; see `load`.
    emit:         trace the replay's calls on the host's provider.

    Returns a context manager that gives a Tape. Leaving it raises DivergenceError (an AssertionError) if
    the replay differed before the cut, whatever else happened; RecordingEnded where the program left the
    recording in a bare block.

    Raises on calling: SourceError and kin for the source, NotReplayable for a recording that lacks what the
    plan would serve, PlanError and UsageError for names and arguments that cannot be meant.

        with tracetape.replay("incident.otlp.jsonl", live=["place_order"]) as tape:
            agent("Sell about $1,000 of ACME")
        assert tape.captured_result("place_order", 1)["blocked"]
    """
    return open_tape(
        source,
        _plan(plan).with_live(live),
        ignore=ignore,
        types=types,
        strict=strict,
        after_cut=after_cut,
        network=network,
        allow_hosts=allow_hosts,
        trace_id=trace_id,
        traces=traces,
        emit=emit,
    )


def open_tape(
    source: str | os.PathLike[str] | Recording,
    chosen: ReplayPlan,
    *,
    ignore: str | Iterable[str] = (),
    types: Iterable[type] = (),
    strict: bool = False,
    after_cut: str = "serve",
    network: str = "deny",
    allow_hosts: Iterable[str] = (),
    trace_id: str | None = None,
    traces: str = "one",
    emit: bool = True,
    program_follows: bool = False,
) -> Tape:
    """`replay`, for callers that have a whole plan.

    program_follows:  the program that marks the boundaries is not loaded yet (the command line), so a live
                      name that the recording does not have may still turn up.
    """
    if after_cut not in AFTER_CUT:
        raise UsageError(f"after_cut={after_cut!r} is not one of " + ", ".join(map(repr, AFTER_CUT)))
    paths = IgnorePaths([ignore] if isinstance(ignore, str) else list(ignore))
    sources: tuple[Path, ...] = ()
    if isinstance(source, Recording):
        if trace_id is not None or traces != "one":
            raise UsageError("trace_id and traces choose from a file; this Recording is one run already")
        recording = source
        sources = _places(recording.source)
    else:
        recording = load(source, trace_id=trace_id, traces=traces, types=tuple(types))
        sources = _places(os.fspath(source))
    adopted = Adopted.of(recording.crossings)
    _check_names(chosen, recording, adopted, program_follows)
    obstacles = recording.obstacles(chosen if adopted is None else adopted.plan(chosen))
    if obstacles:
        raise NotReplayable(
            "\n".join(
                [f"{recording.source} cannot be replayed under this plan:", *(f"  {one}" for one in obstacles)]
            )
        )
    hosts = (*([allow_hosts] if isinstance(allow_hosts, str) else allow_hosts), *settings().otlp_hosts)
    options = Options(chosen, paths, tuple(types), after_cut, strict)
    return Tape(recording, options, network=network, allow_hosts=tuple(hosts), emits=emit, sources=sources)


def _plan(plan: Any) -> ReplayPlan:
    if plan is None:
        return ReplayPlan()
    if isinstance(plan, ReplayPlan):
        return plan
    raise UsageError(
        f"the second argument of replay is a ReplayPlan, not {type(plan).__name__}; for names alone write "
        'live=["place_order"]'
    )


def _places(source: str) -> tuple[Path, ...]:
    """The file or folder that a replay reads from; nothing for what is not on this machine."""
    return () if not source or is_url(source) else (Path(source).resolve(),)


def _check_names(plan: ReplayPlan, recording: Recording, adopted: Adopted | None, program_follows: bool) -> None:
    """A plan that names nothing would pass in silence: refuse it, with the nearest name. A recording of others
    knows model calls by other names than the program."""
    recorded, marked = recording.counts, _sessions.marked()
    for entry in plan.entries:
        # What answers a function of the program, where that has another name.
        answers = None if adopted is None else adopted.answers(entry.boundary, marked.get(entry.boundary, ()))
        count = recorded.get(answers or entry.boundary, 0)
        is_known = program_follows or entry.boundary in marked
        may_be_new = is_known and (entry.mode == "live" or (program_follows and adopted is not None))
        if not count and not may_be_new:
            raise PlanError(
                f"the plan names {entry.name}, and {recording.source} has no crossing of it"
                + nearest(entry.boundary, [*recorded, *sorted(set(marked) - {entry.boundary})])
            )
        if not count and entry.occurrence is not None and not program_follows:
            raise PlanError(
                f"the plan names {entry.name}, and {recording.source} has no crossing of {entry.boundary}: a call "
                f"that it does not have has no number; name {entry.boundary} alone"
            )
        if count and entry.occurrence is not None and entry.occurrence > count:
            raise PlanError(
                f"the plan names {entry.name}, and {recording.source} has {count} of "
                f"{answers or entry.boundary}: the last is {answers or entry.boundary}@{count}"
            )
