"""Options that several commands have."""

from __future__ import annotations

import string
from typing import Any

import click

__all__ = ["CANNOT_READ", "check_trace_options", "json_option", "trace_options"]

CANNOT_READ = "2 wrong use, 3 the recording cannot be read or has no such trace."


def _trace_id(ctx: click.Context, parameter: click.Parameter, given: str | None) -> str | None:
    if given is None:
        return None
    text = given.strip()
    if not text or len(text) > 32 or any(digit not in string.hexdigits for digit in text):
        raise click.UsageError(f"--trace takes a trace id, up to 32 hex digits, not {given[:80]!r}", ctx)
    return text


def trace_options(command: Any) -> Any:
    command = click.option(
        "--traces",
        type=click.Choice(["one", "all"]),
        default="one",
        help="'all': the whole source is one run.",
    )(command)
    return click.option(
        "--trace",
        "trace_id",
        metavar="ID",
        callback=_trace_id,
        help="Which trace, where the source has several: hex digits in any case, leading zeros optional.",
    )(command)


json_option = click.option("--json", "as_json", is_flag=True, help="JSON on standard output.")


def check_trace_options(trace_id: str | None, traces: str) -> None:
    if trace_id is not None and traces == "all":
        raise click.UsageError("--trace picks one trace and --traces all takes every one: give only one of them")
