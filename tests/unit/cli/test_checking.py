"""Can this be replayed? Grades, reasons, JSON."""

from __future__ import annotations

import orjson
import pytest

from tracetape.cli.checking import as_json, crossing_named, lines, usable
from tracetape.errors import UsageError
from tracetape.model.crossing import REBUILT, UNUSABLE, Crossing
from tracetape.model.payload import Payload
from tracetape.model.recording import Recording
from tracetape.model.span import Gap

TRACE = "0a" * 16
OPAQUE = Gap("OPAQUE_VALUE", "its result is a socket; record it with output=…", "span 0b")


def payload(value: object) -> Payload:
    return Payload.of(orjson.dumps(value).decode())


def recording(*crossings: Crossing, gaps: tuple[Gap, ...] = ()) -> Recording:
    return Recording(TRACE, crossings, gaps, source="run.jsonl")


def text(given: Recording) -> list[str]:
    """Without what a replay would do."""
    found = [line.plain for line in lines(given)]
    return found[: next((at for at, line in enumerate(found) if line.startswith("a replay ")), len(found))]


def test_all_exact_is_replayable():
    given = recording(Crossing(boundary="plan", occurrence=1), Crossing(boundary="place_order", occurrence=1))

    assert text(given) == [
        f"run.jsonl  trace {TRACE}",
        "  plan@1         exact",
        "  place_order@1  exact",
        "replayable: 2 of 2 crossings exactly as recorded",
    ]
    assert usable(given)


def test_what_was_rebuilt_is_replayable_with_its_reasons():
    gap = Gap("ASSEMBLED", "a stream known as its answer alone", "span 0b")
    given = recording(Crossing(boundary="plan", occurrence=1, grade=REBUILT, gaps=(gap,)))

    assert text(given)[1:] == [
        "  plan@1  rebuilt",
        f"      {gap}",
        "replayable: 1 crossing, 0 exactly as recorded and 1 rebuilt",
    ]
    assert usable(given)


def test_what_cannot_be_served_stands_in_the_way():
    given = recording(Crossing(boundary="plan", occurrence=1, grade=UNUSABLE, gaps=(OPAQUE,)))

    assert text(given)[1:] == [
        "  plan@1  unusable",
        f"      {OPAQUE}",
        "NOT replayable as it is: of 1 crossing 1 cannot be served",
    ]
    assert not usable(given)


def test_what_stands_inside_a_served_call_is_in_the_way_of_a_live_one_alone():
    agent = Crossing(boundary="agent", occurrence=1)
    inside = Crossing(boundary="client", occurrence=1, grade=UNUSABLE, gaps=(OPAQUE,))
    inside.kin.parent, agent.kin.children = agent, (inside,)
    given = recording(agent, inside)

    assert text(given)[-1] == (
        "replayable while all is served; of 2 crossings 1 cannot be served when what is around it runs live"
    )
    assert not usable(given)


def test_a_call_that_had_not_ended_is_where_a_replay_ends():
    plan = Crossing(boundary="plan", occurrence=1)
    begun = [
        Crossing(boundary="place_order", occurrence=n, outcome="unfinished", grade=UNUSABLE) for n in range(1, 8)
    ]

    assert text(recording(plan, begun[0]))[-1] == (
        "replayable as far as it goes: of 2 crossings 1 had not ended when the recording did (place_order@1), and "
        "a replay ends there"
    )
    assert "of 8 crossings 7 had not ended" in text(recording(plan, *begun))[-1]
    assert "place_order@5, …)" in text(recording(plan, *begun))[-1]
    assert not usable(recording(plan, begun[0]))


def test_gaps_of_the_recording_are_listed():
    gap = Gap("SKIPPED", "3 lines were no spans", "run.jsonl")

    assert f"  {gap}" in text(recording(Crossing(boundary="plan", occurrence=1), gaps=(gap,)))


def test_a_recording_without_crossings_cannot_be_replayed():
    assert text(recording())[1:] == [
        "NOT replayable: the recording has no crossings: none of its spans was written at a boundary that we read"
    ]
    assert not usable(recording())


def test_a_reason_is_told_once_and_then_where():
    other = Gap("OPAQUE_VALUE", OPAQUE.text, "span 0c")
    given = recording(
        Crossing(boundary="plan", occurrence=1, grade=UNUSABLE, gaps=(OPAQUE,)),
        Crossing(boundary="plan", occurrence=2, grade=UNUSABLE, gaps=(other,)),
        gaps=(OPAQUE, other, other),
    )

    assert text(given)[1:-1] == [
        "  plan@1  unusable",
        f"      {OPAQUE}",
        "  plan@2  unusable",
        "      OPAQUE_VALUE, as plan@1",
        f"  {OPAQUE}, and 2 more",
    ]


def test_text_of_a_trace_cannot_command_the_terminal():
    evil = "\x1b[2J\u202e"
    gap = Gap("GAP", evil, evil)
    given = recording(Crossing(boundary=evil, occurrence=1, grade=UNUSABLE, gaps=(gap,)), gaps=(gap,))

    assert all(line.isprintable() for line in text(given))


def test_json_has_a_fixed_shape():
    gap = Gap("GAP", "text", "where")
    parent = Crossing(boundary="agent", kind="agent", occurrence=1, output=payload(None))
    child = Crossing(
        boundary="place_order",
        kind="tool",
        occurrence=2,
        input=payload({"quantity": 1000}),
        output=payload({"status": "filled"}),
        span_ids=("0b" * 8,),
        gaps=(gap,),
        grade=REBUILT,
    )
    child.kin.parent = parent

    told = as_json(recording(parent, child, gaps=(gap,)))

    gap_told = {"code": "GAP", "text": "text", "where": "where"}
    assert {key: told[key] for key in ("trace_id", "grade", "gaps")} == {
        "trace_id": TRACE,
        "grade": "rebuilt",
        "gaps": [gap_told],
    }
    assert told["crossings"][1] == {
        "boundary": "place_order",
        "kind": "tool",
        "occurrence": 2,
        "outcome": "returned",
        "grade": "rebuilt",
        "parent": "agent@1",
        "inputs": {"quantity": 1000},
        "text": None,
        "tool_calls": None,
        "result": {"status": "filled"},
        "error": None,
        "stream": None,
        "span_ids": ["0b" * 8],
        "gaps": [gap_told],
    }


@pytest.mark.parametrize(
    ("fields", "result", "error", "stream"),
    [
        ({"outcome": "returned", "output": payload(5)}, 5, None, None),
        (
            {"outcome": "raised", "error_type": "KeyError", "error_message": "'x'"},
            None,
            {"type": "KeyError", "message": "'x'", "status": None},
            None,
        ),
        ({"outcome": "streamed", "stream_end": "finished", "output": payload([1, 2])}, None, None, [1, 2]),
        (
            {"outcome": "streamed", "stream_end": "raised", "output": payload([1]), "error_type": "OSError"},
            None,
            {"type": "OSError", "message": "", "status": None},
            [1],
        ),
        ({"outcome": "unfinished"}, None, None, None),
    ],
)
def test_json_keeps_the_ways_to_end_apart(fields, result, error, stream):
    told = as_json(recording(Crossing(boundary="x", occurrence=1, **fields)))["crossings"][0]

    assert (told["result"], told["error"], told["stream"]) == (result, error, stream)
    assert told["inputs"] is None


TWO = recording(
    Crossing(boundary="plan", occurrence=1),
    Crossing(boundary="agent", occurrence=1),
    Crossing(boundary="agent", occurrence=2),
    Crossing(boundary="user@host", occurrence=1),
)


@pytest.mark.parametrize(
    ("given", "name"),
    [("plan@1", "plan@1"), ("plan", "plan@1"), ("agent@2", "agent@2"), ("user@host@1", "user@host@1")],
)
def test_a_crossing_is_chosen_by_name_and_number(given, name):
    assert crossing_named(TWO, given).name == name


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("agent", "agent has 2 crossings: say which with --crossing agent@1 … agent@2"),
        ("agent@3", "agent@3 is not in the recording"),
        ("agent@0", "agent@0 is not in the recording"),
        ("plann", "did you mean 'plan'"),
    ],
)
def test_a_crossing_that_is_not_there_or_not_the_only_one_is_told(given, message):
    with pytest.raises(UsageError) as caught:
        crossing_named(TWO, given)

    assert message in str(caught.value)
