"""Record what an agent did at each boundary as OpenTelemetry spans; replay it offline, one function live.

@tracetape.boundary("place_order", kind="tool")
def place_order(symbol, quantity, side): ...

with tracetape.record("run.otlp.jsonl"):
    agent("Sell about $1,000 of ACME")

with tracetape.replay("run.otlp.jsonl", live=["place_order"]) as tape:
    agent("Sell about $1,000 of ACME")
assert tape.captured_result("place_order", 1)["blocked"]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracetape._boundary import boundary, checkpoint, effect
    from tracetape._propagation import propagate
    from tracetape.model.crossing import Crossing
    from tracetape.model.plan import ReplayPlan
    from tracetape.model.recording import Recording
    from tracetape.model.span import Gap, SpanRecord
    from tracetape.recorder.session import record
    from tracetape.replayer.comparing import compare
    from tracetape.replayer.session import ENDED, Tape, replay
    from tracetape.sources.loading import load, read_spans

__version__ = "0.1.0"

__all__ = [
    "ENDED",
    "Crossing",
    "Gap",
    "Recording",
    "ReplayPlan",
    "SpanRecord",
    "Tape",
    "boundary",
    "checkpoint",
    "compare",
    "effect",
    "load",
    "propagate",
    "read_spans",
    "record",
    "replay",
]

# Resolved on first use: importing tracetape costs next to nothing until something of it is needed.
_HOMES = {
    "ENDED": "tracetape.replayer.session",
    "Crossing": "tracetape.model.crossing",
    "Gap": "tracetape.model.span",
    "Recording": "tracetape.model.recording",
    "ReplayPlan": "tracetape.model.plan",
    "SpanRecord": "tracetape.model.span",
    "Tape": "tracetape.replayer.tape",
    "boundary": "tracetape._boundary",
    "checkpoint": "tracetape._boundary",
    "compare": "tracetape.replayer.comparing",
    "effect": "tracetape._boundary",
    "load": "tracetape.sources.loading",
    "propagate": "tracetape._propagation",
    "read_spans": "tracetape.sources.loading",
    "record": "tracetape.recorder.session",
    "replay": "tracetape.replayer.session",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tracetape' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
