"""The word that a session leaves in the environment, and how it is handed on to what is started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tracetape
from tracetape import _processes
from tracetape.config import SESSION

SAY = [sys.executable, "-S", "-c", f"import os; print(os.environ.get('{SESSION}', ''))"]


@tracetape.boundary("step")
def step(number: int) -> int:
    return number


@tracetape.boundary("start")
def start(**settings: Any) -> str:
    said: str = subprocess.run(SAY, capture_output=True, text=True, check=True, **settings).stdout
    return said.strip()


def told(text: str) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(text)
    return said


@pytest.mark.parametrize("before", [None, "what was there"])
def test_the_variable_is_there_while_a_session_is_open_and_then_what_was_there_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    monkeypatch.delenv(SESSION, raising=False)
    if before is not None:
        monkeypatch.setenv(SESSION, before)
    with tracetape.record(tmp_path / "run.jsonl") as outer:
        step(1)
        with tracetape.record(tmp_path / "inner.jsonl") as inner:
            assert [one["trace_id"] for one in told(os.environ[SESSION])["runs"]] == [inner.trace_id]
        said = told(os.environ[SESSION])
        (run,) = said.pop("runs")
        assert said == {"v": 1, "kind": "record", "pid": os.getpid(), "reports": "", "source": ""}
        assert (run["path"], run["trace_id"]) == (str(tmp_path / "run.jsonl"), outer.trace_id)
        assert run["span_id"] == run["root_id"] == outer.root_id
    assert os.environ.get(SESSION) == before
    with tracetape.replay(outer.path), tracetape.record(tmp_path / "saved.jsonl"):
        assert told(os.environ[SESSION])["kind"] == "replay"
        step(1)
    assert os.environ.get(SESSION) == before


def test_a_started_process_is_told_of_the_crossing_that_starts_it_whatever_its_environment(tmp_path: Path) -> None:
    environment = {"PATH": "/nowhere"}
    with tracetape.record(tmp_path / "run.jsonl") as run:
        texts = [start(), start(env=environment)]
    assert environment == {"PATH": "/nowhere"}
    spans = [told(text)["runs"][0]["span_id"] for text in texts]
    assert spans == [run.recording["start", number].span_ids[0] for number in (1, 2)]
    assert start() == ""


PUT_BACK = """
import os, subprocess, sys, _posixsubprocess, tracetape
from multiprocessing.process import BaseProcess

def now():
    named = [getattr(os, name) for name in ("fork", "forkpty", "posix_spawn", "execv", "execve")]
    return [*named, _posixsubprocess.fork_exec, subprocess._fork_exec, BaseProcess.start]

before = now()
with tracetape.record(sys.argv[1]):
    assert not any(ours is theirs for ours, theirs in zip(now(), before, strict=True))
assert now() == before
"""


def test_the_functions_that_start_processes_are_put_back(tmp_path: Path) -> None:
    """In a process of its own, in which no thread of an ended replay is left."""
    subprocess.run([sys.executable, "-c", PUT_BACK, tmp_path / "run.jsonl"], check=True)


def test_a_replay_leaves_no_pipe_behind_and_nobody_else_may_use_it(tmp_path: Path) -> None:
    with tracetape.record(tmp_path / "run.jsonl") as run:
        step(1)
    with tracetape.replay(run.path):
        pipe = Path(told(os.environ[SESSION])["reports"])
        assert pipe.is_fifo()
        assert (pipe.stat().st_mode & 0o777, pipe.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        step(1)
    assert not pipe.parent.exists()


WORD = _processes.Word("record", 5, (_processes.OpenRun("/run.jsonl", "1:2", "a" * 32, "b" * 16, "c" * 16),))


def test_a_word_is_read_as_it_was_written() -> None:
    assert _processes.parse(WORD.text) == WORD
    assert _processes.parse(WORD.for_successor().text) == WORD.for_successor()
    replay = _processes.Word("replay", 5, reports="/pipe", source="run.jsonl")
    assert _processes.parse(replay.text) == replay


def spoilt(**changes: Any) -> str:
    return json.dumps({**json.loads(WORD.text), **changes})


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "what somebody else has there",
        "[]",
        "null",
        "[" * 100_000,
        spoilt(v=2),
        spoilt(kind="other"),
        spoilt(pid="5"),
        spoilt(more=1),
        spoilt(runs=5),
        spoilt(runs=[{"path": "/run.jsonl"}]),
        spoilt(runs=[{**json.loads(WORD.text)["runs"][0], "path": 5}]),
        spoilt(runs=[{**json.loads(WORD.text)["runs"][0], "span_id": "x"}]),
    ],
    ids=str,
)
def test_what_is_no_word_of_this_version_is_none(text: str | None) -> None:
    assert _processes.parse(text) is None
