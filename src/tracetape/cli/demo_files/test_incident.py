"""The incident, as a test that stays: the recorded run again, with place_order live and no model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # so that it runs from any folder

import broker_agent


@pytest.mark.tracetape("incident.otlp.jsonl", live=["place_order"])
def test_the_order_is_blocked(tape: Any) -> None:
    broker_agent.run_agent("Sell about $1,000 of ACME stock")

    assert tape["place_order", 1].inputs["quantity"] == 1000  # what the recorded model asked for
    assert tape.captured_result("place_order", 1)["blocked"] is True
    assert tape.report.model_calls == 0
