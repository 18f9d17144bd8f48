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
from collections.abc import Iterator
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
    "writer": "rows_files:writer",
    "streams": "rows_streams:streams",
    "replay": "rows_replay:differing",
    "replay-same": "rows_replay:identical",
    "load": "rows_load:load",
    "guard": "rows_once:guard",
    "imports": "rows_once:imports",
    "payload": "rows_memory:payload",
    "tail": "rows_service:tail",
    "threads": "rows_service:threads",
    "memory": "rows_memory:service",
}
# Not in the quick form, unless they are named.
SLOW = ("payload", "tail", "threads", "memory")


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


def judged(rows: list[Row], compared: Path | None, *, strict: bool) -> bool:
    """Whether the run fails; says on stderr why."""
    worse = baseline.worsened(rows, read(compared)) if compared else []
    for said in worse:
        print(f"worse than in {compared}: {said}", file=sys.stderr)
    if compared and not worse:
        print(f"no ratio has worsened beyond its tolerance since {compared}", file=sys.stderr)
    missed = baseline.missed(rows)
    if missed:
        print(f"{len(missed)} targets not met: {'; '.join(missed)}", file=sys.stderr)
    return bool(worse or (strict and missed))


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
    found: list[Row] = []
    began = time.monotonic()
    if not options.json:
        print(HEAD)
    for group in options.only or [one for one in GROUPS if not (plan.quick and one in SLOW)]:
        for row in rows_of(group, plan):
            found.append(row)
            if not options.json:
                print(shown(row), flush=True)
    if options.json:
        print(json.dumps([row.as_json() for row in found], indent=2))
    else:
        print(f"\n{len(found)} rows in {time.monotonic() - began:.0f} s")
    failed = judged(found, options.compare, strict=options.strict)
    if options.save:
        kept = baseline.stored(found, read(options.save) if options.save.exists() else {})
        options.save.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
