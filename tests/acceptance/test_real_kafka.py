"""Scale-out: two agents, a real Kafka, a gateway that is killed in the middle; every run is whole in its files."""

from __future__ import annotations

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tracetape
from tests.backends import Collector, Kafka, needs
from tests.backends import program as payload_program

CONFIG = Path(__file__).parents[2] / "collector-config"
TOPIC, GROUP = "spans-of-the-test", "gateways-of-the-test"
PARTITIONS, RUNS_OF_EACH_AGENT, SPANS_OF_A_RUN = 4, 1000, 10
RUNS_AFTERWARDS = 100
SLOW_MS = 400

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class ScaledOut:
    """What went in and what came out.

    sent, afterwards: the spans of each trace that was sent around the kill, and after the restart
    failing:          the traces with an error
    at_the_kill:      how many spans were in the full copy when the gateway was killed
    """

    sent: dict[str, set[str]]
    afterwards: dict[str, set[str]]
    failing: set[str]
    full: Path
    sampled: Path
    at_the_kill: int

    @property
    def slow(self) -> set[str]:
        """The traces that took as long as the sampler calls slow: on a busy machine more than were meant to."""
        began: dict[str, int] = {}
        ended: dict[str, int] = {}
        for span in tracetape.read_spans(self.full):
            assert span.end_ns is not None
            began[span.trace_id] = min(began.get(span.trace_id, span.start_ns), span.start_ns)
            ended[span.trace_id] = max(ended.get(span.trace_id, span.end_ns), span.end_ns)
        return {trace for trace in began if ended[trace] - began[trace] >= SLOW_MS * 1_000_000}


@pytest.fixture(scope="module")
def scaled_out(tmp_path_factory: pytest.TempPathFactory) -> ScaledOut:
    needs("collector", "kafka")
    folder = tmp_path_factory.mktemp("scaled-out")
    full, sampled = folder / "full", folder / "sampled"
    with Kafka(folder / "kafka") as kafka:
        kafka.create_topic(TOPIC, PARTITIONS)
        env = {
            "KAFKA_BROKERS": f"[{kafka.brokers}]",
            "KAFKA_TOPIC": TOPIC,
            "KAFKA_GROUP": GROUP,
            "SPANS_FILE": str(full / "spans.jsonl"),
            "SAMPLED_FILE": str(sampled / "spans.jsonl"),
            "SPANS_FILE_MB": "10",
            "SLOW_RUN_MS": str(SLOW_MS),
            "LONGEST_RUN": "60s",
            "LATE_SPANS": "2s",
        }
        gateway = Collector(CONFIG / "gateway.yaml", folder, env, name="gateway")
        agents = [
            Collector(
                CONFIG / "agent.yaml", folder, env | {"QUEUE_FOLDER": str(folder / f"queue-{one}")}, name=one
            )
            for one in ("agent-1", "agent-2")
        ]
        with gateway, agents[0], agents[1]:
            with ThreadPoolExecutor() as pool:
                senders = [pool.submit(send, RUNS_OF_EACH_AGENT, agent) for agent in agents]
                half = 2 * RUNS_OF_EACH_AGENT * SPANS_OF_A_RUN // 2
                gateway.wait_until(lambda: spans_written(full) >= half, 300, "half of the spans are in the files")
                gateway.kill()
                at_the_kill = spans_written(full)
                gateway.start()
                told = [one.result() for one in senders]
            after = send(RUNS_AFTERWARDS, agents[0])
            for copy in ("full", "sampled"):
                gateway.wait_until(
                    lambda copy=copy: kafka.lag(f"{GROUP}-{copy}") == 0,  # type: ignore[misc]
                    300,
                    f"the {copy} copy has read everything",
                )
    # Stopped in order, the sampler has decided about what it held.
    return ScaledOut(
        sent={trace: set(spans) for one in told for trace, spans in one["spans"].items()},
        afterwards={trace: set(spans) for trace, spans in after["spans"].items()},
        failing={trace for one in (*told, after) for trace in one["failing"]},
        full=full,
        sampled=sampled,
        at_the_kill=at_the_kill,
    )


def send(runs: int, agent: Collector) -> dict[str, Any]:
    return payload_program.run_program("grpc", "many", str(runs), agent.grpc, payload_program.MANY_ENV)


def spans_written(folder: Path) -> int:
    return sum(file.read_bytes().count(b'"spanId"') for file in folder.glob("*")) if folder.exists() else 0


def spans_by_trace(folder: Path) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for span in tracetape.read_spans(folder):
        found.setdefault(span.trace_id, Counter())[span.span_id] += 1
    return found


def test_the_gateway_was_killed_in_the_middle_of_the_runs(scaled_out):
    """Else the tests below would show nothing."""
    assert len(scaled_out.sent) == 2 * RUNS_OF_EACH_AGENT
    assert {len(spans) for spans in scaled_out.sent.values()} == {SPANS_OF_A_RUN}
    every = 2 * RUNS_OF_EACH_AGENT * SPANS_OF_A_RUN
    assert every / 2 <= scaled_out.at_the_kill < every


def test_every_run_is_whole_in_the_full_copy(scaled_out):
    found = spans_by_trace(scaled_out.full)
    assert {trace: set(spans) for trace, spans in found.items()} == scaled_out.sent | scaled_out.afterwards


def test_the_full_copy_is_in_rotated_files(scaled_out):
    assert len(list(scaled_out.full.iterdir())) > 2


def test_each_message_in_kafka_is_of_one_run_by_which_it_is_partitioned(scaled_out):
    """The gateway writes a message as a line."""
    lines = [line for file in scaled_out.full.iterdir() for line in file.read_bytes().split(b"\n") if line]
    assert {len(set(re.findall(rb'"traceId":"(\w+)"', line))) for line in lines} == {1}
    assert len(lines) >= len(scaled_out.sent)


def test_runs_from_before_and_after_the_kill_are_recordings(scaled_out):
    """Also the one of which most spans are there twice, because the gateway read them again."""
    traces = [*scaled_out.sent, *scaled_out.afterwards]
    found = spans_by_trace(scaled_out.full)
    repeated = max(found, key=lambda trace: found[trace].total())
    for trace in (traces[0], traces[len(traces) // 2], traces[-1], min(scaled_out.failing), repeated):
        run = tracetape.load(scaled_out.full, trace_id=trace)
        assert len(run.crossings) == SPANS_OF_A_RUN
        assert run.grade == "exact"
        texts = [one.inputs["text"] for one in run.crossings if one.boundary == "keep"]
        assert all(len(text) > 4096 for text in texts[: SPANS_OF_A_RUN - 2])


def test_the_sampled_copy_has_runs_with_errors_and_slow_runs_alone(scaled_out):
    found = set(spans_by_trace(scaled_out.sampled))
    assert found <= scaled_out.failing | scaled_out.slow
    assert len(found) < len(scaled_out.sent) / 4, "that is no sample"


def test_the_sampled_copy_has_every_such_run_that_came_after_the_restart_whole(scaled_out):
    """Of those before it, it lacks what the killed gateway held in memory: it is to look at, not to replay."""
    found = spans_by_trace(scaled_out.sampled)
    wanted = (scaled_out.failing | scaled_out.slow) & set(scaled_out.afterwards)
    assert wanted & scaled_out.failing
    assert wanted - scaled_out.failing, "no slow run among them"
    for trace in wanted:
        assert set(found[trace]) == scaled_out.afterwards[trace]


def test_what_an_agent_acknowledged_while_kafka_was_down_arrives_although_the_agent_was_killed(tmp_path):
    needs("collector", "kafka")
    kafka = Kafka(tmp_path / "kafka")
    env = {
        "KAFKA_BROKERS": f"[{kafka.brokers}]",
        "QUEUE_FOLDER": str(tmp_path / "queue"),
        "SPANS_FILE": str(tmp_path / "full" / "spans.jsonl"),
        "SAMPLED_FILE": str(tmp_path / "sampled" / "spans.jsonl"),
    }
    agent = Collector(CONFIG / "agent.yaml", tmp_path, env, name="agent")
    with agent:
        sent = {trace: set(spans) for trace, spans in send(50, agent)["spans"].items()}
        agent.kill()
        with kafka:
            kafka.create_topic("otlp_spans", PARTITIONS)
            agent.start()
            with Collector(CONFIG / "gateway.yaml", tmp_path, env, name="gateway") as gateway:
                every = sum(map(len, sent.values()))
                gateway.wait_until(lambda: spans_written(tmp_path / "full") >= every, 120, "all spans are there")
            agent.stop()
    found = spans_by_trace(tmp_path / "full")
    assert {trace: set(spans) for trace, spans in found.items()} == sent
