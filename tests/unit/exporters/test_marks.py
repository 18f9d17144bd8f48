"""The file of the calls that have begun."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tracetape.exporters.marks import MarksFile, remove_marks


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def left(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def noted(folder: Path) -> set[bytes]:
    """The lines of all marks there, whole ones only."""
    return {line for one in folder.glob("*.open.*") for line in one.read_bytes().split(b"\n")[:-1] if line}


def test_a_start_is_on_disk_when_it_returns_for_the_owner_alone(path: Path) -> None:
    marks = MarksFile(path)
    assert left(path.parent) == []
    marks.start("1", b"one\n")
    (file,) = path.parent.iterdir()
    assert file.name == f"run.jsonl.open.{os.getpid()}"
    assert file.read_bytes() == b"one\n"
    assert file.stat().st_mode & 0o777 == 0o600
    marks.close()
    assert left(path.parent) == []


def test_what_comes_after_the_end_leaves_nothing(path: Path) -> None:
    marks = MarksFile(path)
    marks.close()
    marks.start("1", b"one\n")
    marks.end("1")
    marks.close()
    assert left(path.parent) == []


def test_a_name_that_is_taken_is_left_alone(path: Path) -> None:
    """A process of the same number was killed (in a container it always is the same); a recording is open
    twice in one process."""
    killed = path.with_name(f"run.jsonl.open.{os.getpid()}")
    killed.write_bytes(b"old\n")
    first, second = MarksFile(path), MarksFile(path)
    first.start("1", b"one\n")
    second.start("2", b"two\n")
    assert noted(path.parent) == {b"old", b"one", b"two"}
    first.close()
    assert noted(path.parent) == {b"old", b"two"}
    second.close()
    assert killed.read_bytes() == b"old\n"


def test_it_stays_where_it_is_when_the_program_changes_its_directory(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    marks = MarksFile(Path("run.jsonl"), compact_above=10)
    marks.start("1", b"one\n")
    monkeypatch.chdir(tmp_path / "elsewhere")
    for number in range(9):
        marks.start("2", b"%d\n" % number)
        marks.end("2")
    assert noted(tmp_path) >= {b"one"}
    marks.close()
    assert left(tmp_path) == ["elsewhere"]
    assert left(tmp_path / "elsewhere") == []


def test_finished_calls_make_room_and_open_ones_stay(path: Path) -> None:
    marks = MarksFile(path, compact_above=1_000)
    marks.start("open", b"open\n")
    for number in range(1_000):
        marks.start(str(number), b"%099d\n" % number)
        marks.end(str(number))
    (file,) = path.parent.iterdir()
    assert file.stat().st_size <= 1_200
    assert b"open" in noted(path.parent)
    marks.close()
    assert left(path.parent) == []


def test_open_calls_alone_are_not_written_again_and_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = 0
    write = os.write

    def count(descriptor: int, data: bytes) -> int:
        nonlocal written
        written += len(data)
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", count)
    marks = MarksFile(path, compact_above=1_000)
    for number in range(1_000):
        marks.start(str(number), b"%099d\n" % number)
    assert written == 100_000
    assert len(noted(path.parent)) == 1_000
    marks.close()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(13, "Permission denied")])
def test_a_compaction_that_was_interrupted_loses_nothing_and_is_finished_by_the_next(
    path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def interrupted(self: Path, target: Any) -> Any:
        raise error

    marks = MarksFile(path, compact_above=1_000)
    marks.start("open", b"open\n")
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", interrupted)
        try:
            for number in range(20):
                marks.start(str(number), b"%099d\n" % number)
                marks.end(str(number))
        except KeyboardInterrupt:
            pass
        assert b"open" in noted(path.parent)
        assert len(left(path.parent)) == 2
    marks.start("later", b"later\n")
    assert noted(path.parent) >= {b"open", b"later"}
    for number in range(100):
        marks.start(str(number), b"%099d\n" % number)
        marks.end(str(number))
    assert noted(path.parent) >= {b"open", b"later"}
    assert len(left(path.parent)) == 1
    marks.close()
    assert left(path.parent) == []


def test_half_a_line_does_not_spoil_the_next(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write = os.write
    marks = MarksFile(path)
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:4]))
        marks.start("1", b"short\n")
    marks.start("2", b"whole\n")
    assert noted(path.parent) == {b"shor", b"whole"}
    assert marks.lost == 1
    assert len(caplog.records) == 1
    marks.close()


def test_a_file_that_cannot_be_made_is_counted_and_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Of this name there may be a file, but none of a longer one."""
    path = tmp_path / ("x" * 250)
    path.touch()
    marks = MarksFile(path)
    marks.start("1", b"one\n")
    marks.start("2", b"two\n")
    marks.end("1")
    marks.close()
    assert marks.lost == 2
    assert [record.getMessage() for record in caplog.records] == [
        f"tracetape: {path}: that a call has begun could not be noted beside it (File name too long); the program "
        "goes on, and calls in flight are lost if it is killed"
    ]


def test_a_signal_handler_that_starts_a_call_during_a_start_does_not_deadlock(path: Path) -> None:
    marks = MarksFile(path, compact_above=20_000)
    numbers, told = itertools.count(1), list[int]()

    def handler(number: int, frame: Any) -> None:
        own = next(numbers)  # in one step: on a busy machine the next signal comes in the middle of this one
        marks.start(f"handler {own}", b"from the handler %d\n" % own)
        told.append(own)

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        while len(told) < 50:
            marks.start("main", b"x" * 5_000 + b"\n")
            marks.end("main")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert noted(path.parent) >= {b"from the handler %d" % number for number in told}
    marks.close()
    assert left(path.parent) == []


def test_a_forked_child_has_a_file_of_its_own_and_removes_no_other(path: Path) -> None:
    program = textwrap.dedent(
        """
        import os, sys
        from pathlib import Path
        from tracetape.exporters.marks import MarksFile
        marks = MarksFile(Path(sys.argv[1]))
        marks.start("1", b"parent\\n")
        child = os.fork()
        if child == 0:
            marks.start("2", b"child\\n")
            text = {one.name: one.read_bytes() for one in Path(sys.argv[1]).parent.glob("*.open.*")}
            assert text == {
                f"run.jsonl.open.{os.getppid()}": b"parent\\n", f"run.jsonl.open.{os.getpid()}": b"child\\n"
            }, text
            marks.close()
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert [one.read_bytes() for one in Path(sys.argv[1]).parent.glob("*.open.*")] == [b"parent\\n"]
        marks.close()
        assert not list(Path(sys.argv[1]).parent.glob("*.open.*"))
        """
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)


KILLED = """
import os, random, signal, sys, threading
from pathlib import Path
from tracetape.exporters.marks import MarksFile

path, seed = Path(sys.argv[1]), int(sys.argv[2])
sys.setswitchinterval(1e-6)
marks = MarksFile(path, compact_above=3_000)
dies = random.Random(seed).randrange(8), random.Random(-seed - 1).randrange(500, 1_500)

def work(thread):
    chance = random.Random(f"{seed} {thread}")
    journal = os.open(path.with_name(f"journal-{thread}"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    running = []
    for number in range(2_000):
        if (thread, number) == dies:
            os.kill(os.getpid(), signal.SIGKILL)
        if running and chance.random() < 0.5 or len(running) > 3:
            done = running.pop(chance.randrange(len(running)))
            os.write(journal, f"finished {done}\\n".encode())
            marks.end(done)
        else:
            call = f"{thread}-{number}"
            marks.start(call, f"{call} {'.' * chance.randrange(200)}\\n".encode())
            os.write(journal, f"started {call}\\n".encode())
            running.append(call)
    while True:
        signal.pause()

threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize("seed", range(12))
def test_eight_threads_compact_and_are_killed_and_no_open_call_is_lost(path: Path, seed: int) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), str(seed)], check=False)
    assert done.returncode == -signal.SIGKILL
    started: set[str] = set()
    finished: set[str] = set()
    for journal in path.parent.glob("journal-*"):
        for line in journal.read_text().split("\n")[:-1]:  # the last may be torn, at the end of a page
            word, call = line.split()
            (started if word == "started" else finished).add(call)
    marked = {line.split()[0].decode() for line in noted(path.parent)}
    assert started - finished <= marked
    # It did compact, or was at it: then both files are there.
    assert len(marked) < len(started) or list(path.parent.glob("*.next"))


def test_marks_of_a_file_that_is_gone_are_removed_and_no_others(tmp_path: Path) -> None:
    kept = ["run.jsonl", "run.jsonl.open.x", "run.jsonl.open.1.gz", "other.jsonl.open.1", "xrun.jsonl.open.1"]
    gone = ["run.jsonl.open.1", "run.jsonl.open.1.next", "run.jsonl.open.22.3"]
    for name in kept + gone:
        (tmp_path / name).touch()
    remove_marks(tmp_path / "run.jsonl", quietly=True)
    assert left(tmp_path) == sorted(kept)
    remove_marks(tmp_path / "no" / "run.jsonl", quietly=True)
