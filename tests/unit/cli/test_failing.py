"""Wrong use: one line, the right exit code, no traceback."""

from __future__ import annotations

import errno

import click
import pytest
from click.testing import CliRunner

from tracetape.cli.failing import Commands, reports_errors
from tracetape.errors import (
    DivergenceError,
    FormatError,
    NotReplayable,
    PlanError,
    RecordingError,
    SourceError,
    TraceSelectionError,
    TraceStructureError,
    TracetapeError,
    UsageError,
)


def ended(error: BaseException | None, *words: str) -> tuple[int, str]:
    """Exit code and standard error of a command that ends with `error`."""

    @click.group(cls=Commands)
    def cli() -> None: ...

    @cli.command()
    @click.option("--number", type=int)
    @reports_errors
    def show(number: int | None) -> None:
        if error is not None:
            raise error

    result = CliRunner().invoke(cli, words or ("show",), prog_name="tracetape")
    assert result.stdout == ""
    return result.exit_code, result.stderr


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (SourceError, 3),
        (FormatError, 3),
        (TraceSelectionError, 3),
        (TraceStructureError, 3),
        (NotReplayable, 1),
        (DivergenceError, 1),
        (UsageError, 2),
        (PlanError, 2),
        (RecordingError, 2),
        (TracetapeError, 2),
    ],
)
def test_each_error_of_ours_has_its_exit_code_and_its_own_text(kind, status):
    assert ended(kind("run.jsonl: what and why")) == (status, "tracetape: run.jsonl: what and why\n")


def test_a_text_from_a_trace_cannot_command_the_terminal():
    assert ended(SourceError("a\x1b[2J\nb\u202e")) == (3, "tracetape: a\\x1b[2J\nb\\u202e\n")


def test_success_is_zero():
    assert ended(None) == (0, "")


def test_an_exit_of_a_command_keeps_its_code():
    assert ended(SystemExit(1)) == (1, "")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("shw",), "tracetape: no command 'shw'; did you mean 'show'? See tracetape --help"),
        (("xyzzy",), "tracetape: no command 'xyzzy'; there are: show. See tracetape --help"),
        (("--bogus",), "tracetape: No such option '--bogus'. See tracetape --help"),
        (("show", "--nr"), "tracetape show: No such option '--nr'"),
        (("show", "--number", "x"), "tracetape show: Invalid value for '--number': 'x' is not a valid integer."),
        (("show", "a"), "tracetape show: Got unexpected extra argument"),
    ],
)
def test_wrong_words_are_one_line_that_leads_to_the_help(words, line):
    status, text = ended(None, *words)

    assert status == 2
    assert text.startswith(line)
    assert text.count("\n") == 1


def test_no_words_at_all_show_the_help_and_are_wrong_use():
    @click.group(cls=Commands)
    def cli() -> None:
        """What it is for."""

    result = CliRunner().invoke(cli, [], prog_name="tracetape")

    assert result.exit_code == 2
    assert "What it is for." in result.stderr


def test_an_interrupt_is_130_as_a_shell_counts_it():
    status, text = ended(KeyboardInterrupt())

    assert status == 130
    assert text.strip() == "tracetape: interrupted"


def test_a_full_disk_behind_standard_output_is_a_line():
    assert ended(OSError(errno.ENOSPC, "No space left on device")) == (3, "tracetape: No space left on device\n")
