"""Where the outcome of a call differs from the recorded one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tracetape.codec import parse, to_tree
from tracetape.codec.canonical import canonical, differences
from tracetape.errors import ValueNotRebuilt
from tracetape.model.call import BoundarySpec, Outcome, Raised, Returned, Streamed
from tracetape.model.crossing import Crossing
from tracetape.model.payload import Payload
from tracetape.model.report import Difference

__all__ = ["Shape", "live_shape", "outcome_changes", "recorded_shape", "tree_of"]


@dataclass(frozen=True, slots=True)
class Shape:
    """An outcome as it is compared: its word, how a stream ended, the canonical tree of its payload."""

    outcome: str
    stream_end: str | None
    tree: Any


def tree_of(payload: Payload | None) -> Any:
    """The canonical tree of a payload; None where there is none, or what is there is no JSON."""
    if payload is None:
        return None
    try:
        return canonical(parse(payload.text))
    except ValueNotRebuilt:
        return None


def recorded_shape(crossing: Crossing) -> Shape:
    return Shape(crossing.outcome, crossing.stream_end, tree_of(crossing.output))


def live_shape(spec: BoundarySpec, outcome: Outcome, items: Sequence[Any]) -> Shape:
    """The outcome of a call that really ran, as it would have been recorded."""
    if isinstance(outcome, Returned):
        value = spec.output(outcome.value) if spec.output else outcome.value
        return Shape("returned", None, canonical(to_tree(value)))
    if isinstance(outcome, Raised):
        return Shape("raised", None, canonical(to_tree(outcome.error)))
    if isinstance(outcome, Streamed):
        stored: dict[str, Any] = {"items": list(items)}
        if outcome.error is not None:
            stored["error"] = outcome.error
        if outcome.value is not None:
            stored["value"] = outcome.value
        return Shape("streamed", outcome.end, canonical(to_tree(stored)))
    return Shape("cancelled", None, None)


def outcome_changes(first: Shape, second: Shape) -> tuple[Difference, ...]:
    """Empty where they are the same."""
    if first.outcome != second.outcome:
        return (Difference("outcome", first.outcome, second.outcome),)
    if first.stream_end != second.stream_end:
        return (Difference("stream end", first.stream_end or "", second.stream_end or ""),)
    return differences(first.tree, second.tree)
