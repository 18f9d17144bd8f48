"""The replaying mode: answers calls from the stub table."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn

from tracetape._crossing import BARE
from tracetape._frames import Frame, ReplaySession, current_frame
from tracetape._sessions import is_ambiguous
from tracetape.codec.ignore_paths import IgnorePaths
from tracetape.codec.reader import Reader
from tracetape.errors import SourceError, ValueNotRebuilt
from tracetape.model.call import BoundarySpec, Call, Flow, Outcome, Replayed, Returned, Streamed
from tracetape.model.crossing import Crossing
from tracetape.model.names import nearest
from tracetape.model.plan import PlanEntry, ReplayPlan
from tracetape.model.recording import Recording
from tracetape.model.report import Difference, Divergence, Report, Step
from tracetape.replayer import messages
from tracetape.replayer.adopted import Adopted
from tracetape.replayer.answering import Answering
from tracetape.replayer.deciding import SERVE, Situation, decide
from tracetape.replayer.halting import EndOfRecording, Halt
from tracetape.replayer.keying import Given, Keying
from tracetape.replayer.ledger import Ledger
from tracetape.replayer.live_scope import LiveScope
from tracetape.replayer.matching import Asked, Match
from tracetape.replayer.outcomes import live_shape, outcome_changes
from tracetape.replayer.places import place_of_call
from tracetape.replayer.renaming import Renaming
from tracetape.replayer.reporting import Halted
from tracetape.replayer.saying import instructions
from tracetape.replayer.steps import LastStep, note
from tracetape.replayer.stubs import Stub, StubTable

__all__ = ["Options", "Player"]


@dataclass(frozen=True, slots=True)
class Options:
    """How a replay was asked for; see `replay`."""

    plan: ReplayPlan
    ignore: IgnorePaths
    types: tuple[type, ...] = ()
    after_cut: str = "serve"
    strict: bool = False


class Player:
    """Answers each call of one replay: a stub, the real function, a patch, a halt.

    The first halt ends the replay: every later call raises it again before any code of the program runs.
    An error of its own is a halt too, for a wrong answer would be worse than none.
    """

    fails = "closed"

    def __init__(self, session: ReplaySession, recording: Recording, options: Options, report: Report) -> None:
        self._session, self._options, self._report = session, options, report
        table = StubTable.of(recording, options.plan, options.ignore)
        self.ledger = Ledger(table, None if options.strict else Renaming(), report.steps)
        self.adopted = Adopted.of(recording.crossings)
        self._planned = frozenset(entry.boundary for entry in options.plan.entries)
        self._last = LastStep()
        self._reader = Reader(options.types)
        self._lock = threading.RLock()  # a signal handler may call a boundary in the middle of this
        self._keying = Keying(
            self.ledger, options.ignore, self._reader, self._lock, partial(self.halt, "unusable")
        )
        self._answering = Answering(self._reader, self.adopted, self.halt, self._end, self._served)
        self._opener = threading.current_thread()
        self._cut = ""
        self._first_end: int | None = None  # of the recorded calls that a plan means by a function's name
        self.running: set[Step] = set()  # live calls of which a step of the function runs now
        self.going_on: set[Step] = set()  # those, and the streams that wait for their consumers
        # Set by the tape: what is told when the replay has been ended, and of each call that ran live; and, in a
        # forked child, what makes the halt of a call there.
        self.on_unwinding: Callable[[], None] = _nothing
        self.after_live: Callable[[str], None] = lambda name: None
        self.elsewhere: Callable[[str], Halt] | None = None
        # What a call after the end of the replay raises.
        self.closed: Callable[[Divergence], BaseException] = Halt
        self.halted: Halt | None = None
        self.ended: EndOfRecording | None = None

    # -- what the session and the tape ask

    def halt(self, kind: str, name: str, text: str, changes: tuple[Difference, ...] = ()) -> NoReturn:
        """End the replay with a divergence. Raises Halt: the first one, if there has been one."""
        place = place_of_call()
        if place:
            text = f"{text}\n  called at {place}"
        with self._lock:
            is_first = self.halted is None
            halted = self.halted = self.halted or Halt(Divergence(kind, name, text, changes))
            if is_first:
                self._report.divergences.append(halted.divergence)
        if is_first:
            if threading.current_thread() is not self._opener:
                # Nobody may ever look at what this thread raises: say it at once.
                print(f"tracetape: {text}", file=sys.stderr, flush=True)
            self.on_unwinding()
        raise halted.with_traceback(None)

    def hear(self, halted: Halted) -> None:
        """A process that the program has started called a boundary, and has halted: so does this one."""
        if self.halted is None and self.ended is None:
            divergence = Divergence("process", halted.name, messages.in_another_process(halted))
            self._report.divergences.append(divergence)
            self.halted = Halt(divergence)

    # -- the mode

    def cross(self, call: Call) -> Flow:
        name = call.spec.name
        if not self._session.is_open:
            raise self.closed(Divergence("closed", name, messages.closed(name, self._report.source)))
        if self._is_structure(call.spec):
            self._frame(name)
            call.gate = self._raise_again
            return (yield from BARE.cross(call))
        try:
            step, outcome = self._take(call)
        except SourceError as error:
            self.halt("unusable", name, messages.inputs_not_read(name, str(error)))
        except Exception as error:  # noqa: BLE001
            self._fail(name, error)
        call.replayed = Replayed(step.mode, step)
        if outcome is not None:
            return outcome
        return (yield from self._run(call, step))

    def _is_structure(self, spec: BoundarySpec) -> bool:
        """Whether a function runs as if it were not marked: the recording knows its like as structure, and the
        plan does not speak of it."""
        return self.adopted is not None and self.adopted.is_structure(spec) and spec.name not in self._planned

    def _run(self, call: Call, step: Step) -> Flow:
        frame = replace(current_frame(), replay=self._session, step=step)
        call.scopes = (*call.scopes, LiveScope(frame, self.running, step))
        items: list[Any] = []
        call.watchers = (*call.watchers, items.append)
        call.gate = self._raise_again
        self.going_on.add(step)
        try:
            outcome = yield from BARE.cross(call)
        finally:
            self.going_on.discard(step)
            self._cut = f"{step.name} ran live"
            if not self.running:  # else what is open may be another's that still runs
                self.after_live(step.name)
        if not isinstance(outcome, Streamed):
            self._last.set(step)  # not what was called inside it
        self._raise_again()  # the program caught it inside this call
        try:
            self._finish(call, step, outcome, items)
        except Exception as error:  # noqa: BLE001
            self._fail(step.name, error)
        return outcome

    def _raise_again(self) -> None:
        """What has ended the replay, if it has been ended. Without the frames that it has come through: a program
        that swallows it would collect them."""
        unwinding = self.halted or self.ended
        if unwinding is not None:
            raise unwinding.with_traceback(None)

    def _fail(self, name: str, error: Exception) -> NoReturn:
        """An error of our own is a halt: a wrong answer would be worse than none."""
        self.halt("internal", name, messages.internal(name, error))

    def _finish(self, call: Call, step: Step, outcome: Outcome, items: list[Any]) -> None:
        note(step, outcome, items)
        if step.recorded is not None:
            then = self._answering.recorded_shape(call.spec, step)
            if then is not None:
                step.outcome_changes = outcome_changes(then, live_shape(call.spec, outcome, items))

    def _take(self, call: Call) -> tuple[Step, Outcome | None]:
        """The step of a call, and its outcome where it is answered without running."""
        spec = call.spec
        frame = self._frame(spec.name)
        boundary = spec.name if self.adopted is None else self.adopted.boundary(spec)
        given = self._given(spec, boundary, call.arguments)
        inside = frame.step
        if inside is None and given.digest is not None and spec.name not in self._planned:
            served = self._at_once(spec, given, given.digest)
            if served is not None:
                return served
        under = inside.recorded if inside is not None else None
        with self._lock:
            match = self._claimed(boundary, given, under, inside is not None)
            stub = match.stub
            entry = self._options.plan.entry_for(boundary, stub.occurrence if stub else None, spec.name)
            after = inside is not None or (stub.after_cut if stub else bool(self._cut))
            if entry is None and match.kind == "equal":
                decision = SERVE
            else:
                decision = decide(
                    entry,
                    Situation(match.kind, after, inside is not None, spec.kind),
                    self._options.after_cut,
                    self._options.strict,
                )
            step = self._step(call, given, match, inside)
            step.stale, step.after_cut = decision.stale, after
            step.notes = self._notes(spec, given, match)
            if entry is not None and entry.mode != "stub" and entry.boundary != boundary:
                self._cut_at(stub)
            self.ledger.enter(step, stub, lends=match.kind == "changed" and decision.action in ("serve", "patch"))
            self._last.set(step)
            if match.renamed and self.ledger.renaming is not None:
                self._report.renamed_ids = self.ledger.renaming.renamed
        if decision.action == "halt":
            step.mode = "halted"
            self._halt_on(step, match, after)
        if decision.action == "end":
            self._end(step)
        if decision.action == "run":
            step.mode = "live"
            return step, None
        if decision.action == "patch":
            step.mode = "patched"
            self._cut = f"{step.name} was patched"
        return step, self._outcome(spec, step, stub, entry if decision.action == "patch" else None)

    def _given(self, spec: BoundarySpec, boundary: str, arguments: Mapping[str, Any]) -> Given:
        inputs = self._keying.inputs(spec, arguments)
        if self.adopted is None:
            return self._keying.given(spec, inputs)
        told = messages.key_not_asked(spec.name)
        if spec.key is not None and told not in self._report.notes:
            self._report.notes.append(told)
        return self._keying.adopted(self.adopted, spec, boundary, inputs)

    def _claimed(self, boundary: str, given: Given, under: Crossing | None, loose: bool) -> Match:
        if not given.compared:
            return self.ledger.claim_next(boundary, under)
        return self.ledger.claim(Asked(boundary, given.tree, under, loose, self._last.position(), given.digest))

    def _at_once(self, spec: BoundarySpec, given: Given, digest: bytes) -> tuple[Step, Outcome] | None:
        """What most calls are: at the top, and as the next recorded one, which returned a value that JSON has
        words for. None for another: then nothing has been done yet."""
        stub = self.ledger.next_same(spec.name, None, digest, self._last.position())
        if stub is None:
            return None
        try:
            returned = stub.plainly()
        except (ValueNotRebuilt, SourceError, ValueError):
            return None  # what says why reads it again
        if returned is None:
            return None
        step = Step(spec.name, "", spec.kind, "stub", given.values, stub, after_cut=stub.after_cut)
        # A result that was kept would be all that a long replay has in memory, and what the program made of it.
        step.came_back = stub.plain_result
        with self._lock:
            if not self.ledger.use(step, stub):
                return None
            self._last.set(step)
        return step, returned

    def _notes(self, spec: BoundarySpec, given: Given, match: Match) -> tuple[str, ...]:
        """Of a recording of others: what was not compared."""
        if not given.compared:
            return (messages.not_comparable(spec),)
        if not given.instructions or match.stub is None:
            return ()
        recorded = instructions(match.stub.crossing.inputs.get("messages"))
        return (messages.OTHER_INSTRUCTIONS,) if recorded not in ("", given.instructions) else ()

    def _cut_at(self, stub: Stub | None) -> None:
        """The plan names a function whose recorded calls have another name: which of them are its is known now."""
        ended = None if stub is None else stub.moment.ended
        if stub is None or ended is None or (self._first_end is not None and ended >= self._first_end):
            return
        self._first_end = ended
        self.ledger.table = self.ledger.table.with_cut(stub.position)

    def _frame(self, name: str) -> Frame:
        """The frame of the call, once it is sure that the call may go on here."""
        frame = current_frame()
        if self.elsewhere is not None and self.halted is None:
            self.halted = self.elsewhere(name)
            self._report.divergences.append(self.halted.divergence)
        if self.halted is not None or self.ended is not None:
            self._raise_again()
        if frame.replay is None and is_ambiguous():
            self.halt("ambiguous", name, messages.ambiguous(name))
        return frame

    def _step(self, call: Call, given: Given, match: Match, inside: Step | None) -> Step:
        return Step(
            boundary=call.spec.name,
            numbered="",  # the ledger gives it to one that is not recorded
            kind=call.spec.kind,
            mode="stub",
            as_came=given.values,
            found=match.stub,
            changes=match.changes if match.stub else (),
            moved=match.kind == "moved",
            parent=inside,
        )

    def _halt_on(self, step: Step, match: Match, after: bool) -> NoReturn:
        used = match.nearest is not None and self.ledger.is_taken(match.nearest)
        names = nearest(step.boundary, self.ledger.table.crossings.counts())
        self.halt(match.kind, step.name, messages.diverged(step, match, used, after, names), match.changes)

    def _end(self, step: Step) -> NoReturn:
        step.mode = "halted"
        with self._lock:
            is_first = self.ended is None
            ended = self.ended = self.ended or EndOfRecording(messages.ended(step.name, self._cut, step.recorded))
            if is_first:
                self._report.ended = str(ended)
        if is_first:
            self.on_unwinding()
        raise ended.with_traceback(None)

    def _outcome(self, spec: BoundarySpec, step: Step, stub: Stub | None, patch: PlanEntry | None) -> Outcome:
        if stub is None:
            return Returned(None)
        outcome = self._answering.outcome(spec, step, stub, patch)
        note(step, outcome, outcome.items if isinstance(outcome, Streamed) else ())
        return outcome

    def _served(self, stub: Stub) -> None:
        with self._lock:
            self.ledger.served(stub)


def _nothing() -> None:
    return None
