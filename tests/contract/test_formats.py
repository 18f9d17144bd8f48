"""Every format: the samples give exactly their outcome, and hostile bytes give nothing but our errors."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from tracetape.errors import TracetapeError
from tracetape.exporters.otlp_json import encode_line
from tracetape.model.recording import Recording
from tracetape.model.span import Event, Link, Scope, SpanRecord, Status
from tracetape.sources.formats.registry import FORMATS
from tracetape.sources.loading import load, read_spans
from tracetape.sources.records import Record

SAMPLES = Path(__file__).parents[1] / "recordings" / "samples"
ROWS: list[dict[str, Any]] = json.loads((SAMPLES / "manifest.json").read_bytes())
GOOD = [row for row in ROWS if row["outcome"] != "error"]
BAD = [row for row in ROWS if row["outcome"] == "error"]
TRACE, OTHER_TRACE = "00fbef7e3c9a1e5b2d48608c1ffff9d7", "5b8efff798038103d269b633813fc60c"

# Where a sample differs from the truth on purpose: by span name, the fields that are not compared.
DIFFERS: dict[str, dict[str, set[str]]] = {
    "otlp/otlp_all_value_types.json": {"llm.decide": {"attributes"}},
    "otlp/otlp_big_payload.json": {"llm.decide": {"attributes"}},
    "broken/truncated_2048.json": {"llm.decide": {"attributes"}},
    "broken/clock_skew.json": {"broker.submit": {"start", "end", "events"}},
    "broken/two_roots.json": {"finalize": {"parent"}},
    "broken/unended_root.json": {"agent.run": {"end"}},
}
STRICT = {
    "broken/half_written_last_line.jsonl": "TRUNCATED_FILE",
    "broken/framed_cut.bin": "TRUNCATED_FILE",
    "broken/zstd_cut.jsonl.zst": "TRUNCATED_FILE",
    "broken/log_noise.jsonl": "NOT_JSON",
}


def of(row: dict[str, Any]) -> str:
    return str(row["file"])


def truth(name: str) -> dict[str, dict[str, Any]]:
    """The expected spans by id, as comparable values; repr tells 1 from 1.0 and True."""
    document = json.loads((SAMPLES / "expected" / name).read_bytes())
    spans = {}
    for span in document["spans"]:
        spans[span["spanId"]] = {
            "name": span["name"],
            "parent": span["parentSpanId"],
            "kind": span["kind"],
            "start": int(span["startUnixNano"]),
            "end": int(span["endUnixNano"]),
            "status": (span["status"]["code"], span["status"]["message"]),
            "attributes": {key: repr(plain(value)) for key, value in span["attributes"].items()},
            "events": [(e["name"], int(e["timeUnixNano"]), e["attributes"]) for e in span["events"]],
            "links": [(link["traceId"], link["spanId"], link["attributes"]) for link in span["links"]],
            "resource": document["resource"],
            "scope": (document["scope"]["name"], document["scope"]["version"]),
        }
    return spans


def plain(typed: dict[str, Any]) -> Any:
    return int(typed["value"]) if typed["type"] == "int" else typed["value"]


def seen(span: SpanRecord) -> dict[str, Any]:
    return {
        "name": span.name,
        "parent": span.parent_id,
        "kind": span.kind,
        "start": span.start_ns,
        "end": span.end_ns,
        "status": (span.status.code, span.status.message),
        "attributes": {key: repr(value) for key, value in span.attributes.items()},
        "events": [(event.name, event.time_ns, dict(event.attributes)) for event in span.events],
        "links": [(link.trace_id, link.span_id, dict(link.attributes)) for link in span.links],
        "resource": dict(span.resource),
        "scope": (span.scope.name, span.scope.version),
    }


def test_every_sample_is_in_the_manifest():
    there = {str(path.relative_to(SAMPLES)) for part in ("otlp", "broken") for path in (SAMPLES / part).iterdir()}
    assert there == {row["file"].rstrip("/") for row in ROWS}


@pytest.mark.parametrize("row", GOOD, ids=of)
def test_a_readable_sample_gives_its_spans_and_its_warnings(row):
    recording = load(SAMPLES / row["file"])

    assert recording.trace_id == row["trace_id"]
    assert len(recording.spans) == row["spans"]
    assert {gap.code for gap in recording.gaps} == set(row.get("warnings", ()))
    assert all(gap.text and gap.where for gap in recording.gaps)


@pytest.mark.parametrize("row", GOOD, ids=of)
def test_a_readable_sample_gives_the_truth_but_for_what_it_loses(row):
    lost = {part.strip() for part in row.get("loss", "").split(",")}
    expected = truth("trace.json")
    for span in load(SAMPLES / row["file"]).spans:
        skipped = lost | DIFFERS.get(row["file"], {}).get(span.name, set())
        found, true = seen(span), expected[span.span_id]
        for field in skipped & set(true):
            del found[field], true[field]
        assert found == true


@pytest.mark.parametrize("row", BAD, ids=of)
def test_an_unusable_sample_gives_its_error(row):
    with pytest.raises(TracetapeError) as caught:
        load(SAMPLES / row["file"])

    assert caught.value.code == row["error"]
    assert row["file"] in str(caught.value)


@pytest.mark.parametrize(("name", "code"), STRICT.items())
def test_strict_turns_a_damaged_file_into_an_error(name, code):
    with pytest.raises(TracetapeError) as caught:
        load(SAMPLES / name, strict=True)

    assert caught.value.code == code


@pytest.mark.parametrize("row", [row for row in GOOD if "warnings" in row and row["file"] not in STRICT], ids=of)
def test_strict_turns_any_warning_into_an_error_with_its_code(row):
    with pytest.raises(TracetapeError) as caught:
        load(SAMPLES / row["file"], strict=True)

    assert caught.value.code in row["warnings"]


@pytest.mark.parametrize("row", [row for row in GOOD if "warnings" not in row], ids=of)
def test_strict_leaves_a_whole_sample_as_it_is(row):
    assert len(load(SAMPLES / row["file"], strict=True).spans) == 7


@pytest.mark.parametrize("name", ["two_traces.jsonl", "two_traces_interleaved.json"])
@pytest.mark.parametrize(("trace", "expected"), [(TRACE, "trace.json"), (OTHER_TRACE, "trace2.json")])
def test_each_of_two_traces_can_be_chosen(name, trace, expected):
    recording = load(SAMPLES / "broken" / name, trace_id=trace)

    assert [seen(span) for span in recording.spans] == list(truth(expected).values())
    assert recording.gaps == ()


def test_two_traces_can_be_one_run():
    recording = load(SAMPLES / "broken" / "two_traces.jsonl", traces="all")

    assert len(recording.spans) == 14
    assert recording.gaps == ()


def test_read_spans_knows_no_traces():
    assert len(list(read_spans(SAMPLES / "broken" / "two_traces.jsonl"))) == 14
    assert len(list(read_spans(SAMPLES / "broken" / "duplicate_conflict.jsonl"))) > 7
    assert len(list(read_spans(SAMPLES / "broken" / "cycle.json"))) == 7


def test_sequence_numbers_order_spans_whose_clocks_disagree():
    spans = load(SAMPLES / "broken" / "clock_skew.json").spans

    assert [span.attributes["chronicle.seq"] for span in spans] == list(range(7))


def test_every_value_type_comes_back():
    recording = load(SAMPLES / "otlp" / "otlp_all_value_types.json")
    [span] = [span for span in recording.spans if span.name == "llm.decide"]
    found = {key: repr(value) for key, value in span.attributes.items() if key.startswith("x.")}

    assert found == {
        "x.nan": "nan",
        "x.inf": "-inf",
        "x.bytes": "b'\\x00\\xff'",
        "x.null": "None",
        "x.map": "{'k': [1, 'two', None]}",
        "x.emptymap": "{}",
        "x.intmin": "-9223372036854775808",
    }


# --- Hostile bytes -----------------------------------------------------------------------------------


def small_trace() -> list[bytes]:
    """Two spans as lines of OTLP JSON, with a bit of everything."""
    root = SpanRecord(
        trace_id="0a" * 16,
        span_id="00f067aa0ba902b7",
        parent_id=None,
        name="röot",
        kind="SERVER",
        start_ns=1_764_583_200_000_000_123,
        end_ns=1_764_583_200_000_001_123,
        status=Status("ERROR", "no"),
        attributes={"a.seq": 1, "b": [1.5, "x"], "c": {"k": b"\x00"}, "d": None, "e": True},
        resource={"service.name": "s"},
        scope=Scope("tests", "1"),
    )
    child = SpanRecord(
        trace_id="0a" * 16,
        span_id="fbeffedc00000001",
        parent_id="00f067aa0ba902b7",
        name="child",
        start_ns=1_764_583_200_000_000_223,
        end_ns=1_764_583_200_000_000_923,
        attributes={"text": '{"q":"\u2028"}'},
        events=(Event("e", 1, {"n": 1}),),
        links=(Link("0b" * 16, "0c" * 8, {}),),
        resource={"service.name": "s"},
        scope=Scope("tests", "1"),
    )
    return [encode_line(root), encode_line(child)]


def bare_spans() -> list[bytes]:
    documents = [json.loads(line) for line in small_trace()]
    spans = [document["resourceSpans"][0]["scopeSpans"][0]["spans"][0] for document in documents]
    return [json.dumps(span).encode() + b"\n" for span in spans]


def messages() -> list[bytes]:
    """The same two spans as protobuf messages."""
    made = []
    for line in small_trace():
        [record] = [Record(json.loads(line), "x")]
        assert isinstance(record.content, dict)
        made.append(protobuf_of(record.content))
    return made


def protobuf_of(document: dict[str, Any]) -> bytes:
    data = TracesData()
    [group] = document["resourceSpans"]
    [scoped] = group["scopeSpans"]
    [given] = scoped["spans"]
    resource = data.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "s"
    scope = resource.scope_spans.add()
    scope.scope.name = "tests"
    span = scope.spans.add(
        trace_id=bytes.fromhex(given["traceId"]),
        span_id=bytes.fromhex(given["spanId"]),
        parent_span_id=bytes.fromhex(given.get("parentSpanId", "")),
        name=given["name"],
        kind=given["kind"],
        start_time_unix_nano=int(given["startTimeUnixNano"]),
        end_time_unix_nano=int(given["endTimeUnixNano"]),
    )
    span.attributes.add(key="n").value.int_value = -1
    span.attributes.add(key="l").value.array_value.values.add().double_value = 1.0
    return bytes(data.SerializeToString())


def merged(parts: list[bytes]) -> bytes:
    """Protobuf messages one after another are one message with the fields of both."""
    return b"".join(parts)


def framed(parts: list[bytes]) -> bytes:
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def delimited(parts: list[bytes]) -> bytes:
    made = b""
    for part in parts:
        assert 128 <= len(part) < 16384
        made += bytes((len(part) & 0x7F | 0x80, len(part) >> 7)) + part
    return made


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


def pretty() -> bytes:
    return json.dumps([json.loads(line) for line in small_trace()], indent=1).encode()


# By format, files with the same two spans in every layout that it comes in.
SPECIMENS: dict[str, dict[str, bytes]] = {
    "OTLP JSON": {
        "lines": b"".join(small_trace()),
        "pretty array": pretty(),
        "gzip members": b"".join(gzip.compress(line, mtime=0) for line in small_trace()),
        "zstd frames": b"".join(zstd(line) for line in small_trace()),
        "framed zstd": framed([zstd(line) for line in small_trace()]),
    },
    "OTLP JSON spans": {"lines": b"".join(bare_spans()), "gzip": gzip.compress(b"".join(bare_spans()), mtime=0)},
    "OTLP protobuf": {
        "one message": merged(messages()),
        "framed": framed(messages()),
        "delimited": delimited(messages()),
        "framed zstd": framed([zstd(part) for part in messages()]),
        "gzip": gzip.compress(framed(messages()), mtime=0),
    },
}
CASES = [(name, layout) for name, layouts in SPECIMENS.items() for layout in layouts]


def attempt(path: Path, data: bytes) -> Recording | None:
    """Whatever the bytes are, a recording or an error of ours that names the file."""
    path.write_bytes(data)
    refused: TracetapeError | None = None
    try:
        return load(path, traces="all")
    except TracetapeError as error:
        refused = error
    assert path.name in str(refused)
    assert refused.code.isupper()
    return None


def test_every_format_has_a_specimen():
    assert [one.name for one in FORMATS] == list(SPECIMENS)


@pytest.mark.parametrize(("name", "layout"), CASES)
def test_a_specimen_is_read_whole(name, layout, tmp_path):
    recording = attempt(tmp_path / "whole", SPECIMENS[name][layout])

    assert recording is not None
    assert [span.name for span in recording.spans] == ["röot", "child"]
    assert recording.gaps == ()


@pytest.mark.parametrize("name", SPECIMENS)
def test_a_format_claims_its_own_records_alone(name):
    [own] = [one for one in FORMATS if one.name == name]
    samples = {
        "OTLP JSON": json.loads(small_trace()[0]),
        "OTLP JSON spans": json.loads(bare_spans()[0]),
        "OTLP protobuf": messages()[0],
    }

    assert [kind for kind, content in samples.items() if own.claims(content)] == [name]


@pytest.mark.parametrize(("name", "layout"), CASES)
def test_a_file_cut_at_any_byte_gives_its_whole_records_or_an_error(name, layout, tmp_path):
    whole = SPECIMENS[name][layout]
    for size in range(len(whole)):
        recording = attempt(tmp_path / "cut", whole[:size])
        if recording is not None and len(recording.spans) == 2:
            # All spans are there: what is gone is the line feed or the checksum after the last.
            assert len(whole) - size <= 16


@pytest.mark.parametrize(("name", "layout"), CASES)
def test_flipped_bytes_give_a_recording_or_an_error(name, layout, tmp_path):
    whole = SPECIMENS[name][layout]
    chance = random.Random(f"{name} {layout}")
    for _ in range(250):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 1, 2, 8))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        attempt(tmp_path / "flipped", bytes(data))


def hostile() -> Iterator[tuple[str, bytes]]:
    deep = b"[" * 10_000
    value = '{"arrayValue":{"values":[' * 250 + "{}" + "]}}" * 250
    span = f'{{"traceId":"{"0a" * 16}","spanId":"{"0b" * 8}","startTimeUnixNano":1,"attributes":%s}}\n'
    yield "white space", b" \n\t\r\n\n"
    yield "deep arrays", deep
    yield "deep arrays, closed", deep + b"]" * 10_000
    yield "deep objects", b'{"resourceSpans":' * 10_000
    yield "deep attribute", (span % f'[{{"key":"k","value":{value}}}]').encode()
    yield "huge int", (span % ('[{"key":"k","value":{"intValue":' + "9" * 5000 + "}}]")).encode()
    yield "huge int as text", (span % ('[{"key":"k","value":{"intValue":"' + "9" * 5000 + '"}}]')).encode()
    yield "huge int beside NaN", ('{"a":NaN,"b":' + "9" * 5000 + "}").encode()
    yield "attributes that are a map", (span % '{"k":"v"}').encode()
    yield "attributes that are numbers", (span % "[1,2]").encode()
    yield "spans that are a string", b'{"resourceSpans":[{"scopeSpans":[{"spans":"x"}]}]}'
    yield "groups that are numbers", b'{"resourceSpans":[1]}'
    yield "a resource that is a list", b'{"resourceSpans":[{"resource":[]}]}'
    yield "a nested empty object", b'{"resourceSpans":[{"scopeSpans":[{}]}]}'
    yield "a lone number", b"1\n"
    yield "NUL bytes", b"\0" * 4096
    yield "control characters", bytes(range(32)) * 8
    yield "an endless varint", b"\xff" * 64
    yield "a frame of 4 GiB", b"\xff\xff\xff\xff\x28\xb5\x2f\xfd"
    yield "an empty frame", b"\0\0\0\0" * 3
    yield "gzip in gzip in gzip in gzip in gzip", nested_gzip()
    yield "gzip magic alone", b"\x1f\x8b"
    yield "zstd magic alone", b"\x28\xb5\x2f\xfd"
    yield "UTF-16 without mark", '{"resourceSpans":[]}'.encode("utf-16-le")
    yield "UTF-32", '{"resourceSpans":[]}'.encode("utf-32")


def nested_gzip() -> bytes:
    data = b"{}"
    for _ in range(6):
        data = gzip.compress(data, mtime=0)
    return data


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in hostile()])
def test_hostile_bytes_are_refused(data, tmp_path):
    assert attempt(tmp_path / "hostile", data) is None


@pytest.mark.parametrize(
    "bomb",
    [
        pytest.param(lambda: gzip.compress(b" " * 2**24, mtime=0) * 8, id="gzip"),
        pytest.param(lambda: zstd(b" " * 2**24) * 8, id="zstd"),
        pytest.param(lambda: gzip.compress(zstd(b" " * 2**24) * 8, mtime=0), id="zstd in gzip"),
        pytest.param(lambda: framed([zstd(b" " * 2**24)] * 8), id="framed zstd"),
    ],
)
def test_a_decompression_bomb_is_refused(bomb, tmp_path):
    path = tmp_path / "bomb"
    path.write_bytes(bomb())

    with pytest.raises(TracetapeError) as caught:
        load(path)

    assert caught.value.code == "TOO_LARGE"
