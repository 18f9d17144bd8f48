"""What is compared where a recording is of others: all that both say, and what is not compared is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import tracetape
from tests.unit.replayer.test_adopted_plans import recorded
from tests.unit.sources.conventions.spans import assistant, llm, tool, user
from tracetape.errors import DivergenceError

TALK = [user("hello"), assistant("yes?"), user("sell")]
RUN = recorded(llm(1, 10, 20, TALK, assistant("sold")))
TWO = recorded(
    llm(1, 10, 20, [user("one")], assistant("first")), llm(2, 30, 40, [user("two")], assistant("second"))
)


def said(answer: dict[str, Any]) -> Any:
    return answer["messages"][0]["parts"][0]["content"]


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
