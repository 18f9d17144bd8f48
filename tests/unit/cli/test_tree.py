"""A recording as a tree."""

from __future__ import annotations

import orjson
import pytest
from rich.cells import cell_len

from tracetape.cli.tree import duration, tree_lines
from tracetape.model.crossing import REBUILT, Crossing
from tracetape.model.payload import Payload
from tracetape.model.recording import Recording
from tracetape.model.span import Gap

TRACE = "0a" * 16


def payload(value: object) -> Payload:
    return Payload.of(orjson.dumps(value).decode())


def crossing(name: str = "tool", **fields) -> Crossing:
    given = {
        "occurrence": 1,
        "kind": "tool",
        "duration": 2_000_000,
        "input": payload({"a": 1}),
        "output": payload("done"),
    }
    return Crossing(boundary=name, **{**given, **fields})


def tree(*crossings: Crossing, width: int = 80, gaps: tuple[Gap, ...] = ()) -> list[str]:
    recording = Recording(TRACE, crossings, gaps, source="run.jsonl")
    return [line.plain for line in tree_lines(recording, width)]


def hang(child: Crossing, parent: Crossing) -> None:
    child.kin.parent = parent
    parent.kin.children = (*parent.kin.children, child)


def test_calls_hang_under_the_call_that_made_them():
    agent, model, tool = crossing("agent", kind="agent"), crossing("model", kind="llm", model="m-1"), crossing()
    hang(model, agent)

    assert tree(agent, model, tool) == [
        f"run.jsonl  trace {TRACE}  3 crossings  exact",
        "├─ agent@1  agent  2 ms",
        '│  │  in  {"a":1}',
        '│  │  out "done"',
        "│  └─ model@1  llm  2 ms  m-1",
        '│        in  {"a":1}',
        '│        out "done"',
        "└─ tool@1  tool  2 ms",
        '      in  {"a":1}',
        '      out "done"',
    ]


@pytest.mark.parametrize(
    ("fields", "last"),
    [
        ({"outcome": "raised", "output": payload("ValueError('x')")}, "      raised \"ValueError('x')\""),
        (
            {"outcome": "streamed", "stream_end": "abandoned", "item_count": 2, "output": payload([1, 2])},
            "      streamed 2 items, abandoned [1,2]",
        ),
        ({"outcome": "unfinished", "output": None}, "      unfinished"),
        ({"outcome": "cancelled", "output": None}, "      cancelled"),
        ({"output": None}, "      out (not recorded)"),
    ],
)
def test_each_way_to_end_has_its_word(fields, last):
    assert tree(crossing(**fields))[-1] == last


def test_inputs_that_were_not_recorded_are_said_to_be_so():
    assert "      in  (not recorded)" in tree(crossing(input=None))


def test_a_grade_that_is_not_exact_and_the_gaps_of_the_recording_are_shown():
    lines = tree(crossing(grade=REBUILT), gaps=(Gap("SKIPPED", "3 lines", "run.jsonl"),))

    assert lines[0].endswith("1 crossing  rebuilt")
    assert lines[1] == "└─ tool@1  tool  2 ms  rebuilt"
    assert "3 lines" in lines[-1]


def test_text_of_a_trace_cannot_command_the_terminal():
    evil = "\x1b]0;title\x07[link=file:///]\u202e"
    lines = tree(
        crossing(evil, kind=evil, model=evil, input=payload({evil: evil})), gaps=(Gap("GAP", evil, evil),)
    )

    assert all(line.isprintable() for line in lines)
    assert "[link=file:///]" in lines[1]


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize(
    "value",
    [
        "x" * 100_000,
        "東京" * 50_000,
        {"messages": [{"role": "user", "content": "word " * 400}] * 300},
        list(range(50_000)),
    ],
    ids=["long", "wide", "messages", "numbers"],
)
def test_a_payload_takes_three_lines_of_the_width_whatever_it_is(width, value):
    lines = tree(crossing(input=payload({"value": value})), width=width)

    assert len(lines) <= 1 + 1 + 3 + 1
    assert all(cell_len(line) <= width for line in lines[1:])
    assert "…" in "".join(lines)


def test_of_many_messages_the_last_is_kept():
    messages = [{"role": "user", "content": f"message {number} " + "x" * 200} for number in range(40)]

    text = "".join(tree(crossing(input=payload(messages))))

    assert "message 39" in text
    assert "message 0" not in text
    assert "more" in text


def test_a_short_value_is_whole_with_the_nothings_that_it_has():
    assert '      in  {"answer":null,"tools":[]}' in tree(crossing(input=payload({"answer": None, "tools": []})))


def test_a_recording_without_crossings_is_a_head_line():
    assert tree() == [f"run.jsonl  trace {TRACE}  0 crossings  unusable"]


@pytest.mark.parametrize(
    ("ns", "text"),
    [(None, "unfinished"), (0, "0 µs"), (1_500, "2 µs"), (2_000_000, "2 ms"), (1_234_000_000, "1.23 s")],
)
def test_durations_have_the_unit_that_fits(ns, text):
    assert duration(ns) == text
