"""What a recording of examples/broker must tell, whichever way it came."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import tracetape
from tracetape.model.recording import Recording

BROKER = Path(__file__).parents[2] / "examples" / "broker"
sys.path.insert(0, str(BROKER))

from agent import run_agent  # noqa: E402
from repaired import place_order  # noqa: E402

__all__ = ["BROKER", "assert_repaired_tool_blocks", "payloads", "shown_tree", "story"]

USER_MESSAGE = "Sell about $1,000 of ACME stock"


def story(recording: Recording, *, responses: bool = True) -> list[dict[str, Any]]:
    """Each crossing as the program made it: all of it but times and ids of spans.

    responses: False leaves out the model's, for a recording that is older or newer than the SDK at hand,
               which may lack their classes.
    """
    return [
        {
            "name": one.name,
            "kind": one.kind,
            "version": one.version,
            "model": one.model,
            "usage": dict(one.usage),
            "inputs": dict(one.inputs),
            "outcome": one.outcome,
            "result": one.result if responses or one.kind != "llm" else None,
            "error": repr(one.error),
            "parent": one.parent.name if one.parent else None,
            "children": [child.name for child in one.children],
            "seq": one.seq,
            "grade": one.grade,
            "gaps": one.gaps,
        }
        for one in recording.crossings
    ]


def payloads(recording: Recording) -> list[tuple[str, str | None, str | None]]:
    """Each crossing's input and output, to the character."""
    return [
        (one.name, one.input.text if one.input else None, one.output.text if one.output else None)
        for one in recording.crossings
    ]


def shown_tree(recording: Recording) -> list[tuple[str, str | None]]:
    """Each crossing's name and its parent's."""
    return [(one.name, one.parent.name if one.parent else None) for one in recording.crossings]


def assert_repaired_tool_blocks(source: Path) -> None:
    """Replayed with the repaired tool live, the order is blocked, and nothing else runs or differs.

    For tests in which OPENAI_BASE_URL leads nowhere.
    """
    with tracetape.replay(source, live=["place_order"]) as tape:
        run_agent(USER_MESSAGE, place_order)
    assert tape["place_order", 1].inputs == {"symbol": "ACME", "quantity": 1000, "side": "sell"}
    assert tape.captured_result("place_order", 1) == {
        "blocked": True,
        "reason": "1,000 ACME at $190.00 is $190,000.00, over $10,000",
    }
    assert [step.name for step in tape.report.live_calls] == ["place_order@1"]
    assert tape.report.model_calls == 0
    assert tape.report.divergences == []
    assert tape.report.network_attempts == []
