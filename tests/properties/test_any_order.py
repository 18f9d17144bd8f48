"""Any order of lines, files or pages gives the same recording."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracetape
from tests.contract import layouts

SAMPLES = Path(__file__).parents[1] / "recordings" / "samples"


@tracetape.boundary("inner", kind="tool")
def inner(n: int) -> int:
    return n + 1


@tracetape.boundary("outer", kind="agent")
def outer(n: int) -> int:
    return inner(n) + inner(n)


def own_lines() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        with tracetape.record(path):
            for number in range(4):
                outer(number)
        return path.read_bytes().splitlines(keepends=True)


def lines_of(objects: list[Any]) -> list[bytes]:
    return [json.dumps(one).encode() + b"\n" for one in objects]


def pages_of_phoenix() -> list[bytes]:
    spans = json.loads((SAMPLES / "phoenix" / "spans.json").read_bytes())["data"]
    pages: list[dict[str, Any]] = [{"data": [one], "next_cursor": "more"} for one in spans]
    pages[-1]["next_cursor"] = None
    return lines_of(pages)


def spans_of_otlp() -> list[bytes]:
    return (SAMPLES / "broken" / "out_of_order.jsonl").read_bytes().split(b"\n")[:-1]


PIECES = {
    "our own lines": own_lines(),
    "a Collector's lines": [line + b"\n" for line in spans_of_otlp()],
    "Phoenix's pages": pages_of_phoenix(),
    "Zipkin's spans": lines_of(layouts.zipkin_spans()),
    "Jaeger's chunks": lines_of([{"result": {"resourceSpans": [one]}} for one in layouts.otlp_groups()]),
    "Chronicle's envelopes": lines_of(layouts.chronicle_records()),
}


def told(recording: tracetape.Recording) -> Any:
    crossings = [
        (one.name, one.parent and one.parent.name, one.input, one.output, one.grade) for one in recording.crossings
    ]
    return list(recording.spans), crossings, [gap.code for gap in recording.gaps], recording.trace_id


@pytest.mark.parametrize("name", PIECES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_order_and_any_split_into_files_gives_the_same_recording(name: str, data: st.DataObject) -> None:
    pieces = PIECES[name]
    shuffled = data.draw(st.permutations(pieces))
    files = data.draw(st.integers(1, len(pieces)))
    order = data.draw(st.permutations(range(files)))
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole"
        whole.write_bytes(b"".join(pieces))
        paths = [Path(folder) / f"part{number}" for number in range(files)]
        for number, path in enumerate(paths):
            path.write_bytes(b"".join(shuffled[number::files]))
        assert told(tracetape.load(*(paths[number] for number in order))) == told(tracetape.load(whole))


@pytest.mark.parametrize("name", PIECES)
def test_what_is_there_twice_is_there_once(name: str, tmp_path: Path) -> None:
    path, twice = tmp_path / "once", tmp_path / "twice"
    path.write_bytes(b"".join(PIECES[name]))
    twice.write_bytes(b"".join(PIECES[name] * 2))
    once, again = told(tracetape.load(path)), told(tracetape.load(twice))
    assert again[:2] == once[:2]
    assert again[2] == [*once[2], "DUPLICATE_SPAN"]
