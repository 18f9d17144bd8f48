"""The command line inside this process, with all that a program changes put back afterwards."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tracetape.cli.commands import cli

# An agent of two calls; each of its tools has a way to differ from one run to the next.
AGENT = """
import sys, tracetape

@tracetape.boundary("ask_model", kind="llm", model="m-1")
def ask_model(question):
    return {"symbol": "ACME", "quantity": 1000}

@tracetape.boundary("sell_shares", kind="tool")
def sell_shares(symbol, quantity):
    return {"sold": quantity}

print(sell_shares(**ask_model(sys.argv[1] if len(sys.argv) > 1 else "sell")))
"""

Tracetape = Callable[..., Result]
Script = Callable[..., str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in; `sys.path`, `sys.argv` and `__main__` are put back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["to be replaced", *sys.path])
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def tracetape() -> Tracetape:
    """`tracetape("show", "run.jsonl")`: the command with those words, and how it ended."""

    def run(*words: str) -> Result:
        return CliRunner().invoke(cli, words, prog_name="tracetape")

    return run


@pytest.fixture
def script(here: Path) -> Script:
    """`script("agent.py", source)` writes a program into the folder and returns its name."""

    def write(name: str, source: str) -> str:
        path = here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        return name

    return write


@pytest.fixture
def agent(script: Script) -> str:
    return script("agent.py", AGENT)


@pytest.fixture
def recording(tracetape: Tracetape, agent: str) -> str:
    """The agent's run: ask_model@1, sell_shares@1."""
    assert tracetape("record", "-o", "run.jsonl", agent).exit_code == 0
    return "run.jsonl"
