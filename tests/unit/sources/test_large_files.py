"""One trace out of a large file: the same as if all of it had been read, with and without an index."""

from __future__ import annotations

import json
import logging
import os
import random
from pathlib import Path
from typing import Any

import pytest

import tracetape
from tracetape.errors import TraceSelectionError
from tracetape.model.span import Gap
from tracetape.sources import large_files, trace_index
from tracetape.sources.listing import list_traces
from tracetape.sources.loading import load
from tracetape.sources.trace_index import ENDING, stamp_of, write_index

TRACES = [f"{number:030x}af" for number in range(1, 7)]


@pytest.fixture(autouse=True)
def every_file_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_files, "_LARGE", 0)
    monkeypatch.setattr(large_files, "_PART", 1)
    trace_index._said.clear()


def span(trace_id: str, number: int) -> dict[str, Any]:
    return {
        "traceId": trace_id,
        "spanId": f"{int(trace_id, 16) % 2**32:08x}{number + 1:08x}",
        "parentSpanId": f"{int(trace_id, 16) % 2**32:08x}{1:08x}" if number else "",
        "name": "root" if not number else f"step {number}",
        "startTimeUnixNano": str(1_000 + number),
        "endTimeUnixNano": str(2_000 - number),
        "attributes": [{"key": "said", "value": {"stringValue": "of " + TRACES[number % len(TRACES)]}}],
        "status": {"code": 2} if number == 3 else {},
    }


def line(spans: list[dict[str, Any]]) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode() + b"\n"


@pytest.fixture
def collected(tmp_path: Path) -> Path:
    """Six traces of five spans, three spans a line, mixed."""
    spans = [span(trace_id, number) for trace_id in TRACES for number in range(5)]
    random.Random(7).shuffle(spans)
    path = tmp_path / "spans.jsonl"
    path.write_bytes(b"".join(line(spans[at : at + 3]) for at in range(0, len(spans), 3)))
    return path


def indexed(path: Path) -> Path:
    stamp, damage = stamp_of(path), list[Gap]()
    return write_index(path, list_traces([path], damage=damage), stamp, damaged=bool(damage))


def read_whole(monkeypatch: pytest.MonkeyPatch, path: Path, trace_id: str) -> tracetape.Recording:
    with monkeypatch.context() as patched:
        patched.setattr(large_files, "_LARGE", 2**60)
        return tracetape.load(path, trace_id=trace_id)


@pytest.mark.parametrize("is_indexed", [False, True])
def test_each_trace_is_the_same_as_when_all_is_read(collected, is_indexed, monkeypatch):
    if is_indexed:
        indexed(collected)
    for trace_id in TRACES:
        assert large_files.part_of(collected, trace_id) is not None
        recording, whole = (
            tracetape.load(collected, trace_id=trace_id),
            read_whole(monkeypatch, collected, trace_id),
        )
        assert list(recording.spans) == list(whole.spans)
        assert recording.gaps == whole.gaps == ()


@pytest.mark.parametrize(
    "spelt", [str.upper, lambda text: text.replace("af", "AF"), lambda text: text], ids=["upper", "mixed", "lower"]
)
def test_ids_are_found_however_they_are_spelt(collected, spelt, monkeypatch):
    text = collected.read_text()
    for trace_id in TRACES:
        text = text.replace(f'"traceId": "{trace_id}"', f'"traceId": "{spelt(trace_id)}"')
    collected.write_text(text)
    for trace_id in TRACES:
        assert len(tracetape.load(collected, trace_id=trace_id).spans) == 5


def test_ids_in_base64_are_found(collected):
    import base64

    text = collected.read_text()
    for trace_id in TRACES:
        written = base64.b64encode(bytes.fromhex(trace_id)).decode()
        text = text.replace(f'"traceId": "{trace_id}"', f'"traceId": "{written}"')
    collected.write_text(text)
    for trace_id in TRACES:
        assert large_files.part_of(collected, trace_id) is not None
        assert len(tracetape.load(collected, trace_id=trace_id).spans) == 5


def test_files_of_two_exporters_one_behind_the_other_are_searched_for_each_spelling(collected):
    import base64

    more = [line([span(TRACES[0], number)]).decode() for number in (20, 21, 22)]
    written = base64.b64encode(bytes.fromhex(TRACES[0])).decode().replace("/", "\\/")
    more[1] = more[1].replace(f'"traceId": "{TRACES[0]}"', f'"traceId": "{TRACES[0].upper()}"')
    more[2] = more[2].replace(f'"traceId": "{TRACES[0]}"', f'"traceId": "{written}"')
    collected.write_bytes(collected.read_bytes() + "".join(more).encode() + line([span(TRACES[1], 30)]))
    assert large_files.part_of(collected, TRACES[0]) is not None
    assert len(tracetape.load(collected, trace_id=TRACES[0]).spans) == 8


def test_what_is_nested_deeper_than_can_be_written_is_read_whole(collected):
    deep: dict[str, Any] = {"stringValue": "x"}
    for _ in range(150):
        deep = {"arrayValue": {"values": [deep]}}
    one = span(TRACES[0], 20)
    one["attributes"].append({"key": "deep", "value": deep})
    collected.write_bytes(collected.read_bytes() + line([one]))
    assert large_files.part_of(collected, TRACES[0]) is None
    assert len(tracetape.load(collected, trace_id=TRACES[0]).spans) == 6


def test_a_line_that_is_being_written_is_a_gap_of_every_trace(collected):
    with collected.open("ab") as file:
        file.write(line([span(TRACES[0], 7)])[:60])
    for trace_id in TRACES:
        recording = tracetape.load(collected, trace_id=trace_id)
        assert len(recording.spans) == 5
        assert [gap.code for gap in recording.gaps] == ["TRUNCATED_LAST_RECORD"]


@pytest.mark.parametrize("is_indexed", [False, True])
def test_what_stands_behind_half_a_line_is_in_no_place_of_its_own_and_is_read(collected, is_indexed):
    torn = line([span(TRACES[0], 11)])[:70] + line([span(TRACES[0], 12)])
    collected.write_bytes(torn + collected.read_bytes() + torn)
    if is_indexed:
        indexed(collected)
    recording = tracetape.load(collected, trace_id=TRACES[0])
    assert len(recording.spans) == 6
    assert {gap.code for gap in recording.gaps} == {"SKIPPED_LINE", "DUPLICATE_SPAN"}


def test_under_strict_what_is_damaged_anywhere_counts(collected):
    whole = collected.read_bytes()
    collected.write_bytes(whole + b'{"resourceSpans": [\n' + whole)
    indexed(collected)
    assert len(tracetape.load(collected, trace_id=TRACES[0]).spans) == 5
    with pytest.raises(tracetape.errors.FormatError):
        load(collected, trace_id=TRACES[0], strict=True)


def test_a_file_that_is_cut_off_meanwhile_does_not_end_the_process(collected, monkeypatch):
    plain = large_files._File.places

    def cut_off(self: Any, texts: Any) -> Any:
        os.truncate(collected, 10)
        return plain(self, texts)

    monkeypatch.setattr(large_files._File, "places", cut_off)
    with pytest.raises(tracetape.errors.SourceError):
        tracetape.load(collected, trace_id=TRACES[0])


def test_an_id_across_two_chunks_is_found(collected, monkeypatch):
    monkeypatch.setattr(large_files, "_CHUNK", 97)
    monkeypatch.setattr(large_files, "_STEP", 31)
    for trace_id in TRACES:
        assert large_files.part_of(collected, trace_id) is not None
        assert len(tracetape.load(collected, trace_id=trace_id).spans) == 5


@pytest.mark.parametrize("is_indexed", [False, True])
def test_a_trace_that_is_not_there_is_told_with_those_that_are(collected, is_indexed):
    if is_indexed:
        indexed(collected)
    with pytest.raises(TraceSelectionError) as caught:
        tracetape.load(collected, trace_id="dead")
    assert caught.value.code == "TRACE_NOT_FOUND"
    assert all(trace_id in str(caught.value) for trace_id in TRACES)


def test_of_a_folder_of_rotated_files_only_those_with_the_trace_are_read(collected):
    other = collected.with_name("spans-2025.jsonl")
    other.write_bytes(line([span(TRACES[0], 8)]))
    assert len(tracetape.load(collected.parent, trace_id=TRACES[0]).spans) == 6
    assert len(tracetape.load(collected.parent, trace_id=TRACES[1]).spans) == 5


def test_what_is_no_file_of_lines_is_read_whole(tmp_path):
    pretty = tmp_path / "pretty.json"
    document = {"resourceSpans": [{"scopeSpans": [{"spans": [span(one, 0) for one in TRACES]}]}]}
    pretty.write_text(json.dumps(document, indent=1))
    assert large_files.part_of(pretty, TRACES[0]) is None
    assert len(tracetape.load(pretty, trace_id=TRACES[0]).spans) == 1


def test_calls_in_flight_beside_a_large_recording_are_in_it(tmp_path):
    path = tmp_path / "run.otlp.jsonl"

    @tracetape.boundary("slow")
    def slow() -> int:
        return len(tracetape.load(path, trace_id=run.trace_id).crossings)

    @tracetape.boundary("quick")
    def quick() -> None:
        return None

    with tracetape.record(path) as run:
        quick()
        assert slow() == 2


class TestTheIndex:
    def test_says_what_each_trace_is(self, collected):
        listed = list_traces([collected])
        indexed(collected)
        for traces in (listed, list_traces([collected])):
            assert set(traces) == set(TRACES)
            for one in traces.values():
                assert (one.spans, one.name, one.started, one.ended, one.failed) == (5, "root", 1_000, 2_000, True)

    def test_is_read_by_its_owner_alone(self, collected):
        assert indexed(collected).stat().st_mode & 0o777 == 0o600

    def test_a_stale_one_is_noticed_and_ignored(self, collected, caplog):
        indexed(collected)
        with collected.open("ab") as file:
            file.write(line([span(TRACES[0], 9)]))
        with caplog.at_level(logging.WARNING, "tracetape"):
            assert len(tracetape.load(collected, trace_id=TRACES[0]).spans) == 6
        assert caplog.messages == [
            f"{collected}{ENDING} is older than the file, and is ignored; write it again: tracetape index "
            f"{collected}"
        ]

    def test_one_of_another_file_of_the_same_size_and_time_is_noticed(self, collected, caplog):
        indexed(collected)
        status = collected.stat()
        changed = collected.read_bytes().replace(TRACES[0].encode(), b"ee" * 16)
        collected.write_bytes(changed)
        os.utime(collected, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert len(tracetape.load(collected, trace_id="ee" * 16).spans) == 5
        assert "is older than the file" in caplog.text

    def test_a_damaged_one_is_noticed_and_ignored(self, collected, caplog):
        target = indexed(collected)
        whole = target.read_bytes()
        chance = random.Random(3)
        for number in range(60):
            data = bytearray(whole)
            if number % 2:
                del data[chance.randrange(len(data)) :]
            else:
                data[chance.randrange(len(data))] ^= 1 + chance.randrange(255)
            target.write_bytes(bytes(data))
            trace_index._said.clear()
            caplog.clear()
            assert len(tracetape.load(collected, trace_id=TRACES[2]).spans) == 5
            assert "and is ignored" in caplog.text

    def test_it_is_no_part_of_a_folder(self, collected):
        indexed(collected)
        assert tracetape.load(collected.parent, trace_id=TRACES[0]).gaps == ()
