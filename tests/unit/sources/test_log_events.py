"""Log events that hold what the spans leave out are found beside them, or given; alone they are no trace."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.corpus import FOLDER

import tracetape
from tracetape.errors import FormatError

CASE = FOLDER / "openai-official"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    shutil.copy(CASE / "event-only.otlp.jsonl", tmp_path / "run.otlp.jsonl")
    return tmp_path / "run.otlp.jsonl"


def grades(*sources: Path) -> list[str]:
    return [one.grade for one in tracetape.load(*sources).crossings]


def test_without_them_the_content_is_off(run: Path) -> None:
    crossings = tracetape.load(run).crossings
    assert [one.grade for one in crossings] == ["unusable", "unusable"]
    assert "EVENT_ONLY with the log events kept beside the spans" in crossings[0].gaps[0].text


def test_a_logs_file_beside_the_spans_is_found(run: Path) -> None:
    shutil.copy(CASE / "event-only.logs.otlp.jsonl", run.with_name("run.logs.otlp.jsonl"))
    assert grades(run) == ["rebuilt", "rebuilt", "rebuilt"]


def test_another_is_given(run: Path) -> None:
    shutil.copy(CASE / "event-only.logs.otlp.jsonl", run.with_name("events.jsonl"))
    assert grades(run, run.with_name("events.jsonl")) == ["rebuilt", "rebuilt", "rebuilt"]
    assert grades(run.with_name("events.jsonl"), run) == ["rebuilt", "rebuilt", "rebuilt"]
    assert grades(run.parent) == ["rebuilt", "rebuilt", "rebuilt"]


def test_in_one_file_with_the_spans(run: Path) -> None:
    with run.open("ab") as file:
        file.write((CASE / "event-only.logs.otlp.jsonl").read_bytes())
    assert grades(run) == ["rebuilt", "rebuilt", "rebuilt"]
    assert tracetape.load(run).gaps == ()


def test_alone_they_are_the_wrong_signal(run: Path) -> None:
    with pytest.raises(FormatError) as caught:
        tracetape.load(CASE / "event-only.logs.otlp.jsonl")
    assert caught.value.code == "WRONG_SIGNAL"


def test_logs_of_the_program_are_passed_over(run: Path) -> None:
    beside = run.with_name("run.logs.otlp.jsonl")
    beside.write_text('{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"hello"}}]}]}]}\n')
    assert tracetape.load(run).gaps == ()
    beside.write_text("2026-11-30 12:00:00 INFO started\n")
    assert [gap.code for gap in tracetape.load(run).gaps] == ["LOGS_UNREADABLE"]
    assert len(tracetape.load(run).crossings) == 2
