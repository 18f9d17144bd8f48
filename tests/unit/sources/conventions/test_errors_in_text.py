"""What a model was told in place of a result: an error with its message, or a result that only reads like one."""

from __future__ import annotations

import pytest

from tracetape.sources.conventions.errors_in_text import failure_in


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("Error: trading in HALTED is suspended", None, "trading in HALTED is suspended"),
        ("Error: ValueError('no such symbol')\n Please fix your mistakes.", "ValueError", "no such symbol"),
        ('Error: KeyError("it\'s")', "KeyError", "it's"),
        ("Error executing tool place_order: no funds", None, "no funds"),
        ("ValueError: no funds", "ValueError", "no funds"),
        ("An error occurred while running the tool. Please try again. Error: no", None, "no"),
        (
            "An error occurred while running the tool. Please try again.",
            None,
            "An error occurred while running the tool. Please try again.",
        ),
    ],
)
def test_a_text_that_stands_for_an_exception(text: str, kind: str | None, message: str) -> None:
    found = failure_in(text)
    assert found is not None
    assert (found.type, found.message, found.stands_for) == (kind, message, True)


@pytest.mark.parametrize(
    "text", ["", "ok", "Errors: 0", "the Error: was mine", "No error", '{"error": "x"}', "Terror: x", "error: x"]
)
def test_a_text_that_is_a_result(text: str) -> None:
    assert failure_in(text) is None


def test_where_it_is_known_to_be_an_error_any_text_is_its_message() -> None:
    found = failure_in("market closed", certain=True)
    assert found is not None
    assert (found.type, found.message) == (None, "market closed")
