"""Sources are files and directories, whole and in order."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tracetape.errors import SourceError
from tracetape.exporters.otlp_json import encode_line
from tracetape.model.span import SpanRecord
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
