"""The incident as a regression test: the recorded run again, with the repaired tool live, offline."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from agent import run_agent  # noqa: E402
from as_it_ran import place_order as place_order_as_it_ran  # noqa: E402
from model_server import ModelServer  # noqa: E402
from repaired import place_order  # noqa: E402

import tracetape  # noqa: E402

RECORDING = HERE / "incident.otlp.jsonl"
USER_MESSAGE = "Sell about $1,000 of ACME stock"


@pytest.fixture(autouse=True)
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens there: a model call that got through would fail."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")


def test_the_recorded_run_sold_a_thousand_shares() -> None:
    with tracetape.replay(RECORDING) as tape:
        answer = run_agent(USER_MESSAGE, place_order_as_it_ran)
    assert answer == "Done: sold 1,000 shares of ACME for $190,000.00."
    assert tape.report.verdict == "same"


@pytest.mark.tracetape("incident.otlp.jsonl", live=["place_order"])
def test_the_repaired_tool_blocks_that_order(tape: Any) -> None:
    run_agent(USER_MESSAGE, place_order)
    assert tape.captured_result("place_order", 1)["blocked"] is True
    assert tape["place_order", 1].inputs == {"symbol": "ACME", "quantity": 1000, "side": "sell"}
    assert tape.report.model_calls == 0


def test_agent_turns_can_be_stubbed_and_run_one_by_one() -> None:
    plan = tracetape.ReplayPlan().stub("agent", 1).live("place_order", 1).live("agent", 2)
    with tracetape.replay(RECORDING, plan) as tape:
        run_agent(user_message="stubbed", place_order=place_order)
    assert tape.captured_result("place_order", 1)["blocked"] is True
    assert tape["agent", 1].mode == "stub"
    assert tape["agent", 1].changes
    assert tape["agent", 2].mode == "live"


def test_a_replay_never_asks_the_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    recording = tmp_path / "run.otlp.jsonl"
    with ModelServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        with tracetape.record(recording):
            run_agent(USER_MESSAGE, place_order_as_it_ran)
        asked = server.requests
        assert asked == 2
        for live in ([], ["place_order"], ["place_order", "agent@2"]):
            with tracetape.replay(recording, live=live) as tape:
                run_agent(USER_MESSAGE, place_order if live else place_order_as_it_ran)
            assert tape.report.model_calls == 0
        assert server.requests == asked
