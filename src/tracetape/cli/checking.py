"""`check`: can this be replayed?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
from rich.text import Text

from tracetape.cli.render import escaped
from tracetape.model.crossing import EXACT, UNUSABLE, Crossing
from tracetape.model.recording import Recording
from tracetape.model.span import Gap

__all__ = ["as_json", "lines", "usable"]

_STYLE = {"exact": "green", "rebuilt": "yellow", "unusable": "red"}


def usable(recording: Recording) -> bool:
    """Whether every crossing could be served."""
    return bool(recording.crossings) and all(one.grade != UNUSABLE for one in recording.crossings)


def lines(recording: Recording) -> Iterator[Text]:
    """The grade of each crossing with its reasons, then what a replay would do."""
    yield Text(f"{escaped(recording.source)}  trace {recording.trace_id}")
    for crossing in recording.crossings:
        line = Text(f"  {escaped(crossing.name):<24} ")
        line.append(crossing.grade, style=_STYLE[crossing.grade])
        yield line
        for gap in crossing.gaps:
            yield Text(f"      {escaped(str(gap))}")
    for gap in recording.gaps:
        yield Text(f"  {escaped(str(gap))}", style="yellow")
    obstacles = recording.obstacles()
    if obstacles:
        yield Text("not replayable as it is:", style="red")
        for obstacle in obstacles:
            yield Text(f"  {escaped(obstacle)}")
    else:
        exact = sum(one.grade == EXACT for one in recording.crossings)
        total = len(recording.crossings)
        yield Text(f"replayable: {exact} of {total} crossings come back exactly as recorded", style="green")


def as_json(recording: Recording) -> dict[str, Any]:
    """`{trace_id, grade, gaps, crossings}`; `text` and `tool_calls` are filled where the model's answer is
    known in a provider's form, else null."""
    return {
        "trace_id": recording.trace_id,
        "grade": recording.grade,
        "gaps": [_gap(gap) for gap in recording.gaps],
        "crossings": [crossing_as_json(crossing) for crossing in recording.crossings],
    }


def crossing_as_json(crossing: Crossing) -> dict[str, Any]:
    output = None if crossing.output is None else orjson.loads(crossing.output.text)
    failed = crossing.outcome == "raised" or crossing.stream_end == "raised"
    error = {"type": crossing.error_type, "message": crossing.error_message, "status": None}
    return {
        "boundary": crossing.boundary,
        "kind": crossing.kind,
        "occurrence": crossing.occurrence,
        "outcome": crossing.outcome,
        "grade": crossing.grade,
        "parent": crossing.parent.name if crossing.parent else None,
        "inputs": None if crossing.input is None else orjson.loads(crossing.input.text),
        "text": None,
        "tool_calls": None,
        "result": output if crossing.outcome == "returned" else None,
        "error": error if failed else None,
        "stream": output if crossing.outcome == "streamed" else None,
        "span_ids": list(crossing.span_ids),
        "gaps": [_gap(gap) for gap in crossing.gaps],
    }


def _gap(gap: Gap) -> dict[str, str]:
    return {"code": gap.code, "text": gap.text, "where": gap.where}
