"""Runs the program of `record` or `replay`, so that it ends as it would have ended under `python`."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import click

import tracetape
from tracetape import _sessions
from tracetape.cli import plans, render, tracebacks
from tracetape.cli.failing import DIVERGED, INTERRUPTED, WRONG_USE, fail
from tracetape.cli.launch import Program
from tracetape.errors import DivergenceError, RecordingEnded, RecordingError, SourceError
from tracetape.model.crossing import UNUSABLE
from tracetape.model.plan import ReplayPlan
from tracetape.model.printing import escaped
from tracetape.model.report import Divergence
from tracetape.recorder.run import Run
from tracetape.replayer.halting import EndOfRecording, Halt
from tracetape.replayer.session import Tape

__all__ = ["record_program", "replay_program"]

_SHOWN = 4
_UNWINDING = (Halt, EndOfRecording)


def record_program(program: Program, output: Path, mode: str, *, owns_process: bool = False) -> None:
    """Record it, and say where the recording is however the program ended.

    owns_process:  this process is there for the program alone; see `Program.run`.

    Raises RecordingError before the program runs; SystemExit with the program's own status.
    """
    run = tracetape.record(output, mode=mode, name=Path(program.target).name)
    held = _size(run.path) if mode == "a" else 0
    process = os.getpid()
    try:
        with run, _threads_as_python_shows_them():
            program.run(tracebacks.show, owns_process)
    except RecordingError as error:
        if error is not program.failure:
            raise _in_words_of_the_command_line(error, run.path) from None
    except BaseException as error:
        if error is not program.failure:
            raise
    if os.getpid() == process:  # a forked child comes here too, and leaves as it would have
        _say_recorded(run, held)
    _end_as(program)


def replay_program(program: Program, tape: Tape, plan: ReplayPlan, *, owns_process: bool = False) -> None:
    """Replay it and print the report.

    owns_process:  this process is there for the replay alone: what still runs when it is over (threads, atexit
                   handlers) halts at its boundaries, and `os._exit` does not get around the report.

    Raises SystemExit: 1 where the replay diverged, 0 where it left the recording after the cut, 2 where the
    plan names what nobody has; else the program's own status.
    """
    report, process = tape.report, os.getpid()

    def failed(error: BaseException) -> None:
        # What a halted program raises tells of the halt, and the report says that better.
        if not report.divergences and not report.ended and not isinstance(error, _UNWINDING):
            tracebacks.show(error)

    if owns_process:
        _sessions.seal(tape)
        _report_before_exit(tape)
    try:
        with tape, _threads_as_python_shows_them():
            tape.run(program.run, failed, owns_process)
    except (DivergenceError, RecordingEnded):
        pass  # the report has it
    except BaseException as error:
        if error is not program.failure:
            raise
    tracebacks.flush()
    diverged = report.verdict == "diverged"
    if os.getpid() != process:  # a forked child: the report is the parent's to print
        if diverged:
            raise SystemExit(DIVERGED)
        return _end_as(program)
    render.print_report(str(report), diverged=diverged)
    if diverged:
        _say_options(report.divergences[0])
    unknown = plans.unknown(plan, tape.recording)
    if unknown:
        fail(f"tracetape: {unknown}", DIVERGED if diverged else WRONG_USE)
    if diverged:
        raise SystemExit(DIVERGED)
    if not report.ended:
        _end_as(program)


def _report_before_exit(tape: Tape) -> None:
    """`os._exit` ends the process on the spot: nothing of the replay would ever be told."""
    leave, process = os._exit, os.getpid()

    def leaving(status: int) -> NoReturn:
        if os.getpid() == process and tape.is_open:
            left = SystemExit(status)
            with contextlib.suppress(DivergenceError, RecordingEnded):
                tape.__exit__(SystemExit, left, None)
            diverged = tape.report.verdict == "diverged"
            tracebacks.flush()
            render.print_report(str(tape.report), diverged=diverged)
            sys.stderr.flush()
            status = DIVERGED if diverged else status
        leave(status)

    os._exit = leaving


def _end_as(program: Program) -> None:
    """Leave with what the program left with: its SystemExit as it is, 130 as a shell counts Ctrl-C."""
    if isinstance(program.failure, SystemExit):
        raise program.failure
    if program.failure is not None:
        raise SystemExit(INTERRUPTED if isinstance(program.failure, KeyboardInterrupt) else 1)


def _in_words_of_the_command_line(error: RecordingError, path: Path) -> RecordingError:
    if error.code != "FILE_EXISTS":
        return error
    return RecordingError(
        f"{path} exists, and a recording is never overwritten by accident: give another path with -o, "
        "--append to add this run to it, or --overwrite to replace it",
        code=error.code,
    )


def _say_recorded(run: Run, held: int) -> None:
    tracebacks.flush()
    click.echo(escaped(f"tracetape: recorded {run.path} (trace {run.trace_id})"), err=True)
    with contextlib.suppress(OSError), run.path.open("rb") as file:
        file.seek(held)
        if len([line for line, _ in zip(file, range(2), strict=False) if line.strip()]) < 2:
            click.echo(
                "tracetape: no boundary was crossed: mark the functions to record with @tracetape.boundary",
                err=True,
            )
            return
    _say_unusable(run)


def _say_unusable(run: Run) -> None:
    """After the incident it is too late to learn that a result could not be stored."""
    try:
        crossings = run.recording.crossings
    except SourceError:
        return  # `show` and `check` will say what is wrong with the file
    unusable = [one.name for one in crossings if one.grade == UNUSABLE and one.outcome != "unfinished"]
    if unusable:
        names = escaped(", ".join(unusable[:3]) + (", …" if len(unusable) > 3 else ""))
        click.echo(
            f"tracetape: {len(unusable)} of {len(crossings)} calls cannot be served ({names}): "
            f"tracetape check {run.path} says why",
            err=True,
        )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _say_options(divergence: Divergence) -> None:
    """The report says what to write in Python; whoever typed a command wants its options."""
    name = shlex.quote(divergence.name.partition("@new@")[0])
    if divergence.kind == "changed" and divergence.changes:
        ignored = " ".join(f"--ignore {shlex.quote(change.path)}" for change in divergence.changes[:_SHOWN])
        options = f"{ignored}  or  --live {name}  or  --stub {name}"
    elif divergence.kind == "unrecorded":
        options = f"--live {name}"
    else:
        return
    click.echo(err=True)
    click.echo(escaped(f"as options of tracetape replay: {options}"), err=True)


@contextlib.contextmanager
def _threads_as_python_shows_them() -> Iterator[None]:
    """What ends a thread is shown without our frames."""
    shown = threading.excepthook

    def hook(told: threading.ExceptHookArgs) -> None:
        if told.exc_value is None:
            return
        tracebacks.without_our_frames(told.exc_value)
        shown(threading.ExceptHookArgs((told.exc_type, told.exc_value, told.exc_value.__traceback__, told.thread)))

    threading.excepthook = hook
    try:
        yield
    finally:
        if threading.excepthook is hook:
            threading.excepthook = shown
