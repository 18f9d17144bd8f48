"""Sources are files and directories, whole and in order."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tracetape.errors import SourceError
from tracetape.exporters.otlp_json import encode_line
from tracetape.model.span import SpanRecord
from tracetape.sources import json_records
from tracetape.sources.fetch import files_of, opened
from tracetape.sources.loading import load, read_spans


def line(number: int, parent: int | None = 1) -> bytes:
    return encode_line(
        SpanRecord(
            trace_id="0a" * 16,
            span_id=f"{number:016x}",
            parent_id=None if parent is None else f"{parent:016x}",
            name=f"s{number}",
            start_ns=number,
            end_ns=100,
        )
    )


def test_a_directory_is_one_source_without_hidden_files_and_the_marks_of_no_file(tmp_path):
    (tmp_path / "b.jsonl").write_bytes(line(1, None))
    (tmp_path / "a.jsonl").write_bytes(line(2))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.jsonl").write_bytes(line(3))
    (tmp_path / "gone.jsonl.open.4711").write_bytes(b"not for us")
    (tmp_path / ".hidden").write_bytes(b"not for us")
    recording = load(tmp_path)

    assert [span.name for span in recording.spans] == ["s1", "s2", "s3"]
    assert recording.gaps == ()
    assert [span.name for span in read_spans(tmp_path)] == ["s2", "s1", "s3"]


def test_several_sources_are_one(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(line(1, None))
    (tmp_path / "b.jsonl").write_bytes(line(2))

    assert len(load(str(tmp_path / "a.jsonl"), tmp_path / "b.jsonl").spans) == 2


def test_a_file_in_a_directory_that_is_no_trace_is_an_error_that_names_it(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(line(1, None))
    (tmp_path / "notes.txt").write_text("buy milk")

    with pytest.raises(SourceError) as caught:
        load(tmp_path)

    assert caught.value.code == "NOT_JSON"
    assert "notes.txt" in str(caught.value)


def test_a_link_that_goes_round_ends(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(line(1, None))
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)

    assert files_of([tmp_path]) == [tmp_path / "a.jsonl"]


def test_folders_in_folders_come_in_order_of_name(tmp_path):
    for name in ("b/2", "a", "b/10", "c/d/e", "c.x", "b.x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    assert [str(Path(path).relative_to(tmp_path)) for path in files_of([tmp_path])] == [
        "a",
        "b/10",
        "b/2",
        "b.x",
        "c/d/e",
        "c.x",
    ]


def test_a_folder_nested_deeper_than_the_stack_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    deep = Path()
    for _ in range(1_200):
        deep /= "d"
        deep.mkdir()
    (deep / "a.jsonl").write_bytes(line(1, None))
    try:
        assert len(load("d").spans) == 1
    finally:
        # pytest removes folders by recursion.
        (deep / "a.jsonl").unlink()
        while deep.parts:
            deep.rmdir()
            deep = deep.parent


def test_a_broken_link_in_a_directory_is_said(tmp_path):
    (tmp_path / "a.jsonl").symlink_to(tmp_path / "gone")

    with pytest.raises(SourceError) as caught:
        files_of([tmp_path])

    assert caught.value.code == "CANNOT_READ"


def test_a_broken_link_by_itself_is_said(tmp_path):
    (tmp_path / "a.jsonl").symlink_to(tmp_path / "gone")

    with pytest.raises(SourceError) as caught:
        load(tmp_path / "a.jsonl")

    assert caught.value.code == "CANNOT_READ"
    assert "No such file" in str(caught.value)


def test_an_error_of_the_system_while_reading_is_ours(tmp_path):
    # A directory opens as a file on no system; reading one is the nearest that a test gets to a bad disk.
    with pytest.raises(SourceError) as caught, opened(tmp_path):
        pass

    assert caught.value.code == "CANNOT_READ"


def test_an_error_of_the_system_in_the_first_look_at_a_file_is_ours(tmp_path):
    # Opens, and cannot be read at its beginning: no page is mapped there.
    with pytest.raises(SourceError) as caught:
        load("/proc/self/mem")

    assert caught.value.code == "CANNOT_READ"
    assert "/proc/self/mem" in str(caught.value)


def test_a_line_over_the_limit_costs_its_span_alone(tmp_path, monkeypatch):
    # A root names no parent, so that its line is shorter.
    monkeypatch.setattr(json_records, "LINE_LIMIT", len(line(2)) - 1)
    (tmp_path / "a.jsonl").write_bytes(line(2) + line(1, None))
    recording = load(tmp_path / "a.jsonl")

    assert [span.name for span in recording.spans] == ["s1"]
    assert [gap.code for gap in recording.gaps] == ["SKIPPED_LINE"]


def test_a_pipe_is_read(tmp_path):
    reading, writing = os.pipe()
    os.write(writing, line(1, None))
    os.close(writing)
    try:
        spans = list(read_spans(Path(f"/dev/fd/{reading}")))
    finally:
        os.close(reading)

    assert [span.name for span in spans] == ["s1"]


def test_a_name_with_a_nul_is_refused():
    with pytest.raises(SourceError) as caught:
        load("a\0b")

    assert caught.value.code == "FILE_NOT_FOUND"


def test_reading_that_is_given_up_closes_the_file(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(line(1, None) + line(2))
    spans = read_spans(tmp_path)
    next(spans)
    spans.close()  # type: ignore[attr-defined]

    assert not [fd for fd in Path("/proc/self/fd").iterdir() if str(tmp_path) in os.path.realpath(fd)]


def test_very_many_skipped_lines_are_counted(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"noise\n" * 1000 + line(1, None))
    gaps = load(tmp_path / "a.jsonl").gaps

    assert len(gaps) == 21
    assert gaps[-1].text == f"980 more were skipped, the last at {tmp_path / 'a.jsonl'}:1000"
