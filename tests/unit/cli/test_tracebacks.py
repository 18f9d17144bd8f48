"""What a program raised, without the frames of ours."""

from __future__ import annotations

import sys
import traceback

import pytest

import tracetape
from tracetape.cli import tracebacks


@tracetape.boundary("tracebacks_inner")
def inner(text: str) -> None:
    raise ValueError(text)


def caught(function) -> BaseException:
    try:
        function()
    except BaseException as error:
        return error
    raise AssertionError("it raised nothing")


def files_of(error: BaseException | None) -> list[str]:
    assert error is not None
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


def only_this_file(error: BaseException | None) -> bool:
    return set(files_of(error)) == {__file__}


def test_the_frames_between_two_of_the_program_are_taken_out():
    error = caught(lambda: inner("x"))
    assert not only_this_file(error)

    tracebacks.without_our_frames(error)

    assert only_this_file(error)
    functions = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert functions == ["caught", "<lambda>", "inner"]


def test_causes_and_contexts_lose_them_too():
    def program() -> None:
        try:
            inner("context")
        except ValueError:
            try:
                inner("cause")
            except ValueError as cause:
                raise KeyError("outer") from cause

    error = caught(program)
    tracebacks.without_our_frames(error)

    assert only_this_file(error)
    assert only_this_file(error.__cause__)
    assert error.__cause__ is not None
    assert only_this_file(error.__cause__.__context__)


def test_the_parts_of_a_group_lose_them_too():
    part = caught(lambda: inner("x"))

    tracebacks.without_our_frames(BaseExceptionGroup("several", [part]))

    assert only_this_file(part)


def test_errors_that_are_their_own_causes_end():
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first

    tracebacks.without_our_frames(first)

    assert first.__traceback__ is None


def test_an_error_of_nobody_elses_frames_has_none():
    error = caught(lambda: tracetape.load())
    tracebacks.without_our_frames(error)

    assert only_this_file(error)


def test_it_is_shown_by_the_programs_own_hook(monkeypatch, capsys):
    shown: list[object] = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: shown.append((kind, error, trace)))
    error = caught(lambda: inner("x"))

    tracebacks.show(error)

    assert shown == [(ValueError, error, error.__traceback__)]


@pytest.mark.parametrize("status", [0, 5, "message", None])
def test_an_exit_is_the_interpreters_to_show(monkeypatch, status):
    monkeypatch.setattr(sys, "excepthook", lambda *_: pytest.fail("shown"))

    tracebacks.show(SystemExit(status))
