"""Uploaded content is found beside the spans, and a trace opens no other file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.corpus import FOLDER

import tracetape
from tracetape.sources.uploads import fetched

CONTENT = '[{"role":"user","parts":[{"type":"text","content":"hi"}]}]'
MESSAGES = [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs" / "run.otlp.jsonl"


def test_in_the_folder_of_the_spans(source: Path) -> None:
    (source.parent / "one.json").write_text(CONTENT)
    assert fetched(["s3://bucket/anywhere/one.json"], [source]) == {"s3://bucket/anywhere/one.json": MESSAGES}


def test_in_the_folder_beside_them_that_the_address_names(source: Path) -> None:
    (source.parent / "uploads").mkdir()
    (source.parent / "uploads" / "one.json").write_text(CONTENT)
    assert list(fetched(["file:///srv/uploads/one.json"], [source])) == ["file:///srv/uploads/one.json"]


def test_below_the_folder_that_the_environment_says(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "one.json").write_text(CONTENT)
    assert fetched(["file:///srv/one.json"], [source]) == {}
    monkeypatch.setenv("TRACETAPE_UPLOADS", str(tmp_path / "store"))
    assert fetched(["file:///srv/one.json"], [source]) == {"file:///srv/one.json": MESSAGES}


def test_lines_are_ordered_by_their_index(source: Path) -> None:
    lines = '{"index":1,"role":"b","parts":[]}\n{"index":0,"role":"a","parts":[]}\n'
    (source.parent / "one.jsonl").write_text(lines)
    found = fetched(["file:///one.jsonl"], [source])["file:///one.jsonl"]
    assert found == [{"role": "a", "parts": []}, {"role": "b", "parts": []}]


@pytest.mark.parametrize(
    "address",
    [
        "../secret.json",
        "file:///x/../secret.json",
        "file:///x/..%2fsecret.json",
        "/etc/passwd",
        "..",
        "",
        "file:///x/.hidden.json",
        "file:///x/\x00.json",
    ],
)
def test_nothing_outside_is_opened(source: Path, address: str) -> None:
    (source.parent.parent / "secret.json").write_text('"secret"')
    (source.parent / ".hidden.json").write_text('"hidden"')
    assert fetched([address], [source]) == {}


def test_a_file_that_is_no_json_is_not_there(source: Path) -> None:
    (source.parent / "one.json").write_text("[{")
    assert fetched(["file:///one.json"], [source]) == {}


def test_an_upload_that_is_missing_is_a_gap_that_says_where_it_should_be(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "openai-official" / "upload-ref.otlp.jsonl", tmp_path / "run.otlp.jsonl")
    crossing = tracetape.load(tmp_path / "run.otlp.jsonl").crossings[0]
    assert crossing.grade == "unusable"
    assert {gap.code for gap in crossing.gaps} == {"UPLOAD_MISSING"}
    assert "TRACETAPE_UPLOADS" in crossing.gaps[0].text
