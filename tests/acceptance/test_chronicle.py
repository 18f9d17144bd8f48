"""A trace folder of Chronicle, replayed by functions that carry our mark instead of Chronicle's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tracetape

FOLDER = Path(__file__).parents[1] / "recordings" / "agent-chronicle-0.3.0" / "incident-0001"


@tracetape.boundary("agent", kind="llm")
def agent(messages: list[dict[str, Any]], turn: int) -> dict[str, Any]:
    raise AssertionError("the model was called")


@tracetape.boundary("place_order", kind="tool")
def place_order(symbol: str, quantity: int, side: str) -> dict[str, Any]:
    return {"status": "refused", "quantity": quantity}


@tracetape.boundary("notify", kind="tool")
def notify(text: str) -> None:
    raise AssertionError("a mail was sent")


@tracetape.boundary("confirm")
def confirm(a: str, b: int) -> str:
    raise AssertionError("nobody was asked")


def program() -> tuple[dict[str, Any], str]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "sell $1,000 of ACME"}]
    call = agent(messages, 1)["tool_calls"][0]
    order = place_order(**call["arguments"])
    try:
        notify("order filled")
    except TimeoutError as error:
        said = str(error)
    messages.append({"role": "tool", "content": json.dumps(order)})
    answer = agent(messages, 2)["completion"]
    assert confirm("x", 3) == "x ok"
    return order, f"{said} / {answer}"


def test_its_envelopes_are_crossings_in_the_order_of_their_ends():
    recording = tracetape.load(FOLDER)
    assert [one.name for one in recording.crossings] == [
        "agent@1", "lookup_price@1", "place_order@1", "notify@1", "agent@2", "confirm@1"
    ]  # fmt: skip
    assert recording.gaps == ()
    assert recording.grade == "rebuilt"
    order = recording["place_order", 1]
    assert (order.kind, order.version) == ("tool", "2026.11.1")
    assert order.inputs == {"symbol": "ACME", "quantity": 1000, "side": "sell"}
    assert order.result == {"status": "filled", "quantity": 1000, "price": 190.0, "notional": 190_000.0}
    assert (recording["agent", 1].model, recording["agent", 1].usage["output_tokens"]) == ("gpt-5-mini", 24)
    error = recording["notify", 1].error
    assert (type(error), str(error)) == (TimeoutError, "mail server down")


def test_each_says_what_chronicle_has_not_kept():
    recording = tracetape.load(FOLDER)
    texts = {one.name: one.gaps[-1].text for one in recording.crossings}
    assert texts["confirm@1"] == "of the result Chronicle has kept its text alone"
    assert texts["place_order@1"] == "the result is what JSON can hold of it"


def test_the_run_is_replayed_with_zero_calls():
    with tracetape.replay(FOLDER, ignore=["$.messages"]) as tape:
        order, said = program()
    assert order["status"] == "filled"
    assert said == "mail server down / Done: sold 1,000 shares of ACME."
    assert not tape.report.live_calls


def test_the_repaired_tool_runs_on_the_recorded_call():
    with tracetape.replay(FOLDER, live=["place_order"]) as tape:
        order, _ = program()
    assert order == {"status": "refused", "quantity": 1000}
    assert tape["place_order", 1].inputs == {"symbol": "ACME", "quantity": 1000, "side": "sell"}


def test_another_schema_is_refused_by_name(tmp_path):
    envelope = json.loads((FOLDER / "001-agent-1.json").read_text())
    path = tmp_path / "newer.json"
    path.write_text(json.dumps({**envelope, "schema_version": "2.0"}))
    with pytest.raises(tracetape.errors.FormatError) as caught:
        tracetape.load(path)
    assert "schema_version should be one of 1.0, not '2.0'" in str(caught.value)
