"""Recordings made of a few words, for tests of what reads them."""

from __future__ import annotations

from typing import Any

from tracetape.codec import encode
from tracetape.codec.reader import Reader
from tracetape.model.crossing import Crossing, Kin
from tracetape.model.recording import Recording

__all__ = ["crossing", "recording"]


def crossing(
    boundary: str,
    inputs: dict[str, Any] | None,
    result: Any = None,
    *,
    span: tuple[int, int] = (0, 1),
    seq: int | None = None,
    process: str = "p",
    parent: Crossing | None = None,
    **more: Any,
) -> Crossing:
    """A crossing that lasted from `span[0]` to `span[1]` (seconds)."""
    return Crossing(
        boundary=boundary,
        input=None if inputs is None else encode(inputs),
        output=encode(result),
        seq=seq,
        process_id=process,
        started=span[0] * 10**9,
        duration=(span[1] - span[0]) * 10**9,
        trace_id="1" * 32,
        span_ids=("2" * 16,),
        values=Reader(),
        kin=Kin(parent),
        **more,
    )


def recording(*crossings: Crossing) -> Recording:
    """A recording of these, in this order, numbered and hung under their parents."""
    counts: dict[str, int] = {}
    for one in crossings:
        counts[one.boundary] = counts.get(one.boundary, 0) + 1
        object.__setattr__(one, "occurrence", counts[one.boundary])
        if one.parent is not None:
            one.parent.kin.children = (*one.parent.kin.children, one)
    return Recording("1" * 32, crossings, source="run.jsonl")
