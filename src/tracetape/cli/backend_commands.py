"""The commands that get traces from where they are kept."""

from __future__ import annotations

from pathlib import Path

import click

from tracetape.cli.commands import cli
from tracetape.cli.failing import CANNOT_COMPARE, reports_errors
from tracetape.cli.options import CANNOT_READ, check_trace_options, json_option, trace_options

__all__ = ["fetch", "find", "index"]


@cli.command(
    short_help="Look for traces in Jaeger, Tempo or Phoenix.",
    epilog="Exit codes: 0 found; 2 wrong use; 3 nothing found, or the backend cannot be asked.",
)
@click.argument("backend")
@click.option("--attribute", multiple=True, metavar="K=V", help="Of a span of the trace; several: all of them.")
@click.option("--since", default="24h", metavar="TIME", show_default=True, help="How far back: 90s, 30m, 2h, 7d.")
@click.option("--errors", is_flag=True, help="Only traces with a span that failed.")
@click.option("--service", metavar="NAME", help="Only those whose service.name it is.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000), help="The most to list.")
@json_option
@reports_errors
def find(
    backend: str,
    attribute: tuple[str, ...],
    since: str,
    errors: bool,
    service: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """Look for traces in a backend; what is listed can be shown, fetched and replayed.

    \b
      tracetape find jaeger+http://localhost:16686 --since 2h --errors
      tracetape find tempo+https://tempo.example --attribute order.id=ord-42
      tracetape find phoenix+http://localhost:6006/default --errors

    What logs in is in variables: TRACETAPE_TEMPO_TOKEN, TRACETAPE_TEMPO_BASIC (user:password) and
    TRACETAPE_TEMPO_TENANT; for the others, their names instead of TEMPO.
    """
    from tracetape.cli import finding, render

    found, address = finding.found(backend, attribute, since, errors, service, limit)
    if as_json:
        render.print_json(finding.as_json(found, address))
    else:
        render.print_lines(finding.lines(found, address))
    if not found:
        raise SystemExit(CANNOT_COMPARE)


@cli.command(
    short_help="Save a trace as a recording of its own.",
    epilog=f"Exit codes: 0 saved; {CANNOT_READ}",
)
@click.argument("source")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The recording to write.")
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@trace_options
@reports_errors
def fetch(source: str, output: Path, overwrite: bool, trace_id: str | None, traces: str) -> None:
    """Save one trace, from wherever it is, as OTLP JSON lines: the form in which tracetape records.

    \b
      tracetape fetch jaeger+http://localhost:16686/4bf92f3577b34da6a3ce929d0e0e4736 -o run.otlp.jsonl
      tracetape fetch collector/spans.jsonl --trace 4bf92f35 -o run.otlp.jsonl

    The address of the page that a browser shows of a trace is understood too. Only you may read the file.
    """
    from tracetape.cli import fetching, render

    check_trace_options(trace_id, traces)
    render.print_lines(fetching.saved(source, output, overwrite, trace_id, traces))


@cli.command(short_help="Make a large file quick to look into.", epilog=f"Exit codes: 0 written; {CANNOT_READ}")
@click.argument("source")
@reports_errors
def index(source: str) -> None:
    """Write an index beside a file of many traces: SOURCE.ttidx.

    \b
      tracetape index collector/spans.jsonl

    With it, one trace of the file is found at once, and its runs are listed at once. An index that no longer
    fits its file is not used.
    """
    from tracetape.cli import listing_runs, render

    render.print_lines(listing_runs.indexed(source))
