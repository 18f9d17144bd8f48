"""What is compared where a recording is of others: all that both say, and what is not compared is told."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Optional

import pytest

import tracetape
from tests.unit.replayer.test_adopted_plans import recorded
from tests.unit.sources.conventions.spans import (
    GENAI,
    assistant,
    call,
    calls,
    llm,
    result,
    tool,
    user,
)
from tracetape.errors import DivergenceError

TALK = [user("hello"), assistant("yes?"), user("sell")]
RUN = recorded(llm(1, 10, 20, TALK, assistant("sold")))
TWO = recorded(
    llm(1, 10, 20, [user("one")], assistant("first")), llm(2, 30, 40, [user("two")], assistant("second"))
)


def said(answer: dict[str, Any]) -> Any:
    return answer["messages"][0]["parts"][0].get("content")


def test_a_prompt_beside_a_history_is_its_end() -> None:
    @tracetape.boundary("ask", kind="llm", answer=said)
    def ask(history: list[dict[str, Any]], question: str) -> Any: ...

    with tracetape.replay(RUN):
        assert ask(TALK[:2], "sell") == "sold"
    with pytest.raises(DivergenceError, match=r'\$\.messages\[2\]\.text: recorded "sell", now "buy"'):
        with tracetape.replay(RUN):
            ask(TALK[:2], "buy")


@pytest.mark.parametrize("first", ["compared", "not compared"])
def test_a_function_without_a_conversation_is_answered_in_order_beside_others(first: str) -> None:
    @tracetape.boundary("by_number", kind="llm", answer=said)
    def by_number(number: int) -> Any: ...

    @tracetape.boundary("by_prompt", kind="llm", answer=said)
    def by_prompt(prompt: str) -> Any: ...

    with tracetape.replay(TWO) as tape:
        if first == "compared":
            assert (by_prompt("one"), by_number(7)) == ("first", "second")
        else:
            assert (by_number(7), by_prompt("two")) == ("first", "second")
    notes = {step.boundary: step.notes for step in tape.report.steps}
    assert notes["by_prompt"] == ()
    [note] = notes["by_number"]
    assert "its inputs were not compared" in note
    assert "say what it asks with input=" in note


def test_strict_takes_no_call_that_was_not_compared() -> None:
    @tracetape.boundary("by_number", kind="llm")
    def by_number(number: int) -> Any: ...

    with pytest.raises(DivergenceError, match="its inputs were not compared"):
        with tracetape.replay(recorded(llm(1, 10, 20, [user("one")], assistant("first"))), strict=True):
            by_number(1)


def test_input_says_what_a_call_asks_and_key_is_not_asked() -> None:
    @tracetape.boundary(
        "ask", kind="llm", answer=said, input=lambda number: {"messages": [user("one" if number == 1 else "two")]}
    )
    def ask(number: int) -> Any: ...

    with tracetape.replay(TWO):
        assert (ask(1), ask(2)) == ("first", "second")

    @tracetape.boundary("keyed", kind="llm", key=lambda prompt: prompt.lower())
    def keyed(prompt: str) -> Any: ...

    with tracetape.replay(TWO) as tape:
        keyed("one"), keyed("two")
    assert [note for note in tape.report.notes if note.startswith("key= of keyed was not asked")] != []
    with pytest.raises(DivergenceError):
        with tracetape.replay(TWO):
            keyed("ONE")


def test_what_is_ignored_is_left_out_of_what_is_compared_and_so_is_told() -> None:
    @tracetape.boundary("ask", kind="llm", answer=said)
    def ask(prompt: str) -> Any: ...

    run = recorded(llm(1, 10, 20, [user("one")], assistant("first")))
    with tracetape.replay(run, ignore="$.messages[0].text") as tape:
        assert ask("another") == "first"
    assert [note for note in tape.report.notes if note.startswith("ignore")] == []
    with tracetape.replay(run, ignore="$.prompt") as tape:
        ask("one")
    assert [note for note in tape.report.notes if note.startswith("ignore: '$.prompt' leaves nothing out")] != []


def test_messages_of_gemini_are_read_under_any_name() -> None:
    @tracetape.boundary("ask", kind="llm", answer=said)
    def ask(messages: list[dict[str, Any]]) -> Any: ...

    with tracetape.replay(recorded(llm(1, 10, 20, [user("one")], assistant("first")))):
        assert ask([{"role": "user", "parts": [{"text": "one"}]}]) == "first"


# -- tools

ORDERS = recorded(
    tool(1, 10, 11, "order", {"symbol": "A"}, {"n": 1}),
    tool(2, 12, 13, "order", {"symbol": "B", "limit": 3}, {"n": 2}),
)


def test_what_the_model_left_to_a_default_is_the_default() -> None:
    @tracetape.boundary("order", kind="tool")
    def order(symbol: str, limit: int = 10) -> Any: ...

    with tracetape.replay(ORDERS):
        assert (order("A"), order("B", 3)) == ({"n": 1}, {"n": 2})
    with pytest.raises(DivergenceError, match=r"\$\.limit: recorded 10, now 11"):
        with tracetape.replay(ORDERS):
            order("A", 11)


@dataclass
class Order:
    symbol: str
    limit: int = 10


def test_arguments_are_found_in_keywords_and_in_objects() -> None:
    @tracetape.boundary("order", kind="tool")
    def by_keywords(**order: Any) -> Any: ...

    @tracetape.boundary("order", kind="tool")
    def by_object(order: Order, client: object = None) -> Any: ...

    with tracetape.replay(ORDERS):
        assert (by_keywords(symbol="A"), by_keywords(symbol="B", limit=3)) == ({"n": 1}, {"n": 2})
    with pytest.raises(DivergenceError, match=r'\$\.symbol: recorded "A", now "C"'):
        with tracetape.replay(ORDERS):
            by_object(Order("C"), client=object())


def test_values_that_json_has_not_are_compared_as_they_are_stored() -> None:
    @tracetape.boundary("order", kind="tool")
    def order(at: float, about: dict[str, Any]) -> Any: ...

    arguments = {"at": float("nan"), "about": {"$type": "x"}}
    with tracetape.replay(recorded(tool(1, 10, 11, "order", arguments, "ok"))):
        assert order(float("nan"), {"$type": "x"}) == "ok"


# -- whose recording it is


def test_a_recording_of_the_programs_own_is_its_own_whatever_it_lacks(tmp_path: Any) -> None:
    @tracetape.boundary("ask", kind="llm", key=lambda prompt: prompt.lower())
    def ask(prompt: str) -> str:
        return f"now {prompt}"

    path = tmp_path / "run.otlp.jsonl"
    with tracetape.record(path):
        ask("One")
    without = path.read_text().replace('"tracetape.process.id"', '"other.process.id"')
    assert without != path.read_text()
    path.write_text(without)
    recording = tracetape.load(path)
    assert [one.foreign for one in recording.crossings] == [False]
    with tracetape.replay(recording):
        assert ask("ONE") == "now One"


def test_a_history_that_ends_in_the_question_is_whole_and_an_option_is_no_question() -> None:
    @tracetape.boundary("ask", kind="llm", answer=said)
    def ask(history: list[dict[str, Any]], question: str = "", text: str = "plain") -> Any: ...

    with tracetape.replay(RUN):
        assert ask(TALK, "sell") == "sold"


def test_other_instructions_are_told_and_strict_takes_none() -> None:
    @tracetape.boundary("ask", kind="llm", answer=said)
    def ask(messages: list[dict[str, Any]]) -> Any: ...

    def system(text: str) -> dict[str, Any]:
        return {"role": "system", "parts": [{"type": "text", "content": text}]}

    run = recorded(llm(1, 10, 20, [system("be brief"), user("one")], assistant("first"), scope=GENAI))
    notes = {}
    for name, messages in {
        "the same": [system("be brief"), user("one")],
        "none": [user("one")],
        "another": [system("be kind"), user("one")],
    }.items():
        with tracetape.replay(run) as tape:
            assert ask(messages) == "first"
        notes[name] = tape["ask", 1].notes
    assert notes == {
        "the same": (),
        "none": (),
        "another": ("its system prompt is not the recorded one: system prompts are not compared",),
    }
    with pytest.raises(DivergenceError, match="its system prompt is not the recorded one"):
        with tracetape.replay(run, strict=True):
            ask([system("be kind"), user("one")])


class Side(enum.Enum):
    SELL = "sell"


@dataclass
class Lot:
    symbol: str
    quantity: Decimal
    side: Side = Side.SELL


@dataclass
class Context:
    user: str
    symbol: str


SALE = recorded(tool(1, 10, 11, "place", {"symbol": "A", "quantity": 1000, "side": "sell"}, {"n": 1}))


def test_arguments_are_compared_as_a_trace_has_them() -> None:
    @tracetape.boundary("place", kind="tool")
    def converted(symbol: str, quantity: float, side: Side) -> Any: ...

    @tracetape.boundary("place", kind="tool")
    def of_object(context: Context, lot: Lot) -> Any: ...

    @tracetape.boundary("place", kind="tool")
    def the_other_way(lot: Lot, context: Context) -> Any: ...

    lot, context = Lot("A", Decimal(1000)), Context("me", "Z")
    for placed in (
        lambda: converted("A", 1000.0, Side.SELL),
        lambda: of_object(context, lot),
        lambda: the_other_way(lot, context),
    ):
        with tracetape.replay(SALE):
            assert placed() == {"n": 1}


def test_other_names_of_parameters_are_told_with_the_cure() -> None:
    @tracetape.boundary("place", kind="tool")
    def place(ticker: str, count: int) -> Any: ...

    with pytest.raises(DivergenceError, match="if the parameters have other names than the recorded arguments"):
        with tracetape.replay(SALE):
            place("A", 1000)


def test_a_tool_without_arguments_takes_what_the_program_hands_it() -> None:
    @tracetape.boundary("positions", kind="tool")
    def positions(context: object, zone: str = "UTC") -> Any: ...

    with tracetape.replay(recorded(tool(1, 10, 11, "positions", {}, [1]))):
        assert positions(object()) == [1]


def test_what_is_not_recorded_is_told_with_what_is() -> None:
    @tracetape.boundary("call_tool", kind="tool")
    def call_tool(name: str, arguments: dict[str, Any]) -> Any: ...

    with pytest.raises(DivergenceError, match="no call of call_tool at all; there are: place"):
        with tracetape.replay(SALE):
            call_tool("place", {})


# -- what is handed out


def test_answer_makes_a_tools_result_too() -> None:
    @tracetape.boundary("order", kind="tool", answer=lambda result: Order(**result))
    def order(symbol: str) -> Order: ...  # type: ignore[empty-body]

    with tracetape.replay(recorded(tool(1, 10, 11, "order", {"symbol": "A"}, {"symbol": "A", "limit": 3}))):
        assert order("A") == Order("A", 3)


def test_a_function_of_texts_hands_out_texts() -> None:
    @tracetape.boundary("ask", kind="llm")
    def maybe(prompt: str) -> str | None: ...

    @tracetape.boundary("ask", kind="llm")
    def optional(prompt: str) -> Optional[str]: ...  # noqa: UP045

    @tracetape.boundary("ask", kind="llm")
    def stream(prompt: str) -> Iterator[str]:
        yield ""

    run = recorded(llm(1, 10, 20, [user("one")], assistant("first")))
    for function in (maybe, optional):
        with tracetape.replay(run):
            assert function("one") == "first"
    with tracetape.replay(run):
        assert list(stream("one")) == ["first"]
    asks = recorded(llm(1, 10, 20, [user("one")], calls(call("c", "sell", quantity=5))))
    with tracetape.replay(asks):
        assert maybe("one") is None


def test_a_text_that_reads_like_an_error_is_a_text_to_a_function_of_texts() -> None:
    asked = calls(call("c", "sell", quantity=5))
    told = [user("sell"), asked, result("c", "Error: no funds")]
    run = recorded(llm(1, 10, 20, told[:1], asked), llm(2, 30, 40, told, assistant("sorry")))
    assert run["sell", 1].error_message == "no funds"

    @tracetape.boundary("sell", kind="tool")
    def as_text(quantity: int) -> str: ...  # type: ignore[empty-body]

    @tracetape.boundary("sell", kind="tool")
    def raising(quantity: int) -> dict[str, Any]: ...  # type: ignore[empty-body]

    @tracetape.boundary("ask", kind="llm", answer=said)
    def ask(messages: list[dict[str, Any]]) -> Any: ...

    with tracetape.replay(run):
        ask(told[:1])
        assert as_text(5) == "Error: no funds"
        ask(told)
    with tracetape.replay(run):
        ask(told[:1])
        with pytest.raises(Exception, match=r"^no funds"):
            raising(5)
        ask(told)


def test_an_error_of_a_service_has_its_status() -> None:
    @tracetape.boundary("ask", kind="llm")
    def ask(prompt: str) -> Any: ...

    failed = llm(1, 10, 20, [user("one")], error="overloaded", more={"http.response.status_code": 529})
    with tracetape.replay(recorded(failed)), pytest.raises(Exception, match="overloaded") as caught:
        ask("one")
    assert caught.value.status_code == 529  # type: ignore[attr-defined]


def test_a_program_that_takes_a_dict_for_an_object_is_told_of_answer() -> None:
    @tracetape.boundary("ask", kind="llm")
    def ask(prompt: str) -> Any: ...

    run = recorded(llm(1, 10, 20, [user("one")], assistant("first")))
    with pytest.raises(AttributeError) as caught:
        with tracetape.replay(run):
            _ = ask("one").choices
    assert any(
        "answer= of @boundary says what a function makes of them" in note for note in caught.value.__notes__
    )
