"""`check`: can this be replayed?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
from rich.text import Text

from tracetape.cli.preflight import preflight_lines
from tracetape.cli.render import GRADE_STYLE, columns, counted
from tracetape.errors import UsageError
from tracetape.model.crossing import EXACT, UNUSABLE, Crossing
from tracetape.model.forms import answer_of
from tracetape.model.messages import Message, Part, text_of, tool_calls_of
from tracetape.model.names import split_name
from tracetape.model.plan import ReplayPlan
from tracetape.model.printing import escaped
from tracetape.model.recording import Recording
from tracetape.model.span import Gap

__all__ = ["as_json", "crossing_as_json", "crossing_named", "lines", "usable"]


def usable(recording: Recording, plan: ReplayPlan | None = None) -> bool:
    """Whether every crossing could be served; under a plan, those that it would serve."""
    if plan is not None and plan.entries:
        return bool(recording.crossings) and not recording.blocked(plan)
    return bool(recording.crossings) and all(one.grade != UNUSABLE for one in recording.crossings.flawed())


def crossing_named(recording: Recording, given: str) -> Crossing:
    """The crossing of `--crossing NAME@N`; NAME alone where it has only one.

    Raises UsageError naming what is there.
    """
    boundary, number = split_name(given)
    same = recording.counts.get(boundary, 0)
    if number is None and same > 1:
        raise UsageError(
            f"{boundary} has {same} crossings: say which with --crossing {boundary}@1 … {boundary}@{same}"
        )
    return recording[boundary, 1 if number is None else number]


def lines(recording: Recording, plan: ReplayPlan | None = None) -> Iterator[Text]:
    """The grade of each crossing with its reasons, each told once; then what a replay would do."""
    yield Text(f"{escaped(recording.source)}  trace {recording.trace_id}")
    padded = columns((escaped(crossing.name), crossing.grade) for crossing in recording.crossings)
    told: dict[tuple[str, str], str] = {}
    for crossing, (name, grade) in zip(recording.crossings, padded, strict=True):
        yield Text(f"  {name}  ").append(grade, style=GRADE_STYLE[grade])
        for gap in crossing.gaps:
            first = told.setdefault((gap.code, gap.text), crossing.name)
            said = str(gap) if first == crossing.name else f"{gap.code}, as {first}"
            yield Text(f"      {escaped(said)}")
    places: dict[tuple[str, str], list[Gap]] = {}
    for gap in recording.gaps:
        places.setdefault((gap.code, gap.text), []).append(gap)
    for same in places.values():
        more = f", and {len(same) - 1:,} more" if len(same) > 1 else ""
        yield Text(f"  {escaped(str(same[0]))}{more}", style="yellow")
    yield from _verdict(recording)
    if recording.crossings:
        yield from preflight_lines(recording, plan or ReplayPlan())


def _verdict(recording: Recording) -> Iterator[Text]:
    blocked = recording.blocked()
    begun = [one for one in recording.crossings if one.outcome == "unfinished"]
    total = counted(len(recording.crossings), "crossing")
    unusable = sum(one.grade == UNUSABLE for one in recording.crossings)
    if not recording.crossings:
        yield Text("NOT replayable:", style="bold red").append(f" {recording.obstacles()[0]}", style="default")
    elif blocked:
        yield Text(f"NOT replayable as it is: of {total} {len(blocked):,} cannot be served", style="bold red")
    elif begun and all(one.outcome == "unfinished" for one in recording.crossings if one.grade == UNUSABLE):
        shown = ", ".join(escaped(one.name) for one in begun[:5]) + (", …" if len(begun) > 5 else "")
        yield Text(
            f"replayable as far as it goes: of {total} {len(begun):,} had not ended when the recording did "
            f"({shown}), and a replay ends there",
            style="yellow",
        )
    elif unusable:
        # Inside a crossing that is served, so a replay never asks for it: unless that one runs live.
        yield Text(
            f"replayable while all is served; of {total} {unusable:,} cannot be served when what is around "
            "it runs live",
            style="yellow",
        )
    else:
        exact = sum(one.grade == EXACT for one in recording.crossings)
        rebuilt = len(recording.crossings) - exact
        told = f"{exact:,} of {total} exactly as recorded"
        if rebuilt:
            told = f"{total}, {exact:,} exactly as recorded and {rebuilt:,} rebuilt"
        yield Text(f"replayable: {told}", style="green")


def as_json(recording: Recording) -> dict[str, Any]:
    """`{trace_id, grade, gaps, crossings}`."""
    return {
        "trace_id": recording.trace_id,
        "grade": recording.grade,
        "gaps": [_gap(gap) for gap in recording.gaps],
        "crossings": [crossing_as_json(crossing) for crossing in recording.crossings],
    }


def crossing_as_json(crossing: Crossing) -> dict[str, Any]:
    """One element of `crossings`; values as they are stored, tags included.

    `text` and `tool_calls` are those of a model's answer, where it is known in a provider's form or the normal
    one, else null. `stream` is true where of a stream its assembled answer alone is known: that is the `result`.
    """
    output = None if crossing.output is None else orjson.loads(crossing.output.text)
    failed = crossing.outcome == "raised" or crossing.stream_end == "raised"
    error = {"type": crossing.error_type, "message": crossing.error_message, "status": crossing.error_status}
    stream: Any = output if crossing.outcome == "streamed" else None
    result = output if crossing.outcome == "returned" else None
    if crossing.outcome == "streamed" and (output is None or _is_assembled(crossing)):
        stream, result = True, None if output is None else output["items"][0]
    said = _said(result) if crossing.kind == "llm" else None
    return {
        "boundary": crossing.boundary,
        "kind": crossing.kind,
        "occurrence": crossing.occurrence,
        "outcome": crossing.outcome,
        "grade": crossing.grade,
        "parent": crossing.parent.name if crossing.parent else None,
        "inputs": None if crossing.input is None else orjson.loads(crossing.input.text),
        "text": None if said is None else text_of(said),
        "tool_calls": None if said is None else [_call(part) for part in tool_calls_of(said)],
        "result": result,
        "error": error if failed else None,
        "stream": stream,
        "span_ids": list(crossing.span_ids),
        "gaps": [_gap(gap) for gap in crossing.gaps],
    }


def _is_assembled(crossing: Crossing) -> bool:
    return any(gap.code == "STREAM_ASSEMBLED" for gap in crossing.gaps)


def _said(result: Any) -> Message | None:
    """The first choice of a model's answer."""
    found = answer_of(result)
    return found["messages"][0] if found is not None and found["messages"] else None


def _call(part: Part) -> dict[str, Any]:
    return {key: part.get(key) for key in ("id", "name", "arguments")}


def _gap(gap: Gap) -> dict[str, str]:
    return {"code": gap.code, "text": gap.text, "where": gap.where}
