"""Long values stay in their file: loading a run does not take the memory of its payloads."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import tracetape
from tracetape.errors import DivergenceError, SourceError, TracetapeError
from tracetape.model.span import SpanRecord
from tracetape.semconv import names
from tracetape.sources import fetch, holding, rereading
from tracetape.sources.reading import read_files

LONG = "x" * 20_000
RECORDINGS = Path(__file__).parents[2] / "recordings"


@tracetape.boundary("echo")
def echo(text: str) -> str:
    return text


@pytest.fixture(autouse=True)
def as_if_it_were_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Larger than what is kept in memory."""
    monkeypatch.setattr(fetch, "_KEPT", 0)


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


def test_a_run_that_is_kept_in_memory_needs_its_file_no_more(
    recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "_KEPT", recorded.stat().st_size)
    recording = tracetape.load(recorded)
    recorded.unlink()
    assert recording["echo", 7].inputs == {"text": f"6 {LONG}"}
    assert [recording["echo", n + 1].result for n in range(50)] == [f"{n} {LONG}" for n in range(50)]


def test_one_long_value_that_was_asked_for_does_not_stay(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with tracetape.record(path):
        for _ in range(20):  # so many that the lines are known
            echo("short")
        echo("x" * 5_000_000)
    recording = tracetape.load(path)
    tracemalloc.start()
    assert len(recording["echo", 21].result) == 5_000_000
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 1_000_000


def test_what_is_no_span_takes_no_room(tmp_path: Path, recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file whose values do not stay in it."""
    size = recorded.stat().st_size
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.pb").write_bytes(
        (Path(__file__).parents[2] / "recordings" / "otelcol-0.161.0" / "broker.pb").read_bytes()
    )
    recorded.rename(folder / "b.jsonl")
    monkeypatch.setattr(fetch, "_KEPT", size)
    recording = tracetape.load(folder, traces="all")
    (folder / "b.jsonl").unlink()
    assert recording["echo", 7].result == f"6 {LONG}"


def test_a_file_without_an_end_is_not_kept() -> None:
    with pytest.raises(TracetapeError, match="/dev/zero") as caught:
        tracetape.load("/dev/zero")
    assert caught.value.code


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


def batched(recorded: Path, spans: int) -> Path:
    """The recording as a Collector writes it: many spans to a line."""
    documents = [json.loads(line) for line in recorded.read_bytes().splitlines()]
    path = recorded.with_name("batched.jsonl")
    with path.open("w") as file:
        for at in range(0, len(documents), spans):
            batch = [one for document in documents[at : at + spans] for one in document["resourceSpans"]]
            file.write(json.dumps({"resourceSpans": batch}) + "\n")
    return path


@pytest.mark.parametrize("spans", [1_000, 20, 5])
def test_lines_of_many_spans_are_parsed_once_not_once_for_each_value(
    recorded: Path, spans: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = batched(recorded, spans)
    parsed: list[tuple[int, int]] = []

    def line_at(path: Path, place: tuple[int, int]) -> dict[str, Any] | None:
        parsed.append(place)
        return rereading.line_at(path, place)

    monkeypatch.setattr(holding, "line_at", line_at)
    with tracetape.replay(path) as tape:
        for number in range(50):
            assert echo(f"{number} {LONG}") == f"{number} {LONG}"
    assert tape.report.verdict == "same"
    # Twice: what is to be served is looked at before the replay begins.
    assert len(parsed) <= 2 * len(path.read_bytes().splitlines())


def test_of_lines_of_many_spans_a_few_stay_in_memory(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = batched(recorded, 2)
    for limit, value in (("_LINES_KEPT", 3), ("_BYTES_KEPT", 1)):
        monkeypatch.setattr(holding, limit, value)
        tracemalloc.start()
        spans = [item for item in read_files([path], hold=True) if isinstance(item, SpanRecord)]
        values = [span.attributes[names.INPUT_VALUE] for span in spans if names.INPUT_VALUE in span.attributes]
        assert [len(str(value)) > len(LONG) for value in values] == [True] * 50
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert held < path.stat().st_size / 3


def test_a_replay_goes_on_when_the_program_goes_to_another_folder(
    recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(recorded.parent)
    (recorded.parent / "elsewhere").mkdir()
    recording = tracetape.load(recorded.name)
    with tracetape.replay(recording):
        os.chdir("elsewhere")
        for number in range(50):
            assert echo(f"{number} {LONG}") == f"{number} {LONG}"
    (recorded.parent / recorded.name).unlink()
    with pytest.raises(SourceError, match=f"^{recorded.name}:2: the file was changed"):
        _ = recording["echo", 2].result


@pytest.mark.parametrize("apart", ["trace", "content"])
def test_spans_of_one_line_with_equal_ids_are_told_apart(recorded: Path, apart: str) -> None:
    """Two traces, or a span that is in the line twice."""
    one = json.loads(recorded.read_bytes().splitlines()[0])["resourceSpans"][0]
    other = json.loads(json.dumps(one).replace("xxxx", "yyyy"))
    if apart == "trace":
        for scope in other["scopeSpans"]:
            for span in scope["spans"]:
                span["traceId"] = "ab" * 16
    path = recorded.with_name("two.jsonl")
    path.write_text(json.dumps({"resourceSpans": [one, other]}) + "\n")
    spans = [item for item in read_files([path], hold=True) if isinstance(item, SpanRecord)]
    texts = [str(span.attributes[names.INPUT_VALUE]) for span in spans]
    assert ["y" in text for text in texts] == [False, True]


@pytest.mark.parametrize(
    "other",
    [
        b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"xyz","spanId":1}]}]}]}',
        b'{"resourceSpans":[{"scopeSpans":[{"spans":7}]}]}',
        b'{"resourceSpans":7}',
        b'{"resourceSpans":[]}',
        b'{"milk":2}',
        b"[]",
        b"",
    ],
)
def test_a_file_replaced_by_other_json_has_changed(recorded: Path, other: bytes) -> None:
    recording = tracetape.load(recorded)
    size = len(recorded.read_bytes().splitlines()[0])
    recorded.write_bytes(other.ljust(size) + b"\n")
    with pytest.raises(SourceError) as caught:
        _ = recording["echo", 1].result
    assert caught.value.code == "SOURCE_CHANGED"


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
