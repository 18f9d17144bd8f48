"""One replay while it is open: its steps, its verdict."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from tracetape import _sessions
from tracetape._processes import Word
from tracetape.errors import DivergenceError, RecordingEnded, UsageError
from tracetape.model.call import Mode
from tracetape.model.names import nearest
from tracetape.model.recording import Recording
from tracetape.model.report import Report, Step
from tracetape.replayer import asking, messages, pools
from tracetape.replayer.elsewhere import halt_here
from tracetape.replayer.guard import Guard
from tracetape.replayer.halting import Halt, hide_in_threads, unwinds
from tracetape.replayer.outcomes import tree_of
from tracetape.replayer.player import Options, Player
from tracetape.replayer.saying import compared
from tracetape.replayer.verdict import lacking, listed, unused
from tracetape.replayer.watching import Watch

__all__ = ["ENDED", "Tape"]


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
        self._runs = 0
        self._options = options
        self._sources = sources
        self.report.notes += [
            f"ignore: {path!r} leaves nothing out of any recorded input"
            for path in options.ignore.unmatched(
                compared(one) if one.foreign else tree_of(one.input) for one in recording.crossings
            )
        ]
        self._player = Player(self, recording, options, self.report)
        self._guard = Guard(self, self._player, self.report, network, allow_hosts, strict=options.strict)
        self._watch = Watch(self._player.hear, asking.note_started)
        self._player.on_unwinding = self._watch.wake_soon
        self._player.after_live = self._guard.after_live
        self._was_open = False
        self._handed_ended = False

    @property
    def mode(self) -> Mode:
        """The mode that answers calls; for the boundaries, not for tests."""
        return self._player

    @property
    def runs_program(self) -> bool:
        return self._runs > 0

    def reads_from(self, path: Path) -> bool:
        """Whether `path` is (in) what this replay was read from."""
        target = path.resolve()
        return any(target == source or source in target.parents for source in self._sources)

    def handed_on(self) -> Word:
        """For a process that is started now: every boundary halts there, and reports to this one."""
        return Word("replay", os.getpid(), reports=self._watch.path, source=self.report.source)

    def __getitem__(self, key: tuple[str, int | str]) -> Step:
        """`tape["place_order", 1]`: a step, by the recording's occurrence; `tape["helper", "new@1"]` for a
        call that the recording does not have; `tape["chat", 2]` by the name that another instrumentation's has.
        Raises UsageError naming what was called."""
        __tracebackhide__ = True
        if not (isinstance(key, tuple) and len(key) == 2):
            raise UsageError(f'a step is looked up as tape["name", 1], not by {key!r}')
        boundary, number = key
        step = self._player.ledger.step(boundary, str(number))
        step = step or next((one for one in self.report.steps if _answered_by(one, boundary, number)), None)
        if step is not None:
            return step
        called = [one.name for one in self.report.steps if one.boundary == boundary]
        known = f"; called was {', '.join(called)}" if called else nearest(boundary, self._called_names())
        raise UsageError(f"{boundary}@{number} was not called in this replay{known}")

    def captured_result(self, boundary: str, number: int | str = 1) -> Any:
        """The result of a step; raises the step's error where it ended in one.

        Raises UsageError where there is no such step, or it has no result: it halted, or has not ended;
        SourceError where that has to be read from a file which is no longer what was loaded.
        """
        __tracebackhide__ = True
        step = self[boundary, number]
        if step.error is not None:
            raise step.error
        if not step.has_result:
            why = "it halted" if step.mode == "halted" else "it has not ended"
            raise UsageError(f"{step.name} has no result: {why}")
        return step.result

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run the program: its result, or `tracetape.ENDED` where it left the recording after the cut.

        For a coroutine function: a coroutine of that; for a generator function of either kind: a generator,
        which ends where the program left the recording. What follows in the test still runs, while in a bare
        block an end of the recording leaves the block.
        """
        __tracebackhide__ = True
        if not self.is_open:
            raise UsageError(
                "tape.run outside of its with block would run the real program: write\n"
                "    with tracetape.replay(…) as tape:\n"
                "        result = tape.run(agent, …)"
            )
        result: Any = None
        with self._running():
            result = function(*args, **kwargs)
        if inspect.iscoroutine(result):
            return self._run_async(result)
        if inspect.isgenerator(result):
            return self._run_items(result)
        if inspect.isasyncgen(result):
            return self._run_items_async(result)
        return self._ran(result)

    async def _run_async(self, awaitable: Awaitable[Any]) -> Any:
        result: Any = None
        with self._running():
            result = await awaitable
        return self._ran(result)

    def _run_items(self, items: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        result: Any = None
        with self._running():
            result = yield from items
        return self._ran(result)

    async def _run_items_async(self, items: AsyncGenerator[Any, Any]) -> AsyncGenerator[Any, Any]:
        with self._running():
            async with contextlib.aclosing(items):
                resume, argument = items.asend, None
                while True:
                    try:
                        item = await resume(argument)
                    except StopAsyncIteration:
                        break
                    try:
                        argument, resume = (yield item), items.asend
                    except GeneratorExit:
                        raise
                    except BaseException as thrown:  # noqa: BLE001
                        argument, resume = thrown, items.athrow
        self._ran(None)

    @contextlib.contextmanager
    def _running(self) -> Iterator[None]:
        self._runs += 1
        try:
            yield
        except GeneratorExit:
            raise
        except BaseException as error:
            if not self._is_the_end(error):
                raise
            self._hand_ended()
        finally:
            self._runs -= 1

    def _ran(self, result: Any) -> Any:
        """A program may have swallowed what unwound it, or have been unwound in another thread."""
        if self._player.halted is not None:
            raise self._player.halted.with_traceback(None)
        return result if self._player.ended is None else self._hand_ended()

    def _is_the_end(self, error: BaseException) -> bool:
        """Whether what the program raised is the end of the recording, a task group's parcel of it, or an
        error of its own on the way out after it had swallowed that."""
        if self._is_interrupted(error) or isinstance(error, SystemExit):
            return False
        return self._player.ended is not None and self._player.halted is None

    def _is_interrupted(self, error: BaseException | None) -> bool:
        """By somebody else than us, who wake the main thread in the same way."""
        return isinstance(error, KeyboardInterrupt) and not self._watch.woke

    def halt_in_child(self) -> None:
        """In a forked child: what it calls is not answered from its copy of the tape."""
        path = self._watch.path
        self._player.elsewhere = lambda name: halt_here(name, path)

    def _hand_ended(self) -> Any:
        """The test knows of the end now; leaving the block need not tell it again."""
        self._handed_ended = True
        self._watch.calm()  # it is the test that goes on now
        return ENDED

    def __enter__(self) -> Tape:
        if self._was_open:
            raise UsageError("a replay is entered once; call tracetape.replay again for another")
        self._was_open = self.is_open = True
        self._threads = frozenset(threading.enumerate())
        self._process = os.getpid()
        self._watch.open()
        self._show_in_threads = hide_in_threads()
        pools.install()
        _tapes.add(self)
        _sessions.open_replay(self)
        try:
            self._guard.enter()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        if os.getpid() != self._process:
            # A forked child leaves the block too: the verdict is the parent's.
            if self._player.halted is not None:
                raise DivergenceError(str(self.report), report=self.report) from None
            return
        if self._is_interrupted(error):
            if self.report.divergences:  # nobody else will tell it
                print(f"tracetape: {self.report}", file=sys.stderr, flush=True)
            return
        if isinstance(error, Halt) and not self.report.divergences:
            self.report.divergences.append(error.divergence)  # of another process, brought here by a pool
        self._look_over(interrupted=error is not None and not isinstance(error, SystemExit))
        if self.report.divergences:
            raise DivergenceError(str(self.report), report=self.report) from None
        if self._player.ended is not None and _hides_end(error) and not (self._handed_ended and error is None):
            raise RecordingEnded(
                f"{self.report.ended}; what follows in the block was not run. Wrap the program's part in "
                "tape.run(…), which returns tracetape.ENDED there:\n"
                "    result = tape.run(agent, …)"
            ) from None
        if error is not None and not isinstance(error, GeneratorExit):
            with contextlib.suppress(Exception):  # a frozen one takes no note, and is not to be disturbed
                error.add_note(f"tracetape: {self.report.first_line}")
                if self._player.adopted is not None and isinstance(error, (AttributeError, TypeError)):
                    error.add_note(f"tracetape: {messages.DICTS}")

    def seal(self) -> None:
        """For a test runner: until `unseal`, what is called after the replay is not real either. It fails with a
        DivergenceError: what tears fixtures down bears no BaseException."""
        self._player.closed = lambda divergence: DivergenceError(
            messages.called_by_teardown(divergence.name), report=self.report
        )
        _sessions.seal(self)

    def unseal(self) -> None:
        _sessions.unseal(self)

    def abandon(self) -> None:
        """Close without a verdict: the test never came to its call."""
        if self.is_open:
            self._close()

    def _close(self) -> None:
        try:
            self._watch.close()
        except KeyboardInterrupt:
            self._watch.close()
            if not self._watch.woke:
                raise
        finally:
            self.is_open = False
            _tapes.discard(self)
            self._show_in_threads()
            self._guard.leave()
            _sessions.leave_behind(self, self._threads)
            _sessions.close(self)

    def _look_over(self, *, interrupted: bool) -> None:
        """What is missing is not known after a halt or an end: nobody knows what the program would have gone on
        to call. Nor when its own exception left early."""
        if self._player.halted is None and self._player.ended is None and not interrupted:
            names, marked, adopted = self.recording.names, set(_sessions.marked()), self._player.adopted
            if adopted is not None:
                marked |= adopted.answering_marked()
                self.report.divergences += unused(self.report, self._options.plan, names)
            found = lacking(self.report, self._player.ledger, self._options, names, marked)
            self.report.divergences += found.divergences
            self.report.untouched += found.untouched
            self.report.notes += found.notes
        if self._options.strict:
            self.report.divergences += list(listed(self.report, self._options.plan))

    def _called_names(self) -> list[str]:
        return [step.boundary for step in self.report.steps]


def _answered_by(step: Step, boundary: str, number: int | str) -> bool:
    """Whether it is the recorded call, under whose name another instrumentation's recording has it."""
    recorded = step.recorded
    return recorded is not None and recorded.foreign and recorded.name == f"{boundary}@{number}"


def _hides_end(error: BaseException | None) -> bool:
    """Whether what leaves the block is the end itself (what wakes a waiting thread included), or nothing,
    where the program swallowed it."""
    return error is None or isinstance(error, KeyboardInterrupt) or unwinds(error)


def _after_fork() -> None:
    for tape in tuple(_tapes):
        if tape.is_open:
            tape.halt_in_child()


# Those that are open. No WeakSet: the collector would run its code wherever it comes, as in the middle of setting
# a ContextVar, where a signal handler that sets it too crashes the interpreter (CPython 3.11).
_tapes: set[Tape] = set()
os.register_at_fork(after_in_child=_after_fork)
