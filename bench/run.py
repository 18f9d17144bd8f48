"""The benchmark's command line.

    python bench/run.py [--quick | --long] [--only GROUP]… [--json] [--strict] [--save FILE] [--compare [FILE]]

Each row gives what tracetape takes, what a floor takes that keeps the same promises, and the ratio of the two;
samples of both are taken in turn, in the same process. Groups of rows run in processes of their own. Compare
ratios between machines, not microseconds.

Exit status: 1 where --compare finds a ratio that has worsened beyond the row's tolerance, or --strict a target
that is not met; else 0.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench import baseline  # noqa: E402
from bench.measuring import Plan, Row  # noqa: E402
from bench.showing import HEAD, shown  # noqa: E402

BASELINE = ROOT / "bench" / "baseline.json"

# By the function that yields its rows; run in this order, each in a process of its own.
GROUPS = {
    "off": "rows_calls:off",
    "recorded": "rows_calls:recorded",
    "recorded-host": "rows_calls:recorded_host",
    "host": "rows_calls:host",
    "host-processor": "rows_calls:host_processor",
    "parts": "rows_parts:parts",
    "dearer": "rows_parts:dearer",
    "writer": "rows_files:writer",
    "streams": "rows_streams:streams",
    "replay": "rows_replay:differing",
    "replay-same": "rows_replay:identical",
    "load": "rows_load:load",
    "read": "rows_read:formats",
    "families": "rows_read:families",
    "one-trace": "rows_read:one_trace",
    "guard": "rows_once:guard",
    "imports": "rows_once:imports",
    "payload": "rows_memory:payload",
    "tail": "rows_service:tail",
    "threads": "rows_service:threads",
    "memory": "rows_memory:service",
}
AGAIN = 2  # times that a group is measured again before a worsened ratio of it is believed
# Not in the quick form, unless they are named.
SLOW = ("one-trace", "parts", "dearer", "payload", "tail", "threads", "memory")


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


def measured(group: str, plan: Plan, show: Callable[[str], None]) -> list[Row]:
    found = []
    for row in rows_of(group, plan):
        show(shown(row))
        found.append(row)
    return found


def confirmed(
    found: dict[str, list[Row]], before: dict[str, Any], plan: Plan, show: Callable[[str], None]
) -> dict[str, str]:
    """The rows that have worsened, and what to say of each. A group with such a row is first measured again, and
    its rows are put in place of the former: where others use the machine a median can be theirs."""
    for group, rows in found.items():
        for _ in range(AGAIN):
            worse = baseline.worsened(rows, before)
            if not worse:
                break
            show(f"measured again, for these seemed worse than stored: {', '.join(worse)}")
            rows[:] = measured(group, plan, show)
    return baseline.worsened([row for rows in found.values() for row in rows], before)


def say(text: str) -> None:
    print(text, flush=True)


def silent(text: str) -> None:
    """With --json, stdout is for the rows alone."""


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def options_of(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    how_long = parser.add_mutually_exclusive_group()
    how_long.add_argument("--quick", action="store_true", help="fewer samples and smaller files: under 40 s")
    how_long.add_argument("--long", action="store_true", help="tails, loss and memory over more calls")
    parser.add_argument("--only", action="append", choices=GROUPS, metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument("--json", action="store_true", help="the rows as JSON, and nothing else, on stdout")
    parser.add_argument("--strict", action="store_true", help="fail where a target is not met")
    parser.add_argument("--save", type=Path, metavar="FILE", help="store the ratios; rows not measured are kept")
    parser.add_argument(
        "--compare", type=Path, nargs="?", const=BASELINE, metavar="FILE", help="fail where a ratio has worsened"
    )
    parser.add_argument("--group", choices=GROUPS, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = options_of(arguments)
    plan = Plan(quick=options.quick, long=options.long)
    if options.group:
        for row in rows_here(options.group, plan):
            print(json.dumps(row.as_json()), flush=True)
        return 0
    began = time.monotonic()
    show = silent if options.json else say
    show(HEAD)
    groups = options.only or [one for one in GROUPS if not (plan.quick and one in SLOW)]
    found = {group: measured(group, plan, show) for group in groups}
    worse = confirmed(found, read(options.compare), plan, show) if options.compare else {}
    rows = [row for group in found.values() for row in group]
    if options.json:
        print(json.dumps([row.as_json() for row in rows], indent=2))
    show(f"\n{len(rows)} rows in {time.monotonic() - began:.0f} s")
    missed = baseline.missed(rows)
    if missed:
        print(f"{len(missed)} targets not met: {'; '.join(missed)}", file=sys.stderr)
    for name, said in worse.items():
        print(f"worse than stored: {name}: {said}", file=sys.stderr)
    if options.compare and not worse:
        print("no ratio has worsened beyond its tolerance", file=sys.stderr)
    if options.save:
        kept = baseline.stored(rows, read(options.save) if options.save.exists() else {})
        options.save.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(bool(worse or (options.strict and missed)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
