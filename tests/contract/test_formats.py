"""Every format: the samples give exactly their outcome, and hostile bytes give nothing but our errors."""

from __future__ import annotations

import gzip
import json
import random
from ast import literal_eval
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from tests.contract import layouts
from tracetape.errors import TracetapeError
from tracetape.exporters.otlp_json import encode_line
from tracetape.model.recording import Recording
from tracetape.model.span import Event, Link, Scope, SpanRecord, Status
from tracetape.sources.formats.registry import FORMATS
from tracetape.sources.loading import load, read_spans
from tracetape.sources.records import Record

SAMPLES = Path(__file__).parents[1] / "recordings" / "samples"
ROWS: list[dict[str, Any]] = json.loads((SAMPLES / "manifest.json").read_bytes())
# A search has no spans, whatever it has found: reading it is an error that says what to fetch.
SEARCH = "tempo/tempo_search.json"
GOOD = [row for row in ROWS if row["outcome"] != "error" and row["file"] != SEARCH]
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


# --- What a format loses: each takes what was found and the truth, and makes them comparable -----------


Seen = dict[str, Any]


def without(*fields: str) -> Callable[[Seen, Seen], None]:
    """The format has no such field at all; what is found there is its default, said here once more."""
    defaults = {"kind": "UNSPECIFIED", "links": [], "resource": {}, "scope": ("", "")}

    def change(found: Seen, true: Seen) -> None:
        for field in fields:
            assert found[field] == defaults[field]
            del found[field], true[field]

    return change


def times_to(precision: int) -> Callable[[Seen, Seen], None]:
    """Times are cut, or rounded, to so many nanoseconds."""

    def change(found: Seen, true: Seen) -> None:
        for field in ("start", "end"):
            assert abs(found[field] - true[field]) < precision
            true[field] = found[field]
        for number, (event, told) in enumerate(zip(found["events"], true["events"], strict=True)):
            assert abs(event[1] - told[1]) < precision
            true["events"][number] = (told[0], event[1], told[2])

    return change


def arrays_as_text(found: Seen, true: Seen) -> None:
    """Arrays have become their JSON text, in which a double may have lost its fraction of zero."""
    for key, value in true["attributes"].items():
        kept = found["attributes"][key]
        if value.startswith("["):
            assert json.loads(literal_eval(kept)) == literal_eval(value)
            true["attributes"][key] = kept


def link_attributes(found: Seen, true: Seen) -> None:
    true["links"] = [(trace, span, {}) for trace, span, _ in true["links"]]


def everything_a_text(found: Seen, true: Seen) -> None:
    """Zipkin's tags: strings, with the resource among them but for the service's name."""
    rest = {key: value for key, value in true["resource"].items() if key != "service.name"}
    true["resource"] = {"service.name": true["resource"]["service.name"]}
    texts = {key: zipkin_text(value) for key, value in true["attributes"].items()}
    true["attributes"] = {key: repr(value) for key, value in {**rest, **texts}.items()}


def zipkin_text(value: str) -> str:
    plain_value = literal_eval(value)
    return (
        plain_value
        if isinstance(plain_value, str)
        else json.dumps(plain_value, ensure_ascii=False, separators=(",", ":"))
    )


def derived_attributes(found: Seen, true: Seen) -> None:
    """Phoenix adds what it makes of gen_ai attributes."""
    for key in set(found["attributes"]) - set(true["attributes"]):
        assert key.startswith(("openinference.", "llm."))
        del found["attributes"][key]


def event_attributes(found: Seen, true: Seen) -> None:
    """Phoenix's GraphQL has the name, the message and the time of an event."""
    for number, (name, time, attributes) in enumerate(true["events"]):
        message = attributes.get("exception.message")
        true["events"][number] = (name, time, {"exception.message": message} if message else {})


def json_texts(found: Seen, true: Seen) -> None:
    """MLflow has parsed each JSON text, and adds what it makes of the span."""
    for key in set(found["attributes"]) - set(true["attributes"]):
        assert key.startswith("mlflow.")
        del found["attributes"][key]
    for key, value in true["attributes"].items():
        kept = found["attributes"][key]
        if value.startswith("'{"):
            assert json.loads(literal_eval(kept)) == json.loads(literal_eval(value))
            true["attributes"][key] = kept


def sdk_attributes(found: Seen, true: Seen) -> None:
    """MLflow keeps what of the resource is no telemetry.*, as tags."""
    true["resource"] = {key: value for key, value in true["resource"].items() if not key.startswith("telemetry.")}


def grafana_numbers(found: Seen, true: Seen) -> None:
    """JavaScript's numbers: whole doubles are integers, and integers have 53 bits."""
    for key, value in true["attributes"].items():
        kept, true_value = literal_eval(found["attributes"][key]), literal_eval(value)
        pairs = zip(kept, true_value, strict=True) if isinstance(kept, list) else [(kept, true_value)]
        for one, true_one in pairs:
            assert one == true_one or abs(one - true_one) <= 2**-52 * abs(true_one)
        if kept != true_value or repr(kept) != value:
            true["attributes"][key] = found["attributes"][key]


def empty_event_names(found: Seen, true: Seen) -> None:
    if found["events"] and not found["events"][0][0]:
        true["events"] = [("", time, attributes) for _, time, attributes in true["events"]]


def names_in_lower_case(found: Seen, true: Seen) -> None:
    true["name"] = true["name"].lower()


# The end is the start and the duration, each cut.
_JAEGER = (times_to(2_000), arrays_as_text, link_attributes)
_PHOENIX = (
    without("links", "resource", "scope"),
    lambda found, true: true.update(kind="INTERNAL"),
    derived_attributes,
)
_GRAFANA = (times_to(512), grafana_numbers, empty_event_names)
LOSSES: dict[str, tuple[Callable[[Seen, Seen], None], ...]] = {
    "otlp-span-ndjson": (without("resource", "scope"),),
    "otel-sdk-console": (times_to(1_000), without("scope")),
    "jaeger-json": _JAEGER,
    "grafana-tempo-json": _GRAFANA,
    "zipkin-v2": (times_to(2_000), everything_a_text, names_in_lower_case),
    "phoenix-spans": (times_to(1_000), *_PHOENIX),
    "phoenix-spans-jsonl": (times_to(1_000), *_PHOENIX),
    "phoenix-dataframe": (times_to(1_000), *_PHOENIX),
    "phoenix-graphql": (times_to(1_000), *_PHOENIX, event_attributes),
    "phoenix-otlpv1": (times_to(1_256), *_PHOENIX),
    "otlp-json-snake-phoenix": (times_to(1_256), *_PHOENIX),
    "mlflow-traces-get": (without("kind", "scope"), json_texts, sdk_attributes),
    "mlflow-client": (without("kind", "scope"), json_texts, sdk_attributes),
}


def test_every_sample_is_in_the_manifest():
    parts = [path for path in SAMPLES.iterdir() if path.is_dir() and path.name != "expected"]
    there = {str(path.relative_to(SAMPLES)) for part in parts for path in part.iterdir()}
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
    expected = truth("trace.json")
    spans = load(SAMPLES / row["file"]).spans
    for span in spans:
        found, true = seen(span), expected[span.span_id]
        for change in LOSSES.get(row["format"], ()):
            change(found, true)
        for field in DIFFERS.get(row["file"], {}).get(span.name, set()):
            del found[field], true[field]
        assert found == true
    assert len({span.span_id for span in spans}) == row["spans"]


def test_a_search_has_no_spans_and_says_what_to_fetch():
    with pytest.raises(TracetapeError) as caught:
        load(SAMPLES / SEARCH)

    assert caught.value.code == "NO_SPANS"
    assert f"tempo+http://HOST:3200/TRACE_ID:\n  {TRACE}" in str(caught.value)


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_pages_that_end_with_the_last_one_are_whole_in_any_order(order):
    recording = load(*(SAMPLES / "phoenix" / f"spans_otlpv1_page{number}.json" for number in order))

    assert recording.gaps == ()
    assert list(recording.spans) == list(load(SAMPLES / "phoenix" / "spans_otlpv1.json").spans)


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


def tempo(trace: bytes) -> bytes:
    """A TraceByIDResponse."""
    assert 128 <= len(trace) < 16384
    return b"\x0a" + bytes((len(trace) & 0x7F | 0x80, len(trace) >> 7)) + trace + b"\x12\x02\x08\x00"


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
        "inside Tempo's answer": tempo(merged(messages())),
    },
    **layouts.SPECIMENS,
}
# By format, what its two spans are called where the root has a name of its own.
NAMES = {"Chronicle JSON": ["chronicle trace", "child"]}
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
    assert [span.name for span in recording.spans] == NAMES.get(name, ["röot", "child"])
    assert recording.gaps == ()


def first_record(name: str, layout: str) -> Any:
    if name == "OTLP protobuf":
        return messages()[0]
    data = SPECIMENS[name][layout]
    if data[:2] == b"\x1f\x8b" or b"\x28\xb5\x2f\xfd" in data[:8]:
        return None
    content, _ = json.JSONDecoder().raw_decode(data.decode())
    return content[0] if isinstance(content, list) else content


@pytest.mark.parametrize(("name", "layout"), CASES)
def test_a_format_claims_its_own_records_alone(name, layout):
    content = first_record(name, layout)
    if content is not None:
        assert [one.name for one in FORMATS if one.claims(content)] == [name]


@pytest.mark.parametrize(("name", "layout"), CASES)
def test_a_file_cut_at_any_byte_gives_its_whole_records_or_an_error(name, layout, tmp_path):
    whole = SPECIMENS[name][layout]
    for size in range(0, len(whole), 1 if name.startswith("OTLP") else 7):
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


@pytest.mark.parametrize("row", ROWS, ids=of)
def test_damage_to_a_sample_gives_a_recording_or_an_error(row, tmp_path):
    source = SAMPLES / row["file"]
    whole = source.read_bytes() if source.is_file() else (source / "spans.jsonl").read_bytes()
    chance = random.Random(row["file"])
    for number in range(60):
        data = bytearray(whole)
        if number % 3 == 0:
            del data[chance.randrange(len(data) + 1) :]
        for _ in range(chance.choice((0, 1, 3, 20)) if data else 0):
            data[chance.randrange(len(data))] = (
                chance.choice(b'{}[]",:0\x00\xff"') if number % 2 else chance.randrange(256)
            )
        attempt(tmp_path / "damaged", bytes(data))


WRONG: list[Any] = [
    10**400,
    2**64 - 1,
    2**63,
    -(2**63),
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    None,
    0,
    -1,
    1.5,
    True,
    "",
    "x",
    [],
    [0],
    [None],
    {},
    {"a": 0},
    "9" * 30,
    [[]],
    [{}],
    {"": []},
    10**30,
]


@pytest.mark.parametrize(("name", "layout"), CASES)
def test_any_field_of_a_wrong_kind_gives_a_recording_or_an_error(name, layout, tmp_path):
    if first_record(name, layout) is None or name == "OTLP protobuf":
        return
    decoder, text, at = json.JSONDecoder(), SPECIMENS[name][layout].decode(), 0
    documents = []
    while at < len(text):
        content, end = decoder.raw_decode(text, at)
        documents.append(content)
        at = end + (len(text[end:]) - len(text[end:].lstrip()))
    for path in list(places(documents)):
        for wrong in WRONG if len(documents) < 3 else WRONG[::2]:
            attempt(tmp_path / "wrong", json.dumps(replaced(documents, path, wrong)).encode())


def places(value: Any) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in items:
        yield (key,)
        for rest in places(one):
            yield (key, *rest)


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = replaced(value[path[0]], path[1:], new)
    return copied


def hostile() -> Iterator[tuple[str, bytes]]:
    deep = b"[" * 10_000
    value = '{"arrayValue":{"values":[' * 250 + "{}" + "]}}" * 250
    span = f'{{"traceId":"{"0a" * 16}","spanId":"{"0b" * 8}","startTimeUnixNano":1,"attributes":%s}}\n'
    deep_value = "[" * 1_000 + "]" * 1_000
    yield "a field of a wrong kind, nested deeply", ('{"resourceSpans":{"a":' + deep_value + "}}").encode()
    yield "an id that is nested deeply", ('{"spanId":' + deep_value + ',"startTimeUnixNano":"1"}').encode()
    chronicle = '{"trace_id":"t","envelope_id":"e","node_id":"n","boundary_kind":"tool","input_state":%s}'
    yield "an envelope that is nested deeply", (chronicle % deep_value).encode()
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
