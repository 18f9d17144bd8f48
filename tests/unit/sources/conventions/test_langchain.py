"""LangChain's objects are read in each of the shapes that they are dumped in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.sources.conventions.spans import (
    OPENINFERENCE_LANGCHAIN,
    Message,
    assistant,
    call,
    calls,
    read,
    result,
    span,
    user,
    value_of,
)

from tracetape.sources.conventions.langchain import fields_of, is_streamed, message, tool_message, with_blocks
from tracetape.sources.conventions.observed import ABSENT, Observed

FIELDS = {"content": "hi"}
RUN = "01a2293b-2d2e-7587-8892-4fe579e39167"


@pytest.mark.parametrize(
    "value",
    [
        {"lc": 1, "type": "constructor", "id": ["langchain", "AIMessage"], "kwargs": FIELDS},
        {"lc": 1, "kwargs": FIELDS},
        {"type": "ai", "data": FIELDS},
        FIELDS,
    ],
)
def test_the_fields_of_a_dumped_object_are_found(value: Any) -> None:
    assert fields_of(value) == {"content": "hi"}


@pytest.mark.parametrize("value", ["hi", None, 5, ["content"]])
def test_what_is_no_object_has_no_fields(value: Any) -> None:
    assert fields_of(value) is None


@pytest.mark.parametrize("value", [{"kwargs": {"a": 1}}, {"data": {"a": 1}}, {"type": "ai", "data": "text"}])
def test_fields_that_are_called_as_a_dump_s_are_fields(value: Any) -> None:
    assert fields_of(value) == value


def dumped(kind: str, **fields: Any) -> list[Any]:
    """A message in each shape."""
    return [
        {"lc": 1, "type": "constructor", "id": ["langchain"], "kwargs": {"type": kind, **fields}},
        {"type": kind, "data": fields},
        {"type": kind, **fields},
        {"role": kind, **fields},
    ]


@pytest.mark.parametrize("value", dumped("human", content="Roll"))
def test_a_message_of_the_user_is_read_in_each_shape(value: Any) -> None:
    assert message(value) == user("Roll")


@pytest.mark.parametrize("value", dumped("ai", content="Well."))
def test_a_message_of_the_model_is_read_in_each_shape(value: Any) -> None:
    assert message(value) == assistant("Well.")


@pytest.mark.parametrize("value", dumped("tool", content='{"price": 1}', tool_call_id="c1"))
def test_a_tool_s_message_is_its_result(value: Any) -> None:
    assert message(value) == result("c1", {"price": 1})


def test_a_tool_s_message_of_an_error_says_so() -> None:
    found = message({"type": "tool", "content": "no funds", "tool_call_id": "c1", "status": "error"})
    assert found is not None
    assert found["parts"][0]["is_error"] is True


def test_tool_calls_beside_the_content_are_parts() -> None:
    asked = [{"id": "c1", "name": "roll", "args": {"dice": 1}, "type": "tool_call"}]
    found = message({"type": "ai", "content": "Well.", "tool_calls": asked})
    assert found == calls({"type": "text", "content": "Well."}, call("c1", "roll", dice=1))


def test_a_tool_call_that_is_a_block_and_beside_it_is_there_once() -> None:
    block = {"type": "tool_use", "id": "c1", "name": "roll", "input": {"dice": 1}}
    beside = [{"id": "c1", "name": "roll", "args": {"dice": 1}}, {"id": "c2", "name": "look", "args": {}}]
    found = message({"type": "ai", "content": [block], "tool_calls": beside})
    assert found == calls(call("c1", "roll", dice=1), call("c2", "look"))


@pytest.mark.parametrize("value", [None, "hi", {"role": "user"}, {"lc": 1, "kwargs": {}}])
def test_what_has_no_content_is_no_message(value: Any) -> None:
    assert message(value) is None


def observed() -> Observed:
    return Observed(span=span(1, 1, 2, {}), kind="tool", boundary="roll", is_whole=True)


@pytest.mark.parametrize(
    ("content", "value"),
    [("six", "six"), ('{"dice": 6}', {"dice": 6}), ([{"type": "text", "text": "six"}], "six"), ("6", "6")],
)
def test_a_tool_message_gives_the_result_and_the_id(content: Any, value: Any) -> None:
    made = observed()
    tool_message(made, {"lc": 1, "kwargs": {"content": content, "tool_call_id": "c1", "status": "success"}})
    assert (made.result, made.call_id, made.failure, made.is_whole) == (value, "c1", None, False)


def test_a_tool_message_of_an_error_is_a_failure_without_a_result() -> None:
    made = observed()
    tool_message(made, {"content": "no funds", "tool_call_id": "c1", "status": "error"})
    assert made.result is ABSENT
    assert made.failure is not None
    assert (made.failure.message, made.failure.stands_for) == ("no funds", True)


@pytest.mark.parametrize(("value", "given"), [({"dice": 6},) * 2, ("six", "six"), ('{"dice": 6}', {"dice": 6})])
def test_what_is_no_tool_message_is_the_result_itself(value: Any, given: Any) -> None:
    made = observed()
    tool_message(made, value)
    assert (made.result, made.call_id) == (given, None)


def texts(*contents: str) -> Message:
    return {"role": "assistant", "parts": [{"type": "text", "content": one} for one in contents]}


def test_a_text_that_stands_for_a_block_is_the_block() -> None:
    block = json.dumps({"type": "tool_use", "id": "c1", "name": "roll", "input": {"dice": 1}})
    thought = json.dumps({"type": "thinking", "thinking": "Hm.", "signature": "s"})
    assert with_blocks(texts(thought, "Well.", block)) == calls(
        {"type": "reasoning", "content": "Hm."}, {"type": "text", "content": "Well."}, call("c1", "roll", dice=1)
    )


def test_a_block_of_openai_s_responses_is_the_call() -> None:
    block = json.dumps({"type": "function_call", "call_id": "c1", "name": "roll", "arguments": '{"dice": 1}'})
    assert with_blocks(texts(block)) == calls(call("c1", "roll", dice=1))


def test_a_call_that_is_there_as_a_text_as_well_is_there_once() -> None:
    block = {"type": "text", "content": '{"type": "tool_use", "id": "c1", "name": "roll", "input": {"dice": 1}}'}
    assert with_blocks(calls(block, call("c1", "roll", dice=1))) == calls(call("c1", "roll", dice=1))


@pytest.mark.parametrize(
    "content",
    [
        "Well.",
        '{"type": "order", "id": 1}',
        '{"type": "text", "text": "hi"}',
        '{"price": 1}',
        '{"type": "tool_use", "id"',
        '[{"type": "tool_use"}]',
        'See {"type": "tool_use"}',
        "{}",
    ],
)
def test_a_text_that_stands_for_no_block_stays_a_text(content: str) -> None:
    assert with_blocks(texts(content)) == texts(content)


@pytest.mark.parametrize("prefix", ["run-", "run--", "lc_run-", "lc_run--"])
@pytest.mark.parametrize("space", ["", " "])
def test_ids_without_a_number_are_of_chunks(prefix: str, space: str) -> None:
    assert is_streamed(f'{{"content": "hi", "id":{space}"{prefix}{RUN}"}}')
    assert not is_streamed(f'{{"content": "hi", "id":{space}"{prefix}{RUN}-0"}}')


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hi",
        '{"id": "run-1"}',
        f'{{"name": "run-{RUN}"}}',
        f'{{"id": "{RUN}"}}',
        f'[{{"id": "run-{RUN}"}}, {{"id": "run-{RUN}-0"}}]',
    ],
)
def test_a_dump_that_does_not_say_so_is_of_no_stream(text: str) -> None:
    assert not is_streamed(text)


def test_reasoning_without_a_summary_is_a_block_like_others() -> None:
    text = '{"type": "reasoning", "id": "rs_1", "summary": []}'
    [part] = with_blocks({"role": "assistant", "parts": [{"type": "text", "content": text}]})["parts"]
    assert part == {"type": "reasoning", "content": ""}


def test_a_call_without_arguments_is_read_from_the_dump_where_none_are_flattened() -> None:
    asks = [{"name": "positions", "args": {}, "id": "c1", "type": "tool_call"}]
    dumped = {"lc": 1, "kwargs": {"type": "ai", "content": "", "tool_calls": asks}}
    asked = {"lc": 1, "kwargs": {"type": "human", "content": "What do I have?"}}
    flat = "llm.{}_messages.{}.message"
    recording = read(
        span(
            1,
            10,
            20,
            {
                "openinference.span.kind": "LLM",
                "input.value": json.dumps({"messages": [[asked, dumped]]}),
                "output.value": json.dumps({"generations": [[{"message": dumped}]]}),
                f"{flat.format('input', 0)}.role": "user",
                f"{flat.format('input', 0)}.content": "What do I have?",
                f"{flat.format('input', 1)}.role": "assistant",
                f"{flat.format('input', 1)}.tool_calls.0.tool_call.function.name": "positions",
                f"{flat.format('output', 0)}.role": "assistant",
                f"{flat.format('output', 0)}.tool_calls.0.tool_call.function.name": "positions",
            },
            scope=OPENINFERENCE_LANGCHAIN,
        )
    )
    [crossing] = recording.crossings
    assert value_of(crossing.output)["messages"][0]["parts"] == [call("c1", "positions")]
    assert value_of(crossing.input)["messages"][1]["parts"] == [call("c1", "positions")]
