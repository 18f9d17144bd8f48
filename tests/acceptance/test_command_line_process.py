"""A replay of the command line owns its process: nothing real runs before, in or after it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PROGRAM = """
import atexit, os, sys, threading, tracetape

@tracetape.boundary("ask", kind="llm")
def ask(question):
    return question

@tracetape.boundary("order", kind="tool")
def order(number):
    print("REAL ORDER", flush=True)
    return number

ask(sys.argv[1])
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tracetape", *words], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "agent.py"
    path.write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    assert run(tmp_path, "record", "-o", "run.jsonl", "agent.py", "a").returncode == 0
    return path


def test_what_atexit_runs_is_not_real(script: Path, tmp_path: Path) -> None:
    script.write_text(script.read_text() + "atexit.register(order, 5)\n")
    done = run(tmp_path, "replay", "run.jsonl", "agent.py", "a")
    assert "REAL ORDER" not in done.stdout
    assert "order was called after the replay" in done.stderr


def test_a_thread_that_outlives_a_halt_does_nothing_real(script: Path, tmp_path: Path) -> None:
    text = script.read_text().replace(
        "ask(sys.argv[1])", "threading.Timer(1.5, order, [5]).start()\nask(sys.argv[1])"
    )
    script.write_text(text)
    done = run(tmp_path, "replay", "run.jsonl", "agent.py", "b")
    assert done.returncode == 1
    assert "REAL ORDER" not in done.stdout


def test_leaving_on_the_spot_does_not_get_around_the_report(script: Path, tmp_path: Path) -> None:
    text = script.read_text().replace(
        "ask(sys.argv[1])", "try: ask(sys.argv[1])\nexcept BaseException: pass\nos._exit(0)"
    )
    script.write_text(text)
    done = run(tmp_path, "replay", "run.jsonl", "agent.py", "b")
    assert done.returncode == 1
    assert "DIVERGED: ask@1 was called with other inputs" in done.stderr


def test_leaving_on_the_spot_does_not_hide_that_a_call_is_missing(script: Path, tmp_path: Path) -> None:
    text = script.read_text()
    script.write_text(text.replace("ask(sys.argv[1])", "ask(sys.argv[1])\nsys.stdout.flush()\nos._exit(3)"))
    done = run(tmp_path, "replay", "run.jsonl", "agent.py", "a")
    assert (done.returncode, "0 divergences" in done.stderr) == (3, True)
    script.write_text(text.replace("ask(sys.argv[1])", "os._exit(0)"))
    done = run(tmp_path, "replay", "run.jsonl", "agent.py", "a")
    assert done.returncode == 1
    assert "DIVERGED: ask@1 is in the recording and was never called" in done.stderr
