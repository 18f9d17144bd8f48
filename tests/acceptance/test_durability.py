"""Durability: whatever ends or hinders the process, finished crossings are in the file, losses are said."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracetape
from tests.acceptance.programs import run_program

PROGRAM = """
    import asyncio, os, resource, signal, sys
    import tracetape

    @tracetape.boundary("step", kind="tool")
    def step(number, text=""):
        return {"number": number, "text": text}
"""


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", -9),
        ("os.kill(os.getpid(), signal.SIGTERM)", -15),
        ("os._exit(7)", 7),
        ("os.abort()", -6),
    ],
    ids=["SIGKILL", "SIGTERM", "_exit", "abort"],
)
def test_however_the_process_ends_its_finished_crossings_are_in_the_file(
    tmp_path: Path, end: str, status: int
) -> None:
    source = (
        PROGRAM
        + f"""
    with tracetape.record(sys.argv[1]):
        for number in range(20):
            step(number)
        {end}
    """
    )
    run_program(tmp_path, source, tmp_path / "run.jsonl", status=status)
    recording = tracetape.load(tmp_path / "run.jsonl")
    assert [crossing.result["number"] for crossing in recording.crossings] == list(range(20))
    assert recording.grade == "exact"


def test_a_full_disk_costs_spans_not_the_program_and_the_loss_is_counted_and_said(tmp_path: Path) -> None:
    source = (
        PROGRAM
        + """
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with tracetape.record(sys.argv[1]) as run:
        step(0)
        limit = os.stat(sys.argv[1]).st_size + 3_000
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        for number in range(1, 6):
            assert step(number, "x" * 1_000)["number"] == number
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        step(6)
    """
    )
    done = run_program(tmp_path, source, tmp_path / "run.jsonl")
    assert done.stderr.count("a span was lost") == 1
    assert "the program goes on" in done.stderr
    recording = tracetape.load(tmp_path / "run.jsonl")
    kept = [crossing.result["number"] for crossing in recording.crossings]
    assert kept[0] == 0
    assert kept[-1] == 6
    lost = 7 - len(kept)
    assert lost > 0
    texts = {gap.code: gap.text for gap in recording.gaps}
    assert texts["SPANS_LOST"].startswith(f"{lost} spans could not be stored")


def test_a_folder_that_cannot_be_written_is_told_before_the_run(tmp_path: Path) -> None:
    source = (
        PROGRAM
        + """
    try:
        with tracetape.record("/proc/run.jsonl"):
            raise AssertionError("the block was entered")
    except tracetape.errors.RecordingError as error:
        print(error)
    """
    )
    done = run_program(tmp_path, source)
    assert done.stdout.startswith("/proc/run.jsonl cannot be written: ")


def test_a_file_that_is_deleted_while_it_is_recorded_disturbs_nothing(tmp_path: Path) -> None:
    source = (
        PROGRAM
        + """
    with tracetape.record(sys.argv[1]):
        step(1)
        os.unlink(sys.argv[1])
        assert step(2)["number"] == 2
    """
    )
    run_program(tmp_path, source, tmp_path / "run.jsonl")


@pytest.mark.parametrize("damage", ["cut", "nul", "noise"])
def test_a_damaged_line_costs_one_span(tmp_path: Path, damage: str) -> None:
    run_program(
        tmp_path,
        PROGRAM + "\n    with tracetape.record(sys.argv[1]):\n        [step(number) for number in range(5)]\n",
        tmp_path / "run.jsonl",
    )
    path = tmp_path / "run.jsonl"
    lines = path.read_bytes().split(b"\n")
    hurt = {"cut": lines[2][:200], "nul": b"\x00" * 50, "noise": b"2026-11-30 INFO not a span"}[damage]
    path.write_bytes(b"\n".join([*lines[:2], hurt, *lines[3:]]))
    recording = tracetape.load(path)
    assert [crossing.result["number"] for crossing in recording.crossings] == [0, 1, 3, 4]
    assert "SKIPPED_LINE" in {gap.code for gap in recording.gaps}


def test_a_signal_handler_that_ends_a_crossing_during_a_write_does_not_deadlock(tmp_path: Path) -> None:
    source = (
        PROGRAM
        + """
    count = 0

    def handler(signum, frame):
        global count
        if count < 200:
            count += 1
            step(-count)

    with tracetape.record(sys.argv[1]):
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        done = 0
        while count < 200:
            step(done, "x" * 3_000)
            done += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
    print(done)
    """
    )
    done = run_program(tmp_path, source, tmp_path / "run.jsonl")
    numbers = sorted(one.inputs["number"] for one in tracetape.load(tmp_path / "run.jsonl").crossings)
    assert numbers == list(range(-200, int(done.stdout)))


def test_concurrent_requests_into_one_folder_never_mix(tmp_path: Path) -> None:
    """As a web framework runs them: tasks, a thread pool for what is not async, dependencies that open in
    one of them and are used in another."""
    folder = tmp_path / "runs"
    folder.mkdir()
    source = (
        PROGRAM
        + """
    import contextlib

    @tracetape.boundary("astep")
    async def astep(number):
        await asyncio.sleep(0)
        return step(number)

    @contextlib.contextmanager
    def dependency(name):
        with tracetape.record(sys.argv[1], name=name) as run:
            yield run

    async def request(name, count):
        with dependency(name):
            for number in range(count):
                await astep(f"{name}-{number}")
                await asyncio.to_thread(step, f"{name}-{number}-sync")
                await asyncio.gather(astep(f"{name}-{number}-a"), astep(f"{name}-{number}-b"))

    async def main():
        await asyncio.gather(*(request(f"r{n}", 5) for n in range(8)))

    asyncio.run(main())
    """
    )
    run_program(tmp_path, source, folder)
    files = sorted(folder.iterdir())
    assert len(files) == 8
    names = set()
    for file in files:
        recording = tracetape.load(file)
        (name,) = {str(one.inputs["number"]).split("-")[0] for one in recording.crossings}
        names.add(name)
        assert len(recording.crossings) == 5 * 7
        assert recording.gaps == ()
        assert all(
            one.parent is not None
            for one in recording.crossings
            if str(one.inputs["number"]).endswith("-a") and one.boundary == "step"
        )
    assert len(names) == 8
