"""The calls in flight that are noted beside a recording."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tracetape.exporters.otlp_json import encode_line
from tracetape.model.call import BoundarySpec
from tracetape.model.payload import Payload
from tracetape.model.span import SpanRecord
from tracetape.semconv import names, write
from tracetape.sources.loading import load, read_spans

TRACE = "0a" * 16
ROOT = f"{1:016x}"


def span(number: int, *, end_ns: int | None = 100, trace_id: str = TRACE, **attributes: Any) -> SpanRecord:
    spec = BoundarySpec(name=f"call{number}", code="m.f")
    given = Payload.of(f'{{"n":{number}}}')
    told = write.boundary(spec) | write.call(spec, {}, seq=number, process_id="ab")
    if end_ns is None:
        told |= write.mark(given)
    else:
        told |= write.outcome("cancelled") | write.content(given)
    return SpanRecord(
        trace_id=trace_id,
        span_id=f"{number:016x}",
        parent_id=ROOT,
        name=spec.name,
        start_ns=number,
        end_ns=end_ns,
        attributes=told | attributes,
    )


def root(end_ns: int | None) -> SpanRecord:
    told = {names.SCHEMA_VERSION: 1} | ({names.MARK: True} if end_ns is None else {})
    return SpanRecord(
        trace_id=TRACE, span_id=ROOT, parent_id=None, name="recording", start_ns=1, end_ns=end_ns, attributes=told
    )


def lines(spans: Iterable[SpanRecord]) -> bytes:
    return b"".join(encode_line(one) for one in spans)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Killed: two calls are finished, a third had begun."""
    path = tmp_path / "run.jsonl"
    path.write_bytes(lines([span(2), span(3)]))
    beside(path).write_bytes(lines([root(None), *(span(n, end_ns=None) for n in (2, 3, 4))]))
    return path


def beside(path: Path, number: int = 1) -> Path:
    return path.with_name(f"{path.name}.open.{number}")


def outcomes(path: Path) -> dict[str, str]:
    return {one.boundary: one.outcome for one in load(path).crossings}


KILLED = {"call2": "cancelled", "call3": "cancelled", "call4": "unfinished"}


def test_a_call_that_had_begun_is_unfinished_with_its_inputs_and_no_other_gap(path: Path) -> None:
    recording = load(path)
    assert outcomes(path) == KILLED
    crossing = recording["call4", 1]
    assert crossing.inputs == {"n": 4}
    assert (crossing.grade, crossing.duration) == ("unusable", None)
    assert [gap.code for gap in crossing.gaps] == ["UNFINISHED"]
    assert recording.gaps == ()
    assert recording.spans[0].span_id == ROOT


def test_read_spans_gives_them_last_without_an_end(path: Path) -> None:
    assert [(one.name, one.end_ns) for one in read_spans(path)] == [
        ("call2", 100),
        ("call3", 100),
        ("recording", None),
        ("call4", None),
    ]


def test_a_directory_has_the_marks_of_its_files(path: Path) -> None:
    assert outcomes(path.parent) == KILLED
    (path.parent / "elsewhere.jsonl.open.1").write_bytes(b"of no file here")
    assert outcomes(path.parent) == KILLED


def test_marks_of_several_processes_and_of_a_compaction_cut_short_are_one(path: Path) -> None:
    beside(path, 2).write_bytes(lines([span(5, end_ns=None)]))
    path.with_name("run.jsonl.open.1.next").write_bytes(lines([span(4, end_ns=None), span(6, end_ns=None)]))
    path.with_name("run.jsonl.open.1.2").write_bytes(lines([span(7, end_ns=None)]))
    assert outcomes(path) == KILLED | dict.fromkeys(("call5", "call6", "call7"), "unfinished")
    assert load(path).gaps == ()


def test_a_recording_of_which_nothing_is_finished_is_read(path: Path) -> None:
    path.write_bytes(b"")
    assert set(outcomes(path).values()) == {"unfinished"}


def test_a_file_packed_later_has_none(path: Path) -> None:
    packed = path.rename(path.with_name("run.jsonl.gz"))
    assert "call4" not in outcomes(packed)


def test_marks_are_found_beside_the_link_and_beside_the_file_it_leads_to(path: Path, tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "latest.jsonl"
    link.symlink_to(path)
    assert outcomes(link) == KILLED
    beside(link, 2).write_bytes(lines([span(5, end_ns=None)]))
    assert outcomes(link) == KILLED | {"call5": "unfinished"}
    assert load(link).gaps == ()
    assert load(link, beside(path), beside(link, 2)).gaps == ()


def test_marks_in_a_folder_that_is_reached_by_a_link_are_read_once(path: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(path.parent, target_is_directory=True)
    through = tmp_path / "link" / path.name
    assert outcomes(through) == KILLED
    beside(path, 2).write_bytes(b"buy milk\n")
    assert [gap.where for gap in load(through).gaps] == [str(beside(through, 2))]
    assert [gap.where for gap in load(through, path).gaps if gap.code == "MARKS_UNREADABLE"] == [
        str(beside(through, 2))
    ]


@pytest.mark.parametrize("first", [True, False])
def test_files_put_into_one_are_read_as_well(path: Path, first: bool) -> None:
    marks = beside(path).read_bytes()
    path.write_bytes(marks + path.read_bytes() if first else path.read_bytes() + marks)
    beside(path).unlink()
    assert outcomes(path) == KILLED
    assert load(path).gaps == ()


def test_marks_may_be_given_by_name(path: Path) -> None:
    moved = path.rename(path.with_name("incident.jsonl"))
    assert {one.boundary for one in load(moved).crossings} == {"call2", "call3"}
    recording = load(moved, beside(path))
    assert recording["call4", 1].outcome == "unfinished"
    assert recording.gaps == ()
    moved.rename(path)
    assert load(path, beside(path)).gaps == ()


def test_a_torn_last_line_is_no_gap(path: Path) -> None:
    whole = beside(path).read_bytes()
    beside(path).write_bytes(whole + encode_line(span(5, end_ns=None))[:-30])
    assert outcomes(path) == KILLED
    assert load(path).gaps == ()
    beside(path).write_bytes(whole[:50])
    assert [gap.code for gap in load(path).gaps] == ["MISSING_ROOT"]


@pytest.mark.parametrize(
    "content",
    [
        b"buy milk\n",
        b"\x00\xff" * 500,
        b"\x1f\x8b\x08" + bytes(7) + b"\xff" * 20,
        b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"xyz","spanId":1}]}]}]}\n',
        b"[" * 100_000 + b"\n",
        '{"resourceSpans":[]}'.encode("utf-16"),
        encode_line(span(9)),
    ],
    ids=["text", "binary", "gzip", "bad ids", "deep", "utf-16", "finished"],
)
def test_damaged_marks_never_keep_the_recording_from_being_read(path: Path, content: bytes) -> None:
    beside(path, 2).write_bytes(content)
    recording = load(path)
    assert outcomes(path) == KILLED
    (gap,) = recording.gaps
    assert gap.code == "MARKS_UNREADABLE"
    assert gap.text.startswith("what was in flight is not known in full: ")
    assert gap.where == str(beside(path, 2))


def test_what_is_no_file_is_passed_over(path: Path) -> None:
    """A pipe would be waited for for ever."""
    beside(path, 2).mkdir()
    os.mkfifo(beside(path, 3))
    beside(path, 4).symlink_to("nothing")
    beside(path, 5).write_bytes(b"")
    assert outcomes(path) == KILLED
    assert load(path).gaps == ()


def test_marks_that_vanish_while_they_are_read_were_of_a_run_that_ended(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "is_file", lambda self: ".open." in self.name and not self.unlink())
    assert {one.boundary for one in load(path).crossings} == {"call2", "call3"}
    assert "MARKS_UNREADABLE" not in {gap.code for gap in load(path).gaps}


def test_a_call_of_another_tool_without_an_end_is_still_a_gap(path: Path) -> None:
    plain = SpanRecord(trace_id=TRACE, span_id="f" * 16, parent_id=ROOT, name="GET", start_ns=5)
    path.write_bytes(lines([plain]))
    assert [gap.code for gap in load(path).gaps] == ["UNENDED_SPAN"]


@pytest.mark.parametrize("size", [65_536, 65_537])
def test_an_input_over_64_kib_is_left_out_and_said(path: Path, size: int) -> None:
    payload = Payload.of('{"x":"' + "x" * (size - 8) + '"}')
    assert payload.size == size
    mark = write.mark(payload)
    one = span(9, end_ns=None)
    told = {key: value for key, value in one.attributes.items() if key != names.INPUT_VALUE} | mark
    beside(path, 2).write_bytes(encode_line(replace(one, attributes=told)))
    crossing = load(path)["call9", 1]
    unfinished = "the call had not ended when the recording did"
    if size == 65_536:
        assert len(crossing.inputs["x"]) == 65_528
        assert [gap.text for gap in crossing.gaps] == [unfinished]
    else:
        assert crossing.inputs == {}
        assert [gap.text for gap in crossing.gaps] == [
            "the input was not kept: 65,537 bytes, and of a call in flight up to 65,536 are",
            unfinished,
        ]
