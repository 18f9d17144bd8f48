"""Rows of reading: what the formats of others cost, one trace out of a large file."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

from bench.measuring import Plan, Row, Sample, Side, in_turn, row_of
from bench.payloads import chat

__all__ = ["families", "formats", "one_trace"]

CORPUS = Path(__file__).resolve().parents[1] / "tests" / "recordings" / "corpus"

SPANS = 2_000
A_LINE = 64
TRACES, LARGE_MB = 1_000, 256
START = 1_764_583_200_000_000_000
PER_SECOND = 60_000  # of protobuf
FOREIGN_PER_SECOND = 20_000


def formats(plan: Plan) -> Iterator[Row]:
    """Spans of 4 KB: six attributes, of which two are a chat as JSON text."""
    from tracetape.model.span import SpanRecord
    from tracetape.sources.blobs import Blob
    from tracetape.sources.reading import read_files

    def read(data: bytes) -> None:
        found = sum(type(one) is SpanRecord for one in read_files([Blob.of("spans", data)]))
        if found != SPANS:
            raise SystemExit(f"read {found} of {SPANS} spans")

    def parse(data: bytes) -> None:
        for line in data.split(b"\n"):
            if line:
                orjson.loads(line)

    lines, jaeger, message = otlp_lines(), jaeger_answer(), protobuf_message()
    repeat = 7 if plan.quick else 31
    for name, data, must in (("OTLP JSON lines", lines, 1.6), ("Jaeger's legacy JSON", jaeger, 2.5)):
        sides = in_turn(_timed(read, data), _timed(parse, data), repeat)
        yield row_of(
            f"read {name}, 4 KB",
            "orjson over the same bytes",
            sides,
            unit="µs a span",
            must=must,
            note=_rate(sides),
        )
    sides = in_turn(_timed(read, message), _timed(_parsed, message), repeat)
    yield row_of(
        "read OTLP protobuf, 4 KB",
        "protobuf's parser over the same bytes",
        sides,
        unit="µs a span",
        most=1e6 / PER_SECOND,
        note=_rate(sides),
    )


def families(plan: Plan) -> Iterator[Row]:
    """Spans of real instrumentations, as they were read: 178 runs of 30 of them."""
    from tracetape.errors import SourceError
    from tracetape.sources.conventions.foreign import seen
    from tracetape.sources.loading import read_spans

    runs = []
    for path in sorted(CORPUS.glob("*/*.otlp.jsonl")):
        try:
            runs.append(sorted(read_spans(path), key=lambda span: span.start_ns))
        except SourceError:
            continue  # log events alone
    texts = [
        value.encode()
        for run in runs
        for span in run
        for value in map(_text_of, span.attributes.values())
        if value[:1] in ("{", "[")
    ]
    total = sum(map(len, runs))

    def read() -> None:
        for run in runs:
            seen(run, events={}, uploads={})

    def parse() -> None:
        for text in texts:
            try:
                orjson.dumps(orjson.loads(text))
            except orjson.JSONDecodeError:
                pass

    sides = in_turn(_each(read, total), _each(parse, total), 7 if plan.quick else 31)
    yield row_of(
        "instrumentations' spans to crossings",
        "orjson: their JSON attributes read and written once",
        sides,
        unit="µs a span",
        most=1e6 / FOREIGN_PER_SECOND,
        note=_rate(sides),
    )


def _text_of(value: Any) -> str:
    return "" if isinstance(value, (bool, int, float, list, dict, bytes)) else str(value)


def _each(run: Callable[[], None], count: int) -> Callable[[], Sample]:
    def take() -> Sample:
        cpu, wall = time.thread_time(), time.perf_counter()
        run()
        wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
        return Sample(wall * 1e6 / count, cpu * 1e6 / count)

    return take


def one_trace(plan: Plan) -> Iterator[Row]:
    """One trace of fifty spans out of a Collector's file of a thousand, in the page cache."""
    import mmap

    import tracetape
    from tracetape.sources.listing import list_traces
    from tracetape.sources.trace_index import stamp_of, write_index

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spans.jsonl"
        trace_id = write_large(path)
        size = path.stat().st_size

        def load() -> None:
            if len(tracetape.load(path, trace_id=trace_id).spans) != 50:
                raise SystemExit("the trace is not whole")

        def look() -> None:
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
                at = text.find(trace_id.encode())
                while at >= 0:
                    at = text.find(trace_id.encode(), at + 1)

        load()
        look()
        repeat = 5 if plan.quick else 15
        whole = in_turn(_once(load), _once(look), repeat)
        megabytes = f"{size / 2**20:,.0f} MB"
        yield row_of(
            f"one trace out of {megabytes}",
            "the id looked for in the mapped file",
            whole,
            unit="ms",
            most=400 * size / 2**30,
            note="the target is 400 ms for 1 GB",
        )
        stamp = stamp_of(path)
        write_index(path, list_traces([path]), stamp)
        indexed = in_turn(_once(load), _once(look), repeat)
        yield row_of(
            f"the same by its index, {megabytes}",
            "the id looked for in the mapped file",
            indexed,
            unit="ms",
            most=50.0,
        )


def _once(run: Callable[[], None]) -> Callable[[], Sample]:
    def take() -> Sample:
        cpu, wall = time.thread_time(), time.perf_counter()
        run()
        wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
        return Sample(wall * 1e3, cpu * 1e3)

    return take


def _timed(run: Callable[[bytes], None], data: bytes) -> Callable[[], Sample]:
    return _each(lambda: run(data), SPANS)


def _parsed(data: bytes) -> None:
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    TracesData().ParseFromString(data)


def _rate(sides: tuple[Side, Side]) -> str:
    return f"{1e6 / sides[0].median:,.0f} spans/s; the floor {1e6 / sides[1].median:,.0f}"


def spans(number: int, trace_id: str = "0a" * 16) -> list[dict[str, Any]]:
    text = json.dumps(chat(8, 4))
    return [
        {
            "traceId": trace_id,
            "spanId": f"{one + 1:016x}",
            "parentSpanId": f"{1:016x}" if one else "",
            "name": f"step {one}",
            "kind": 1,
            "startTimeUnixNano": str(START + one),
            "endTimeUnixNano": str(START + one + 5_000),
            "attributes": [
                {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
                {"key": "gen_ai.request.model", "value": {"stringValue": "some-model"}},
                {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "31"}},
                {"key": "number", "value": {"intValue": str(one)}},
                {"key": "input.value", "value": {"stringValue": text}},
                {"key": "output.value", "value": {"stringValue": text}},
            ],
            "status": {},
        }
        for one in range(number)
    ]


def line_of(listed: list[dict[str, Any]]) -> bytes:
    scoped = {"scope": {"name": "bench"}, "spans": listed}
    return orjson.dumps({"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [scoped]}]}) + b"\n"


def otlp_lines() -> bytes:
    made = spans(SPANS)
    return b"".join(line_of(made[at : at + A_LINE]) for at in range(0, SPANS, A_LINE))


def jaeger_answer() -> bytes:
    def tag(pair: dict[str, Any]) -> dict[str, Any]:
        [(kind, value)] = pair["value"].items()
        if kind == "intValue":
            return {"key": pair["key"], "type": "int64", "value": int(value)}
        return {"key": pair["key"], "type": "string", "value": value}

    made = [
        {
            "traceID": one["traceId"],
            "spanID": one["spanId"],
            "operationName": one["name"],
            "references": [{"refType": "CHILD_OF", "traceID": one["traceId"], "spanID": one["parentSpanId"]}]
            if one["parentSpanId"]
            else [],
            "startTime": int(one["startTimeUnixNano"]) // 1_000,
            "duration": 5,
            "tags": [*map(tag, one["attributes"]), {"key": "span.kind", "type": "string", "value": "internal"}],
            "logs": [],
            "processID": "p1",
            "warnings": None,
        }
        for one in spans(SPANS)
    ]
    trace = {"traceID": "0a" * 16, "spans": made, "processes": {"p1": {"serviceName": "bench", "tags": []}}}
    return orjson.dumps({"data": [trace], "total": 0, "limit": 0, "offset": 0, "errors": None})


def protobuf_message() -> bytes:
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    data = TracesData()
    scoped = data.resource_spans.add().scope_spans.add()
    for one in spans(SPANS):
        span = scoped.spans.add(
            trace_id=bytes.fromhex(one["traceId"]),
            span_id=bytes.fromhex(one["spanId"]),
            parent_span_id=bytes.fromhex(one["parentSpanId"]),
            name=one["name"],
            kind=one["kind"],
            start_time_unix_nano=int(one["startTimeUnixNano"]),
            end_time_unix_nano=int(one["endTimeUnixNano"]),
        )
        for pair in one["attributes"]:
            [(kind, value)] = pair["value"].items()
            added = span.attributes.add(key=pair["key"])
            if kind == "intValue":
                added.value.int_value = int(value)
            else:
                added.value.string_value = value
    return bytes(data.SerializeToString())


def write_large(path: Path) -> str:
    """A file of traces whose spans are mixed, 64 a line; the id of one."""
    traces = [f"{number + 1:032x}" for number in range(TRACES)]
    made = {one: spans(50, one) for one in traces[:16]}
    with path.open("wb") as file:
        group = 0
        while file.tell() < LARGE_MB * 2**20:
            chosen = traces[16 * group : 16 * group + 16]
            listed = [
                {
                    **span,
                    "traceId": trace_id,
                    "spanId": f"{int(trace_id, 16):08x}{number + 1:08x}",
                    "parentSpanId": "",
                }
                for number in range(50)
                for trace_id, span in ((one, made[traces[index]][number]) for index, one in enumerate(chosen))
            ]
            for at in range(0, len(listed), A_LINE):
                file.write(line_of(listed[at : at + A_LINE]))
            group += 1
            if 16 * group >= TRACES:
                break
    return traces[8 * group]
