"""How two recordings differ, as text or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.text import Text

from tracetape.cli.render import counted
from tracetape.model.printing import escaped
from tracetape.model.recording import Recording
from tracetape.model.report import Difference, Divergence

__all__ = ["as_json", "lines"]

_STYLE = {"added": "green", "missing": "red"}


def lines(a: Recording, b: Recording, divergences: Sequence[Divergence]) -> Iterator[Text]:
    """Which is the first, which the second; each difference; how many there are."""
    for label, one in (("first: ", a), ("second:", b)):
        held = counted(len(one.crossings), "crossing")
        yield Text(f"{label} {escaped(one.source)}  trace {one.trace_id}  {held}")
    for divergence in divergences:
        head, *_ = divergence.text.split("\n")
        yield Text(escaped(head), style=_STYLE.get(divergence.kind, "bold"))
        if divergence.kind in _STYLE:
            continue  # what it is nearest to is a guess, and it stands in the JSON
        for change in divergence.changes:
            yield Text(f"  {escaped(_change(change))}")
    if divergences:
        yield Text(f"{counted(len(divergences), 'difference')}", style="bold")
    else:
        yield Text("same: every crossing has equal inputs and an equal outcome", style="green")


def _change(change: Difference) -> str:
    return f"{change.path}: {change.recorded or '(absent)'} → {change.replayed or '(absent)'}"


def as_json(divergences: Sequence[Divergence]) -> list[dict[str, Any]]:
    """One object for each difference; `a` and `b` are JSON texts, empty where the value is absent."""
    return [
        {
            "kind": one.kind,
            "name": one.name,
            "text": one.text,
            "changes": [
                {"path": change.path, "a": change.recorded, "b": change.replayed} for change in one.changes
            ],
        }
        for one in divergences
    ]
