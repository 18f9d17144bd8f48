"""How many spans a real Collector takes in, with the configs of collector-config as they stand.

    python -m tests.backends.measure [to-file fan-out scale-out] [--seconds 20] [--payload 4096] [--batch 512]

Requests that are ready-made (so that the sender costs next to nothing) are sent over OTLP gRPC by two processes,
each waiting for the answer before it sends the next. Sender, Collector and its backends share this machine.
The clock stops when the last span is in the files and the files are on the disk; then the spans in them are
counted. A request that was refused is an error.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.backends import Collector, Jaeger, Kafka, available

CONFIG = Path(__file__).parents[2] / "collector-config"
SENDERS = 2
NOWHERE = {
    "JAEGER_ENDPOINT": "127.0.0.1:9",
    "TEMPO_ENDPOINT": "127.0.0.1:9",
    "PHOENIX_ENDPOINT": "http://127.0.0.1:9",
}


def request(batch: int, payload: int) -> bytes:
    """One request as the SDK makes it: `batch` spans of new traces of ten, each with that much text."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    message = ExportTraceServiceRequest()
    resource = message.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "measured"
    scope = resource.scope_spans.add()
    scope.scope.name = "tracetape"
    now = time.time_ns()
    words = " ".join(f"word{number}" for number in range(payload))[:payload]
    for number in range(batch):
        if number % 10 == 0:
            trace_id = os.urandom(16)
        span = scope.spans.add(
            trace_id=trace_id,
            span_id=os.urandom(8),
            name="execute_tool measured",
            start_time_unix_nano=now,
            end_time_unix_nano=now + 1_000_000,
        )
        for key in ("tracetape.boundary", "gen_ai.operation.name", "tracetape.input.digest"):
            span.attributes.add(key=key).value.string_value = "sha256:" + "0" * 57
        for at in range(0, payload, 2000):
            pieces = span.attributes.add(key=f"tracetape.input.value.{at}")
            pieces.value.string_value = words[at : at + 2000]
    serialized: bytes = message.SerializeToString()
    return serialized


def send(endpoint: str, batch: int, payload: int, seconds: float, sent: multiprocessing.Queue[int]) -> None:
    import grpc

    message = request(batch, payload)
    options = [("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(endpoint.removeprefix("http://"), options=options) as channel:
        export = channel.unary_unary(
            "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
            request_serializer=bytes,
            response_deserializer=bytes,
        )
        ends, count = time.monotonic() + seconds, 0
        while time.monotonic() < ends:
            export(message, timeout=60)
            count += batch
    sent.put(count)


def spans_in(folder: Path) -> int:
    return sum(file.read_bytes().count(b'"spanId"') for file in folder.iterdir()) if folder.exists() else 0


@contextmanager
def to_file(folder: Path) -> Iterator[tuple[list[str], Collector]]:
    env = {"SPANS_FILE": str(folder / "full" / "spans.jsonl"), "SPANS_FILES": "10000"}
    with Collector(CONFIG / "to-file.yaml", folder, env) as collector:
        yield [collector.grpc] * SENDERS, collector


@contextmanager
def fan_out(folder: Path) -> Iterator[tuple[list[str], Collector]]:
    """With Jaeger where it is built; the other backends are down."""
    with ExitStack() as started:
        env = {"SPANS_FILE": str(folder / "full" / "spans.jsonl"), "SPANS_FILES": "10000"} | NOWHERE
        if available("jaeger") is None:
            jaeger = started.enter_context(Jaeger(folder / "jaeger"))
            env["JAEGER_ENDPOINT"] = jaeger.grpc.removeprefix("http://")
        collector = started.enter_context(Collector(CONFIG / "fan-out.yaml", folder, env))
        yield [collector.grpc] * SENDERS, collector


@contextmanager
def scale_out(folder: Path) -> Iterator[tuple[list[str], Collector]]:
    """Two agents, one broker with four partitions, one gateway."""
    with ExitStack() as started:
        kafka = started.enter_context(Kafka(folder / "kafka"))
        kafka.create_topic("otlp_spans", 4)
        env = {
            "KAFKA_BROKERS": f"[{kafka.brokers}]",
            "SPANS_FILE": str(folder / "full" / "spans.jsonl"),
            "SPANS_FILES": "10000",
            "SAMPLED_FILE": str(folder / "sampled" / "spans.jsonl"),
        }
        gateway = started.enter_context(Collector(CONFIG / "gateway.yaml", folder, env, name="gateway"))
        agents = [
            started.enter_context(
                Collector(CONFIG / "agent.yaml", folder, env | {"QUEUE_FOLDER": str(folder / name)}, name=name)
            )
            for name in ("agent-1", "agent-2")
        ]
        yield [agent.grpc for agent in agents], gateway


SETUPS = {"to-file": to_file, "fan-out": fan_out, "scale-out": scale_out}


def measure(name: str, seconds: float, payload: int, batch: int) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with SETUPS[name](folder) as (endpoints, writes):
            sent: multiprocessing.Queue[int] = multiprocessing.Queue()
            began = time.monotonic()
            senders = [
                multiprocessing.Process(target=send, args=(endpoint, batch, payload, seconds, sent))
                for endpoint in endpoints
            ]
            for sender in senders:
                sender.start()
            for sender in senders:
                sender.join()
                if sender.exitcode:
                    sys.exit(f"{name}: a sender failed")
            total = sum(sent.get() for _ in senders)
            writes.wait_until(lambda: written(writes) >= total, 600, f"{total} spans are in the files")
            os.sync()
            took = time.monotonic() - began
            memory = resident(writes.pid)
        full = folder / "full"
        if spans_in(full) != total:
            sys.exit(f"{name}: {spans_in(full)} spans are in the files, of {total}")
        size = sum(file.stat().st_size for file in full.iterdir())
        rate = total / took
        print(
            f"{name}: {rate:,.0f} spans/s of {payload:,} B ({rate * 86_400 / 1e6:,.0f} million a day), "
            f"{size / took / 1e6:,.0f} MB/s and {size / total:,.0f} B a span into files, "
            f"{memory:,.0f} MB resident in the Collector that writes; {total:,} spans in {took:.1f} s",
            flush=True,
        )


def written(collector: Collector) -> float:
    return sum(collector.metric("otelcol_exporter_sent_spans", exporter=name) for name in ("file", "file/full"))


def resident(pid: int) -> float:
    (line,) = [one for one in Path(f"/proc/{pid}/status").read_text().splitlines() if one.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("setups", nargs="*", default=list(SETUPS), metavar="|".join(SETUPS))
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--payload", type=int, default=4096)
    parser.add_argument("--batch", type=int, default=512)
    options = parser.parse_args(arguments)
    needed = {"to-file": ["collector"], "fan-out": ["collector"], "scale-out": ["collector", "kafka"]}
    for name in options.setups:
        for reason in filter(None, map(available, needed[name])):
            sys.exit(reason)
        measure(name, options.seconds, options.payload, options.batch)


if __name__ == "__main__":
    main(sys.argv[1:])
