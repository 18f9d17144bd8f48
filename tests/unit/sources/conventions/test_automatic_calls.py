"""Google's automatic function calling is one span for several turns: each of them is told, in its order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.sources.conventions.spans import (
    answers,
    assistant,
    call,
    codes,
    llm,
    names,
    read,
    shown_by,
    span,
    tool,
    user,
    value_of,
)

from tracetape.model.span import SpanRecord

OFFICIAL = "opentelemetry.instrumentation.google_genai"
OPENINFERENCE = "openinference.instrumentation.google_genai"
ASKED = [user("Roll")]
DONE = [{"type": "text", "content": "A six."}]


def whole() -> SpanRecord:
    """One span of a thousand nanoseconds for all turns."""
    return llm(1, 1000, 2000, ASKED, assistant("A six."), scope=OFFICIAL, model="gemini-3-flash")


def roll(number: int, start: int, end: int, name: str = "roll", given: Any = 6) -> SpanRecord:
    return tool(number, start, end, name, {"dice": number}, given, scope=OFFICIAL, under=1)


def test_the_turn_before_a_tool_that_ran_inside_is_told_and_unusable() -> None:
    recording = read(whole(), roll(2, 1300, 1400))
    assert names(recording) == ["chat@1", "roll@1", "chat@2"]
    assert shown_by(recording) == [[], [2], [1]]
    first = recording["chat", 1]
    assert (first.grade, codes(first), first.output) == ("unusable", {"TURN_NOT_RECORDED"}, None)
    assert (first.started, first.ended) == (1000, 1300)
    assert value_of(first.input)["messages"] == ASKED


def test_the_last_turn_begins_after_the_tool_and_has_the_answer() -> None:
    last = read(whole(), roll(2, 1300, 1400))["chat", 2]
    assert (last.started, last.ended) == (1400, 2000)
    assert (last.grade, value_of(last.output)["messages"][0]["parts"]) == ("rebuilt", DONE)
    assert value_of(last.input)["messages"] == [
        *ASKED,
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": None, "name": "roll", "arguments": {"dice": 2}}],
        },
        {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": None, "name": "roll", "response": {"result": 6}}],
        },
    ]


def test_tools_that_ran_inside_are_beside_the_turns() -> None:
    recording = read(whole(), roll(2, 1300, 1400))
    assert [one.parent for one in recording.crossings] == [None, None, None]
    assert [one.children for one in recording.crossings] == [(), (), ()]


def test_tools_that_overlap_are_of_one_turn() -> None:
    recording = read(whole(), roll(2, 1300, 1400), roll(3, 1350, 1450, "look"))
    assert names(recording) == ["chat@1", "roll@1", "look@1", "chat@2"]
    assert recording["chat", 2].started == 1450


def test_tools_sooner_after_one_another_than_a_model_answers_are_of_one_turn() -> None:
    recording = read(whole(), roll(2, 1300, 1310), roll(3, 1320, 1330, "look"))
    assert names(recording) == ["chat@1", "roll@1", "look@1", "chat@2"]


def test_tools_with_a_model_s_time_between_them_are_of_two_turns() -> None:
    recording = read(whole(), roll(2, 1300, 1310), roll(3, 1600, 1610, "look"))
    assert names(recording) == ["chat@1", "roll@1", "chat@2", "look@1", "chat@3"]
    assert [one.started for one in recording.crossings] == [1000, 1300, 1310, 1600, 1610]
    assert [one.grade for one in recording.crossings if one.kind == "llm"] == ["unusable", "unusable", "rebuilt"]


def test_a_tool_inside_another_provider_s_call_makes_no_turns() -> None:
    other = "opentelemetry.instrumentation.genai.openai"
    recording = read(
        llm(1, 1000, 2000, ASKED, assistant("A six."), scope=other),
        tool(2, 1300, 1400, "roll", {}, 6, scope=other, under=1),
    )
    assert names(recording) == ["chat@1", "roll@1"]


def test_a_tool_beside_a_call_makes_no_turns() -> None:
    tool_beside = tool(2, 1300, 1400, "roll", {}, 6, scope=OFFICIAL, under=3)
    recording = read(span(3, 900, 2100, {}), whole(), tool_beside)
    assert names(recording) == ["chat@1", "roll@1"]


QUESTION = {"role": "user", "parts": [{"text": "Roll"}]}
CALLED = {"role": "model", "parts": [{"function_call": {"name": "roll", "args": {"dice": 1}}}]}
GIVEN = {"role": "user", "parts": [{"function_response": {"name": "roll", "response": {"result": 6}}}]}
HISTORY = [QUESTION, CALLED, GIVEN]


def told(history: list[Any], **more: Any) -> SpanRecord:
    """One span with the SDK's response, which has the turns before the last."""
    response = {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "A six."}]}, "finish_reason": "STOP"}],
        "automatic_function_calling_history": history,
    }
    about = {"llm.provider": "google", "output.value": json.dumps(response), **more}
    return llm(1, 1000, 2000, ASKED, scope=OPENINFERENCE, model="gemini-3-flash", more=about)


CALL_PARTS = [call(None, "roll", dice=1)]


def test_turns_that_the_response_has_are_told_with_the_tool_between_them() -> None:
    recording = read(told(HISTORY))
    assert names(recording) == ["chat@1", "roll@1", "chat@2"]
    assert answers(recording) == [CALL_PARTS, DONE]
    assert value_of(recording["roll", 1].input) == {"dice": 1}
    assert value_of(recording["roll", 1].output) == 6
    assert all(one.grade == "rebuilt" for one in recording.crossings)


def test_each_turn_of_the_response_was_asked_what_came_before_it() -> None:
    recording = read(told(HISTORY))
    asked = [
        [message["role"] for message in value_of(one.input)["messages"]]
        for one in (recording["chat", 1], recording["chat", 2])
    ]
    assert asked == [["user"], ["user", "assistant", "tool"]]


def test_instructions_are_asked_in_each_turn_of_the_response() -> None:
    raw = {"contents": [QUESTION], "system_instruction": {"parts": [{"text": "Be brief"}]}}
    recording = read(told(HISTORY, **{"input.value": json.dumps(raw)}))
    for one in (recording["chat", 1], recording["chat", 2]):
        assert value_of(one.input)["messages"][:2] == [
            {"role": "system", "parts": [{"type": "text", "content": "Be brief"}]},
            *ASKED,
        ]


@pytest.mark.parametrize("times", [2, 3])
def test_a_history_that_each_chunk_of_a_stream_repeats_is_told_once(times: int) -> None:
    recording = read(told(HISTORY * times))
    assert names(recording) == ["chat@1", "roll@1", "chat@2"]
    assert answers(recording) == [CALL_PARTS, DONE]


def test_a_tool_of_the_response_that_has_a_span_inside_is_not_told_twice() -> None:
    ran = tool(2, 1300, 1400, "roll", {"dice": 1}, 6, scope=OPENINFERENCE, under=1)
    recording = read(told(HISTORY), ran)
    assert names(recording) == ["chat@1", "roll@1", "chat@2"]
    assert recording["roll", 1].span_ids == (f"{2:016x}",)
    assert answers(recording) == [CALL_PARTS, DONE]


def test_a_response_without_calls_before_is_one_turn() -> None:
    recording = read(told([QUESTION]))
    assert names(recording) == ["chat@1"]
    assert answers(recording) == [DONE]


def test_equal_calls_of_two_turns_have_a_run_each() -> None:
    recording = read(
        told([*HISTORY, CALLED, GIVEN]),
        tool(2, 1300, 1310, "roll", {"dice": 1}, 6, scope=OPENINFERENCE, under=1),
        tool(3, 1600, 1610, "roll", {"dice": 1}, 6, scope=OPENINFERENCE, under=1),
    )
    assert names(recording) == ["chat@1", "roll@1", "chat@2", "roll@2", "chat@3"]
    assert shown_by(recording)[1::2] == [[2], [3]]
