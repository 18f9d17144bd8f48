"""Of flattened attributes all are there, or nothing is made of them: what is missing or cut is never made up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.sources.conventions.spans import (
    TRACELOOP,
    assistant,
    call,
    calls,
    codes,
    llm,
    read,
    result,
    user,
)

from tracetape.sources.conventions.contents import Missing, by_index, is_whole_call
from tracetape.sources.conventions.genai_before import flattened
from tracetape.sources.conventions.observed import CUT
from tracetape.sources.conventions.openinference_messages import messages

ARGUMENTS = '{"symbol": "ACMÉ", "sum": -10.5e3, "on": true, "of": [null, {"note": "a\\nb\\u00e9"}]}'
DIGITS = "1" * 5_000

Flat = dict[str, Any]


def test_the_attributes_of_each_number_are_together_and_in_order() -> None:
    numbers = [f"p.{at}.a" for at in (10, 2, 0, 1, 3, 9, 8, 7, 6, 5, 4)]
    found = by_index({"p.2.b.c": "x", "q.0.a": "y", "p.a": "z", **{key: key for key in numbers}}, "p.")
    assert [one["a"] for one in found] == [f"p.{at}.a" for at in range(11)]
    assert found[2] == {"a": "p.2.a", "b.c": "x"}


def test_where_there_are_none_there_are_none() -> None:
    assert by_index({"q.0.a": 1}, "p.") == []


@pytest.mark.parametrize("numbers", [(1,), (0, 2), (1, 2), (0, 1, 3), (99_999,)])
def test_a_number_that_is_not_there_is_missing(numbers: tuple[int, ...]) -> None:
    with pytest.raises(Missing):
        by_index({f"p.{number}.a": 1 for number in numbers}, "p.")


@pytest.mark.parametrize(
    ("numbers", "is_whole"), [((0, 1), True), ((1, 2), True), ((2, 3), False), ((1, 3), False)]
)
def test_numbers_may_begin_where_the_family_begins(numbers: tuple[int, ...], is_whole: bool) -> None:
    attributes = {f"p.{number}.a": number for number in numbers}
    if is_whole:
        assert by_index(attributes, "p.", 1) == [{"a": number} for number in numbers]
    else:
        with pytest.raises(Missing):
            by_index(attributes, "p.", 1)


@pytest.mark.parametrize("number", [DIGITS, "100000", "x", "", "-1", "1e3", "²"])
def test_what_is_no_number_that_a_list_may_have_is_ignored(number: str) -> None:
    assert by_index({"p.0.a": 1, f"p.{number}.a": 2}, "p.") == [{"a": 1}]


@pytest.mark.parametrize("end", range(1, len(ARGUMENTS)))
def test_arguments_that_are_cut_anywhere_are_not_whole(end: int) -> None:
    assert is_whole_call("roll", ARGUMENTS)
    assert not is_whole_call("roll", ARGUMENTS[:end])


@pytest.mark.parametrize(
    "arguments",
    ['{"a": }', '{"a": 1,}', "{'a': 1}", "{a: 1} x", '{"a": 1}}', "[1 2]", '{"a": NaN}', "Boston", "", "6"],
)
def test_arguments_that_a_model_has_written_badly_are_whole(arguments: str) -> None:
    assert is_whole_call("roll", arguments)


@pytest.mark.parametrize(
    ("name", "arguments", "is_whole"),
    [
        (None, "{}", False),
        ("", "{}", False),
        (5, "{}", False),
        ("roll", None, False),
        ("roll", 5, False),
        ("roll", {"dice": 1}, True),
        (None, {"dice": 1}, False),
    ],
)
def test_a_call_has_a_name_and_arguments(name: Any, arguments: Any, is_whole: bool) -> None:
    assert is_whole_call(name, arguments) is is_whole


def of_old(attributes: Flat) -> Any:
    return flattened(attributes, "p.")


def of_openinference(attributes: Flat) -> Any:
    return messages(attributes, "p.")


OLD: Flat = {
    "p.0.role": "user",
    "p.0.content": "Roll",
    "p.1.role": "assistant",
    "p.1.tool_calls.0.id": "c1",
    "p.1.tool_calls.0.name": "roll",
    "p.1.tool_calls.0.arguments": '{"dice": 1}',
    "p.2.role": "tool",
    "p.2.tool_call_id": "c1",
    "p.2.content": "six",
    "p.3.role": "assistant",
    "p.3.content": "A six.",
}
OPENINFERENCE: Flat = {
    "p.0.message.role": "user",
    "p.0.message.content": "Roll",
    "p.1.message.role": "assistant",
    "p.1.message.tool_calls.0.tool_call.id": "c1",
    "p.1.message.tool_calls.0.tool_call.function.name": "roll",
    "p.1.message.tool_calls.0.tool_call.function.arguments": '{"dice": 1}',
    "p.2.message.role": "tool",
    "p.2.message.tool_call_id": "c1",
    "p.2.message.content": "six",
    "p.3.message.role": "assistant",
    "p.3.message.contents.0.message_content.type": "text",
    "p.3.message.contents.0.message_content.text": "A six.",
}
BOTH = pytest.mark.parametrize(
    ("of", "whole"), [(of_old, OLD), (of_openinference, OPENINFERENCE)], ids=["old GenAI", "OpenInference"]
)
MESSAGES = [user("Roll"), calls(call("c1", "roll", dice=1)), result("c1", "six"), assistant("A six.")]


@BOTH
def test_messages_that_are_whole_are_told(of: Callable[[Flat], Any], whole: Flat) -> None:
    assert of(whole) == MESSAGES


@BOTH
def test_the_order_of_attributes_tells_nothing(of: Callable[[Flat], Any], whole: Flat) -> None:
    assert of(dict(reversed(whole.items()))) == MESSAGES


@BOTH
def test_where_no_messages_are_there_are_none(of: Callable[[Flat], Any], whole: Flat) -> None:
    assert of({}) == of({f"x{key}": value for key, value in whole.items()}) == []


@pytest.mark.parametrize(
    ("of", "whole", "key"),
    [
        (of, whole, key)
        for of, whole in ((of_old, OLD), (of_openinference, OPENINFERENCE))
        for key in whole
        if key.endswith((".role", ".name", ".arguments", "p.0.content", "p.2.content"))
        or key in ("p.0.message.content", "p.2.message.content")
    ],
)
def test_one_attribute_missing_that_each_has_makes_all_cut(
    of: Callable[[Flat], Any], whole: Flat, key: str
) -> None:
    assert of({other: value for other, value in whole.items() if other != key}) is CUT


@BOTH
@pytest.mark.parametrize("hole", ["p.0.", "p.1.", "p.2."])
def test_a_message_missing_between_makes_all_cut(of: Callable[[Flat], Any], whole: Flat, hole: str) -> None:
    assert of({key: value for key, value in whole.items() if not key.startswith(hole)}) is CUT


@BOTH
def test_a_tool_call_missing_between_makes_all_cut(of: Callable[[Flat], Any], whole: Flat) -> None:
    assert of({key.replace("tool_calls.0", "tool_calls.1"): value for key, value in whole.items()}) is CUT


@BOTH
@pytest.mark.parametrize(
    ("arguments", "parsed"),
    [
        ('{"dice": }', '{"dice": }'),
        ("{'dice': 1}", "{'dice': 1}"),
        ('{"dice": 1', None),
        ('{"di', None),
        ("{", None),
    ],
)
def test_arguments_badly_written_stay_and_cut_ones_make_all_cut(
    of: Callable[[Flat], Any], whole: Flat, arguments: str, parsed: str | None
) -> None:
    [key] = [key for key in whole if key.endswith("arguments")]
    found = of({**whole, key: arguments})
    if parsed is None:
        assert found is CUT
    else:
        assert found[1]["parts"][0]["arguments"] == parsed


@BOTH
def test_an_index_of_thousands_of_digits_is_ignored(of: Callable[[Flat], Any], whole: Flat) -> None:
    first = {key: value for key, value in whole.items() if key.startswith("p.0.")}
    hostile = {key.replace("p.0.", f"p.{DIGITS}."): "x" for key in first}
    calls_key = next(key for key in whole if key.endswith("name"))
    assert of({**whole, **hostile, calls_key.replace("calls.0", f"calls.{DIGITS}"): "x"}) == MESSAGES


def test_an_openinference_message_without_content_is_left_out_where_it_may_be_empty() -> None:
    bare = {"p.0.message.role": "user", "p.0.message.content": "Roll", "p.1.message.role": "assistant"}
    assert messages(bare, "p.", empty=True) == [user("Roll")]
    assert messages(bare, "p.") is CUT


@pytest.mark.parametrize("scope", [TRACELOOP, "openinference.instrumentation.openai"])
def test_of_a_span_with_a_hole_no_answer_is_served(scope: str) -> None:
    whole = llm(1, 1, 2, [user("Roll")], calls(call("c1", "roll", dice=1)), scope=scope)
    attributes = {key: value for key, value in whole.attributes.items() if not key.endswith("arguments")}
    holed = llm(1, 1, 2, scope=scope, more=attributes)
    [crossing] = read(holed).crossings
    assert (crossing.grade, crossing.output) == ("unusable", None)
    assert "ATTRIBUTES_MISSING" in codes(crossing)
