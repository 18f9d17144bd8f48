"""A real OpenTelemetry Collector with the configs of collector-config: what it writes is a recording."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tracetape
from tests.acceptance.otlp_host import run_host
from tests.backends import Collector, Jaeger, get, needs, validate
from tests.backends import program as payload_program
from tests.backends.flood import arrived

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "collector-config"
COLLECTOR_CONFIGS = [CONFIG / f"{name}.yaml" for name in ("to-file", "fan-out", "agent", "gateway")]
WRITES_FILES = [CONFIG / f"{name}.yaml" for name in ("to-file", "fan-out")]
FORMS = {
    "json": {},
    "proto": {"SPANS_FORMAT": "proto"},
    "zstd": {"SPANS_COMPRESSION": "zstd"},
    "zstd of proto": {"SPANS_FORMAT": "proto", "SPANS_COMPRESSION": "zstd"},
}
# Nobody listens there.
NOWHERE = {
    "JAEGER_ENDPOINT": "127.0.0.1:9",
    "TEMPO_ENDPOINT": "127.0.0.1:9",
    "PHOENIX_ENDPOINT": "http://127.0.0.1:9",
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    needs("collector")


@dataclass(frozen=True)
class Collected:
    """A run, in the folder that a Collector wrote and in the file that the run recorded itself."""

    folder: Path
    own: Path
    told: dict[str, Any]


def collect(
    config: Path, protocol: str, scenario: str, folder: Path, env: dict[str, str] | None = None
) -> Collected:
    """Run a scenario that sends to a Collector with that config, and stop the Collector."""
    recordings, own = folder / "recordings", folder / "own.otlp.jsonl"
    env = {"SPANS_FILE": str(recordings / "spans.jsonl")} | NOWHERE | (env or {})
    with Collector(config, folder, env) as collector:
        endpoint = collector.grpc if protocol == "grpc" else collector.http
        if scenario == "payloads":
            told = payload_program.run_program(protocol, scenario, str(own), endpoint)
        else:
            told = run_host(protocol, scenario, endpoint, own)
    return Collected(recordings, own, told)


@pytest.fixture(scope="module", params=["grpc", "http"])
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=WRITES_FILES, ids=lambda path: path.stem)
def payloads(request: pytest.FixtureRequest, protocol: str, tmp_path_factory: pytest.TempPathFactory) -> Collected:
    return collect(request.param, protocol, "payloads", tmp_path_factory.mktemp("payloads"))


@pytest.fixture(scope="module", params=WRITES_FILES, ids=lambda path: path.stem)
def broker(request: pytest.FixtureRequest, protocol: str, tmp_path_factory: pytest.TempPathFactory) -> Collected:
    return collect(request.param, protocol, "broker", tmp_path_factory.mktemp("broker"))


class TestConfigs:
    def test_every_config_is_one_of_these(self):
        others = {"tempo.yaml"}
        assert {path.name for path in CONFIG.glob("*.yaml")} - others == {path.name for path in COLLECTOR_CONFIGS}

    @pytest.mark.parametrize("config", COLLECTOR_CONFIGS, ids=lambda path: path.stem)
    def test_the_collector_takes_it_with_no_variable_set(self, config):
        assert validate(config) is None

    @pytest.mark.parametrize("config", COLLECTOR_CONFIGS, ids=lambda path: path.stem)
    @pytest.mark.parametrize("form", FORMS)
    def test_the_collector_takes_it_with_each_form_of_file(self, config, form):
        assert validate(config, env=FORMS[form]) is None

    @pytest.mark.parametrize("config", COLLECTOR_CONFIGS, ids=lambda path: path.stem)
    def test_a_misspelt_setting_in_it_is_refused(self, config, tmp_path):
        """That is, validate does read what it takes."""
        broken = tmp_path / config.name
        text, count = re.subn(
            r"(?m)^( +)(max_megabytes|partition_traces_by_id):", r"\1misspelt:", config.read_text()
        )
        assert count
        broken.write_text(text)
        assert "misspelt" in (validate(broken) or "")

    @pytest.mark.parametrize("config", WRITES_FILES, ids=lambda path: path.stem)
    def test_it_listens_on_loopback_alone_by_default(self, config):
        for variable, default in re.findall(r"\$\{env:(\w+):-([^}]*)\}", config.read_text()):
            if variable.endswith(("_ENDPOINT", "_HOST")):
                assert re.fullmatch(r"(http://)?127\.0\.0\.1(:\d+)?", default), variable


class TestTheBrokersRun:
    def test_the_collectors_file_is_the_run_as_it_was_recorded_on_the_spot(self, broker):
        own, collected = tracetape.load(broker.own), tracetape.load(broker.folder)
        assert tracetape.compare(own, collected) == []
        assert tracetape.compare(collected, own) == []
        assert [one.span_ids for one in collected.crossings] == [one.span_ids for one in own.crossings]
        assert len(collected.crossings) == 5

    def test_the_collectors_file_loses_nothing(self, broker):
        collected = tracetape.load(broker.folder)
        assert (collected.grade, collected.gaps) == ("exact", ())
        assert collected.trace_id == broker.told["trace_id"]

    def test_the_run_replays_from_the_collectors_file_with_the_repaired_tool(self, broker, monkeypatch):
        from tests.acceptance.broker_story import assert_repaired_tool_blocks

        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        assert_repaired_tool_blocks(broker.folder)


class TestAFlood:
    def test_of_twenty_thousand_spans_of_4_kb_none_is_lost_on_the_way_into_the_file(self, tmp_path):
        count, _ = arrived("tracetape.exporters.provider()", 20_000, 4_096, tmp_path)
        assert count == 20_000


class TestPayloads:
    def test_of_every_size_they_come_back_as_they_were(self, payloads):
        collected = tracetape.load(payloads.folder)
        texts = list(payload_program.PAYLOADS.values())
        assert [one.inputs["text"] for one in collected.crossings if one.boundary == "put"] == texts
        assert [one.result for one in collected.crossings if one.boundary == "take"] == texts

    def test_an_exception_comes_back_with_its_words(self, payloads):
        refused = tracetape.load(payloads.folder)["refuse", 1]
        assert (type(refused.error), refused.error_type) == (LookupError, "LookupError")
        assert str(refused.error) == str(LookupError("no market for ACME: « ‹🙂› »"))

    def test_the_collectors_file_is_the_run_as_it_was_recorded_on_the_spot(self, payloads):
        own, collected = tracetape.load(payloads.own), tracetape.load(payloads.folder)
        assert tracetape.compare(own, collected) == []
        assert tracetape.compare(collected, own) == []
        assert len(collected.crossings) == 2 * len(payload_program.PAYLOADS) + 3

    def test_the_run_replays_from_the_collectors_file_without_a_model_call(self, payloads, monkeypatch):
        monkeypatch.setattr(payload_program, "model_calls", 0)
        with tracetape.replay(payloads.folder, live=["answer"]) as tape:
            replayed = payload_program.calls()
        assert replayed == payloads.told["answer"]
        assert replayed["said"] == list(payload_program.PIECES)
        assert payload_program.model_calls == 0
        assert (tape.report.model_calls, tape.report.divergences) == (0, [])
        live = [step.name for step in tape.report.steps if step.mode != "stub"]
        assert live == ["answer@1"]
        assert len(tape.report.steps) == 2 * len(payload_program.PAYLOADS) + 3


class TestForms:
    @pytest.mark.parametrize("form", FORMS)
    def test_each_form_of_file_is_the_run_as_it_was_recorded_on_the_spot(self, form, tmp_path):
        run = collect(CONFIG / "to-file.yaml", "grpc", "payloads", tmp_path, FORMS[form])
        assert tracetape.compare(tracetape.load(run.own), tracetape.load(run.folder)) == []
        (file,) = run.folder.iterdir()
        assert file.read_bytes().startswith(b'{"resourceSpans"') is (form == "json")

    def test_a_run_that_is_spread_over_rotated_files_is_one_recording(self, tmp_path):
        """Each request of the sender is a line, and may be the last of its file."""
        env = {"SPANS_FILE": str(tmp_path / "recordings" / "spans.jsonl"), "SPANS_FILE_MB": "1"}
        sender = payload_program.MANY_ENV | {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "7"}
        with Collector(CONFIG / "to-file.yaml", tmp_path, env) as collector:
            told = payload_program.run_program("grpc", "many", "100", collector.grpc, sender)
        files = sorted((tmp_path / "recordings").iterdir())
        assert len(files) > 2
        found = spans_by_trace(tmp_path / "recordings")
        assert found == {trace: set(spans) for trace, spans in told["spans"].items()}
        where = {trace: {file for file in files if trace in file.read_text()} for trace in found}
        spread = [trace for trace, places in where.items() if len(places) > 1]
        assert spread, "no run lay across two files: this tests nothing"
        for trace in spread:
            run = tracetape.load(tmp_path / "recordings", trace_id=trace)
            assert len(run.crossings) == 10
            assert (run.grade, run.gaps) == ("exact", ())


class TestWhatGoesWrong:
    @pytest.mark.parametrize("config", WRITES_FILES, ids=lambda path: path.stem)
    def test_every_span_that_was_acknowledged_is_in_the_file_when_the_collector_is_killed(self, config, tmp_path):
        env = {"SPANS_FILE": str(tmp_path / "recordings" / "spans.jsonl")} | NOWHERE
        collector = Collector(config, tmp_path, env)
        with collector:
            told = payload_program.run_program("http", "many", "50", collector.http, payload_program.MANY_ENV)
            collector.kill()
        assert spans_by_trace(tmp_path / "recordings") == {
            trace: set(spans) for trace, spans in told["spans"].items()
        }

    def test_a_restarted_collector_adds_to_its_file(self, tmp_path):
        env = {"SPANS_FILE": str(tmp_path / "recordings" / "spans.jsonl")}
        collector = Collector(CONFIG / "to-file.yaml", tmp_path, env)
        expected: dict[str, set[str]] = {}
        for _ in range(2):
            with collector:
                told = payload_program.run_program("grpc", "many", "2", collector.grpc)
            expected |= {trace: set(spans) for trace, spans in told["spans"].items()}
        assert len(expected) == 4
        assert spans_by_trace(tmp_path / "recordings") == expected

    def test_after_a_torn_write_only_what_was_torn_is_lost(self, tmp_path):
        """Killed while it writes, a Collector leaves half a line; started again, it goes on in that line."""
        file = tmp_path / "recordings" / "spans.jsonl"
        collector = Collector(CONFIG / "to-file.yaml", tmp_path, {"SPANS_FILE": str(file)})
        told = []
        for torn in (False, True, False):
            with collector:
                told.append(payload_program.run_program("grpc", "many", "2", collector.grpc)["spans"])
                collector.kill()
            if torn:
                whole = file.read_bytes()
                file.write_bytes(whole[: whole.rindex(b"\n", 0, -1) + 2000])
        found = spans_by_trace(tmp_path / "recordings")
        for runs in (told[0], told[2]):
            assert {trace: found.get(trace) for trace in runs} == {trace: set(runs[trace]) for trace in runs}

    def test_backends_that_are_down_cost_the_file_nothing(self, tmp_path):
        """Their queues hold a fraction of what is sent."""
        recordings = tmp_path / "recordings"
        env = {"SPANS_FILE": str(recordings / "spans.jsonl"), "BACKEND_QUEUE_BYTES": "1500000"} | NOWHERE
        with Collector(CONFIG / "fan-out.yaml", tmp_path, env) as collector:
            told = payload_program.run_program("grpc", "many", "200", collector.grpc, payload_program.MANY_ENV)
            found = spans_by_trace(recordings)
            collector.wait_until(
                lambda: collector.metric("otelcol_exporter_enqueue_failed_spans") > 0, 30, "a full queue drops"
            )
            lines = [line for file in recordings.iterdir() for line in file.read_bytes().split(b"\n") if line]
        assert found == {trace: set(spans) for trace, spans in told["spans"].items()}
        sent = sum(len(spans) for spans in told["spans"].values())
        assert sum(line.count(b'"spanId"') for line in lines) == sent, "a sender was made to send again"

    def test_a_backend_that_is_there_gets_the_spans_while_others_are_down(self, tmp_path):
        needs("jaeger")
        env = {"SPANS_FILE": str(tmp_path / "recordings" / "spans.jsonl")} | NOWHERE
        with Jaeger(tmp_path / "jaeger") as jaeger:
            env["JAEGER_ENDPOINT"] = jaeger.grpc.removeprefix("http://")
            with Collector(CONFIG / "fan-out.yaml", tmp_path, env) as collector:
                told = payload_program.run_program("grpc", "many", "3", collector.grpc)
                for trace in told["spans"]:
                    url = f"{jaeger.query}/api/v3/traces/{trace}"
                    collector.wait_until(
                        lambda url=url: get(url)[2].count(b'"spanId"') == 10,  # type: ignore[misc]
                        30,
                        f"Jaeger has {trace}",
                    )
        assert len(told["spans"]) == 3

    def test_a_backend_that_takes_four_megabytes_at_once_gets_twelve_that_came_at_once(self, tmp_path):
        """The default of Jaeger and of Tempo; a larger request they refuse for good."""
        needs("jaeger")
        recordings = tmp_path / "recordings"
        env = {"SPANS_FILE": str(recordings / "spans.jsonl")} | NOWHERE
        with Jaeger(tmp_path / "jaeger") as jaeger:
            env["JAEGER_ENDPOINT"] = jaeger.grpc.removeprefix("http://")
            with Collector(CONFIG / "fan-out.yaml", tmp_path, env) as collector:
                told = payload_program.run_program("grpc", "large", "60", collector.grpc)
                (trace,) = told["spans"]
                url = f"{jaeger.query}/api/v3/traces/{trace}"
                collector.wait_until(
                    lambda: get(url)[2].count(b'"spanId"') == len(told["spans"][trace]), 30, "Jaeger has it whole"
                )
        assert len(told["spans"][trace]) == 61
        lines = [line for file in recordings.iterdir() for line in file.read_bytes().split(b"\n") if line]
        assert max(map(len, lines)) > 12_000_000, "the sender sent it in pieces: this tests nothing"


def spans_by_trace(folder: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for span in tracetape.read_spans(folder):
        found.setdefault(span.trace_id, set()).add(span.span_id)
    return found
