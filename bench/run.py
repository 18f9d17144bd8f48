"""The benchmark's command line.

    python bench/run.py [--quick | --long] [--only GROUP]… [--json] [--strict] [--save FILE] [--compare [FILE]]

Each row gives what tracetape takes, what a floor takes that keeps the same promises, and the ratio of the two;
samples of both are taken in turn, in the same process. Groups of rows run in processes of their own. Compare
ratios between machines, not microseconds.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.measuring import Plan, Row  # noqa: E402
from bench.showing import HEAD, shown  # noqa: E402

# By the function that yields its rows; run in this order, each in a process of its own.
GROUPS = {
    "off": "rows_calls:off",
    "recorded": "rows_calls:recorded",
    "recorded-host": "rows_calls:recorded_host",
    "host": "rows_calls:host",
    "host-processor": "rows_calls:host_processor",
}


def rows_here(group: str, plan: Plan) -> Iterator[Row]:
    module, function = GROUPS[group].split(":")
    yield from getattr(importlib.import_module(f"bench.{module}"), function)(plan)


def rows_of(group: str, plan: Plan) -> Iterator[Row]:
    """The rows of a group as they come, from a process of its own, without what the environment says to us or
    to OpenTelemetry."""
    flags = [flag for flag, said in (("--quick", plan.quick), ("--long", plan.long)) if said]
    env = {key: value for key, value in os.environ.items() if not key.startswith(("TRACETAPE_", "OTEL_"))}
    command = [sys.executable, str(Path(__file__).resolve()), "--group", group, *flags]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            yield Row.from_json(json.loads(line))
    if child.returncode:
        raise SystemExit(f"the rows of {group} could not be measured (exit {child.returncode})")


def options_of(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    how_long = parser.add_mutually_exclusive_group()
    how_long.add_argument("--quick", action="store_true", help="fewer samples and smaller files: under 40 s")
    how_long.add_argument("--long", action="store_true", help="also tails, memory over hours, loss: many minutes")
    parser.add_argument("--only", action="append", choices=GROUPS, metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--group", choices=GROUPS, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = options_of(arguments)
    plan = Plan(quick=options.quick, long=options.long)
    if options.group:
        for row in rows_here(options.group, plan):
            print(json.dumps(row.as_json()), flush=True)
        return 0
    found: list[Row] = []
    began = time.monotonic()
    if not options.json:
        print(HEAD)
    for group in options.only or GROUPS:
        for row in rows_of(group, plan):
            found.append(row)
            if not options.json:
                print(shown(row), flush=True)
    if options.json:
        print(json.dumps([row.as_json() for row in found], indent=2))
    else:
        print(f"\n{len(found)} rows in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
