"""A recording as a tree of lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
from rich.cells import cell_len
from rich.text import Text

from tracetape.cli.render import GRADE_STYLE, counted, wrapped
from tracetape.codec.canonical import readable
from tracetape.model.crossing import EXACT, Crossing
from tracetape.model.payload import Payload
from tracetape.model.printing import escaped
from tracetape.model.recording import Recording

__all__ = ["duration", "outcome", "tree_lines"]

_LINES = 3
# How long strings and lists may be: the first pair with which a value fits is taken.
_TIGHTER = ((1_000, 100), (120, 8), (60, 3), (36, 2), (20, 1))


def tree_lines(recording: Recording, width: int) -> Iterator[Text]:
    """The recording as a tree: a head line, then each crossing with what went in and what came out."""
    crossings = recording.crossings
    head = Text(
        f"{escaped(recording.source)}  trace {recording.trace_id}  {counted(len(crossings), 'crossing')}  "
    )
    head.append(recording.grade, style=GRADE_STYLE[recording.grade])
    yield head
    roots = recording.roots
    for root in roots:
        yield from _branch(root, "", root is roots[-1], width)
    for gap in recording.gaps:
        yield Text(escaped(str(gap)), style="yellow")


def _branch(crossing: Crossing, indent: str, last: bool, width: int) -> Iterator[Text]:
    line = Text(indent + ("└─ " if last else "├─ "))
    line.append(escaped(crossing.name), style="bold")
    line.append(f"  {escaped(crossing.kind)}", style="cyan")
    line.append(f"  {duration(crossing.duration)}", style="dim")
    if crossing.model:
        line.append(f"  {escaped(crossing.model)}", style="dim")
    if crossing.grade != EXACT:
        line.append(f"  {crossing.grade}", style=GRADE_STYLE[crossing.grade])
    yield line
    below = indent + ("   " if last else "│  ")
    children = crossing.children  # made when they are asked for
    hang = below + ("│  " if children else "   ")
    mark, style = outcome(crossing)
    yield from _values("in ", crossing.input, hang, width, "")
    if crossing.output is not None or crossing.outcome == "returned":
        yield from _values(mark, crossing.output, hang, width, style)
    else:
        yield Text(hang).append(mark, style=style)
    for child in children:
        yield from _branch(child, below, child is children[-1], width)


def _values(label: str, payload: Payload | None, hang: str, width: int, style: str) -> Iterator[Text]:
    room = max(20, width - cell_len(hang) - cell_len(label) - 1)
    for number, line in enumerate(_short(payload, room)):
        yield Text(hang).append(f"{label if number == 0 else ' ' * len(label)} {line}", style=style)


def outcome(crossing: Crossing) -> tuple[str, str]:
    """How it ended, and the style of that."""
    if crossing.outcome == "returned":
        return "out", ""
    if crossing.outcome == "raised":
        return "raised", "red"
    if crossing.outcome == "streamed":
        style = "red" if crossing.stream_end == "raised" else ""
        return f"streamed {counted(crossing.item_count or 0, 'item')}, {crossing.stream_end}", style
    return crossing.outcome, "yellow"


def duration(ns: int | None) -> str:
    """`115 µs`, `1.20 s`, or that it never ended."""
    if ns is None:
        return "unfinished"
    if ns < 1_000_000:
        return f"{ns / 1_000:.0f} µs"
    return f"{ns / 1_000_000:.0f} ms" if ns < 1_000_000_000 else f"{ns / 1_000_000_000:.2f} s"


def _short(payload: Payload | None, room: int) -> list[str]:
    """A payload on at most three lines of `room` cells: strings are shortened and the first elements of
    long lists left out, until it fits. What matters in an agent's messages is the last of them."""
    if payload is None:
        return ["(not recorded)"]
    tree = readable(orjson.loads(payload.text))
    lines: list[str] = []
    for characters, elements in _TIGHTER:
        text = orjson.dumps(_shortened(tree, characters, elements)).decode("utf-8")
        if len(text) > 4 * _LINES * room:
            continue  # too long by far, so it need not be wrapped to be measured
        lines = wrapped(escaped(text), room)
        if len(lines) <= _LINES:
            return lines
    lines = lines or wrapped(escaped(text[: _LINES * room + 1]), room)
    kept = lines[:_LINES]
    return [*kept[:-1], wrapped(kept[-1], room - 1)[0] + "…"]


def _shortened(tree: Any, characters: int, elements: int) -> Any:
    if isinstance(tree, str):
        return tree if len(tree) <= characters else tree[: characters - 1] + "…"
    if isinstance(tree, dict):
        return {
            key: _shortened(item, characters, elements)
            for key, item in tree.items()
            if item not in (None, [], {}) or characters > 120
        }
    if isinstance(tree, list):
        kept = [_shortened(item, characters, elements) for item in tree[-elements:]]
        return kept if len(tree) <= elements else [f"… {len(tree) - elements:,} more", *kept]
    return tree
