"""Lines of our own exporter are read by what they have in common; whatever is not quite like that, as ever."""

from __future__ import annotations

import copy
import io
import json
import os
import pickle
import re
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from tests.unit.sources.two_ways import taken, told_generally, told_quickly

import tracetape
from tracetape.errors import DivergenceError, SourceError
from tracetape.model.recording import Recording
from tracetape.semconv import names
from tracetape.sources import fetch, line_templates, own_lines, rereading
from tracetape.sources.batches import Batch
from tracetape.sources.own_lines import OwnLines
from tracetape.sources.reading import read_files
from tracetape.sources.row_crossings import RowCrossings


@tracetape.boundary("ask", kind="llm", model="gpt-5-mini")
def ask(question: str, temperature: float = 0.5) -> dict[str, Any]:
    return {"answer": f"{question}?", "usage": {"input_tokens": len(question), "output_tokens": 3}}


@tracetape.boundary("look", kind="tool")
def look(place: dict[str, Any]) -> str:
    return str(ask(f'what is in "{place["name"]}"')["answer"])


def record(path: Path, calls: int = 40) -> list[bytes]:
    """The lines of a recording of twice as many crossings."""
    with tracetape.record(path, marks=False):
        for number in range(calls):
            look({"name": f"drawer {number}", "n": number})
    return path.read_bytes().splitlines(keepends=True)


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    record(path)
    return path


def test_calls_of_one_kind_are_read_by_a_template_and_come_out_the_same(recorded: Path) -> None:
    # Of each boundary the first call is unlike the others, for no call was before it; the next one is the model.
    assert taken(recorded) > 70
    assert told_quickly(recorded) == told_generally(recorded)


def test_a_template_is_made_when_a_file_is_worth_it(tmp_path: Path) -> None:
    def batched(calls: int) -> int:
        path = tmp_path / f"{calls}.jsonl"
        record(path, calls)
        return sum(len(item) for item in read_files([path], hold=True) if isinstance(item, Batch))

    assert batched(10) == 0
    assert batched(100) > 100


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        (b'\\"n\\":7}', b'\\"n\\":8}'),
        (b'\\"n\\":7}', b'\\"n\\": 7}'),
        (
            b'"key":"tracetape.input.size","value":{"intValue":"',
            b'"key":"tracetape.input.size","value":{"intValue":"1',
        ),
        (b"sha256:", b"sha256:0"),
        (b'"spanId":"', b'"spanId":"0000000000000000","was":"'),
        (b'"parentSpanId":"', b'"parentSpanId":"0000000000000000","was":"'),
        (b'"kind":1', b'"kind":3'),
        (b'{"key":"tracetape.seq"', b'{"key":"tracetape.seq","value":{"intValue":"1"}},{"key":"tracetape.seq"'),
        (b'"status":{}', b'"status":{"code":2}'),
        (b'"status":{}', b'"droppedAttributesCount":4,"status":{}'),
        (b'"attributes":[', b'"attributes":[{"key":"x","value":{"stringValue":"{\\"cut"}},'),
        (b"tracetape.schema.version", b"tracetape.schema.other"),
        (b'"resourceSpans"', b' "resourceSpans"'),
        (b'\\"}}"}},{"key":"tracetape.output.digest"', b'\\"}}\\"}},{"key":"tracetape.output.digest"'),
        (b"drawer", b"dr\xffawer"),
        (b"drawer", b"dr\\ud800awer"),
        (b"}]}]}]}", b"}]}]}"),
        (b"}]}]}]}", b"}]}]}]} "),
        (b"}]}]}]}", b"}]}]}]}{}"),
    ],
)
@pytest.mark.parametrize("every", [True, False])
def test_a_line_that_is_not_quite_like_that_is_read_as_ever(
    tmp_path: Path, written: bytes, instead: bytes, every: bool
) -> None:
    path = tmp_path / "run.jsonl"
    lines = record(path, 12)
    changed = [
        line.replace(written, instead, 1) if every or at in (14, 15) else line for at, line in enumerate(lines)
    ]
    path.write_bytes(b"".join(changed))
    for options in ({}, {"traces": "all"}, {"strict": True}):
        assert told_quickly(path, **options) == told_generally(path, **options)


def test_what_stands_between_such_lines_keeps_its_place(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = record(path, 12)
    between = [b"log line\n", b"\n", lines[8][:300] + b"\n", b'{"milk":2}\n', lines[9], b"[1]\n", lines[3][:-20]]
    mixed = [one for pair in zip(lines[:14], between * 2, strict=True) for one in pair]
    path.write_bytes(b"".join([*mixed, *lines[14:]]))
    assert taken(path) > 3
    assert told_quickly(path) == told_generally(path)


def test_traces_that_take_turns_stay_apart(tmp_path: Path) -> None:
    one, two = record(tmp_path / "one.jsonl", 8), record(tmp_path / "two.jsonl", 8)
    path = tmp_path / "both.jsonl"
    path.write_bytes(b"".join(line for pair in zip(one, two, strict=True) for line in pair))
    first = json.loads(one[0])["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"]
    for options in ({}, {"traces": "all"}, {"trace_id": first}, {"trace_id": "ab" * 16}):
        assert told_quickly(path, **options) == told_generally(path, **options)


@pytest.mark.parametrize("ending", [b"\r\n", b"  \n", b"\n\n"])
def test_lines_may_end_otherwise(recorded: Path, ending: bytes) -> None:
    recorded.write_bytes(recorded.read_bytes().replace(b"\n", ending))
    assert taken(recorded) > 70
    assert told_quickly(recorded) == told_generally(recorded)


@pytest.fixture(params=["in memory", "from the file"])
def loaded(recorded: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Recording:
    """What a small file has is kept; of a larger one it is read when it is asked for."""
    monkeypatch.setattr(own_lines, "_SIGHTINGS", 1)
    if request.param == "from the file":
        monkeypatch.setattr(fetch, "_KEPT", 0)
    return tracetape.load(recorded)


def what_was_loaded(recording: Recording) -> bool:
    """Whether the recording still is what `record` has recorded."""
    looks = [recording["look", n + 1] for n in range(40)]
    asked = [recording["ask", n + 1].inputs["question"] for n in range(40)]
    return (
        [one.inputs for one in looks] == [{"place": {"name": f"drawer {n}", "n": n}} for n in range(40)]
        and [one.result for one in looks] == [f'what is in "drawer {n}"?' for n in range(40)]
        and asked == [f'what is in "drawer {n}"' for n in range(40)]
    )


def test_values_are_read_from_their_places(loaded: Recording) -> None:
    assert what_was_loaded(loaded)
    assert what_was_loaded(loaded)


def test_a_small_recording_needs_its_file_no_more(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_lines, "_SIGHTINGS", 1)
    loaded = tracetape.load(recorded)
    lines = recorded.read_bytes().splitlines(keepends=True)
    other = recorded.with_name("other")
    other.write_bytes(b"".join([lines[40], *lines[:40], *lines[41:]]))
    other.replace(recorded)
    assert what_was_loaded(loaded)
    assert what_was_loaded(tracetape.load(recorded))
    recorded.unlink()
    assert what_was_loaded(loaded)


@pytest.mark.parametrize("change", [lambda path: path.unlink(), lambda path: path.write_bytes(b"x" * 99_999)])
def test_that_the_file_of_a_larger_one_is_not_what_it_was_is_told(
    recorded: Path, monkeypatch: pytest.MonkeyPatch, change: Any
) -> None:
    monkeypatch.setattr(own_lines, "_SIGHTINGS", 1)
    monkeypatch.setattr(fetch, "_KEPT", 0)
    loaded = tracetape.load(recorded)
    change(recorded)
    for ask in (lambda: loaded["look", 30].inputs, lambda: loaded["look", 30].result):
        with pytest.raises(SourceError, match="the file was changed or removed") as caught:
            ask()
        assert caught.value.code == "SOURCE_CHANGED"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_crossings_and_recordings_are_copied_and_pickled(loaded: Recording, copied: Any) -> None:
    crossing = loaded["look", 30]
    other = copied(crossing)
    assert (other.name, other.inputs, other.result) == (crossing.name, crossing.inputs, crossing.result)
    assert [one.name for one in other.children] == ["ask@30"]
    assert what_was_loaded(copied(loaded))


def test_a_span_that_was_read_in_both_ways_is_one_span(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = recorded.read_bytes().splitlines(keepends=True)
    spelled = json.dumps(json.loads(lines[40])).encode() + b"\n"
    recorded.write_bytes(b"".join([*lines, spelled]))
    monkeypatch.setattr(own_lines, "_SIGHTINGS", 1)
    assert [gap.code for gap in tracetape.load(recorded).gaps] == ["DUPLICATE_SPAN"]
    recorded.write_bytes(b"".join([*lines, spelled.replace(b"drawer", b"dresser")]))
    with pytest.raises(SourceError, match="is there twice with different content"):
        tracetape.load(recorded)


def test_marks_of_calls_that_such_lines_have_finished_are_left_out(
    recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_lines, "_SIGHTINGS", 1)
    mark = json.loads(recorded.read_bytes().splitlines()[50])
    [span] = mark["resourceSpans"][0]["scopeSpans"][0]["spans"]
    span["endTimeUnixNano"] = "0"
    span["attributes"].append({"key": names.MARK, "value": {"boolValue": True}})
    recorded.with_name(f"{recorded.name}.open.{os.getpid()}").write_text(json.dumps(mark) + "\n")
    recording = tracetape.load(recorded)
    assert len(recording.spans) == 81
    assert {crossing.outcome for crossing in recording.crossings} == {"returned"}


def test_a_loaded_run_takes_little_memory_for_each_crossing(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = record(path, 100)
    body = b"".join(lines)
    trace = json.loads(lines[0])["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"].encode()
    # The same spans under other ids, for recording many takes long.
    ids = [json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["spanId"].encode() for line in lines]
    with path.open("wb") as file:
        for copy in range(50):
            text = body
            for one in ids:
                text = text.replace(one, one[:12] + b"%04x" % copy)
            file.write(text)
    tracemalloc.start()
    recording = tracetape.load(path, trace_id=trace.decode())
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(recording.spans) == 50 * len(lines)
    assert held / len(recording.spans) < 600


def test_hostile_files_get_few_templates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_lines, "_SIGHTINGS", 1)
    made: list[Any] = []

    def counted(*arguments: Any) -> Any:
        made.append(line_templates.template_of(*arguments))
        return made[-1]

    monkeypatch.setattr(own_lines, "template_of", counted)
    path = tmp_path / "run.jsonl"
    lines = record(path, 150)
    path.write_bytes(
        b"".join(line.replace(b'","name":"', b'","name":"%d ' % at, 1) for at, line in enumerate(lines))
    )
    assert told_quickly(path) == told_generally(path)
    assert len([one for one in made if one is not None]) == own_lines._TEMPLATES
    for written, instead in (
        (b'[{"key":"tracetape', b'[{"key":"x","value":{"stringValue":"%s"}},{"key":"tracetape'),
        (b'"status":{', b'"x":"%s","status":{'),
    ):
        made.clear()
        path.write_bytes(b"".join(line.replace(written, instead % (b"x" * 9_000)) for line in lines))
        assert told_quickly(path) == told_generally(path)
        assert made
        assert not any(made)
    made.clear()
    path.write_bytes(b"".join(line.replace(b'"kind":1', b'"kind":1,"n":%d' % at) for at, line in enumerate(lines)))
    assert told_quickly(path) == told_generally(path)
    assert len(made) < 20


def test_a_long_line_is_no_model_for_it_would_be_kept(tmp_path: Path) -> None:
    own = OwnLines(tmp_path / "x", "x")
    for size, is_kept in ((2**20, True), (2**20 + 1, False)):
        line = b"x" * size
        assert own.take(io.BytesIO(line).readline, 2 * size, 0, 0) == (line, 1, 0)
        assert (own._refused is not None) is is_kept


def test_times_that_no_column_holds_are_read_the_general_way(recorded: Path) -> None:
    """Of spans that nothing counts: the start would be taken for what does."""
    text = re.sub(rb'\{"key":"tracetape\.seq[a-z.]*","value":\{"intValue":"\d+"\}\},', b"", recorded.read_bytes())
    lines = text.splitlines(keepends=True)
    for number, time in ((60, b"9999999999999999999"), (61, b"9223372036854775808")):
        lines[number] = re.sub(rb'("(?:start|end)TimeUnixNano":)"\d+"', rb'\1"' + time + b'"', lines[number])
    recorded.write_bytes(b"".join(lines))
    assert 0 < taken(recorded) < len(lines) - 2
    assert told_quickly(recorded) == told_generally(recorded)


def test_whoever_asks_each_child_for_its_siblings_makes_few_of_them_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @tracetape.boundary("ask many", kind="agent")
    def ask_many() -> None:
        for number in range(200):
            ask(f"{number}")

    path = tmp_path / "run.jsonl"
    with tracetape.record(path, marks=False):
        ask_many()
    recording = tracetape.load(path)
    make, made = RowCrossings._make, list[int]()

    def making(self: RowCrossings, position: int) -> Any:
        made.append(position)
        return make(self, position)

    monkeypatch.setattr(RowCrossings, "_make", making)
    for crossing in recording.crossings:
        if crossing.parent is not None:
            assert crossing in crossing.parent.children
    assert set(made) == set(range(201))
    assert len(made) <= 2 * 201


def test_the_files_of_a_recording_share_the_room_in_memory(
    recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of many small ones is as large as one file."""
    monkeypatch.setattr(own_lines, "_SIGHTINGS", 1)
    lines = recorded.read_bytes().splitlines(keepends=True)
    folder = recorded.with_name("rotated")
    folder.mkdir()
    (folder / "1").write_bytes(b"".join(lines[:40]))
    (folder / "2").write_bytes(b"".join(lines[40:]))
    monkeypatch.setattr(fetch, "_KEPT", (folder / "1").stat().st_size)
    loaded = tracetape.load(folder)
    assert what_was_loaded(loaded)
    (folder / "1").unlink()
    assert what_was_loaded(loaded)
    (folder / "2").unlink()
    with pytest.raises(SourceError, match=r"rotated/2:.* changed or removed"):
        what_was_loaded(loaded)


def damaged(path: Path, text: bytes) -> None:
    """One byte of a payload, where it stands in the file."""
    raw = path.read_bytes()
    assert raw.count(text) == 1
    path.write_bytes(raw.replace(text, text[:-1] + b"?"))


@pytest.fixture
def looked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(own_lines, "_SIGHTINGS", 1)
    monkeypatch.setattr(fetch, "_KEPT", 0)
    path = tmp_path / "run.jsonl"
    with tracetape.record(path):
        for number in range(20):
            peek(f"drawer {number}")
    return path


@tracetape.boundary("peek")
def peek(place: str) -> str:
    return f"a sock from {place}"


def test_an_input_that_nobody_needs_may_have_changed(looked: Path) -> None:
    loaded = tracetape.load(looked)
    damaged(looked, b'{\\"place\\":\\"drawer 12')
    with tracetape.replay(loaded, tracetape.ReplayPlan().stub("peek")):
        for number in range(20):
            assert peek(f"drawer {number}") == f"a sock from drawer {number}"


def test_an_input_that_is_needed_and_has_changed_is_told_with_its_file(looked: Path) -> None:
    loaded = tracetape.load(looked)
    damaged(looked, b'{\\"place\\":\\"drawer 12')
    with pytest.raises(DivergenceError) as caught, tracetape.replay(loaded):
        peek("something else")
    assert caught.value.report is not None
    (divergence,) = caught.value.report.divergences
    assert divergence.kind == "unusable"
    assert divergence.text.splitlines()[:3] == [
        "DIVERGED: peek: cannot be compared with the recorded calls, for what one of them was called with cannot "
        "be read",
        f"  {looked}:13: the file was changed or removed after it had been loaded; load it again",
        "  nothing was run for real",
    ]


def test_what_is_read_ahead_is_what_stood_there_and_what_has_changed_since_is_told(
    looked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rereading, "_AHEAD", 2_500)  # some lines
    loaded = tracetape.load(looked)
    assert [loaded["peek", n].result for n in (1, 2)] == ["a sock from drawer 0", "a sock from drawer 1"]
    damaged(looked, b"a sock from drawer 12")
    damaged(looked, b"a sock from drawer 1\\")
    with pytest.raises(SourceError, match="changed or removed"):
        _ = loaded["peek", 13].result
    assert loaded["peek", 15].result == "a sock from drawer 14"
    assert loaded["peek", 16].result == "a sock from drawer 15"
    with pytest.raises(SourceError, match="changed or removed"):
        _ = loaded["peek", 2].result
