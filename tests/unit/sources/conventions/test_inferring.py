"""A tool that left no span is known by what the model asked for and was given next, and by nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.sources.conventions.spans import (
    GENAI,
    NOT_RECORDED,
    OPENINFERENCE,
    TRACELOOP,
    Message,
    assistant,
    call,
    calls,
    codes,
    llm,
    names,
    read,
    result,
    shown_by,
    tool,
    user,
    value_of,
)

from tracetape.model.crossing import Crossing
from tracetape.model.recording import Recording
from tracetape.model.span import SpanRecord

ASKED = [user("What is ACME?")]
DONE = assistant("Done.")
GEMINI = {"gen_ai.provider.name": "gemini"}


def tools(recording: Recording) -> list[Crossing]:
    return [one for one in recording.crossings if one.kind == "tool"]


def told(recording: Recording) -> list[tuple[str, Any, Any]]:
    """Name, arguments and result of each tool."""
    return [(one.boundary, value_of(one.input), value_of(one.output)) for one in tools(recording)]


def turns(asked: Message, *results: Message, scope: str = GENAI) -> list[SpanRecord]:
    """A call whose answer asks for tools, and the next, which is given their results."""
    return [
        llm(1, 10, 20, ASKED, asked, scope=scope),
        llm(2, 50, 60, [*ASKED, asked, *results], DONE, scope=scope),
    ]


@pytest.mark.parametrize("scope", [GENAI, OPENINFERENCE, TRACELOOP])
def test_a_result_is_the_call_s_whose_id_it_has(scope: str) -> None:
    asked = calls(call("c1", "quote", symbol="ACME"), call("c2", "quote", symbol="BETA"))
    recording = read(*turns(asked, result("c2", {"price": 2}), result("c1", {"price": 1}), scope=scope))
    assert told(recording) == [
        ("quote", {"symbol": "ACME"}, {"price": 1}),
        ("quote", {"symbol": "BETA"}, {"price": 2}),
    ]
    assert names(recording) == ["chat@1", "quote@1", "quote@2", "chat@2"]


def test_what_is_inferred_says_so_and_has_no_span() -> None:
    asked = calls(call("c1", "quote", symbol="ACME"))
    [found] = tools(read(*turns(asked, result("c1", {"price": 1}))))
    assert (found.grade, found.span_ids, codes(found)) == ("rebuilt", (), {"FROM_NEXT_INPUT"})
    assert (found.started, found.ended) == (20, 50)


def test_without_ids_a_result_is_the_call_s_that_stands_at_its_place() -> None:
    asked = calls(call(None, "quote", symbol="ACME"), call(None, "look", symbol="ACME"))
    recording = read(*turns(asked, result(None, "first"), result(None, "second")))
    assert told(recording) == [("quote", {"symbol": "ACME"}, "first"), ("look", {"symbol": "ACME"}, "second")]


def test_without_ids_equal_calls_of_a_turn_are_told_apart_by_their_number() -> None:
    asked = calls(call(None, "roll"), call(None, "look"), call(None, "roll"))
    recording = read(*turns(asked, result(None, "six"), result(None, "clear"), result(None, "two")))
    assert told(recording) == [("roll", {}, "six"), ("look", {}, "clear"), ("roll", {}, "two")]


def test_ids_that_the_answer_lacks_and_the_input_has_do_not_part_them() -> None:
    bare, known = calls(call(None, "roll")), calls(call("c1", "roll"))
    first = llm(1, 10, 20, ASKED, bare, scope=GENAI)
    second = llm(2, 50, 60, [*ASKED, known, result("c1", "six")], DONE, scope=GENAI)
    assert told(read(first, second)) == [("roll", {}, "six")]


def test_an_id_that_agents_side_by_side_repeat_is_the_call_s_whose_conversation_goes_on() -> None:
    asked = calls(call("call_0", "quote", symbol="ACME"))
    a, b = [user("Agent A")], [user("Agent B")]
    recording = read(
        llm(1, 10, 20, a, asked),
        llm(2, 11, 21, b, asked),
        llm(3, 50, 60, [*b, asked, result("call_0", "for B")], DONE),
        llm(4, 70, 80, [*a, asked, result("call_0", "for A")], DONE),
    )
    assert [(one.started, value_of(one.output)) for one in tools(recording)] == [(20, "for A"), (21, "for B")]


def test_a_result_is_never_given_to_a_tool_of_another_name() -> None:
    first = llm(1, 10, 20, ASKED, calls(call("c1", "quote", symbol="ACME")))
    other = calls(call("c1", "place_order", symbol="ACME"))
    second = llm(2, 50, 60, [*ASKED, other, result("c1", "filled")], DONE)
    recording = read(first, second)
    assert tools(recording) == []
    assert "TOOL_RESULT_MISSING" in codes(recording)


def test_a_result_with_the_id_of_another_call_is_not_given_by_its_place() -> None:
    asked = calls(call("c1", "roll"), call("c2", "roll"))
    recording = read(*turns(asked, result("c2", "two")))
    assert told(recording) == [("roll", {}, "two")]
    assert "TOOL_RESULT_MISSING" in codes(recording)


def test_a_result_with_the_id_of_another_turn_s_call_is_not_given_by_its_arguments() -> None:
    other, asked = [user("Roll again")], calls(call("c2", "roll"))
    recording = read(
        llm(1, 10, 20, ASKED, calls(call("c1", "roll"))),
        llm(2, 30, 40, other, asked),
        llm(3, 50, 60, [*other, asked, result("c2", "two")], DONE),
    )
    assert [(one.started, value_of(one.output)) for one in tools(recording)] == [(40, "two")]
    assert "TOOL_RESULT_MISSING" in codes(recording)


def test_a_result_whose_call_the_server_keeps_is_found_by_its_id() -> None:
    first = llm(1, 10, 20, ASKED, calls(call("c1", "quote", symbol="ACME")), scope=GENAI)
    second = llm(2, 50, 60, [result("c1", {"price": 1})], DONE, scope=GENAI)
    assert told(read(first, second)) == [("quote", {"symbol": "ACME"}, {"price": 1})]


def test_an_earlier_input_has_no_result_of_a_later_call() -> None:
    asked = calls(call("c1", "roll"))
    recording = read(
        llm(1, 10, 20, [*ASKED, asked, result("c1", "six")], DONE),
        llm(2, 50, 60, [*ASKED], asked),
    )
    assert tools(recording) == []
    assert "TOOL_RESULT_MISSING" in codes(recording)


def test_an_answer_that_no_span_has_is_what_the_next_input_goes_on_with() -> None:
    asked = calls(call("c1", "quote", symbol="ACME"))
    recording = read(
        llm(1, 10, 20, ASKED, scope=GENAI),
        llm(2, 50, 60, [*ASKED, asked, result("c1", {"price": 1})], DONE, scope=GENAI),
    )
    assert told(recording) == [("quote", {"symbol": "ACME"}, {"price": 1})]


def test_a_call_whose_result_nothing_shows_is_told() -> None:
    recording = read(llm(1, 10, 20, ASKED, calls(call("c1", "quote", symbol="ACME"))))
    assert names(recording) == ["chat@1"]
    [gap] = [one for one in recording.gaps if one.code == "TOOL_RESULT_MISSING"]
    assert "quote" in gap.text


@pytest.mark.parametrize("name", ["final_answer", "final_result"])
def test_what_frameworks_end_a_run_with_is_no_tool(name: str) -> None:
    recording = read(llm(1, 10, 20, ASKED, calls(call("c1", name, text="Done."))))
    assert names(recording) == ["chat@1"]
    assert "TOOL_RESULT_MISSING" not in codes(recording)


@pytest.mark.parametrize("given", [{"assistant": "Refunds"}, '{"assistant": "Refunds"}'])
def test_a_handoff_to_another_agent_is_no_tool(given: Any) -> None:
    recording = read(*turns(calls(call("c1", "transfer_to_refunds")), result("c1", given)))
    assert names(recording) == ["chat@1", "chat@2"]
    assert "TOOL_RESULT_MISSING" not in codes(recording)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("transfer_money", {"sum": 5}),
        ("transfer_money", {"assistant": "A", "sum": 5}),
        ("find_assistant", {"assistant": "A"}),
    ],
)
def test_a_tool_that_reads_like_a_handoff_is_a_tool(name: str, given: Any) -> None:
    assert told(read(*turns(calls(call("c1", name)), result("c1", given)))) == [(name, {}, given)]


@pytest.mark.parametrize("scope", [GENAI, OPENINFERENCE, TRACELOOP])
@pytest.mark.parametrize("call_id", ["c1", None])
def test_a_tool_s_span_without_a_result_gets_it_from_the_next_input(scope: str, call_id: str | None) -> None:
    spans = turns(calls(call("c1", "quote", symbol="ACME")), result("c1", {"price": 1}))
    recording = read(*spans, tool(3, 30, 40, "quote", {"symbol": "ACME"}, scope=scope, call_id=call_id))
    assert shown_by(recording) == [[1], [3], [2]]
    assert told(recording) == [("quote", {"symbol": "ACME"}, {"price": 1})]
    [found] = tools(recording)
    assert (found.grade, codes(found)) == ("rebuilt", {"FROM_NEXT_INPUT"})
    assert (found.started, found.ended) == (30, 40)


def test_a_tool_s_own_result_is_not_replaced_by_what_the_model_was_given() -> None:
    spans = turns(calls(call("c1", "quote", symbol="ACME")), result("c1", "1 dollar"))
    recording = read(*spans, tool(3, 30, 40, "quote", {"symbol": "ACME"}, {"price": 1}, call_id="c1"))
    assert told(recording) == [("quote", {"symbol": "ACME"}, {"price": 1})]
    assert "FROM_NEXT_INPUT" not in codes(tools(recording)[0])


def test_a_span_without_arguments_gets_those_of_the_call() -> None:
    spans = turns(calls(call("c1", "quote", symbol="ACME")), result("c1", {"price": 1}))
    recording = read(*spans, tool(3, 30, 40, "quote", None, scope=GENAI, call_id="c1"))
    assert shown_by(recording) == [[1], [3], [2]]
    assert told(recording) == [("quote", {"symbol": "ACME"}, {"price": 1})]


def test_a_span_that_repeats_the_id_with_other_arguments_is_not_the_call_s() -> None:
    acme, beta = calls(call("call_0", "quote", symbol="ACME")), calls(call("call_0", "quote", symbol="BETA"))
    a, b = [user("Agent A")], [user("Agent B")]
    recording = read(
        llm(1, 10, 20, a, acme),
        llm(2, 11, 21, b, beta),
        tool(3, 30, 40, "quote", {"symbol": "BETA"}, {"price": 2}, call_id="call_0"),
        llm(4, 50, 60, [*a, acme, result("call_0", {"price": 1})], DONE),
        llm(5, 55, 65, [*b, beta, result("call_0", {"price": 2})], DONE),
    )
    assert told(recording) == [
        ("quote", {"symbol": "ACME"}, {"price": 1}),
        ("quote", {"symbol": "BETA"}, {"price": 2}),
    ]
    assert [one.span_ids for one in tools(recording)] == [(), (f"{3:016x}",)]


@pytest.mark.parametrize("given", [{"price": 1}, NOT_RECORDED], ids=["with a result", "without"])
def test_an_id_of_an_item_does_not_keep_a_tool_s_span_from_its_call(given: Any) -> None:
    asked, known = calls(call("fc_1", "quote", symbol="ACME")), calls(call("call_1", "quote", symbol="ACME"))
    recording = read(
        llm(1, 10, 20, ASKED, asked),
        tool(2, 30, 40, "quote", {"symbol": "ACME"}, given, call_id="call_1"),
        llm(3, 50, 60, [*ASKED, known, result("call_1", {"price": 1})], DONE),
    )
    assert shown_by(recording) == [[1], [2], [3]]
    assert told(recording) == [("quote", {"symbol": "ACME"}, {"price": 1})]


def test_an_id_of_a_call_keeps_the_span_of_another_call_away() -> None:
    recording = read(
        llm(1, 10, 20, ASKED, calls(call("call_1", "roll"))),
        tool(2, 30, 40, "roll", {}, "six", call_id="call_2"),
    )
    assert shown_by(recording) == [[1], [2]]
    assert "TOOL_RESULT_MISSING" in codes(recording)


def test_a_tool_that_ran_before_the_model_asked_is_not_its_run() -> None:
    spans = turns(calls(call("c1", "roll")), result("c1", "six"))
    recording = read(tool(3, 1, 5, "roll", {}, "two"), *spans)
    assert told(recording) == [("roll", {}, "two"), ("roll", {}, "six")]


def test_one_span_is_the_run_of_one_call() -> None:
    asked = calls(call("c1", "roll"), call("c2", "roll"))
    spans = turns(asked, result("c1", "six"), result("c2", "two"))
    recording = read(*spans, tool(3, 30, 40, "roll", {}, "six"))
    assert sorted(value for _, _, value in told(recording)) == ["six", "two"]
    assert sorted(one.span_ids for one in tools(recording)) == [(), (f"{3:016x}",)]


def test_a_result_that_is_an_error_is_a_failure_of_the_tool() -> None:
    given = result("c1", "no funds")
    given["parts"][0]["is_error"] = True
    [found] = tools(read(*turns(calls(call("c1", "place_order")), given)))
    assert (found.outcome, found.error_message) == ("raised", "no funds")


@pytest.mark.parametrize(
    ("response", "value"),
    [({"result": 5}, 5), ({"output": [1]}, [1]), ({"result": 5, "more": 1},) * 2, ({"a": 1},) * 2],
)
def test_what_gemini_wraps_is_unwrapped(response: Any, value: Any) -> None:
    asked = calls(call(None, "roll"))
    given = [result(None, response)]
    spans = [
        llm(1, 10, 20, ASKED, asked, scope=GENAI, more=GEMINI),
        llm(2, 50, 60, [*ASKED, asked, *given], DONE, scope=GENAI, more=GEMINI),
    ]
    assert told(read(*spans)) == [("roll", {}, value)]


def test_what_gemini_is_told_of_an_error_is_a_failure_of_the_tool() -> None:
    asked = calls(call(None, "roll"))
    [found] = tools(
        read(
            llm(1, 10, 20, ASKED, asked, scope=GENAI, more=GEMINI),
            llm(2, 50, 60, [*ASKED, asked, result(None, {"error": "no dice"})], DONE, scope=GENAI, more=GEMINI),
        )
    )
    assert (found.outcome, found.error_message) == ("raised", "no dice")


def test_others_results_are_not_unwrapped() -> None:
    assert told(read(*turns(calls(call("c1", "roll")), result("c1", {"result": 5})))) == [
        ("roll", {}, {"result": 5})
    ]


@pytest.mark.parametrize("ran", [{"b": 2, "a": 1}, {"a": 1.0, "b": 2}], ids=["another order", "a float"])
def test_arguments_that_json_takes_for_equal_are_the_same(ran: dict[str, Any]) -> None:
    asked = calls(call("c1", "f", a=1, b=2))
    recording = read(
        llm(1, 10, 20, ASKED, asked),
        tool(2, 30, 40, "f", ran, "six"),
        llm(3, 50, 60, [*ASKED, asked, result("c1", "six")], DONE),
    )
    assert names(recording) == ["chat@1", "f@1", "chat@2"]


def test_without_ids_they_are_too() -> None:
    recording = read(
        llm(1, 10, 20, ASKED, calls(call(None, "f", a=1, b=2)), scope=GENAI),
        llm(2, 50, 60, [*ASKED, calls(call(None, "f", b=2, a=1)), result(None, "six")], DONE, scope=GENAI),
    )
    assert names(recording) == ["chat@1", "f@1", "chat@2"]
    assert codes(recording) - {"MULTIPLE_ROOTS"} == set()


@pytest.mark.parametrize("has_span", [False, True])
def test_a_call_that_was_asked_again_has_run_once(has_span: bool) -> None:
    asked = calls(call("c1", "sell", quantity=1))
    ran = [tool(4, 42, 43, "sell", {"quantity": 1}, "ok", scope=GENAI, call_id="c1")] if has_span else []
    recording = read(
        llm(1, 10, 20, ASKED, None, scope=GENAI),
        llm(2, 30, 40, ASKED, asked, scope=GENAI),
        *ran,
        llm(3, 50, 60, [*ASKED, asked, result("c1", "ok")], DONE, scope=GENAI),
    )
    assert names(recording) == ["chat@1", "chat@2", "sell@1", "chat@3"]


def test_an_answer_that_only_the_next_input_has_is_told_to_one_call() -> None:
    asked = calls(call("c1", "sell", quantity=1))
    recording = read(
        llm(1, 10, 20, ASKED, None, scope=GENAI),
        llm(2, 30, 40, ASKED, None, scope=GENAI),
        llm(3, 50, 60, [*ASKED, asked, result("c1", "ok")], DONE, scope=GENAI),
    )
    assert names(recording).count("sell@1") == 1
    assert "sell@2" not in names(recording)


def test_arguments_that_are_nested_deeply_are_read() -> None:
    deep: Any = []
    for _ in range(900):
        deep = [deep]
    recording = read(llm(1, 10, 20, ASKED, calls(call("c1", "f", a=deep)), scope=GENAI))
    assert codes(recording) == {"TOOL_RESULT_MISSING"}
