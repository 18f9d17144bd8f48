"""Programs of several processes: recorded into one file, and halted wherever a replay does not reach."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import tracetape

PROGRAM = """
import multiprocessing as mp
import os
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor

import tracetape

CHILD = [sys.executable, os.path.abspath(__file__), "child"]


@tracetape.boundary("step")
def step(number):
    with open("real.txt", "a") as file:
        file.write("ran\\n")
    return number


@tracetape.boundary("start")
def start(way):
    WAYS[way]()


def steps(number, count=5):
    for one in range(count):
        step(number * 10_000 + one)


def thousand(number):
    steps(number, 1_000)


def forked():
    child = os.fork()
    if not child:
        try:
            steps(1)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def forked_and_replaced():
    child = os.fork()
    if not child:
        os.execv(CHILD[0], CHILD)
    os.waitpid(child, 0)


def posix_spawned():
    os.waitpid(os.posix_spawn(CHILD[0], CHILD, {"PATH": ""}), 0)


def process(method):
    def way():
        one = mp.get_context(method).Process(target=steps, args=(1,))
        one.start()
        one.join()

    return way


def pool(method):
    def way():
        with mp.get_context(method).Pool(2) as pool:
            pool.map(steps, range(2))

    return way


def executor(method, work=steps, workers=2):
    def way():
        with ProcessPoolExecutor(workers, mp_context=mp.get_context(method)) as pool:
            list(pool.map(work, range(workers)))

    return way


def in_a_thread():
    thread = threading.Thread(target=tracetape.propagate(lambda: subprocess.run(CHILD)))
    thread.start()
    thread.join()


WAYS = {
    "none": lambda: None,
    "fork": forked,
    "fork and exec": forked_and_replaced,
    "posix_spawn": posix_spawned,
    "os.spawn": lambda: os.spawnv(os.P_WAIT, CHILD[0], CHILD),
    "os.system": lambda: os.system(" ".join(CHILD)),
    "subprocess": lambda: subprocess.run(CHILD),
    "subprocess, empty environment": lambda: subprocess.run(CHILD, env={}),
    "subprocess in a thread": in_a_thread,
    "four thousand": executor("fork", thousand, 4),
}
for method in ("fork", "spawn", "forkserver"):
    WAYS[f"Process, {method}"] = process(method)
    WAYS[f"Pool, {method}"] = pool(method)
    WAYS[f"ProcessPoolExecutor, {method}"] = executor(method)


def replay(way):
    try:
        with tracetape.replay("none.jsonl", live=["start"]) as tape:
            start(way)
    except tracetape.errors.DivergenceError as error:
        print(error)
    else:
        print("no divergence")


if __name__ == "__main__":
    what = sys.argv[1]
    if what == "child":
        steps(7)
    elif what == "record":
        with tracetape.record("run.jsonl"):
            start(sys.argv[2])
    elif what == "replay":
        replay(sys.argv[2])
    else:
        start(what)
    assert what == "child" or "TRACETAPE_SESSION" not in os.environ or "tracetape" in sys.orig_argv
    assert what != "replay" or threading.enumerate() == [threading.main_thread()]
"""

IN_ONE = ["fork", "fork and exec", "posix_spawn", "os.spawn", "subprocess", "subprocess, empty environment"]
IN_ONE += ["subprocess in a thread", *(f"Process, {one}" for one in ("fork", "spawn", "forkserver"))]
IN_TWO = [f"{kind}, {one}" for kind in ("Pool", "ProcessPoolExecutor") for one in ("fork", "spawn", "forkserver")]


def run(folder: Path, *words: str, status: int | None = 0) -> subprocess.CompletedProcess[str]:
    """Run a program to its end. A minute is for what hangs."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "TRACETAPE_"))}
    done = subprocess.run(
        [sys.executable, "-W", "error", *words],
        cwd=folder,
        env=clean,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert status is None or done.returncode == status, done.stdout + done.stderr
    return done


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    return tmp_path


def script(folder: Path, source: str) -> str:
    (folder / "script.py").write_text(source, encoding="utf-8")
    return "script.py"


@pytest.mark.parametrize("way", IN_ONE + IN_TWO)
def test_what_a_process_calls_is_recorded_under_the_crossing_that_started_it(folder: Path, way: str) -> None:
    run(folder, "program.py", "record", way)
    recording = tracetape.load(folder / "run.jsonl")
    steps = [one for one in recording.crossings if one.boundary == "step"]
    assert len(steps) == (10 if way in IN_TWO else 5)
    assert {one.parent for one in steps} == {recording["start", 1]}
    assert recording["start", 1].process_id not in {one.process_id for one in steps}
    assert (recording.gaps, recording.grade) == ((), "exact")
    assert sorted(path.name for path in folder.glob("run.jsonl*")) == ["run.jsonl"]


def test_a_process_that_is_started_in_c_is_recorded_under_the_root(folder: Path) -> None:
    run(folder, "program.py", "record", "os.system")
    recording = tracetape.load(folder / "run.jsonl")
    assert Counter((one.boundary, one.parent) for one in recording.crossings) == {
        ("start", None): 1,
        ("step", None): 5,
    }
    assert recording.gaps == ()


def test_four_processes_write_four_thousand_crossings_into_one_file(folder: Path) -> None:
    run(folder, "program.py", "record", "four thousand")
    recording = tracetape.load(folder / "run.jsonl")
    steps = [one for one in recording.crossings if one.boundary == "step"]
    assert sorted(one.result for one in steps) == [
        worker * 10_000 + number for worker in range(4) for number in range(1_000)
    ]
    assert len({one.span_ids for one in steps}) == 4_000
    assert recording.gaps == ()


def test_a_killed_process_loses_no_finished_crossing(folder: Path) -> None:
    program = script(
        folder,
        """
import os, signal, subprocess, sys, tracetape
import program

if sys.argv[1:]:
    program.steps(1)
    os.kill(os.getpid(), signal.SIGKILL)
with tracetape.record("run.jsonl"):
    assert subprocess.run([sys.executable, __file__, "child"]).returncode == -signal.SIGKILL
""",
    )
    run(folder, program)
    assert [one.result for one in tracetape.load(folder / "run.jsonl").crossings] == list(range(10_000, 10_005))


def test_a_recording_of_the_child_s_own_is_whole_and_a_part_of_the_parent_s(folder: Path) -> None:
    program = script(
        folder,
        """
import subprocess, sys, threading, tracetape
import program

if sys.argv[1:]:
    with tracetape.record("own.jsonl"):
        program.step(1)
        bare = threading.Thread(target=program.step, args=(2,))
        bare.start()
        bare.join()
    program.step(3)
else:
    with tracetape.record("run.jsonl"):
        subprocess.run([sys.executable, __file__, "child"], check=True)
""",
    )
    run(folder, program)
    own, whole = tracetape.load(folder / "own.jsonl"), tracetape.load(folder / "run.jsonl")
    assert [one.result for one in own.crossings] == [1, 2]
    assert [one.result for one in whole.crossings] == [1, 2, 3]
    assert own.gaps == whole.gaps == ()


@pytest.mark.parametrize("then", ["the run has ended", "the file is gone", "the file is another's"])
def test_a_process_that_comes_too_late_records_nothing_and_goes_on(folder: Path, then: str) -> None:
    program = script(
        folder,
        """
import os, subprocess, sys, tracetape
import program

if sys.argv[1] == "child":
    input()
    print(program.step(1))
else:
    with tracetape.record("run.jsonl"):
        child = subprocess.Popen([sys.executable, __file__, "child"], stdin=subprocess.PIPE)
        if sys.argv[1] != "the run has ended":
            os.remove("run.jsonl")
            if sys.argv[1] == "the file is another's":
                open("run.jsonl", "w").close()
            child.communicate(b"go\\n")
    if sys.argv[1] == "the run has ended":
        child.communicate(b"go\\n")
    assert child.returncode == 0
""",
    )
    assert run(folder, program, then).stdout == "1\n"
    path = folder / "run.jsonl"
    assert not path.exists() or '"step"' not in path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that started no process."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    run(folder, "program.py", "record", "none")
    return folder / "run.jsonl"


@pytest.mark.parametrize("way", [*IN_ONE, *IN_TWO, "os.system"])
def test_in_a_replay_every_started_process_halts_and_the_replay_says_which(
    folder: Path, recorded: Path, way: str
) -> None:
    (folder / "none.jsonl").write_bytes(recorded.read_bytes())
    done = run(folder, "program.py", "replay", way)
    assert "DIVERGED: step was called in another process (" in done.stdout
    assert done.stdout.startswith("replay of none.jsonl DIVERGED: 1 live, 0 served, 0 stale, 1 divergence")
    assert "outside of the replay: nothing was run, it halted" in done.stderr
    assert not (folder / "real.txt").exists()


@pytest.mark.parametrize(
    "way", ["fork", "subprocess", "Pool, fork", "Pool, spawn", "ProcessPoolExecutor, forkserver"]
)
def test_the_command_line_says_it_and_ends_with_1(folder: Path, recorded: Path, way: str) -> None:
    words = ["-m", "tracetape", "replay", str(recorded), "--live", "start", "program.py", way]
    done = run(folder, *words, status=1)
    assert done.stderr.count("DIVERGED: step was called in another process (") == 1
    assert not (folder / "real.txt").exists()


def test_in_a_child_of_a_replay_a_record_is_inert_and_a_replay_works(folder: Path, recorded: Path) -> None:
    program = script(
        folder,
        """
import subprocess, sys, tracetape
import program

if sys.argv[2:]:
    with tracetape.replay(sys.argv[1]):
        program.start("none")
    with tracetape.record("own.jsonl"):
        pass
    try:
        program.start("none")
    except BaseException as error:
        print(type(error).__name__)
else:
    try:
        with tracetape.replay(sys.argv[1], live=["start"]):
            subprocess.run([sys.executable, __file__, sys.argv[1], "child"], check=True)
    except tracetape.errors.DivergenceError as error:
        print([one.kind for one in error.report.divergences])
""",
    )
    assert run(folder, program, str(recorded)).stdout == "Halt\n['process']\n"
    assert not (folder / "own.jsonl").exists()


WAITING = """
import queue, sys, threading, tracetape

@tracetape.boundary("step")
def step(number):
    return number

@tracetape.boundary("first")
def first():
    return 0

def program(number, count):
    first()
    answers = queue.Queue()
    def work():
        for one in range(count):
            answers.put(step(number + one))
    threading.Thread(target=tracetape.propagate(work), daemon=True).start()
    return [answers.get() for one in range(count)]

"""


def test_a_main_thread_that_waits_for_a_halted_thread_is_woken(folder: Path) -> None:
    program = script(
        folder,
        WAITING
        + """
with tracetape.record("run.jsonl"):
    program(1, 1)
with tracetape.replay("run.jsonl"):
    program(2, 1)
""",
    )
    done = run(folder, program, status=1)
    assert "DivergenceError: replay of run.jsonl DIVERGED" in done.stderr
    assert "step@1 was called with other inputs than recorded" in done.stderr


def test_a_main_thread_that_waits_for_a_thread_at_the_end_of_the_recording_is_woken(folder: Path) -> None:
    program = script(
        folder,
        WAITING
        + """
import threading
threading.excepthook = lambda told: None
with tracetape.record("run.jsonl"):
    program(1, 1)
with tracetape.replay("run.jsonl", live=["first"]) as tape:
    assert tape.run(program, 1, 2) is tracetape.ENDED
print(tape.report.verdict)
""",
    )
    assert run(folder, program).stdout == "ended\n"


def test_a_program_that_deals_with_the_halt_of_its_thread_is_not_disturbed(folder: Path) -> None:
    program = script(
        folder,
        """
import threading, tracetape

@tracetape.boundary("step")
def step(number):
    return number

def work(number):
    try:
        step(number)
    except BaseException:
        pass

with tracetape.record("run.jsonl"):
    work(1)
try:
    with tracetape.replay("run.jsonl") as tape:
        thread = threading.Thread(target=work, args=(2,))
        thread.start()
        thread.join()
        print("went on")
except tracetape.errors.DivergenceError:
    print("told")
assert threading.enumerate() == [threading.main_thread()]
""",
    )
    assert run(folder, program).stdout == "went on\ntold\n"


def test_a_worker_that_outlives_the_run_in_which_it_was_forked_adds_nothing_to_it(folder: Path) -> None:
    program = script(
        folder,
        """
import tracetape
from concurrent.futures import ProcessPoolExecutor
import multiprocessing as mp
import program

if __name__ == "__main__":
    for method in ("fork", "spawn"):
        with ProcessPoolExecutor(1, mp_context=mp.get_context(method)) as pool:
            with tracetape.record(method + "-first.jsonl"):
                pool.submit(program.step, 1).result()
            with tracetape.record(method + "-second.jsonl"):
                pool.submit(program.step, 2).result()
                program.step(3)
            assert pool.submit(program.step, 4).result() == 4
""",
    )
    run(folder, program)
    for method in ("fork", "spawn"):
        for name, results in (("first", [1]), ("second", [3])):
            recording = tracetape.load(folder / f"{method}-{name}.jsonl")
            assert [one.result for one in recording.crossings] == results


def test_a_fork_while_a_replay_watches_is_no_fork_of_a_program_with_threads(folder: Path, recorded: Path) -> None:
    """Python warns of such forks since 3.12, and whoever turns warnings into errors would see ours."""
    program = script(
        folder,
        """
import os, sys, threading, tracetape
import program

seen = []
os.register_at_fork(before=lambda: seen.append(threading.active_count()))
with tracetape.replay(sys.argv[1]):
    program.start("none")
    for _ in range(3):
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
print(seen)
""",
    )
    done = run(folder, program, str(recorded))
    assert (done.stdout, done.stderr) == ("[1, 1, 1]\n", "")


def test_what_is_imported_later_hands_the_word_on_too_and_a_fork_server_keeps_none(folder: Path) -> None:
    program = script(
        folder,
        """
import sys, tracetape

@tracetape.boundary("step")
def step(number):
    return number

@tracetape.boundary("start")
def start():
    import multiprocessing
    process = multiprocessing.get_context("forkserver").Process(target=step, args=(1,))
    process.start()
    process.join()
    return process.exitcode

if __name__ == "__main__":
    assert "multiprocessing" not in sys.modules
    for name in "ab":
        with tracetape.record(name + ".jsonl"):
            start()
        assert start() == 0
    with tracetape.replay("a.jsonl"):
        start()
""",
    )
    assert "DIVERGED" not in run(folder, program).stderr
    for name in "ab":
        recording = tracetape.load(folder / f"{name}.jsonl")
        assert [(one.name, one.parent) for one in recording.crossings] == [
            ("start@1", None),
            ("step@1", recording["start", 1]),
        ]


def test_a_forked_child_that_leaves_as_a_program_does_prints_no_report(
    folder: Path,
) -> None:
    program = script(
        folder,
        """
import os, sys, tracetape

@tracetape.boundary("step")
def step(number):
    return number

child = os.fork()
if not child:
    step(1)
    sys.exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
step(2)
""",
    )
    recorded = run(folder, "-m", "tracetape", "record", "-o", "run.jsonl", program)
    assert (recorded.stdout, recorded.stderr.count("tracetape: recorded")) == ("3\n", 1)
    assert sorted(one.result for one in tracetape.load(folder / "run.jsonl").crossings) == [1, 2]
    replayed = run(folder, "-m", "tracetape", "replay", "run.jsonl", program, status=1)
    assert (replayed.stdout, replayed.stderr.count("replay of run.jsonl DIVERGED")) == ("1\n", 1)
