"""Long values stay in their file: loading a run does not take the memory of its payloads."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import pytest

import tracetape
from tracetape.errors import DivergenceError, SourceError

LONG = "x" * 20_000


@tracetape.boundary("echo")
def echo(text: str) -> str:
    return text


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    with tracetape.record(path):
        for number in range(50):
            echo(f"{number} {LONG}")
    return path


def test_a_loaded_run_holds_no_payload_and_gives_each_when_asked(recorded: Path) -> None:
    tracemalloc.start()
    recording = tracetape.load(recorded)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < recorded.stat().st_size / 4
    assert recording["echo", 7].inputs == {"text": f"6 {LONG}"}
    assert recording["echo", 50].result == f"49 {LONG}"
    assert recording.grade == "exact"


def test_a_replay_reads_them_one_by_one(recorded: Path) -> None:
    with tracetape.replay(recorded) as tape:
        for number in range(50):
            assert echo(f"{number} {LONG}") == f"{number} {LONG}"
    assert tape.report.verdict == "same"


def test_a_difference_in_a_long_value_is_shown_where_it_begins(recorded: Path) -> None:
    with pytest.raises(DivergenceError, match=r"\$\.text: recorded …x+\" \(20,004 characters\), now …x+!"):
        with tracetape.replay(recorded):
            echo(f"0 {LONG}!")


@pytest.mark.parametrize("change", ["removed", "rewritten"])
def test_a_file_that_changed_since_is_told_not_served(recorded: Path, change: str) -> None:
    recording = tracetape.load(recorded)
    if change == "removed":
        recorded.unlink()
    else:
        recorded.write_bytes(recorded.read_bytes().replace(b"xxxx", b"yyyy"))
    with pytest.raises(SourceError) as caught:
        _ = recording["echo", 1].result
    assert caught.value.code == "SOURCE_CHANGED"
    assert str(caught.value) == (
        f"{recorded}:1: the file was changed or removed after it had been loaded; load it again"
    )
    with pytest.raises((DivergenceError, SourceError)), tracetape.replay(recording):
        echo(f"0 {LONG}")


def test_what_is_packed_is_kept_in_memory_for_it_has_no_places(recorded: Path, tmp_path: Path) -> None:
    packed = tmp_path / "run.jsonl.gz"
    packed.write_bytes(gzip.compress(recorded.read_bytes()))
    recording = tracetape.load(packed)
    packed.unlink()
    assert recording["echo", 1].result == f"0 {LONG}"


@pytest.mark.slow
def test_a_payload_of_50_megabytes_is_recorded_and_replayed(tmp_path: Path) -> None:
    huge = "y" * 50_000_000
    with tracetape.record(tmp_path / "run.jsonl"):
        echo(huge)
    with tracetape.replay(tmp_path / "run.jsonl"):
        assert echo(huge) == huge
