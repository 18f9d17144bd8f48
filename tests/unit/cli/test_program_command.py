"""Which words are ours, and which the program's."""

from __future__ import annotations

import click
import pytest

from tracetape.cli.program_command import ProgramCommand

Parsed = dict[str, object]


def parsed(*words: str, with_source: bool = True) -> Parsed:
    """What a command like `replay` (or, without a source, like `record`) takes from the words."""
    parameters: list[click.Parameter] = [
        click.Option(["--live"], multiple=True),
        click.Option(["-o", "--output"]),
        click.Option(["--strict"], is_flag=True),
        click.Option(["-m", "module"], is_flag=True),
        click.Argument(["program"], nargs=-1, type=click.UNPROCESSED),
    ]
    if with_source:
        parameters.append(click.Option(["--source"], hidden=True))
    command = ProgramCommand("replay", params=parameters)
    return command.make_context("tracetape replay", list(words)).params


@pytest.mark.parametrize(
    "words",
    [
        ("run.jsonl", "--live", "a", "--strict", "agent.py"),
        ("--live", "a", "run.jsonl", "--strict", "agent.py"),
        ("--live", "a", "--strict", "run.jsonl", "agent.py"),
        ("--live=a", "run.jsonl", "--strict", "agent.py"),
        ("--strict", "run.jsonl", "--live=a", "--", "agent.py"),
    ],
)
def test_options_may_stand_on_either_side_of_the_source(words):
    taken = parsed(*words)

    assert (taken["source"], taken["live"], taken["strict"]) == ("run.jsonl", ("a",), True)
    assert taken["program"] == ("agent.py",)


def test_what_stands_behind_the_script_is_the_programs():
    taken = parsed("run.jsonl", "agent.py", "--live", "x", "-o", "y", "-m", "--help", "--", "z")

    assert taken["program"] == ("agent.py", "--live", "x", "-o", "y", "-m", "--help", "--", "z")
    assert (taken["live"], taken["output"], taken["module"]) == ((), None, False)


def test_what_stands_behind_the_module_is_the_programs():
    taken = parsed("-o", "x.jsonl", "-m", "pkg", "--flag", "-o", "y", with_source=False)

    assert taken["program"] == ("pkg", "--flag", "-o", "y")
    assert (taken["output"], taken["module"]) == ("x.jsonl", True)


def test_the_value_of_an_option_is_not_taken_for_the_source():
    taken = parsed("--live", "run.jsonl", "real.jsonl", "agent.py")

    assert (taken["source"], taken["live"]) == ("real.jsonl", ("run.jsonl",))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "name the recording, then the program: SOURCE SCRIPT, or SOURCE -m MODULE"),
        (("run.jsonl",), "name the program behind the recording run.jsonl: a SCRIPT, or -m MODULE"),
        (("run.jsonl", "-m"), "name the program behind the recording run.jsonl: a SCRIPT, or -m MODULE"),
    ],
)
def test_what_is_missing_is_said_in_the_words_of_the_usage(words, message):
    with pytest.raises(click.UsageError) as caught:
        parsed(*words)

    assert caught.value.message == message


def test_without_a_source_the_program_alone_is_missing():
    with pytest.raises(click.UsageError) as caught:
        parsed("--strict", with_source=False)

    assert caught.value.message == "name the program: a SCRIPT, or -m MODULE"


def test_an_option_without_its_value_is_told_by_click():
    with pytest.raises(click.UsageError, match="requires an argument"):
        parsed("run.jsonl", "--live")


def test_the_usage_shows_the_order():
    command = ProgramCommand("replay", params=[click.Option(["--source"], hidden=True)])
    pieces = command.collect_usage_pieces(click.Context(command))

    assert " ".join(pieces) == "SOURCE [OPTIONS] SCRIPT|-m MODULE [ARGS]…"
