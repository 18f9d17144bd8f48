"""One crossing in full, for people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import orjson
from rich.text import Text

from tracetape.cli.render import GRADE_STYLE
from tracetape.cli.tree import duration, outcome
from tracetape.codec.canonical import readable
from tracetape.model.crossing import Crossing
from tracetape.model.payload import Payload
from tracetape.model.printing import escaped

__all__ = ["crossing_in_full"]

_FULL = 20_000
_STRING = r'"(?:[^"\\]|\\.)*"'
_LINE_WITH_STRING = re.compile(rf"(?P<indent> *)(?P<key>{_STRING}: )?(?P<value>{_STRING}),?")


def crossing_in_full(crossing: Crossing) -> Iterator[Text]:
    """Everything about one crossing; strings of many lines are shown on many lines, behind a bar."""
    yield Text(escaped(crossing.name), style="bold")
    for label, value in _facts(crossing):
        if value:
            style = GRADE_STYLE[crossing.grade] if label == "grade" else ""
            yield Text(f"  {label:<9} ").append(escaped(value), style=style)
    for gap in crossing.gaps:
        yield Text(f"  gap       {escaped(str(gap))}", style="yellow")
    mark, style = outcome(crossing)
    yield Text("in", style="bold")
    yield from (Text(f"  {line}") for line in _in_full(crossing.input))
    yield Text(mark, style=f"bold {style}")
    if crossing.output is not None or crossing.outcome == "returned":
        yield from (Text(f"  {line}") for line in _in_full(crossing.output))


def _facts(crossing: Crossing) -> Iterable[tuple[str, str]]:
    parent = crossing.parent
    return (
        ("kind", crossing.kind),
        ("grade", crossing.grade),
        ("under", parent.name if parent else ""),
        ("duration", duration(crossing.duration)),
        ("model", crossing.model or ""),
        ("usage", ", ".join(f"{name} {count:,}" for name, count in crossing.usage.items())),
        ("version", crossing.version or ""),
        ("trace", crossing.trace_id),
        ("spans", ", ".join(crossing.span_ids)),
    )


def _in_full(payload: Payload | None) -> Iterator[str]:
    if payload is None:
        yield "(not recorded)"
        return
    text = orjson.dumps(readable(orjson.loads(payload.text)), option=orjson.OPT_INDENT_2).decode("utf-8")
    for line in text[:_FULL].split("\n"):
        yield from _unfolded(line)
    if len(text) > _FULL:
        yield f"… ({len(text) - _FULL:,} more characters; --json has them all)"


def _unfolded(line: str) -> Iterator[str]:
    """A line of the JSON; where its string has several lines, those. A prompt is not read with `\\n`."""
    found = _LINE_WITH_STRING.fullmatch(line)
    value = orjson.loads(found["value"]) if found is not None else ""
    if found is None or "\n" not in value:
        yield escaped(line)
        return
    if found["key"]:
        yield escaped(found["indent"] + found["key"].rstrip())
    for inner in value.split("\n"):
        yield escaped(f"{found['indent']}  | {inner.expandtabs()}".rstrip())
