"""The commands and their options."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from tracetape import __version__
from tracetape.cli import checking, render
from tracetape.cli.failing import DIVERGED, WRONG_USE, fail, reports_errors
from tracetape.cli.launch import Program, without_our_frames
from tracetape.cli.program_command import ProgramCommand
from tracetape.errors import DivergenceError
from tracetape.model.names import split_name
from tracetape.model.plan import ReplayPlan
from tracetape.model.recording import Recording

__all__ = ["cli"]

_EXIT_CODES = "Exit codes: 0 same or good, 1 diverged or not replayable, 2 wrong use, 3 cannot read or compare."


def _trace_options(command: Any) -> Any:
    command = click.option(
        "--traces",
        type=click.Choice(["one", "all"]),
        default="one",
        help="'all': the whole source is one run.",
    )(command)
    return click.option("--trace", "trace_id", metavar="ID", help="Which trace, where the source has several.")(
        command
    )


_json_option = click.option("--json", "as_json", is_flag=True, help="JSON on standard output.")


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_EXIT_CODES,
)
@click.version_option(__version__, prog_name="tracetape")
def cli() -> None:
    """Record an agent's run as OpenTelemetry spans; replay it offline, with one function live.

    Start with `tracetape demo`. On your own program, with functions marked @tracetape.boundary:

    \b
      tracetape record -o run.otlp.jsonl agent.py
      tracetape show   run.otlp.jsonl
      tracetape replay run.otlp.jsonl --live place_order agent.py
    """


@cli.command()
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder to leave the files in (default: ./tracetape-demo, or the next free name).",
)
@reports_errors
def demo(into: Path | None) -> None:
    """The broker incident from start to finish, offline, in a few seconds.

    Records an agent that sells 1,000 shares instead of $1,000 worth, shows the tree, replays the run
    faithfully, repairs the tool and replays with the repaired tool live. No model is called.
    """
    from tracetape.cli.demo import run_demo

    run_demo(into)


@cli.command(cls=ProgramCommand, epilog=_EXIT_CODES)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The recording to write.")
@click.option("--append", is_flag=True, help="Add the run to an existing recording.")
@click.option("--overwrite", is_flag=True, help="Replace an existing recording.")
@click.option("-m", "module", is_flag=True, help="Run a module, as python -m does.")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, required=True, metavar="SCRIPT [ARGS]…")
@reports_errors
def record(output: Path, append: bool, overwrite: bool, module: bool, program: tuple[str, ...]) -> None:
    """Record any program, unchanged: tracetape record -o run.otlp.jsonl agent.py ARGS.

    The program runs as under `python`, with its own exit status. The file has every value that went
    through a boundary; it is made for your eyes alone (mode 0600).
    """
    import tracetape

    if append and overwrite:
        raise click.UsageError("--append and --overwrite exclude each other.")
    script = Program(program[0], program[1:], module=module)
    mode = "a" if append else "w" if overwrite else "x"
    run = tracetape.record(output, mode=mode, name=Path(program[0]).name)
    with _as_python_would(), run:
        script.run()
    click.echo(f"tracetape: recorded {run.path} (trace {run.trace_id})", err=True)


@cli.command(cls=ProgramCommand, epilog=_EXIT_CODES)
@click.option("--source", required=True, hidden=True)
@click.option("--live", multiple=True, metavar="NAME[@N]", help="Run the real function.")
@click.option("--stub", multiple=True, metavar="NAME[@N]", help="Serve it even where its inputs differ.")
@click.option("--patch", multiple=True, metavar="NAME@N=JSON", help="Serve this instead.")
@click.option("--ignore", multiple=True, metavar="PATH", help="Leave out of inputs: '$.messages[*].id'.")
@click.option("--strict", is_flag=True, help="Whatever would only be listed is a divergence.")
@_trace_options
@click.option("-m", "module", is_flag=True, help="Run a module, as python -m does.")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, required=True, metavar="SCRIPT [ARGS]…")
@reports_errors
def replay(
    source: str,
    live: tuple[str, ...],
    stub: tuple[str, ...],
    patch: tuple[str, ...],
    ignore: tuple[str, ...],
    strict: bool,
    trace_id: str | None,
    traces: str,
    module: bool,
    program: tuple[str, ...],
) -> None:
    """Run a recorded run again: tracetape replay SOURCE --live NAME SCRIPT ARGS.

    Every boundary is served from the recording, except what --live and --patch name; nothing connects to
    the outside. The report goes to standard error. The program's own exit status is kept when nothing
    diverged.
    """
    from tracetape.replayer.session import open_tape

    script = Program(program[0], program[1:], module=module)
    tape = open_tape(
        source,
        _plan(stub, patch).with_live(live),
        ignore=ignore,
        strict=strict,
        trace_id=trace_id,
        traces=traces,
        program_follows=True,
    )
    try:
        with _as_python_would(report=lambda: str(tape.report)), tape:
            tape.run(script.run)
    except DivergenceError as error:
        fail(render.escaped_lines(str(error)), DIVERGED)


@cli.command(epilog=_EXIT_CODES)
@click.argument("source")
@click.option("--crossing", metavar="NAME@N", help="One crossing in full.")
@_json_option
@_trace_options
@reports_errors
def show(source: str, crossing: str | None, as_json: bool, trace_id: str | None, traces: str) -> None:
    """Show a recording as a tree: what went into each crossing and what came out."""
    recording = _load(source, trace_id, traces)
    console = render.console()
    if crossing is not None:
        name, number = split_name(crossing)
        one = recording[name, number or 1]
        if as_json:
            render.print_json(checking.crossing_as_json(one))
            return
        for line in render.crossing_in_full(one):
            console.print(line)
        return
    if as_json:
        render.print_json(checking.as_json(recording))
        return
    for line in render.tree_lines(recording, console.width):
        console.print(line)


@cli.command(epilog=_EXIT_CODES)
@click.argument("source")
@_json_option
@_trace_options
@reports_errors
def check(source: str, as_json: bool, trace_id: str | None, traces: str) -> None:
    """Can this be replayed? The grade of each crossing, with reasons and cures.

    exact: comes back as recorded. rebuilt: something had to be made up. unusable: cannot be served.
    Exits with 1 if any crossing is unusable.
    """
    recording = _load(source, trace_id, traces)
    if as_json:
        render.print_json(checking.as_json(recording))
    else:
        console = render.console()
        for line in checking.lines(recording):
            console.print(line)
    if not checking.usable(recording):
        raise SystemExit(DIVERGED)


@cli.command(epilog=_EXIT_CODES)
@click.argument("a")
@click.argument("b")
@_json_option
@_trace_options
@reports_errors
def diff(a: str, b: str, as_json: bool, trace_id: str | None, traces: str) -> None:
    """How recording B differs from recording A, crossing by crossing. Exits with 1 if it does.

    --trace chooses a trace that both sources have.
    """
    import tracetape

    divergences = tracetape.compare(_load(a, trace_id, traces), _load(b, trace_id, traces))
    if as_json:
        render.print_json(
            [
                {
                    "kind": one.kind,
                    "name": one.name,
                    "text": one.text,
                    "changes": [
                        {"path": change.path, "a": change.recorded, "b": change.replayed} for change in one.changes
                    ],
                }
                for one in divergences
            ]
        )
    else:
        console = render.console()
        for one in divergences:
            console.print(render.escaped_lines(one.text.replace(": recorded ", ": ").replace(", now ", " → ")))
        if not divergences:
            console.print("same")
    if divergences:
        raise SystemExit(DIVERGED)


def _load(source: str, trace_id: str | None, traces: str) -> Recording:
    import tracetape

    return tracetape.load(source, trace_id=trace_id, traces=traces)


def _plan(stub: tuple[str, ...], patch: tuple[str, ...]) -> ReplayPlan:
    plan = ReplayPlan()
    for name in stub:
        plan = plan.stub(*split_name(name))
    for given in patch:
        name, equals, text = given.partition("=")
        try:
            value = json.loads(text)
        except ValueError:
            equals = ""
            value = None
        boundary, number = split_name(name)
        if not equals or number is None:
            fail(
                f"tracetape: --patch takes NAME@N=JSON, as in --patch 'plan@1={{\"quantity\": 5}}', not {given!r}",
                WRONG_USE,
            )
        plan = plan.patch(boundary, number, value)
    return plan


class _as_python_would:
    """What the program raises is shown as `python` shows it, without our frames; SystemExit is kept."""

    def __init__(self, report: Any = None) -> None:
        self._report = report

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, DivergenceError):
            return
        if self._report is not None:
            sys.stdout.flush()
            click.echo(render.escaped_lines(self._report()), err=True)
        if isinstance(error, Exception) and not _is_ours(error):
            error.with_traceback(without_our_frames(error))
            sys.stdout.flush()
            sys.excepthook(type(error), error, error.__traceback__)
            raise SystemExit(1)


def _is_ours(error: BaseException) -> bool:
    from tracetape.errors import TracetapeError

    return isinstance(error, (TracetapeError, click.ClickException))
