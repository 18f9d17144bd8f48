"""Turns that a family has taken apart are put together, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.sources.conventions.spans import Message, assistant, call, calls, result, span, user

from tracetape.sources.conventions.observed import Observed
from tracetape.sources.conventions.turns import as_sent_by_smolagents, as_turns, whole_turns


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "content": content}


def observed(
    asked: list[Message] | None, said: list[Message] | None = None, reasons: Any = None, kind: str = "llm"
) -> Observed:
    attributes = {} if reasons is None else {"gen_ai.response.finish_reasons": reasons}
    made = Observed(span=span(1, 1, 2, attributes), kind=kind, boundary="chat")
    made.inputs = None if asked is None else {"model": "m", "messages": asked}
    made.answer = made.result = None if said is None else {"messages": said, "id": "r"}
    return made


def test_items_of_the_assistant_one_after_another_are_one_turn() -> None:
    first, second = call("a", "roll"), call("b", "look")
    found = whole_turns(
        [user("Roll"), assistant("Well."), calls(first), calls(second), result("a", 6), user("And?")]
    )
    assert found == [user("Roll"), calls(text("Well."), first, second), result("a", 6), user("And?")]


def test_items_of_others_one_after_another_stay_apart() -> None:
    messages = [user("a"), user("b"), assistant("c"), result("x", 1), result("y", 2)]
    assert whole_turns(messages) == messages


def test_putting_turns_together_changes_none_of_the_messages_given() -> None:
    messages = [assistant("a"), assistant("b")]
    whole_turns(messages)
    assert messages == [assistant("a"), assistant("b")]


def test_a_request_of_items_becomes_one_of_turns() -> None:
    made = observed([user("Roll"), assistant("Well."), calls(call("a", "roll")), result("a", 6)])
    as_turns(made)
    assert made.inputs == {
        "model": "m",
        "messages": [user("Roll"), calls(text("Well."), call("a", "roll")), result("a", 6)],
    }


def test_calls_with_the_ids_of_items_get_those_of_their_results() -> None:
    made = observed([calls(call("fc_1", "roll"), call("fc_2", "look")), result("call_1", 6), result("call_2", 7)])
    as_turns(made)
    assert made.inputs is not None
    assert made.inputs["messages"][0] == calls(call("call_1", "roll"), call("call_2", "look"))


@pytest.mark.parametrize(
    "results",
    [
        [result("call_1", 6)],
        [result("call_1", 6), result("b", 7)],
        [],
        [result("call_1", 6), user("And?"), result("call_2", 7)],
    ],
    ids=["fewer", "one by its id", "none", "not right behind"],
)
def test_calls_whose_results_are_not_told_by_position_keep_their_ids(results: list[Message]) -> None:
    asked = calls(call("a", "roll"), call("b", "look"))
    made = observed([asked, *results])
    as_turns(made)
    assert made.inputs is not None
    assert made.inputs["messages"] == [asked, *results]


@pytest.mark.parametrize("reasons", [None, ["stop"], '["stop"]'])
def test_an_answer_of_items_is_one_choice(reasons: Any) -> None:
    made = observed(
        None, [assistant("Well."), {**calls(call("a", "roll")), "finish_reason": "tool_call"}], reasons
    )
    as_turns(made)
    assert made.answer == {
        "messages": [{**calls(text("Well."), call("a", "roll")), "finish_reason": "tool_call"}],
        "id": "r",
    }
    assert made.result == made.answer


def test_choices_with_a_reason_for_each_stay_choices() -> None:
    made = observed(None, [assistant("a"), assistant("b")], ["stop", "stop"])
    as_turns(made)
    assert made.answer == {"messages": [assistant("a"), assistant("b")], "id": "r"}


def test_what_is_no_call_of_a_model_stays_as_it_is() -> None:
    made = observed([assistant("a"), assistant("b")], kind="tool")
    as_turns(made)
    assert made.inputs == {"model": "m", "messages": [assistant("a"), assistant("b")]}


def test_texts_of_one_role_are_one_message_on_lines_of_their_own() -> None:
    found = as_sent_by_smolagents([user("a"), user("b"), assistant("c"), user("d")])
    assert found == [user("a\nb"), assistant("c"), user("d")]


def test_a_picture_between_texts_keeps_its_place() -> None:
    picture = {"type": "media", "modality": "image", "mime_type": None, "uri": "u"}
    shown: Message = {"role": "user", "parts": [picture, text("b")]}
    found = as_sent_by_smolagents([user("a"), shown, user("c")])
    assert found == [{"role": "user", "parts": [text("a"), picture, text("b\nc")]}]


def test_results_of_tools_stay_messages_of_their_own() -> None:
    messages = [result("a", 1), result("b", 2)]
    assert as_sent_by_smolagents(messages) == messages


def test_putting_texts_together_changes_none_of_the_messages_given() -> None:
    messages = [user("a"), user("b")]
    as_sent_by_smolagents(messages)
    assert messages == [user("a"), user("b")]
