"""`demo`: the broker incident from start to finish, offline."""

from __future__ import annotations

import difflib
import importlib.util
import sys
import time
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any

from rich.console import Console
from rich.text import Text

import tracetape
from tracetape.cli import render
from tracetape.errors import UsageError
from tracetape.model.recording import Recording
from tracetape.model.report import Report

__all__ = ["run_demo"]

USER_MESSAGE = "Sell about $1,000 of ACME stock"
_FILES = ("broker_agent.py", "test_incident.py")
_BEFORE = "    notional = quantity * PRICES[symbol]\n"
_REPAIR = (
    "    if notional > 10_000:\n"
    '        return {"blocked": True, "reason": f"${notional:,.2f} is over the cap of $10,000"}\n'
)


def run_demo(into: Path | None) -> None:
    """Tell the story and leave its files in a folder: the agent, the recording, a test of it.

    Raises UsageError for a folder that is not empty.
    """
    started = time.monotonic()
    console = render.console()
    folder = _folder(into)
    for name in _FILES:
        (folder / name).write_text(_file(name), encoding="utf-8")
    agent_file = folder / "broker_agent.py"

    _head(console, 1, "Record: an agent is told to sell about $1,000 of ACME stock")
    broker = _load(agent_file)
    with tracetape.record(folder / "incident.otlp.jsonl", name="broker") as run:
        answer = broker.run_agent(USER_MESSAGE)
    console.print(f'user:  "{USER_MESSAGE}"')
    console.print(f'agent: "{answer}"')
    asked = broker.model_requests
    console.print("No call failed. The user named $1,000, and $190,000 worth was sold.")

    _head(console, 2, "Look: tracetape show incident.otlp.jsonl")
    for line in render.tree_lines(run.recording, console.width):
        console.print(line)
    _point_at_the_step(console, run.recording)

    _head(console, 3, "Replay it faithfully: everything is served from the recording")
    faithful = _replay(folder, (), broker)
    console.print(faithful.first_line)

    _head(console, 4, "Repair place_order, in broker_agent.py")
    _repair(agent_file, console)

    _head(console, 5, "Replay the recorded run, with the repaired place_order live")
    repaired = _load(agent_file)
    report = _replay(folder, ("place_order",), repaired)
    console.print(render.escaped_lines(str(report)))

    _head(console, 6, "Recorded and replayed")
    _compare(console, run.recording, report)

    calls = broker.model_requests - asked + repaired.model_requests
    console.print()
    console.print(Text(f"model calls: {calls}", style="bold"), Text("in both replays"))
    console.print(f"left in {folder}: {', '.join((*_FILES, 'incident.otlp.jsonl'))}")
    console.print(f"the test for your repository: python -m pytest {folder}   (needs pytest)")
    console.print(f"took {time.monotonic() - started:.1f} s")


def _folder(into: Path | None) -> Path:
    if into is not None:
        if into.exists() and any(into.iterdir()):
            raise UsageError(f"{into} is not empty; give a new folder with --into")
        into.mkdir(parents=True, exist_ok=True)
        return into
    folder, number = Path("tracetape-demo"), 2
    while folder.exists():
        folder, number = Path(f"tracetape-demo-{number}"), number + 1
    folder.mkdir()
    return folder


def _file(name: str) -> str:
    return resources.files("tracetape.cli").joinpath("demo_files", name).read_text(encoding="utf-8")


def _load(path: Path) -> ModuleType:
    """The agent as a module of its own; a repaired file replaces the one that ran."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    # Not by spec.loader, which may take a byte code file of the same second for the repaired source.
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)  # noqa: S102
    return module


def _replay(folder: Path, live: Iterable[str], broker: Any) -> Report:
    with tracetape.replay(folder / "incident.otlp.jsonl", live=live) as tape:
        broker.run_agent(USER_MESSAGE)
    return tape.report


def _head(console: Console, number: int, text: str) -> None:
    console.print()
    console.print(Text(f"{number}. {text}", style="bold cyan"))


def _point_at_the_step(console: Console, recording: Recording) -> None:
    step = recording["agent", 1]
    said = step.inputs["messages"][-1]["content"]
    quantity = step.result.arguments["quantity"]
    console.print(
        Text(f'→ agent@1: in went "{said}" (dollars), out came quantity {quantity:,} (shares)', style="bold red")
    )


def _repair(path: Path, console: Console) -> None:
    before = path.read_text(encoding="utf-8")
    after = before.replace(_BEFORE, _BEFORE + _REPAIR)
    path.write_text(after, encoding="utf-8")
    changes = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    for line in list(changes)[3:]:
        console.print(Text(line, style="green" if line.startswith("+") else ""))


def _compare(console: Console, recording: Recording, report: Report) -> None:
    for step in report.steps:
        recorded = recording[step.boundary, int(step.number)]
        if step.mode == "live":
            console.print(f"{step.name} recorded: {recorded.result}")
            console.print(f"{step.name} replayed: {step.result}")
