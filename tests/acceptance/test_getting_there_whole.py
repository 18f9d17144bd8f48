"""What is recorded gets where it is to be: over real OTLP exporters, into a folder, into a UI of others."""

from __future__ import annotations

import importlib.util
import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

import tracetape
from tests.acceptance.otlp_receivers import PROTOCOLS, Receiver, receiving
from tests.acceptance.programs import run_program

pytestmark = pytest.mark.optional  # the stock OTLP exporters, and the OpenAI SDK of examples/broker

BROKER = Path(__file__).parents[2] / "examples" / "broker"

SENT_BY = {"grpc": "grpc", "http": "http/protobuf"}
START_UP = "tracetape: by the program's OpenTelemetry settings not all of what is recorded will be exported: "


def to(protocol: str, endpoint: str) -> dict[str, str]:
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": SENT_BY[protocol]}


@contextmanager
def sink(refuses_over: int = 2**62, port: int = 0) -> Iterator[tuple[str, list[Any]]]:
    """An HTTP receiver in this process, which answers 413 to what is too large; its spans."""
    got: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            is_taken = len(body) <= refuses_over
            if is_taken:
                request = ExportTraceServiceRequest.FromString(body)
                got.extend(
                    span
                    for resource in request.resource_spans
                    for scope in resource.scope_spans
                    for span in scope.spans
                )
            self.send_response(200 if is_taken else 413)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", got
        finally:
            server.shutdown()
            thread.join()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def said_by_us(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if line.startswith("tracetape: ")]


class TestProvider:
    FLOOD = """
        import sys, time
        import tracetape
        from opentelemetry import trace
        from tracetape.exporters import provider
        trace.set_tracer_provider(provider())
        @tracetape.boundary("keep", kind="tool")
        def keep(text):
            return text
        text = "x" * 2000
        for number in range(int(sys.argv[1])):
            keep(text)
    """

    @pytest.mark.parametrize("protocol", PROTOCOLS)
    @pytest.mark.parametrize("count", [2_000, pytest.param(20_000, marks=pytest.mark.slow)])
    def test_of_a_flood_nothing_is_lost(self, protocol: str, count: int, tmp_path: Path) -> None:
        """Spans of 4 KB at once, at the defaults, and then the end of the program."""
        with receiving(protocol, tmp_path) as receiver:
            done = run_program(tmp_path, self.FLOOD, count, env=to(protocol, receiver.endpoint))
        ids, largest = set(), 0
        for request in receiver.requests:
            largest = max(largest, request.ByteSize())
            for resource in request.resource_spans:
                ids |= {span.span_id for scope in resource.scope_spans for span in scope.spans}
        assert len(ids) == count
        assert largest <= 4 * 2**20
        assert done.stderr == ""

    LARGE = """
        import sys
        from opentelemetry import trace
        from tracetape.exporters import provider
        made = provider()
        tracer = made.get_tracer("a.host")
        for number in range(100):
            size = 5_000_000 if number == 50 else 1_000
            with tracer.start_as_current_span(f"s{number}", attributes={"text": "x" * size}):
                pass
        made.shutdown()
    """

    def test_a_large_span_takes_no_neighbour_with_it(self, tmp_path: Path) -> None:
        """The receiver is gRPC's own, at its default of 4 MiB."""
        with receiving("grpc", tmp_path) as receiver:
            done = run_program(tmp_path, self.LARGE, env=to("grpc", receiver.endpoint))
        assert {span.name for span in receiver.spans} == {f"s{number}" for number in range(100)} - {"s50"}
        # An exporter of old tries it again until the program ends; a newer one is told not to.
        total = said_by_us(done.stderr)[-1]
        assert total.startswith("tracetape: 1 of 100 spans were not exported: 1 ")
        assert total.endswith("No local file has them: they are lost.")
        if "refused" in total:
            assert "the receiver refuses 's50' of 5,000," in said_by_us(done.stderr)[0]

    def test_nor_over_http(self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
        from tracetape.exporters import provider

        with sink(refuses_over=4 * 2**20) as (endpoint, got):
            for name, value in to("http", endpoint).items():
                monkeypatch.setenv(name, value)
            made = provider()
            tracer = made.get_tracer("a.host")
            for number in range(100):
                tracer.start_span(
                    f"s{number}", attributes={"text": "x" * (5_000_000 if number == 50 else 1_000)}
                ).end()
            assert not made.force_flush(30_000), "one of them was refused"
            made.shutdown()
        assert {span.name for span in got} == {f"s{number}" for number in range(100)} - {"s50"}
        said = [record.getMessage() for record in caplog.records if record.name == "tracetape"]
        assert len(said) == 2
        assert said[0].startswith("tracetape: a span was not exported: the receiver refuses 's50' of 5,000,")
        assert said[1] == (
            "tracetape: 1 of 100 spans were not exported: 1 refused by the receiver. No local file has them: they "
            "are lost."
        )

    def test_a_receiver_that_takes_less_than_usual_gets_smaller_requests(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As behind a proxy that takes bodies of 1 MB."""
        from tracetape.exporters import provider

        with sink(refuses_over=10**6) as (endpoint, got):
            for name, value in to("http", endpoint).items():
                monkeypatch.setenv(name, value)
            made = provider()
            tracer = made.get_tracer("a.host")
            for _ in range(400):
                tracer.start_span("s", attributes={"text": "x" * 10_000}).end()
            assert made.force_flush(30_000)
            made.shutdown()
        assert len(got) == 400

    def test_a_receiver_that_comes_back_gets_what_waited(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from tracetape.exporters import provider

        port = free_port()
        for name, value in to("http", f"http://127.0.0.1:{port}").items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
        made = provider(delay=0.05)
        tracer = made.get_tracer("a.host")
        for number in range(50):
            tracer.start_span(f"s{number}").end()
        assert not made.force_flush(20_000)
        with sink(port=port) as (_, got):
            tracer.start_span("s50").end()
            assert made.force_flush(30_000)
            made.shutdown()
        assert {span.name for span in got} == {f"s{number}" for number in range(51)}

    ENDING = """
        import contextlib, sys, time
        import tracetape
        from opentelemetry import trace
        from tracetape.exporters import provider
        trace.set_tracer_provider(provider())
        @tracetape.boundary("keep", kind="tool")
        def keep(text):
            return text
        with tracetape.record(sys.argv[2]) if len(sys.argv) > 2 else contextlib.nullcontext():
            for number in range(int(sys.argv[1])):
                keep("x")
        print(time.time())
    """

    @pytest.mark.parametrize("protocol", PROTOCOLS)
    @pytest.mark.parametrize("answers", [False, True], ids=["refused", "silent"])
    def test_without_a_receiver_the_program_ends_soon_and_says_what_it_has(
        self, protocol: str, answers: bool, tmp_path: Path
    ) -> None:
        """Two seconds are what it waits; the stock processor waits 7 to 30. The rest is for a busy machine."""
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            if answers:  # accepts, and never says a word
                listening.listen()
            endpoint = f"http://127.0.0.1:{listening.getsockname()[1]}"
            done = run_program(tmp_path, self.ENDING, 2_000, "run.otlp.jsonl", env=to(protocol, endpoint))
            took = time.time() - float(done.stdout)
        assert took < 5
        # An exporter of old raises, which is said.
        assert [line for line in said_by_us(done.stderr) if "the exporter raised" not in line] == [
            "tracetape: 2,001 of 2,001 spans were not exported: 2,001 not taken by the receiver before the "
            "program ended. All of them are in run.otlp.jsonl."
        ]
        assert len(tracetape.load(tmp_path / "run.otlp.jsonl").crossings) == 2_000

    @pytest.mark.slow
    def test_the_stock_processor_takes_longer_to_give_up(self, tmp_path: Path) -> None:
        stock = """
            import time
            from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
            provider = TracerProvider()
            provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
            for number in range(10):
                provider.get_tracer("a.host").start_span("s").end()
            print(time.time())
        """
        took = []
        for program in (stock, self.ENDING):
            done = run_program(tmp_path, program, 10, env=to("grpc", f"http://127.0.0.1:{free_port()}"))
            took.append(time.time() - float(done.stdout))
        assert took[1] < took[0] / 2

    def test_what_is_in_no_file_is_said_to_be_lost(self, tmp_path: Path) -> None:
        done = run_program(tmp_path, self.ENDING, 10, env=to("http", f"http://127.0.0.1:{free_port()}"))
        assert said_by_us(done.stderr)[-1:] == [
            "tracetape: 10 of 10 spans were not exported: 10 not taken by the receiver before the program ended. "
            "No local file has them: they are lost."
        ]

    def test_with_a_folder_every_span_is_on_this_machine_first(self, tmp_path: Path) -> None:
        program = self.ENDING.replace("provider()", 'provider(folder="kept")')
        done = run_program(tmp_path, program, 3, env=to("http", f"http://127.0.0.1:{free_port()}"))
        assert said_by_us(done.stderr)[-1].endswith("All of them are in kept.")
        assert len(list((tmp_path / "kept").iterdir())) == 3

    def test_processes_of_a_pool_send_theirs(self, tmp_path: Path) -> None:
        """They leave by os._exit, where nothing of atexit runs."""
        program = """
            import multiprocessing, sys
            from opentelemetry import trace
            from tracetape.exporters import provider
            trace.set_tracer_provider(provider(delay=60))
            def work(number):
                with trace.get_tracer("a.host").start_as_current_span(f"child {number}"):
                    pass
            if __name__ == "__main__":
                with trace.get_tracer("a.host").start_as_current_span("parent"):
                    process = multiprocessing.get_context("fork").Process
                    children = [process(target=work, args=(n,)) for n in range(4)]
                    for child in children:
                        child.start()
                    for child in children:
                        child.join()
        """
        with receiving("http", tmp_path) as receiver:
            run_program(tmp_path, program, env=to("http", receiver.endpoint) | {"PYTHONWARNINGS": "ignore"})
        assert sorted(span.name for span in receiver.spans) == [*(f"child {n}" for n in range(4)), "parent"]

    def test_no_limit_of_the_environment_cuts_its_spans(self, tmp_path: Path) -> None:
        program = """
            from tracetape.exporters import provider
            made = provider()
            made.get_tracer("a.host").start_span("s", attributes={"text": "x" * 9_000, **{f"a{n}": n for n in range(300)}}).end()
            made.shutdown()
        """  # noqa: E501
        limits = {"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "5", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "10"}
        with receiving("http", tmp_path) as receiver:
            run_program(tmp_path, program, env=to("http", receiver.endpoint) | limits)
        (span,) = receiver.spans
        assert len(span.attributes) == 301
        assert len(span.attributes[0].value.string_value) == 9_000

    def test_seeded_programs_have_trace_ids_of_their_own(self, tmp_path: Path) -> None:
        program = """
            import random
            from opentelemetry.sdk.trace.export import SimpleSpanProcessor
            from tracetape.exporters import provider
            random.seed(1)
            made = provider(exporter=object())
            print(made.get_tracer("a.host").start_span("s").get_span_context().trace_id, random.random())
        """
        first, second = (run_program(tmp_path, program).stdout.split() for _ in range(2))
        assert first[0] != second[0]
        assert first[1] == second[1], "the program's own stream is what it was"

    @pytest.mark.parametrize("argument", [{"request_bytes": 0}, {"delay": "soon"}, {"queue_bytes": True}])
    def test_a_number_that_is_none_is_refused(self, argument: dict[str, Any]) -> None:
        from tracetape.errors import UsageError
        from tracetape.exporters import provider

        (name, value) = next(iter(argument.items()))
        with pytest.raises(UsageError) as refused:
            provider(**argument)
        assert str(refused.value) == f"provider({name}=…) takes a number above zero, not {value!r}"

    @pytest.mark.parametrize("protocol", PROTOCOLS)
    def test_a_missing_extra_is_named(self, protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
        from tracetape.errors import UsageError
        from tracetape.exporters import provider

        module = f"opentelemetry.exporter.otlp.proto.{protocol}.trace_exporter"
        monkeypatch.setitem(sys.modules, module, None)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", SENT_BY[protocol])
        with pytest.raises(UsageError) as missing:
            provider()
        assert missing.value.code == "EXTRA_MISSING"
        assert str(missing.value) == (
            f"tracetape.exporters.provider() sends over OTLP ({SENT_BY[protocol]}), and {module} is not "
            'installed: pip install "tracetape[otlp]", or give it another exporter=…'
        )


class TestFolder:
    """OTEL_TRACES_EXPORTER=tracetape, as OpenTelemetry's own configuration finds it."""

    AGENT = f"""
        import os, sys
        sys.path.insert(0, {str(BROKER)!r})
        from agent import run_agent
        from as_it_ran import place_order
        from model_server import ModelServer
        from opentelemetry import trace
        with ModelServer() as server:
            os.environ["OPENAI_BASE_URL"] = server.url
            with trace.get_tracer("a.host").start_as_current_span("POST /chat"):
                print(run_agent("Sell about $1,000 of ACME stock", place_order))
    """
    CONFIGURED = """
        from opentelemetry.sdk._configuration import _OTelSDKConfigurator
        _OTelSDKConfigurator().configure(auto_instrumentation_version="0")
    """

    @staticmethod
    def env(exporters: str = "tracetape", **more: str) -> dict[str, str]:
        return {
            "OTEL_TRACES_EXPORTER": exporters,
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_LOGS_EXPORTER": "none",
            **more,
        }

    def check(self, folder: Path) -> None:
        from tests.acceptance.broker_story import assert_repaired_tool_blocks, shown_tree
        from tests.acceptance.test_otlp_export import BROKER_TREE

        (file,) = folder.iterdir()
        recording = tracetape.load(file)
        assert shown_tree(recording) == BROKER_TREE
        assert (recording.grade, recording.gaps) == ("exact", ())
        assert "POST /chat" in {span.name for span in tracetape.read_spans(file)}, "spans of others too"
        assert_repaired_tool_blocks(file)

    @pytest.fixture(autouse=True)
    def no_model(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")

    def test_a_run_that_nobody_records_replays(self, tmp_path: Path) -> None:
        done = run_program(tmp_path, self.CONFIGURED + self.AGENT, env=self.env())
        assert done.stderr == ""
        self.check(tmp_path / "tracetape-runs")

    @pytest.mark.skipif(
        shutil.which("opentelemetry-instrument", path=str(Path(sys.executable).parent)) is None
        or importlib.util.find_spec("opentelemetry.distro") is None,
        reason="opentelemetry-distro is not installed",
    )
    def test_with_the_command_of_opentelemetry(self, tmp_path: Path) -> None:
        import os
        import textwrap

        script = tmp_path / "agent_program.py"
        script.write_text(textwrap.dedent(self.AGENT))
        command = [str(Path(sys.executable).parent / "opentelemetry-instrument"), sys.executable, str(script)]
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "TRACETAPE_"))}
        subprocess.run(command, cwd=tmp_path, env=clean | self.env(), check=True, capture_output=True)
        self.check(tmp_path / "tracetape-runs")

    def test_beside_otlp_the_file_has_what_is_too_large_for_a_network(self, tmp_path: Path) -> None:
        program = (
            self.CONFIGURED
            + """
        import tracetape
        @tracetape.boundary("keep", kind="tool")
        def keep(text):
            return text
        keep("x" * 400_000)
        """
        )
        with receiving("http", tmp_path) as receiver:
            env = self.env("otlp,tracetape", TRACETAPE_DIR="runs", **to("http", receiver.endpoint))
            done = run_program(tmp_path, program, env=env)
        assert done.stderr == ""
        assert receiver.file.stat().st_size < 10_000
        (file,) = (tmp_path / "runs").iterdir()
        recording = tracetape.load(file)
        assert recording["keep", 1].result == "x" * 400_000
        assert recording.grade == "exact"
        assert tracetape.load(receiver.file)["keep", 1].gaps[0].code == "PAYLOAD_OMITTED"

    def test_two_processes_in_one_folder(self, tmp_path: Path) -> None:
        """A trace of both has one file, which either may have made; nothing of either is torn."""
        program = (
            self.CONFIGURED
            + """
        import sys
        from opentelemetry import trace
        from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context
        tracer = trace.get_tracer("a.host")
        shared = set_span_in_context(NonRecordingSpan(SpanContext(int("ab" * 16, 16), 5, True, TraceFlags(1))))
        me, long = sys.argv[1], {"t": "x" * 5_000}
        for number in range(200):
            tracer.start_span(f"{me} shared {number}", context=shared, attributes=long).end()
            tracer.start_span(f"{me} own {number}").end()
        """
        )
        first = tmp_path / "seed"
        first.mkdir()
        run_program(first, program, "seed", env=self.env(TRACETAPE_DIR=str(tmp_path / "runs")))
        folders = [tmp_path / name for name in ("a", "b")]
        failed: list[BaseException] = []

        def run(folder: Path) -> None:
            folder.mkdir()
            try:
                run_program(folder, program, folder.name, env=self.env(TRACETAPE_DIR=str(tmp_path / "runs")))
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=run, args=(folder,)) for folder in folders]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        files = list((tmp_path / "runs").iterdir())
        assert len(files) == 601
        (shared,) = [path for path in files if "-" + "ab" * 16 in path.name]
        names = [span.name for span in tracetape.read_spans(shared)]
        assert sorted(names) == sorted(f"{who} shared {n}" for who in ("seed", "a", "b") for n in range(200))

    def test_it_deletes_its_own_files_alone(self, tmp_path: Path) -> None:
        runs = tmp_path / "runs"
        runs.mkdir()
        mine = runs / "incident.otlp.jsonl"
        mine.write_text("{}\n" * 5_000)
        env = self.env(TRACETAPE_DIR="runs", TRACETAPE_DIR_MAX_BYTES="1")
        for _ in range(3):
            run_program(tmp_path, self.CONFIGURED + self.AGENT, env=env)
        assert mine.exists()
        assert len(list(runs.iterdir())) == 2, "of its own the last one is left"


class TestMirror:
    def sent(self, folder: Path, **env: str) -> tuple[Receiver, dict[str, dict[str, Any]]]:
        from tests.acceptance.otlp_host import run_host

        with receiving("http", folder) as receiver:
            run_host("http", "broker", receiver.endpoint, None, env)
        return receiver, {span.name: {one.key: one.value for one in span.attributes} for span in receiver.spans}

    def test_another_ui_shows_the_values(self, tmp_path: Path) -> None:
        receiver, spans = self.sent(tmp_path, TRACETAPE_MIRROR="openinference,gen_ai")
        tool, model = spans["execute_tool place_order"], spans["chat gpt-5-mini"]
        assert tool["openinference.span.kind"].string_value == "TOOL"
        assert tool["tool.name"].string_value == "place_order"
        arguments = {"symbol": "ACME", "quantity": 1000, "side": "sell"}
        for key in ("input.value", "gen_ai.tool.call.arguments", "tracetape.input.value"):
            assert json.loads(tool[key].string_value) == arguments
        assert tool["output.mime_type"].string_value == "application/json"
        assert json.loads(tool["output.value"].string_value)["status"] == "filled"
        assert model["openinference.span.kind"].string_value == "LLM"
        assert model["llm.model_name"].string_value.startswith("gpt-5-mini")
        assert model["llm.token_count.total"].int_value > 0
        (message,) = json.loads(model["gen_ai.input.messages"].string_value)
        assert json.loads(message["parts"][0]["content"])["model"] == "gpt-5-mini"
        for attributes in (tool, model):
            ours_last = [key for key in attributes if key.startswith("tracetape.")][-1]
            assert list(attributes)[-1] == ours_last == "tracetape.output.value"
        assert tracetape.load(receiver.file).grade == "exact"
        assert_repaired_tool_blocks_offline(receiver.file)

    def test_with_content_off_there_is_no_value_under_any_name(self, tmp_path: Path) -> None:
        receiver, spans = self.sent(tmp_path, TRACETAPE_MIRROR="openinference,gen_ai", TRACETAPE_CONTENT="off")
        assert spans["execute_tool place_order"]["openinference.span.kind"].string_value == "TOOL"
        data = receiver.file.read_bytes()
        assert not [said for said in (b"ACME", b"1,000", b"sold", b"filled") if said in data]

    def test_without_the_variable_nothing_is_added(self, tmp_path: Path) -> None:
        _, spans = self.sent(tmp_path)
        keys = {key for attributes in spans.values() for key in attributes}
        assert not {key for key in keys if key.startswith(("openinference", "input.", "output.", "llm."))}
        assert "gen_ai.input.messages" not in keys

    def test_a_word_that_is_none_is_said_once_and_ignored(self, tmp_path: Path) -> None:
        done = run_program(tmp_path, STARTING, env={"TRACETAPE_MIRROR": "openinference,phoenix"})
        said = "TRACETAPE_MIRROR='openinference,phoenix': 'phoenix' is not one of openinference, gen_ai; it is"
        assert done.stderr.count(said) == 1


def assert_repaired_tool_blocks_offline(source: Path) -> None:
    from tests.acceptance.broker_story import assert_repaired_tool_blocks

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        assert_repaired_tool_blocks(source)


STARTING = """
    import os, sys
    import tracetape
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint="http://127.0.0.1:9")))
    trace.set_tracer_provider(provider)
    @tracetape.boundary("keep", kind="tool")
    def keep(text):
        return text
    keep("x")
    with tracetape.record("run.otlp.jsonl", mode="w"):
        keep("x")
    keep("x")
    sys.stderr.flush()
    os._exit(0)
"""


class TestStartUpLine:
    def test_at_the_defaults_nothing_is_said(self, tmp_path: Path) -> None:
        assert run_program(tmp_path, STARTING).stderr == ""

    @pytest.mark.parametrize(
        ("env", "said"),
        [
            ({"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "10"}, "set OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=128"),
            ({"OTEL_ATTRIBUTE_COUNT_LIMIT": "10"}, "set OTEL_ATTRIBUTE_COUNT_LIMIT=128"),
            ({"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "40"}, "set no OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"),
            (
                {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.5"},
                "about 0.5 of the runs are exported: set OTEL_TRACES_SAMPLER=always_on",
            ),
            ({"OTEL_TRACES_SAMPLER": "always_off"}, "no run is exported: set OTEL_TRACES_SAMPLER=always_on"),
            ({"TRACETAPE_CONTENT": "off"}, "TRACETAPE_CONTENT=off keeps inputs and outcomes off them"),
            (
                {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "NO_CONTENT"},
                "NO_CONTENT keeps inputs and outcomes off them",
            ),
            ({"TRACETAPE_EXPORT_LIMIT": "2000000"}, "set OTEL_BSP_MAX_EXPORT_BATCH_SIZE=1, or use tracetape."),
            ({"OTEL_SDK_DISABLED": "true"}, "OTEL_SDK_DISABLED=true: there are no spans at all; unset it"),
        ],
        ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
    )
    def test_what_a_setting_loses_is_said_in_one_line(
        self, env: dict[str, str], said: str, tmp_path: Path
    ) -> None:
        lines = [
            line for line in run_program(tmp_path, STARTING, env=env).stderr.splitlines() if "tracetape" in line
        ]
        assert len(lines) == 1
        assert lines[0].startswith(START_UP)
        assert said in lines[0]

    def test_several_are_one_line(self, tmp_path: Path) -> None:
        env = {"TRACETAPE_CONTENT": "off", "OTEL_TRACES_SAMPLER": "always_off"}
        (line,) = said_by_us(run_program(tmp_path, STARTING, env=env).stderr)
        assert line.count(";") == 1

    def test_of_our_own_provider_nothing_is_lost(self, tmp_path: Path) -> None:
        program = """
            import tracetape
            from opentelemetry import trace
            from tracetape.exporters import provider
            trace.set_tracer_provider(provider(exit_seconds=0.1))
            @tracetape.boundary("keep", kind="tool")
            def keep(text):
                return text
            keep("x")
        """
        env = {
            "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "10",
            "TRACETAPE_EXPORT_LIMIT": "2000000",
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
        }
        assert START_UP not in run_program(tmp_path, program, env=env).stderr
