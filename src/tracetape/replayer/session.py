"""`replay`: one recorded run, run again."""

from __future__ import annotations

import inspect
import os
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from tracetape import _sessions
from tracetape.codec.canonical import IgnorePaths
from tracetape.config import settings
from tracetape.errors import (
    DivergenceError,
    NotReplayable,
    PlanError,
    RecordingEnded,
    UsageError,
)
from tracetape.model.call import Mode
from tracetape.model.crossing import Crossing
from tracetape.model.names import nearest
from tracetape.model.plan import ReplayPlan
from tracetape.model.recording import Recording
from tracetape.model.report import Divergence, Report, Step
from tracetape.replayer import messages
from tracetape.replayer.deciding import AFTER_CUT
from tracetape.replayer.guard import Guard
from tracetape.replayer.halting import EndOfRecording
from tracetape.replayer.player import Options, Player
from tracetape.sources.loading import load

__all__ = ["ENDED", "Tape", "replay"]


class _Ended:
    """The singleton `ENDED`: what `tape.run` gives where the program left the recording after the cut."""

    def __repr__(self) -> str:
        return "tracetape.ENDED"

    def __bool__(self) -> bool:
        return False


ENDED = _Ended()


class Tape:
    """One replay: what `with tracetape.replay(…) as tape` gives.

    recording:  the run that is replayed.
    report:     what happened so far; `str(tape.report)` is for people.
    """

    def __init__(
        self,
        recording: Recording,
        options: Options,
        *,
        network: str,
        allow_hosts: tuple[str, ...],
        emits: bool,
        sources: tuple[Path, ...],
    ) -> None:
        self.recording = recording
        self.report = Report(source=recording.source, trace_id=recording.trace_id)
        self.emits = emits
        self.is_open = False
        self.runs_program = False
        self._options = options
        self._sources = sources
        self._player = Player(self, recording, options, self.report)
        self._guard = Guard(self, self._player, self.report, network, allow_hosts)
        self._was_open = False
        self._handed_ended = False

    @property
    def mode(self) -> Mode:
        """The mode that answers calls; for the boundaries, not for tests."""
        return self._player

    def reads_from(self, path: Path) -> bool:
        """Whether `path` is (in) what this replay was read from."""
        target = path.resolve()
        return any(target == source or source in target.parents for source in self._sources)

    def __getitem__(self, key: tuple[str, int | str]) -> Step:
        """`tape["place_order", 1]`: a step, by the recording's occurrence; `tape["helper", "new@1"]` for a
        call that the recording does not have. Raises UsageError naming what was called."""
        if not (isinstance(key, tuple) and len(key) == 2):
            raise UsageError(f'a step is looked up as tape["name", 1], not by {key!r}')
        boundary, number = key
        step = self._player.step(boundary, str(number))
        if step is not None:
            return step
        called = [one.name for one in self.report.steps if one.boundary == boundary]
        known = ", ".join(called) if called else "nothing" + nearest(boundary, self._called_names())
        raise UsageError(f"{boundary}@{number} was not called in this replay; called was {known}")

    def captured_result(self, boundary: str, number: int | str = 1) -> Any:
        """The result of a step; raises the step's error where it ended in one."""
        step = self[boundary, number]
        if step.error is not None:
            raise step.error
        return step.result

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run the program: its result, or `tracetape.ENDED` where it left the recording after the cut.

        For a coroutine function: a coroutine of that. What follows in the test still runs, while in a bare
        block an end of the recording leaves the block.
        """
        self.runs_program = True
        try:
            result = function(*args, **kwargs)
        except EndOfRecording:
            return self._hand_ended()
        finally:
            self.runs_program = False
        if inspect.iscoroutine(result):
            return self._run_async(result)
        return self._ran(result)

    async def _run_async(self, awaitable: Awaitable[Any]) -> Any:
        self.runs_program = True
        try:
            result = await awaitable
        except EndOfRecording:
            return self._hand_ended()
        finally:
            self.runs_program = False
        return self._ran(result)

    def _ran(self, result: Any) -> Any:
        """A program may have swallowed what unwound it, or have been unwound in another thread."""
        if self._player.halted is not None:
            raise self._player.halted
        return result if self._player.ended is None else self._hand_ended()

    def _hand_ended(self) -> Any:
        """The test knows of the end now; leaving the block need not tell it again."""
        self._handed_ended = True
        return ENDED

    def __enter__(self) -> Tape:
        if self._was_open:
            raise UsageError("a replay is entered once; call tracetape.replay again for another")
        self._was_open = self.is_open = True
        _sessions.open_replay(self)
        self._guard.enter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        if isinstance(error, KeyboardInterrupt) and self._player.halted is None:
            return
        self._look_for_missing(interrupted=error is not None and not isinstance(error, SystemExit))
        if self.report.divergences:
            raise DivergenceError(str(self.report), report=self.report) from None
        if self._player.ended is not None and _hides_end(error) and not (self._handed_ended and error is None):
            raise RecordingEnded(
                f"{self.report.ended}; what follows in the block was not run. Wrap the program's part in "
                "tape.run(…), which returns tracetape.ENDED there:\n"
                "    result = tape.run(agent, …)"
            ) from None
        if error is not None and not isinstance(error, GeneratorExit):
            error.add_note(f"tracetape: {self.report.first_line}")

    def abandon(self) -> None:
        """Close without a verdict: the test never came to its call."""
        if self.is_open:
            self._close()

    def _close(self) -> None:
        self.is_open = False
        self._guard.leave()
        _sessions.close(self)

    def _look_for_missing(self, *, interrupted: bool) -> None:
        """Recorded calls that nobody made. Not counted after a halt or an end: what the program would
        have gone on to call is not known. Nor when its own exception left early."""
        if self._player.halted is not None or self._player.ended is not None or interrupted:
            return
        marked = _sessions.marked()
        untouched: list[str] = []
        missing: list[Crossing] = []
        for stub in self._player.unasked():
            crossing = stub.crossing
            if self._is_inside_served(crossing):
                continue
            if crossing.boundary not in marked and not self._options.strict:
                untouched.append(crossing.name)
            elif stub.after_cut and not self._options.strict:
                self.report.notes.append(f"not called after the cut: {crossing.name}")
            else:
                missing.append(crossing)
        self.report.divergences += [
            Divergence("missing", one.name, messages.missing(one, first=one is missing[0])) for one in missing
        ]
        if untouched:
            self.report.notes.append(f"untouched, for nothing here is marked so: {', '.join(untouched)}")

    def _is_inside_served(self, crossing: Crossing) -> bool:
        """Under a crossing that was served, or that was not called itself: one message is enough."""
        above = crossing.parent
        while above is not None:
            step = self._player.asked(above)
            if step is None or step.mode != "live":
                return True
            above = above.parent
        return False

    def _called_names(self) -> list[str]:
        return [step.boundary for step in self.report.steps]


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
    strict:       whatever would only be listed is a divergence.
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
        recording = source
    else:
        recording = load(source, trace_id=trace_id, traces=traces, types=tuple(types))
        sources = (Path(source).resolve(),)
    _check_names(chosen, recording, program_follows)
    obstacles = recording.obstacles(chosen)
    if obstacles:
        raise NotReplayable(
            "\n".join(
                [f"{recording.source} cannot be replayed under this plan:", *(f"  {one}" for one in obstacles)]
            )
        )
    hosts = (*([allow_hosts] if isinstance(allow_hosts, str) else allow_hosts), *settings().otlp_hosts)
    options = Options(chosen, paths, after_cut, strict)
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


def _check_names(plan: ReplayPlan, recording: Recording, program_follows: bool) -> None:
    """A plan that names nothing would pass in silence: refuse it, with the nearest name."""
    recorded = {crossing.boundary: 0 for crossing in recording.crossings}
    for crossing in recording.crossings:
        recorded[crossing.boundary] += 1
    for entry in plan.entries:
        count = recorded.get(entry.boundary, 0)
        may_be_new = entry.mode == "live" and (program_follows or entry.boundary in _sessions.marked())
        if not count and not may_be_new:
            raise PlanError(
                f"the plan names {entry.name}, and {recording.source} has no crossing of it"
                + nearest(entry.boundary, [*recorded, *sorted(_sessions.marked())])
            )
        if count and entry.occurrence is not None and entry.occurrence > count and entry.mode != "live":
            raise PlanError(
                f"the plan names {entry.name}, and {recording.source} has {count} of {entry.boundary}: "
                f"the last is {entry.boundary}@{count}"
            )


def _hides_end(error: BaseException | None) -> bool:
    """Whether what leaves the block is the end itself, or nothing, where the program swallowed it."""
    return error is None or isinstance(error, (EndOfRecording, BaseExceptionGroup))
