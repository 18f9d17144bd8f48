"""How a recorded or replayed program ends, and what is said of it."""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
import sys

import pytest

# `ask` comes from a model, `act` is under repair, `tell` may be new.
PROGRAM = """
import sys, tracetape

@tracetape.boundary("run_ask", kind="llm")
def ask(question):
    return {{"n": 1}}

@tracetape.boundary("run_act", kind="tool")
def act(n):
    return {result}

@tracetape.boundary("run_tell", kind="llm")
def tell(result):
    return "told"

answer = act(**ask({question!r}))
{then}
"""


@pytest.fixture
def program(script):
    """`program(then="sys.exit(5)")` writes one and returns its name."""

    def write(name: str = "program.py", *, question: str = "q", result: str = "n", then: str = "") -> str:
        written: str = script(name, PROGRAM.format(question=question, result=result, then=then))
        return written

    return write


@pytest.fixture
def recorded(tracetape, program):
    assert tracetape("record", "-o", "run.jsonl", program()).exit_code == 0
    return "run.jsonl"


# -- record


@pytest.mark.parametrize(
    ("then", "status"),
    [("", 0), ("sys.exit(5)", 5), ("raise ValueError('x')", 1), ("raise KeyboardInterrupt", 130)],
)
def test_however_a_recorded_program_ends_its_recording_is_named_and_its_status_kept(
    tracetape, program, then, status
):
    result = tracetape("record", "-o", "run.jsonl", program(then=then))

    assert result.exit_code == status
    assert result.stderr.splitlines()[-1].startswith("tracetape: recorded run.jsonl (trace ")
    assert tracetape("show", "run.jsonl", "--crossing", "run_act@1").exit_code == 0


def test_the_message_of_an_exit_is_the_interpreters_to_print(tracetape, program):
    result = tracetape("record", "-o", "run.jsonl", program(then="sys.exit('a message')"))

    assert result.exit_code == 1
    assert "a message" in result.output


def test_a_program_without_boundaries_is_told_what_is_missing(tracetape, script):
    result = tracetape("record", "-o", "run.jsonl", script("none.py", "print('hello')"))

    assert result.exit_code == 0
    assert result.stdout == "hello\n"
    assert result.stderr.splitlines()[1:] == [
        "tracetape: no boundary was crossed: mark the functions to record with @tracetape.boundary"
    ]


def test_that_is_told_of_the_run_that_was_added_not_of_those_before(tracetape, recorded, script):
    result = tracetape("record", "-o", recorded, "--append", script("none.py", ""))

    assert "no boundary was crossed" in result.stderr


def test_a_recording_error_of_the_program_itself_is_its_own_failure(tracetape, script, recorded):
    name = script("again.py", "import tracetape\nwith tracetape.record('run.jsonl'): pass")

    result = tracetape("record", "-o", "other.jsonl", name)

    assert result.exit_code == 1
    assert 'mode="a"' in result.stderr
    assert "Traceback" in result.stderr


# -- replay


def test_a_faithful_replay_is_0_and_its_report_is_on_standard_error(tracetape, recorded, program):
    result = tracetape("replay", recorded, program(then="print(answer)"))

    assert result.exit_code == 0
    assert result.stdout == "1\n"
    assert result.stderr.splitlines()[0] == (
        "replay of run.jsonl: 0 live, 2 served, 0 stale, 0 divergences, model calls: 0"
    )


@pytest.mark.parametrize(
    "words",
    [("--live", "run_act", "run.jsonl"), ("run.jsonl", "--live", "run_act"), ("run.jsonl", "--live=run_act@1")],
)
def test_the_repaired_function_runs_live(tracetape, recorded, program, words):
    result = tracetape("replay", *words, program(result="'repaired'", then="print(answer)"))

    assert result.exit_code == 0
    assert result.stdout == "repaired\n"
    assert '  run_act@1  live  outcome $: recorded 1, now "repaired"' in result.stderr.splitlines()


@pytest.mark.parametrize(("then", "status"), [("sys.exit(5)", 5), ("raise ValueError('x')", 1)])
def test_the_programs_own_status_is_kept_when_nothing_diverged(tracetape, recorded, program, then, status):
    result = tracetape("replay", recorded, program(then=then))

    assert result.exit_code == status
    assert "0 divergences" in result.stderr


def test_the_programs_own_traceback_is_shown_without_our_frames(tracetape, recorded, program):
    result = tracetape("replay", recorded, program(then="raise ValueError('own')"))

    assert "ValueError: own\n" in result.stderr
    assert "src/tracetape" not in result.stderr
    assert "site-packages" not in result.stderr


@pytest.mark.parametrize("then", ["", "sys.exit(5)", "sys.exit(0)", "raise ValueError('x')"])
def test_a_divergence_is_1_whatever_the_program_would_have_ended_with(tracetape, recorded, program, then):
    result = tracetape("replay", recorded, program(question="other", then=then))

    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert lines[0] == ("replay of run.jsonl DIVERGED: 0 live, 0 served, 0 stale, 1 divergence, model calls: 0")
    assert '  $.question: recorded "q", now "other"' in lines
    assert lines[-1] == (
        "as options of tracetape replay: --ignore '$.question'  or  --live run_ask@1  or  --stub run_ask@1"
    )
    assert "Traceback" not in result.stderr


def test_a_program_that_swallows_the_divergence_diverged_all_the_same(tracetape, recorded, script):
    source = PROGRAM.format(question="other", result="n", then="")
    swallowing = source.replace("answer = act", "try:\n    act").replace(
        "'other'))", "'other'))\nexcept BaseException:\n    raise RuntimeError('no answer') from None"
    )

    result = tracetape("replay", recorded, script("swallows.py", swallowing))

    assert result.exit_code == 1
    assert "DIVERGED: run_ask@1" in result.stderr
    assert "no answer" not in result.stderr


def test_the_options_of_the_report_do_what_they_say(tracetape, recorded, program):
    name = program(question="other", then="print(answer)")

    for option in (("--ignore", "$.question"), ("--live", "run_ask@1"), ("--stub", "run_ask@1")):
        assert tracetape("replay", recorded, *option, name).exit_code == 0


def test_the_options_of_the_report_are_quoted_for_a_shell(tracetape, script):
    source = """
    import sys, tracetape

    @tracetape.boundary("run the model's turn", kind="llm")
    def turn(question): return 1

    turn(sys.argv[1])
    """
    name = script("quoted.py", source)
    tracetape("record", "-o", "run.jsonl", name, "a")

    last = tracetape("replay", "run.jsonl", name, "b").stderr.splitlines()[-1]

    words = shlex.split(last.partition(": ")[2])
    assert words == [
        "--ignore",
        "$.question",
        "or",
        "--live",
        "run the model's turn@1",
        "or",
        "--stub",
        "run the model's turn@1",
    ]


def test_a_new_call_before_the_cut_diverges_with_its_option(tracetape, recorded, program):
    result = tracetape("replay", recorded, program(then="tell(answer)"))

    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1] == "as options of tracetape replay: --live run_tell"


def test_leaving_the_recording_after_the_cut_is_0(tracetape, recorded, program):
    name = program(result="'repaired'", then="tell(answer)\nsys.exit(5)")

    result = tracetape("replay", recorded, "--live", "run_act", name)

    assert result.exit_code == 0
    assert "left the recording at run_tell@new@1, after run_act@1 ran live" in result.stderr.splitlines()
    assert "Traceback" not in result.stderr


def test_leaving_it_is_0_although_the_program_swallowed_that_and_failed_over_it(tracetape, recorded, program):
    then = "try:\n    tell(answer)\nexcept BaseException:\n    sys.exit(7)"

    result = tracetape("replay", recorded, "--live", "run_act", program(result="'repaired'", then=then))

    assert result.exit_code == 0


def test_a_patch_is_served(tracetape, recorded, program):
    result = tracetape(
        "replay", recorded, "--patch", 'run_ask@1={"n": 7}', "--live", "run_act", program(then="print(answer)")
    )

    assert result.exit_code == 0
    assert result.stdout == "7\n"


def test_a_live_name_that_neither_side_has_is_wrong_use_told_with_the_nearest(tracetape, recorded, program):
    result = tracetape("replay", recorded, "--live", "run_akt", program())

    assert result.exit_code == 2
    last = result.stderr.splitlines()[-1]
    assert last.startswith("tracetape: --live run_akt: neither the recording nor the program has a boundary")
    assert "did you mean " in last
    assert "'run_act'" in last


def test_beside_a_divergence_that_name_is_told_too(tracetape, recorded, program):
    result = tracetape("replay", recorded, "--live", "run_akt", program(question="other"))

    assert result.exit_code == 1
    assert "--live run_akt: neither" in result.stderr.splitlines()[-1]


def test_a_live_name_that_only_the_program_has_is_let_through(tracetape, recorded, program):
    result = tracetape("replay", recorded, "--live", "run_tell", program(then="print(tell(answer))"))

    assert result.exit_code == 0
    assert result.stdout == "told\n"


def test_a_live_function_that_never_ran_is_said_to_have_not(tracetape, recorded, program):
    result = tracetape("replay", recorded, "--live", "run_tell", program())

    assert result.exit_code == 0
    never = "  run_tell never ran live: it was not called, or inside a call that was served"
    assert result.stderr.splitlines()[-1] == never


def test_what_cannot_be_replayed_is_1_and_nothing_is_run(tracetape, script):
    name = script(
        "locks.py",
        """
        import threading, tracetape

        @tracetape.boundary("run_lock")
        def lock():
            print("ran")
            return threading.Lock()

        lock()
        """,
    )
    tracetape("record", "-o", "run.jsonl", name)

    result = tracetape("replay", "run.jsonl", name)

    assert result.exit_code == 1
    assert result.stdout == ""
    assert "cannot be replayed under this plan" in result.stderr
    assert tracetape("replay", "run.jsonl", "--live", "run_lock", name).exit_code == 0


def test_a_program_that_records_itself_is_replayed_without_recording(tracetape, script, here):
    name = script(
        "records.py",
        """
        import tracetape

        @tracetape.boundary("run_self")
        def step():
            return 1

        with tracetape.record("own.jsonl"):
            print(step())
        """,
    )
    tracetape("record", "-o", "run.jsonl", name)
    before = (here / "own.jsonl").read_bytes()

    result = tracetape("replay", "run.jsonl", name)

    assert (result.exit_code, result.stdout) == (0, "1\n")
    assert (here / "own.jsonl").read_bytes() == before


def test_what_unwinds_a_thread_is_told_once_and_not_as_a_traceback(tracetape, script, recorded):
    source = PROGRAM.format(question="other", result="n", then="").replace(
        "answer = act(**ask('other'))",
        "import threading\nt = threading.Thread(target=ask, args=('other',))\nt.start()\nt.join()",
    )

    result = tracetape("replay", recorded, script("threaded.py", source))

    assert result.exit_code == 1
    assert "Traceback" not in result.stderr
    assert "DIVERGED: run_ask@1" in result.stderr


# -- on a terminal


def on_a_terminal(*words: str, **environment: str) -> tuple[str, int]:
    """Run the command on a pseudo-terminal; what it shows there, and its exit status."""
    ours, theirs = pty.openpty()
    env = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS")}
    with subprocess.Popen(
        [sys.executable, "-m", "tracetape", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**env, "TERM": "xterm", **environment},
    ) as running:
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 65_536)
            except OSError:  # Linux ends a terminal that nobody holds so
                break
            if not piece:
                break
            shown += piece
    os.close(ours)
    return shown.decode(), running.returncode


def test_a_terminal_sees_colours_and_a_pipe_does_not(tracetape, recorded, program):
    shown, status = on_a_terminal("replay", recorded, program(question="other"))

    assert status == 1
    assert "\x1b[1;31mreplay of run.jsonl DIVERGED" in shown
    assert "\x1b" not in tracetape("replay", recorded, program(question="other")).stderr
    assert "\x1b[32mexact" in on_a_terminal("check", recorded)[0]


def test_a_terminal_with_no_color_sees_none(recorded):
    shown, status = on_a_terminal("check", recorded, NO_COLOR="1")

    assert status == 0
    assert "exact" in shown
    assert "\x1b[3" not in shown


def test_a_hook_of_the_program_that_exits_hides_neither_the_recording_nor_the_report(
    tracetape, script, monkeypatch
):
    program = script(
        "hooked.py",
        """
        import sys, tracetape
        ask = tracetape.boundary("ask")(str.upper)
        sys.excepthook = lambda *told: sys.exit(3)
        ask("q")
        1 / 0
        """,
    )
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    done = tracetape("record", "-o", "hooked.jsonl", program)
    assert (done.exit_code, "tracetape: recorded hooked.jsonl" in done.stderr) == (3, True)
    done = tracetape("replay", "hooked.jsonl", program)
    assert (done.exit_code, "replay of hooked.jsonl: 0 live, 1 served" in done.stderr) == (3, True)
