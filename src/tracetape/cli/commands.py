"""The commands of the command line, each with its options."""

from __future__ import annotations

from pathlib import Path

import click

from tracetape import __version__
from tracetape.cli.failing import DIVERGED, Commands, reports_errors
from tracetape.cli.options import CANNOT_READ, check_trace_options, json_option, trace_options
from tracetape.cli.program_command import ProgramCommand
from tracetape.model.recording import Recording

# What shows, runs and compares is imported by the command that does it: `--help` is asked for often.

__all__ = ["cli"]


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 same or good, 1 diverged or not replayable, 2 wrong use, 3 cannot read or compare. "
    "record and replay keep the program's own exit status when nothing diverged.",
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


@cli.command(
    short_help="The broker incident from start to finish, offline.",
    epilog="Exit codes: 0 done; 2 the folder cannot be used, or an extra is missing; 3 nobody took the spans.",
)
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="An empty or new folder to leave the files in (default: tracetape-demo, or the next free name).",
)
@click.option("--otlp", is_flag=True, help="Send its spans over OTLP as well, to OTEL_EXPORTER_OTLP_ENDPOINT.")
@reports_errors
def demo(into: Path | None, otlp: bool) -> None:
    """The broker incident from start to finish, offline, in a few seconds.

    Records an agent that sells 1,000 shares instead of $1,000 worth, shows the tree, replays the run
    faithfully, repairs the tool and replays with the repaired tool live. No model is called.

    \b
      tracetape demo
      tracetape demo --into /tmp/broker
      docker compose up -d && tracetape demo --otlp

    With --otlp the incident and its repaired replay are traces as well, each replay linked to the incident; the
    addresses of their pages in Jaeger and Grafana are printed. The extra `otlp` is needed for it.
    """
    from tracetape.cli.demo import run_demo

    run_demo(into, otlp=otlp)


@cli.command(
    cls=ProgramCommand,
    short_help="Run any program and record it.",
    epilog="Exit codes: the program's own; 2 wrong use, and then the program was not run.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="The recording to write; a folder gets one file a run.",
)
@click.option("--append", is_flag=True, help="Add the run to an existing recording.")
@click.option("--overwrite", is_flag=True, help="Replace an existing recording.")
@click.option("-m", "module", is_flag=True, help="Run a module, as python -m does.")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="SCRIPT [ARGS]…")
@click.pass_obj
@reports_errors
def record(
    owns_process: bool | None,
    output: Path,
    append: bool,
    overwrite: bool,
    module: bool,
    program: tuple[str, ...],
) -> None:
    """Run any program, unchanged, and record each call through its boundaries.

    \b
      tracetape record -o run.otlp.jsonl agent.py --fast
      tracetape record -o run.otlp.jsonl -m broker.agent --fast

    Options stand before SCRIPT; what stands behind it is the program's. It runs as under `python`. The
    file has every value that went through a boundary; only you may read it (mode 0600).
    """
    from tracetape.cli.launch import Program
    from tracetape.cli.running import record_program

    if append and overwrite:
        raise click.UsageError("--append and --overwrite exclude each other")
    script = Program(program[0], program[1:], module=module)
    mode = "a" if append else "w" if overwrite else "x"
    record_program(script, output, mode, owns_process=bool(owns_process))


@cli.command(
    cls=ProgramCommand,
    short_help="Run a recorded run again, offline.",
    epilog="Exit codes: 1 diverged, or not replayable under this plan; "
    f"{CANNOT_READ} Else the program's own; 0 where it left the recording after a live or patched call.",
)
@click.option("--source", hidden=True)
@click.option("--live", multiple=True, metavar="NAME[@N]", help="Run the real function.")
@click.option("--stub", multiple=True, metavar="NAME[@N]", help="Serve it even where its inputs differ.")
@click.option(
    "--patch", multiple=True, metavar="NAME@N=JSON", help="Serve this result instead: 'plan@1={\"n\": 5}'."
)
@click.option(
    "--ignore", multiple=True, metavar="PATH", help="Leave out when inputs are compared: '$.messages[*].id'."
)
@click.option("--strict", is_flag=True, help="Whatever would only be listed is a divergence.")
@trace_options
@click.option("-m", "module", is_flag=True, help="Run a module, as python -m does.")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="SCRIPT [ARGS]…")
@click.pass_obj
@reports_errors
def replay(
    owns_process: bool | None,
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
    """Run a recorded run again: each boundary gets what was recorded.

    \b
      tracetape replay run.otlp.jsonl agent.py
      tracetape replay run.otlp.jsonl --live place_order agent.py --fast
      tracetape replay run.otlp.jsonl --patch 'plan@1={"n": 5}' -m broker.agent

    Only what --live names runs for real, and nothing else connects to the outside. NAME@N is the N-th call of
    NAME in the recording, from 1; NAME is every one. Options stand before SCRIPT; what stands behind it is
    the program's. The report goes to standard error.
    """
    from tracetape.cli.launch import Program
    from tracetape.cli.plans import chosen_plan
    from tracetape.cli.running import replay_program
    from tracetape.replayer.session import open_tape

    check_trace_options(trace_id, traces)
    script = Program(program[0], program[1:], module=module)
    plan = chosen_plan(stub, patch, live)
    tape = open_tape(
        source, plan, ignore=ignore, strict=strict, trace_id=trace_id, traces=traces, program_follows=True
    )
    replay_program(script, tape, plan, owns_process=bool(owns_process))


@cli.command(short_help="Show a recording as a tree.", epilog=f"Exit codes: 0 shown; {CANNOT_READ}")
@click.argument("source")
@click.option("--crossing", metavar="NAME@N", help="One crossing in full: the N-th call of NAME, from 1.")
@json_option
@trace_options
@reports_errors
def show(source: str, crossing: str | None, as_json: bool, trace_id: str | None, traces: str) -> None:
    """Show a recording as a tree: what went into each crossing and what came out.

    \b
      tracetape show run.otlp.jsonl
      tracetape show run.otlp.jsonl --crossing place_order@1
      tracetape show run.otlp.jsonl --json | jq .crossings[0].inputs
      tracetape show jaeger+http://localhost:16686/4bf92f3577b34da6a3ce929d0e0e4736

    SOURCE is a file, a folder or a URL; of one with several traces, which are listed, --trace chooses one.
    """
    from tracetape.cli import checking, listing_runs, render
    from tracetape.cli.crossing_page import crossing_in_full
    from tracetape.cli.tree import tree_lines
    from tracetape.errors import TraceSelectionError

    is_open = trace_id is None and traces == "one" and crossing is None
    found = listing_runs.runs(source) if is_open and listing_runs.is_large(source) else {}
    try:
        recording = _load(source, trace_id, traces) if len(found) < 2 else None
    except TraceSelectionError as error:
        if not is_open or error.code != "AMBIGUOUS_TRACE":
            raise
        found, recording = listing_runs.runs(source), None
    if recording is None:
        if as_json:
            render.print_json(listing_runs.as_json(found))
        else:
            render.print_lines(listing_runs.lines(source, found))
        return
    if crossing is not None:
        one = checking.crossing_named(recording, crossing)
        if as_json:
            render.print_json(checking.crossing_as_json(one))
        else:
            render.print_lines(crossing_in_full(one))
    elif as_json:
        render.print_json(checking.as_json(recording))
    else:
        console = render.console()
        render.print_lines(tree_lines(recording, console.width), console)


@cli.command(
    short_help="Can this be replayed?",
    epilog=f"Exit codes: 0 every crossing can be served, 1 one of them cannot; {CANNOT_READ}",
)
@click.argument("source")
@click.option("--live", multiple=True, metavar="NAME[@N]", help="What a replay would do with NAME live.")
@json_option
@trace_options
@reports_errors
def check(source: str, live: tuple[str, ...], as_json: bool, trace_id: str | None, traces: str) -> None:
    """Can this be replayed? The grade of each crossing, with reasons and cures; then what a replay would do.

    \b
      tracetape check run.otlp.jsonl
      tracetape check run.otlp.jsonl --live place_order
      tracetape check exported.json --trace 4bf92f3577b34da6a3ce929d0e0e4736

    exact: comes back as recorded. rebuilt: something had to be made up. unusable: cannot be served.
    """
    from tracetape.cli import checking, render
    from tracetape.cli.plans import chosen_plan
    from tracetape.cli.preflight import check_plan

    plan = chosen_plan((), (), live)
    recording = _load(source, trace_id, traces)
    check_plan(recording, plan)
    if as_json:
        render.print_json(checking.as_json(recording))
    else:
        render.print_lines(checking.lines(recording, plan))
    if not checking.usable(recording, plan):
        raise SystemExit(DIVERGED)


@cli.command(
    short_help="How recording B differs from recording A.",
    epilog=f"Exit codes: 0 same, 1 they differ; {CANNOT_READ}",
)
@click.argument("a")
@click.argument("b")
@json_option
@trace_options
@reports_errors
def diff(a: str, b: str, as_json: bool, trace_id: str | None, traces: str) -> None:
    """How recording B differs from recording A, crossing by crossing.

    \b
      tracetape diff before.otlp.jsonl after.otlp.jsonl

    Crossings are paired by boundary, parent and inputs, not by position. --trace chooses a trace that both
    have.
    """
    import tracetape
    from tracetape.cli import diffing, render

    first, second = _load(a, trace_id, traces), _load(b, trace_id, traces)
    divergences = tracetape.compare(first, second)
    if as_json:
        render.print_json(diffing.as_json(divergences))
    else:
        render.print_lines(diffing.lines(first, second, divergences))
    if divergences:
        raise SystemExit(DIVERGED)


def _load(source: str, trace_id: str | None, traces: str) -> Recording:
    import tracetape

    check_trace_options(trace_id, traces)
    return tracetape.load(source, trace_id=trace_id, traces=traces)
