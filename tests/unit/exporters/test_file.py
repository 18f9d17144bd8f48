"""The file that loses no finished span."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tracetape.errors import RecordingError, UsageError
from tracetape.exporters.file import Lookout, SpanFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\n")


def test_each_line_is_on_disk_when_write_returns(path: Path) -> None:
    file = SpanFile(path)
    assert file.write(b"one\n")
    assert path.read_bytes() == b"one\n"


@pytest.mark.parametrize(("mode", "expected"), [("a", b"old\nnew\n"), ("w", b"new\n")])
def test_a_and_w_say_what_becomes_of_an_existing_file(path: Path, mode: str, expected: bytes) -> None:
    path.write_bytes(b"old\n")
    file = SpanFile(path, mode)
    file.write(b"new\n")
    assert path.read_bytes() == expected


def test_after_half_a_line_the_next_one_begins_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(b"old, cut of")
    file = SpanFile(path, "a")
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:4]))
    assert not file.write(b"short\n")
    monkeypatch.undo()
    assert file.write(b"whole\n")
    assert lines(path) == [b"old, cut of", b"sho", b"whole", b""]
    assert file.lost == 1


def test_a_failed_write_is_counted_and_said_once_and_the_program_goes_on(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = SpanFile(path)

    def full(descriptor: int, data: bytes) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    assert not file.write(b"one\n")
    assert not file.write(b"two\n")
    monkeypatch.undo()
    assert file.lost == 2
    assert [record.getMessage() for record in caplog.records] == [
        f"tracetape: {path}: a span was lost (No space left on device); the program goes on"
    ]


def test_a_write_that_comes_late_never_lands_in_somebody_else_s_file(path: Path, tmp_path: Path) -> None:
    """The number of a closed descriptor is given to the next file: it must not be closed under a writer."""
    file = SpanFile(path)
    late = file.write  # a thread that was about to write holds it like this
    del file
    other = os.open(tmp_path / "other", os.O_WRONLY | os.O_CREAT)
    late(b"late\n")
    os.close(other)
    assert (tmp_path / "other").read_bytes() == b""
    assert path.read_bytes() == b"late\n"


def test_a_signal_handler_that_writes_during_a_write_does_not_deadlock(path: Path) -> None:
    file = SpanFile(path)
    count = 0

    def handler(number: int, frame: Any) -> None:
        nonlocal count
        count += 1
        file.write(b"from the handler\n")

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        written = 0
        while count < 20:
            file.write(b"x" * 5_000 + b"\n")
            written += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    found = lines(path)
    assert found.count(b"from the handler") == count
    assert found.count(b"x" * 5_000) == written


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda tmp: tmp / "no" / "run.jsonl",
            "{path} cannot be written: No such file or directory. Its folder does not exist; make it with: "
            "mkdir -p {path.parent}",
        ),
        (lambda tmp: tmp, "{path} cannot be written: Is a directory. It is a folder."),
    ],
)
def test_what_cannot_be_written_is_told_before_the_run(tmp_path: Path, make: Any, message: str) -> None:
    path = make(tmp_path)
    with pytest.raises(RecordingError) as caught:
        SpanFile(path, "a")
    assert str(caught.value) == message.format(path=path)


def test_a_mode_that_is_none_is_refused_with_the_three_that_are(path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        SpanFile(path, "rw")
    assert str(caught.value) == 'mode=\'rw\' is not one of "x" (a new file), "a" (add to it), "w" (empty it first)'
    assert not path.exists()


def test_another_process_s_file_is_added_to_only_where_it_is_still_there(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with pytest.raises(RecordingError):
        SpanFile(path, "a", must_exist=True)
    first = SpanFile(path)
    first.write(b"one\n")
    second = SpanFile(path, "a", must_exist=True)
    second.write(b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"
    assert first.identity == second.identity != SpanFile(tmp_path / "other.jsonl").identity


def test_a_lookout_sees_a_text_however_it_came_and_that_the_file_was_emptied(tmp_path: Path) -> None:
    file = SpanFile(tmp_path / "run.jsonl")
    lookout, other = Lookout(file, b"the end"), Lookout(file, b"never")
    assert not lookout.sees()
    file.write(b"x" * (2**20 - 3) + b"the ")
    assert not lookout.sees()
    file.write(b"end")
    assert lookout.sees()
    assert not other.sees()
    SpanFile(tmp_path / "run.jsonl", "w")
    assert lookout.sees()
    assert other.sees()
    whole = SpanFile(tmp_path / "whole.jsonl")
    whole.write(b"x" * (2**20 - 3) + b"the end")
    assert Lookout(whole, b"the end").sees()
