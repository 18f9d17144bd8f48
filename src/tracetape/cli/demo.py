"""`demo`: the broker incident from start to finish, offline."""

from __future__ import annotations

import difflib
import importlib.util
import shlex
import shutil
import sys
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any

from rich.console import Console
from rich.text import Text

import tracetape
from tracetape.cli import render
from tracetape.cli.tree import tree_lines
from tracetape.errors import UsageError
from tracetape.model.printing import escaped_lines
from tracetape.model.recording import Recording
from tracetape.model.report import Report
from tracetape.recorder.run import Run

__all__ = ["Untold", "run_demo"]

USER_MESSAGE = "Sell about $1,000 of ACME stock"
_FILES = ("broker_agent.py", "test_incident.py")
_BEFORE = "    notional = quantity * PRICES[symbol]\n"
_REPAIR = (
    "    if notional > 10_000:\n"
    '        return {"blocked": True, "reason": f"${notional:,.2f} is over the cap of $10,000"}\n'
)


def run_demo(into: Path | None, *, otlp: bool = False) -> None:
    """Tell the story and leave its files in a folder: the agent, the recording, a test of it.

    otlp:  send its spans as well.

    Raises UsageError for a folder that is not empty; what `demo_otlp` raises.
    """
    started = time.monotonic()
    console = render.console()
    telling = _telling(otlp)
    folder = _folder(into)
    for name in _FILES:
        (folder / name).write_text(_file(name), encoding="utf-8")
    agent_file, recording = folder / "broker_agent.py", folder / "incident.otlp.jsonl"

    _head(console, 1, "Record: an agent is told to sell about $1,000 of ACME stock")
    broker = _load(agent_file)
    with tracetape.record(recording, name="broker") as run:
        answer = broker.run_agent(USER_MESSAGE)
    console.print(f'user:  "{USER_MESSAGE}"')
    console.print(f'agent: "{answer}"')
    asked = broker.model_requests
    console.print("No call failed. The user named $1,000, and $190,000 worth was sold.")

    _head(console, 2, f"Look: tracetape show {recording}")
    render.print_lines(tree_lines(run.recording, console.width), console)
    _point_at_the_step(console, run.recording)

    _head(console, 3, "Replay it faithfully: everything is served from the recording")
    with telling.replaying("replay", run):
        faithful = _replay(recording, (), broker)
    console.print(faithful.first_line)

    _head(console, 4, "Repair place_order, in broker_agent.py")
    _repair(agent_file, console)

    _head(console, 5, "Replay the recorded run, with the repaired place_order live")
    repaired = _load(agent_file)
    with telling.replaying("replay, place_order repaired", run):
        report = _replay(recording, ("place_order",), repaired)
    console.print(escaped_lines(str(report)))

    _head(console, 6, "Recorded and replayed")
    _compare(console, run.recording, report)

    calls = broker.model_requests - asked + repaired.model_requests
    console.print("In both replays together:")
    console.print(Text(f"model calls: {calls}", style="bold"))

    _head(
        console, 7, f"Yours to try, in {time.monotonic() - started:.1f} s: {folder} has {', '.join(_left(folder))}"
    )
    tracetape_command, python = _commands()
    console.print(f"{tracetape_command} replay {recording} --live place_order {agent_file}")
    console.print(f"{python} -m pytest {folder}   (the incident as a test that stays; needs pytest)")
    telling.finish(console)


def _telling(otlp: bool) -> Untold:
    if not otlp:
        return Untold()
    from tracetape.cli.demo_otlp import Telling

    return Telling()


class Untold:
    """Without --otlp: nothing is sent."""

    def replaying(self, what: str, run: Run) -> AbstractContextManager[None]:
        return nullcontext()

    def finish(self, console: Console) -> None:
        pass


def _folder(into: Path | None) -> Path:
    if into is not None:
        if into.exists() and not into.is_dir():
            raise UsageError(f"{into} is a file; --into takes an empty or new folder")
        if into.exists() and any(into.iterdir()):
            raise UsageError(f"{into} is not empty; --into takes an empty or new folder")
        return _made(into)
    folder, number = Path("tracetape-demo"), 2
    while folder.exists():
        folder, number = Path(f"tracetape-demo-{number}"), number + 1
    return _made(folder)


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be made: {error.strerror}; give a folder that you may write to with --into"
        ) from None
    return folder


def _left(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir() if one.is_file())


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


def _replay(recording: Path, live: Iterable[str], broker: Any) -> Report:
    with tracetape.replay(recording, live=live) as tape:
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


def _commands() -> tuple[str, str]:
    """How this reader calls tracetape and python: by name where the names lead here, else by path."""
    path = Path(sys.executable)
    found = [shutil.which(name) for name in ("tracetape", "python")]
    if all(one is not None and Path(one).parent == path.parent for one in found):
        return "tracetape", "python"
    python = shlex.quote(str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path))
    return f"{python} -m tracetape", python
