"""Text on its way to a terminal, a file or a pipe."""

from __future__ import annotations

import io
import os
import sys

import orjson
import pytest
from rich.text import Text

from tracetape.cli import render
from tracetape.cli.render import columns, counted, wrapped
from tracetape.model.printing import escaped, escaped_lines


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Called by the test itself, for pytest replaces the streams between a fixture and its test."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    return stream


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b31m", "\\x9b31m"),
        ("over\rwritten", "over\\rwritten"),
        ("a\tb\nc", "a\\tb\\nc"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\ud800", "\\ud800"),
        ("\x00", "\\x00"),
        ("東京\u3000タワー", "東京\u3000タワー"),
        ("naïve — “quoted” 😀", "naïve — “quoted” 😀"),
    ],
)
def test_what_a_terminal_would_obey_is_shown_as_an_escape_and_the_rest_as_it_is(text, shown):
    assert escaped(text) == shown


def test_the_lines_of_a_text_stay_lines():
    assert escaped_lines("a\x07\nb") == "a\\x07\nb"


def test_markup_of_a_trace_is_text(monkeypatch):
    terminal = on_a_terminal(monkeypatch)

    render.print_lines([Text(escaped("[link=http://x]here[/link] :smile: 12"))])

    assert terminal.getvalue() == "[link=http://x]here[/link] :smile: 12\n"


def test_colours_are_for_terminals(monkeypatch):
    terminal = on_a_terminal(monkeypatch)
    styled = Text("good", style="green")
    render.print_lines([styled])
    assert terminal.getvalue() == "\x1b[32mgood\x1b[0m\n"

    plain = io.StringIO()
    monkeypatch.setattr(sys, "stdout", plain)
    render.print_lines([styled])
    assert plain.getvalue() == "good\n"


def test_no_color_is_obeyed_on_a_terminal(monkeypatch):
    terminal = on_a_terminal(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")

    render.print_lines([Text("good", style="green")])

    assert terminal.getvalue() == "good\n"


def test_a_long_line_is_not_broken_in_what_others_read(monkeypatch):
    plain = io.StringIO()
    monkeypatch.setattr(sys, "stdout", plain)

    render.print_lines([Text("x" * 500)])

    assert plain.getvalue() == "x" * 500 + "\n"


def test_a_stream_that_knows_ascii_alone_gets_question_marks(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)

    render.print_lines([Text("├─ µ")])
    stream.flush()

    assert stream.buffer.getvalue() == b"?? ?\n"


def test_json_is_utf_8_whatever_the_stream_knows(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)

    render.print_json({"name": "東京"})

    assert orjson.loads(stream.buffer.getvalue()) == {"name": "東京"}


def test_a_report_stands_out_on_a_terminal(monkeypatch):
    terminal = on_a_terminal(monkeypatch)

    render.print_report("replay of x: 1 divergence\n\nDIVERGED: y\n  $.a\x07", diverged=True)

    assert terminal.getvalue() == (
        "\x1b[1;31mreplay of x: 1 divergence\x1b[0m\n\n\x1b[1;31mDIVERGED: y\x1b[0m\n  $.a\\x07\n"
    )


def test_a_good_report_is_green_in_its_first_line_alone(monkeypatch):
    terminal = on_a_terminal(monkeypatch)

    render.print_report("replay of x: 0 divergences\n  y@1  stub", diverged=False)

    assert terminal.getvalue() == "\x1b[32mreplay of x: 0 divergences\x1b[0m\n  y@1  stub\n"


@pytest.mark.parametrize(("said", "width"), [("80", 80), ("200", 200), ("3", 40)])
def test_the_width_is_what_COLUMNS_says_and_never_too_narrow_to_read(monkeypatch, said, width):
    monkeypatch.setenv("COLUMNS", said)

    assert render.console().width == width


def no_terminal(descriptor: int) -> os.terminal_size:
    raise OSError("not a terminal")


@pytest.mark.parametrize("said", ["", "0", "wide", "-5"])
def test_without_any_terminal_it_is_a_hundred(monkeypatch, said):
    monkeypatch.setenv("COLUMNS", said)
    monkeypatch.setattr(os, "get_terminal_size", no_terminal)

    assert render.console().width == 100


def test_behind_a_pager_it_is_that_of_the_terminal_that_is_left(monkeypatch, tmp_path):
    with (tmp_path / "pipe").open("w") as pipe, (tmp_path / "terminal").open("w") as terminal:
        monkeypatch.setattr(sys, "__stdout__", pipe)
        monkeypatch.setattr(sys, "__stderr__", terminal)

        def size(descriptor: int) -> os.terminal_size:
            return os.terminal_size((132, 40)) if descriptor == terminal.fileno() else no_terminal(descriptor)

        monkeypatch.setattr(os, "get_terminal_size", size)

        assert render.console().width == 132


def test_lines_are_broken_behind_a_space_or_a_comma_near_their_end():
    assert wrapped("to be or not to be", 8) == ["to be ", "or not ", "to be"]
    assert wrapped('{"a":1,"b":2}', 8) == ['{"a":1,', '"b":2}']


def test_a_line_without_a_place_to_break_is_broken_at_its_end():
    assert wrapped("abcdefghij", 4) == ["abcd", "efgh", "ij"]


def test_a_wide_character_takes_two_cells():
    assert wrapped("東京都庁", 4) == ["東京", "都庁"]
    assert wrapped("東京都", 5) == ["東京", "都"]


def test_a_character_wider_than_the_line_does_not_stop_the_wrapping():
    assert wrapped("東京", 1) == ["東", "京"]


def test_wrapping_loses_nothing():
    text = "a, 東京 b" * 30
    assert "".join(wrapped(text, 17)) == text


def test_labels_are_padded_in_cells():
    assert columns([("東京", "a"), ("x", "b")]) == [("東京", "a"), ("x   ", "b")]


def test_numbers_have_their_noun():
    assert [counted(n, "crossing") for n in (0, 1, 2_000)] == ["0 crossings", "1 crossing", "2,000 crossings"]
