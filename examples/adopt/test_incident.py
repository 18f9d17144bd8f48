"""The run that was recorded before there was a mark in the code, run again offline."""

from __future__ import annotations

from pathlib import Path

from examples.adopt.agent import run

import tracetape

INCIDENT = Path(__file__).with_name("incident.otlp.jsonl")


def test_the_repaired_tool_blocks_the_order_that_was_filled() -> None:
    with tracetape.replay(INCIDENT, live=["place_order"]) as tape:
        tape.run(run, "Sell about $1,000 of ACME stock")
    recorded = tape["place_order", 1].recorded
    assert recorded is not None
    assert recorded.result["status"] == "filled"
    assert tape["place_order", 1].result["status"] == "blocked"
    assert tape.report.model_calls == 0


def test_all_of_it_served_the_run_is_as_it_was() -> None:
    with tracetape.replay(INCIDENT) as tape:
        answer = run("Sell about $1,000 of ACME stock")
    assert answer == "Done. I sold 1,000 shares of ACME at $190.00, for a total of $190,000.00."
    assert tape.report.divergences == []
