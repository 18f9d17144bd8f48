"""The commands, as they are typed."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from click.testing import Result

SAMPLES = Path(__file__).parents[2] / "recordings" / "samples"
COMMANDS = ("demo", "record", "replay", "show", "check", "diff")


def one_line(result: Result, status: int) -> str:
    """The only line that a failed command says, on standard error."""
    assert result.exit_code == status, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    return result.stderr.rstrip("\n")


# -- help


def test_the_help_shows_the_way_and_names_every_command_and_exit_code(tracetape):
    result = tracetape("--help")

    assert result.exit_code == 0
    text = result.stdout
    assert "tracetape demo" in text
    assert "tracetape record -o run.otlp.jsonl agent.py" in text
    for command in COMMANDS:
        assert f"\n  {command} " in text
    assert "...\n" not in text.partition("Commands:")[2]  # no description is cut off
    assert "0 same or good, 1 diverged or not replayable, 2 wrong use, 3 cannot" in " ".join(text.split())


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_the_help_of_a_command_has_an_example_and_its_exit_codes(tracetape, command, flag):
    result = tracetape(command, flag)

    assert result.exit_code == 0
    assert result.stderr == ""
    assert f"\n    tracetape {command}" in result.stdout
    assert "Exit codes:" in result.stdout


@pytest.mark.parametrize("command", ["record", "replay"])
def test_the_usage_of_what_runs_a_program_shows_both_ways(tracetape, command):
    assert "[OPTIONS] SCRIPT|-m MODULE [ARGS]…\n" in tracetape(command, "--help").stdout


def test_the_version_is_told(tracetape):
    from tracetape import __version__

    assert tracetape("--version").stdout == f"tracetape, version {__version__}\n"


# -- wrong use


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("shwo", "run.jsonl"), "tracetape: no command 'shwo'; did you mean 'show'? See tracetape --help"),
        (("show",), "tracetape show: Missing argument 'SOURCE'. See tracetape show --help"),
        (("diff", "run.jsonl"), "tracetape diff: Missing argument 'B'. See tracetape diff --help"),
        (
            ("show", "run.jsonl", "--traces", "two"),
            "tracetape show: Invalid value for '--traces': 'two' is not one of 'one', 'all'. "
            "See tracetape show --help",
        ),
        (
            ("check", "run.jsonl", "--trace", "xyz"),
            "tracetape check: --trace takes a trace id, up to 32 hex digits, not 'xyz'. "
            "See tracetape check --help",
        ),
        (
            ("check", "run.jsonl", "--trace", "0" * 33),
            f"tracetape check: --trace takes a trace id, up to 32 hex digits, not '{'0' * 33}'. "
            "See tracetape check --help",
        ),
        (
            ("show", "run.jsonl", "--trace", "1", "--traces", "all"),
            "tracetape show: --trace picks one trace and --traces all takes every one: give only one of them. "
            "See tracetape show --help",
        ),
        (
            ("replay", "run.jsonl", "--trace", "1", "--traces", "all", "agent.py"),
            "tracetape replay: --trace picks one trace and --traces all takes every one: give only one of them. "
            "See tracetape replay --help",
        ),
        (
            ("show", "run.jsonl", "--crossing", "ask_mdel@1"),
            "tracetape: no crossing of 'ask_mdel' in the recording; did you mean 'ask_model'?",
        ),
        (
            ("record", "agent.py"),
            "tracetape record: Missing option '-o' / '--output'. See tracetape record --help",
        ),
        (
            ("record", "-o", "x.jsonl", "--append", "--overwrite", "agent.py"),
            "tracetape record: --append and --overwrite exclude each other. See tracetape record --help",
        ),
        (
            ("record", "-o", "x.jsonl", "agnt.py"),
            "tracetape: agnt.py: no such script (for a module, write -m agnt)",
        ),
        (("record", "-o", "x.jsonl", "."), "tracetape: . is a folder; name the script in it, or use -m PACKAGE"),
        (
            ("record", "-o", "run.jsonl", "agent.py"),
            "tracetape: run.jsonl exists, and a recording is never overwritten by accident: give another path "
            "with -o, --append to add this run to it, or --overwrite to replace it",
        ),
        (
            ("record", "-o", "no/x.jsonl", "agent.py"),
            "tracetape: no/x.jsonl cannot be written: No such file or directory. Its folder does not exist; make "
            "it with: mkdir -p no",
        ),
        (
            ("replay", "run.jsonl", "--patch", "ask_model@1", "agent.py"),
            "tracetape: --patch takes NAME@N=JSON, as in --patch 'plan@1={\"quantity\": 5}', not 'ask_model@1'",
        ),
        (
            ("replay", "run.jsonl", "--patch", "ask_model@2=5", "agent.py"),
            "tracetape: the plan names ask_model@2, and run.jsonl has 1 of ask_model: the last is ask_model@1",
        ),
        (
            ("replay", "run.jsonl", "--live", "ask_model@2", "agent.py"),
            "tracetape: the plan names ask_model@2, and run.jsonl has 1 of ask_model: the last is ask_model@1",
        ),
        (("replay", "run.jsonl", "agnt.py"), "tracetape: agnt.py: no such script (for a module, write -m agnt)"),
        (("demo", "--into", "agent.py"), "tracetape: agent.py is a file; --into takes an empty or new folder"),
        (("demo", "--into", "."), "tracetape: . is not empty; --into takes an empty or new folder"),
        (
            ("demo", "--into", "agent.py/x"),
            "tracetape: agent.py/x cannot be made: Not a directory; give a folder that you may write to with "
            "--into",
        ),
    ],
)
def test_wrong_use_is_one_line_and_nothing_is_run(tracetape, recording, here, words, line):
    before = sorted(here.iterdir())

    assert one_line(tracetape(*words), 2) == line

    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize("module", ["nosuch", "nosuch.deep", "pkg.nosuch", "a-b", ".", "a..b"])
def test_a_module_that_is_not_there_is_told_before_anything_is_imported(tracetape, script, here, module):
    script("pkg/__init__.py", "raise SystemExit('imported')")

    line = one_line(tracetape("record", "-o", "x.jsonl", "-m", module), 2)

    assert line == f"tracetape: -m {module}: no module of that name is to be found from {here}"
    assert not (here / "x.jsonl").exists()


def test_a_stub_of_an_unknown_name_is_told_with_the_nearest(tracetape, recording, agent):
    line = one_line(tracetape("replay", recording, "--stub", "sell_share", agent), 2)

    assert line.startswith("tracetape: the plan names sell_share, and run.jsonl has no crossing of it; did you")
    assert "'sell_shares'" in line


# -- unreadable sources


@pytest.mark.parametrize("command", ["show", "check"])
@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("rum.jsonl", "did you mean 'run.jsonl'"),
        ("http://127.0.0.1:1/trace/1", "cannot be reached"),
        ("empty.jsonl", "no spans in it"),
        ("empty_folder", "no spans in it"),
        ("page.html", "It is a web page"),
        ("agent.py", "is not JSON"),
        ("", "empty"),
    ],
)
def test_a_source_that_cannot_be_read_is_exit_code_3(tracetape, recording, here, command, source, says):
    (here / "empty.jsonl").touch()
    (here / "empty_folder").mkdir()
    (here / "page.html").write_bytes((SAMPLES / "broken" / "html_login.json").read_bytes())

    line = one_line(tracetape(command, source), 2 if source == "" else 3)

    assert says in line


@pytest.mark.parametrize("words", [("diff", "run.jsonl", "gone"), ("diff", "gone", "run.jsonl")])
def test_a_missing_side_cannot_be_compared(tracetape, recording, words):
    assert "gone: no such file" in one_line(tracetape(*words), 3)


def test_a_replay_of_what_cannot_be_read_runs_nothing(tracetape, script):
    script("boom.py", "raise SystemExit('it ran')")

    assert "gone: no such file" in one_line(tracetape("replay", "gone", "boom.py"), 3)


def test_a_trace_that_is_not_there_lists_those_that_are(tracetape):
    result = tracetape("show", str(SAMPLES / "broken" / "two_traces.jsonl"), "--trace", "12")

    assert result.exit_code == 3
    assert f"no trace {'12'.zfill(32)} in it" in result.stderr


def test_several_traces_must_be_chosen_from_and_can_be_by_id_in_any_spelling(tracetape):
    source = str(SAMPLES / "broken" / "two_traces.jsonl")
    asked = tracetape("check", source, "--json")
    assert asked.exit_code == 3
    assert "--trace" in asked.stderr
    listed = next(line.split()[0] for line in asked.stderr.splitlines() if line.startswith("  "))
    shown = json.loads(tracetape("show", source, "--json").stdout)
    assert listed in {one["trace_id"] for one in shown["traces"]}

    chosen = tracetape("show", source, "--json", "--trace", listed.lstrip("0").upper())

    assert json.loads(chosen.stdout)["trace_id"] == listed


# -- show, check, diff


def test_show_is_a_tree_for_people_and_plain_in_a_pipe(tracetape, recording):
    result = tracetape("show", recording)

    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    lines = result.stdout.splitlines()
    assert lines[0].startswith("run.jsonl  trace ")
    assert lines[0].endswith("  2 crossings  exact")
    assert next(line for line in lines if "@1" in line).startswith("├─ ask_model@1  llm  ")
    assert '      in  {"symbol":"ACME","quantity":1000}' in lines
    assert '      out {"sold":1000}' in lines


def test_one_crossing_is_shown_in_full(tracetape, recording):
    result = tracetape("show", recording, "--crossing", "sell_shares@1")

    assert result.stdout.startswith("sell_shares@1\n  kind      tool\n  grade     exact\n")
    assert result.stdout.endswith('out\n  {\n    "sold": 1000\n  }\n')


@pytest.mark.parametrize("command", ["show", "check"])
def test_json_is_alone_on_standard_output(tracetape, recording, command):
    result = tracetape(command, recording, "--json")

    assert result.exit_code == 0
    assert result.stderr == ""
    told = json.loads(result.stdout)
    assert set(told) == {"trace_id", "grade", "gaps", "crossings"}
    assert [one["boundary"] for one in told["crossings"]] == ["ask_model", "sell_shares"]


def test_json_of_one_crossing(tracetape, recording):
    told = json.loads(tracetape("show", recording, "--crossing", "ask_model@1", "--json").stdout)

    assert told["inputs"] == {"question": "sell"}
    assert told["result"] == {"symbol": "ACME", "quantity": 1000}


def test_check_of_a_good_recording_is_0(tracetape, recording):
    result = tracetape("check", recording)

    assert result.exit_code == 0
    assert "\nreplayable: 2 of 2 crossings exactly as recorded\n" in result.stdout
    assert result.stdout.splitlines()[-2] == "a replay serves 2 (ask_model@1, sell_shares@1)"


def test_check_tells_what_a_plan_would_do_and_judges_by_it(tracetape, recording):
    result = tracetape("check", recording, "--live", "sell_shares")

    assert result.exit_code == 0
    assert "a replay serves 1 (ask_model@1), and runs 1 (sell_shares@1)" in result.stdout
    mistaken = tracetape("check", recording, "--live", "sel_shares")
    assert mistaken.exit_code == 2
    assert "did you mean 'sell_shares'" in mistaken.stderr


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_check_of_an_unusable_crossing_is_1(tracetape, script, words):
    script(
        "agent.py",
        """
        import threading, tracetape

        @tracetape.boundary("lock")
        def lock():
            return threading.Lock()

        lock()
        """,
    )
    tracetape("record", "-o", "run.jsonl", "agent.py")

    result = tracetape("check", "run.jsonl", *words)

    assert result.exit_code == 1
    assert "lock" in result.stdout


def test_a_recording_differs_from_itself_in_nothing(tracetape, recording):
    result = tracetape("diff", recording, recording)

    assert result.exit_code == 0
    assert result.stdout.endswith("same: every crossing has equal inputs and an equal outcome\n")
    assert json.loads(tracetape("diff", recording, recording, "--json").stdout) == []


def test_a_difference_is_shown_with_both_values_and_is_exit_code_1(tracetape, recording, agent):
    tracetape("record", "-o", "other.jsonl", agent, "buy")

    result = tracetape("diff", recording, "other.jsonl")

    assert result.exit_code == 1
    assert result.stdout.splitlines()[2:] == [
        "ask_model@1: other inputs",
        '  $.question: "sell" → "buy"',
        "1 difference",
    ]
    told = json.loads(tracetape("diff", recording, "other.jsonl", "--json").stdout)
    assert told[0]["changes"] == [{"path": "$.question", "a": '"sell"', "b": '"buy"'}]


# -- record


def test_a_folder_gets_one_file_a_run(tracetape, agent, here):
    (here / "runs").mkdir()

    for _ in range(2):
        assert tracetape("record", "-o", "runs", agent).exit_code == 0

    assert len(list((here / "runs").iterdir())) == 2


def test_a_recording_is_for_the_eyes_of_its_owner(recording, here):
    assert stat.S_IMODE((here / recording).stat().st_mode) == 0o600


def test_a_run_can_be_added_to_a_recording_or_replace_it(tracetape, recording, agent):
    assert tracetape("record", "-o", recording, "--append", agent).exit_code == 0
    assert "2 traces in it" in tracetape("check", recording).stderr
    shown = tracetape("show", recording)
    assert (shown.exit_code, shown.stdout.splitlines()[0]) == (0, f"{recording}  2 traces")

    assert tracetape("record", "-o", recording, "--overwrite", agent).exit_code == 0
    assert tracetape("show", recording).exit_code == 0
