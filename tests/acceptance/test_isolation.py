"""Isolation: a recording is right whatever the host's OpenTelemetry says, and the host sees what it asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tracetape
from tests.acceptance.programs import run_program

PROGRAM = """
    import json, random, sys
    import tracetape
    from opentelemetry import trace

    TEXT = "x" * 500
    exported = []

    @tracetape.boundary("inner", kind="tool")
    def inner(text):
        return {"text": text}

    @tracetape.boundary("outer", kind="agent")
    def outer(text):
        with trace.get_tracer("host").start_as_current_span("foreign"):
            return inner(text)

    def set_provider(sampler=None):
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        exporter = InMemorySpanExporter()
        provider = TracerProvider(sampler=sampler)
        if hasattr(provider, "add_span_processor"):
            provider.add_span_processor(SimpleSpanProcessor(exporter))
        trace.set_tracer_provider(provider)
        return exporter

    def run():
        with tracetape.record(sys.argv[1]) as run:
            outer(TEXT)
        return run

    def told(exporter, run):
        spans = exporter.get_finished_spans()
        print(json.dumps([
            {
                "name": span.name,
                "trace": f"{span.context.trace_id:032x}" == run.trace_id,
                "id": f"{span.context.span_id:016x}",
                "parent": f"{span.parent.span_id:016x}" if span.parent else None,
                "attributes": {key: value for key, value in span.attributes.items()},
            }
            for span in spans
        ]))
"""

WITH_PROVIDER = PROGRAM + "\n    exporter = set_provider(); told(exporter, run())\n"

SETTINGS = [
    {},
    {"OTEL_TRACES_SAMPLER": "always_off"},
    {"OTEL_SDK_DISABLED": "true"},
    {"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "100"},
    {"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "8"},
    {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0"},
]


def check(path: Path) -> tracetape.Recording:
    """The run as it happened, whoever else looked at it."""
    recording = tracetape.load(path)
    outer, inner = recording["outer", 1], recording["inner", 1]
    assert outer.inputs == inner.inputs == {"text": "x" * 500}
    assert inner.result == outer.result == {"text": "x" * 500}
    assert inner.parent is outer
    assert recording.grade == "exact"
    assert {gap.code for gap in recording.gaps} <= {"FOREIGN_SPANS_UNSEEN"}
    return recording


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: ",".join(settings.values()) or "nothing set")
def test_the_file_is_whole_under_whatever_the_environment_says(tmp_path: Path, settings: dict[str, str]) -> None:
    run_program(tmp_path, WITH_PROVIDER, tmp_path / "run.jsonl", env=settings)
    check(tmp_path / "run.jsonl")


def test_the_file_is_whole_where_no_sdk_is_installed(tmp_path: Path) -> None:
    hidden = "import sys\nsys.modules['opentelemetry.sdk'] = None\n"
    run_program(tmp_path, hidden + _dedented(PROGRAM) + "run()\n", tmp_path / "run.jsonl")
    check(tmp_path / "run.jsonl")


def test_an_unsampled_remote_parent_does_not_reach_the_file(tmp_path: Path) -> None:
    source = (
        PROGRAM
        + """
    from opentelemetry.context import attach
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context
    exporter = set_provider()
    remote = SpanContext(trace_id=7, span_id=9, is_remote=True, trace_flags=TraceFlags(0))
    attach(set_span_in_context(NonRecordingSpan(remote)))
    run = run()
    assert run.trace_id == f"{7:032x}", run.trace_id
    assert exporter.get_finished_spans() == ()
    """
    )
    run_program(tmp_path, source, tmp_path / "run.jsonl")
    check(tmp_path / "run.jsonl")


def test_a_provider_that_is_set_after_decoration_gets_the_spans(tmp_path: Path) -> None:
    source = (
        PROGRAM
        + """
    outer(TEXT)
    exporter = set_provider()
    outer(TEXT)
    assert [span.name for span in exporter.get_finished_spans()] == [
        "execute_tool inner", "foreign", "invoke_agent outer"
    ], exporter.get_finished_spans()
    told(exporter, run())
    """
    )
    run_program(tmp_path, source, tmp_path / "run.jsonl")
    check(tmp_path / "run.jsonl")


def test_seeded_runs_have_their_own_ids_and_draw_what_they_drew_without_us(tmp_path: Path) -> None:
    source = (
        PROGRAM
        + """
    set_provider()
    random.seed(1)
    expected = [random.random() for _ in range(3)]
    ids = set()
    for number in range(2):
        random.seed(1)
        sys.argv[1] = f"{sys.argv[1]}{number}"
        drawn = [random.random()]
        ids.add(run().trace_id)
        drawn += [random.random(), random.random()]
        assert drawn == expected, (drawn, expected)
    assert len(ids) == 2
    """
    )
    # The foreign span of the program draws its own id from `random`: leave it out here.
    source = source.replace('with trace.get_tracer("host").start_as_current_span("foreign"):', "if True:")
    run_program(tmp_path, source, tmp_path / "run.jsonl")


def test_the_host_gets_what_its_sampler_and_limits_let_through_in_the_same_trace(tmp_path: Path) -> None:
    done = run_program(
        tmp_path, WITH_PROVIDER, tmp_path / "run.jsonl", env={"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "8"}
    )
    spans = {span["name"]: span for span in json.loads(done.stdout)}
    assert set(spans) == {"execute_tool inner", "foreign", "invoke_agent outer", "recording"}
    assert all(span["trace"] for span in spans.values())
    assert all(len(span["attributes"]) <= 8 for span in spans.values())
    assert "tracetape.output.value" in spans["execute_tool inner"]["attributes"]  # payloads are set last


def test_foreign_spans_under_a_boundary_hang_under_it_on_both_sides(tmp_path: Path) -> None:
    done = run_program(tmp_path, WITH_PROVIDER, tmp_path / "run.jsonl")
    spans = {span["name"]: span for span in json.loads(done.stdout)}
    assert spans["foreign"]["parent"] == spans["invoke_agent outer"]["id"]
    assert spans["execute_tool inner"]["parent"] == spans["foreign"]["id"]
    recording = check(tmp_path / "run.jsonl")
    in_file = {span.name: span for span in recording.spans}
    assert {name: span.span_id for name, span in in_file.items()} == {
        name: one["id"] for name, one in spans.items()
    }
    assert in_file["foreign"].parent_id == spans["invoke_agent outer"]["id"]


class TestContentSwitch:
    """What a host's exporter sees of the values; the file is whole in every case, for its owner alone."""

    @pytest.mark.parametrize(
        ("environ", "shown"),
        [
            ({}, True),
            ({"TRACETAPE_CONTENT": "full"}, True),
            ({"TRACETAPE_CONTENT": "off"}, False),
            ({"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "NO_CONTENT"}, False),
            ({"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY"}, True),
            ({"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "EVENT_ONLY"}, True),
            ({"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_AND_EVENT"}, True),
            (
                {
                    "TRACETAPE_CONTENT": "full",
                    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "NO_CONTENT",
                },
                True,
            ),
            ({"TRACETAPE_EXPORT_LIMIT": "100"}, False),
        ],
        ids=lambda value: ",".join(value.values()) if isinstance(value, dict) else "",
    )
    def test_the_host_sees_values_only_as_the_switches_say(
        self, tmp_path: Path, environ: dict[str, str], shown: bool
    ) -> None:
        done = run_program(tmp_path, WITH_PROVIDER, tmp_path / "run.jsonl", env=environ)
        values = [
            key
            for span in json.loads(done.stdout)
            for key in span["attributes"]
            if key in ("tracetape.input.value", "tracetape.output.value")
        ]
        assert len(values) == (4 if shown else 0)
        assert ("xxxxxxxxxx" in done.stdout) is shown
        check(tmp_path / "run.jsonl")
        assert (tmp_path / "run.jsonl").stat().st_mode & 0o777 == 0o600

    @pytest.mark.optional
    def test_secrets_and_receivers_are_in_neither(self, tmp_path: Path) -> None:
        source = (
            PROGRAM
            + """
    import pydantic

    class Login(pydantic.BaseModel):
        user: str
        password: pydantic.SecretStr

    class Client:
        def __init__(self):
            self.token = "token-of-the-client"

        @tracetape.boundary("login")
        def login(self, login: Login, password: pydantic.SecretStr):
            return {"ok": True, "login": login}

    exporter = set_provider()
    with tracetape.record(sys.argv[1]) as run:
        Client().login(Login(user="ada", password="hunter2"), pydantic.SecretStr("hunter2"))
    told(exporter, run)
    """
        )
        done = run_program(tmp_path, source, tmp_path / "run.jsonl")
        for text in (done.stdout, (tmp_path / "run.jsonl").read_text(encoding="utf-8")):
            assert "ada" in text
            assert "hunter2" not in text
            assert "token-of-the-client" not in text
        assert set(tracetape.load(tmp_path / "run.jsonl")["login", 1].inputs) == {"login", "password"}


def _dedented(source: str) -> str:
    import textwrap

    return textwrap.dedent(source)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_runtime_context_of_the_host_s_own_is_told_of_each_span(tmp_path: Path, when: str) -> None:
    """As some of the SDKs set one: their own scopes go along with the context."""
    own = """
    from opentelemetry import context
    from opentelemetry.context.contextvars_context import ContextVarsRuntimeContext
    attached = []

    class Own(ContextVarsRuntimeContext):
        def attach(self, context):
            attached.append(trace.get_current_span(context))
            return super().attach(context)

    context._RUNTIME_CONTEXT = Own()
    """
    rest = """
    exporter = set_provider()
    told(exporter, run())
    names = [getattr(span, "name", None) for span in attached]
    assert {"execute_tool inner", "invoke_agent outer", "foreign"} <= set(names), names
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert spans["execute_tool inner"].parent.span_id == spans["foreign"].context.span_id
    assert spans["foreign"].parent.span_id == spans["invoke_agent outer"].context.span_id
    """
    imported = "from opentelemetry import trace\n" if when == "before" else ""
    source = imported + _dedented(own) + _dedented(PROGRAM) if when == "before" else _dedented(PROGRAM + own)
    run_program(tmp_path, source + _dedented(rest), tmp_path / "run.jsonl")
    check(tmp_path / "run.jsonl")


def test_a_span_of_ours_keeps_its_attributes_where_the_function_sets_more_than_the_host_keeps(
    tmp_path: Path,
) -> None:
    """The SDK drops the oldest past 128: then those are the program's own."""
    source = (
        PROGRAM
        + """
    exporter = set_provider()

    @tracetape.boundary("busy", kind="tool")
    def busy(text):
        for number in range(125):
            trace.get_current_span().set_attribute(f"own.{number}", number)
        return text

    busy(TEXT)
    (span,) = exporter.get_finished_spans()
    ours = {key for key in span.attributes if key.startswith(("tracetape.", "gen_ai.", "code."))}
    assert ours >= {
        "tracetape.schema.version", "tracetape.boundary.name", "tracetape.boundary.kind", "tracetape.seq",
        "tracetape.process.id", "code.function.name", "gen_ai.tool.name", "tracetape.outcome.type",
        "tracetape.input.value", "tracetape.output.value",
    }, ours
    assert len(span.attributes) == 128
    """
    )
    run_program(tmp_path, source, tmp_path / "run.jsonl")


def test_a_recording_that_is_opened_while_another_ends_is_seen(tmp_path: Path) -> None:
    """Whoever ends one finds nothing open; before that is noted, another thread opens the next."""
    source = (
        PROGRAM
        + """
    import threading
    from tracetape import _sessions

    outer(TEXT)  # from here on it is quiet
    other = tracetape.record(sys.argv[1])
    told = _sessions._is_quiet

    def open_in_between():
        found = told()
        if found:
            _sessions._is_quiet = told
            thread = threading.Thread(target=other.__enter__)
            thread.start()
            thread.join()
        return found

    with tracetape.record("ends.jsonl"):
        outer(TEXT)
        _sessions._is_quiet = open_in_between
    assert _sessions._is_quiet is told
    outer(TEXT)
    other.__exit__(None, None, None)
    """
    )
    run_program(tmp_path, source, tmp_path / "run.jsonl")
    check(tmp_path / "run.jsonl")


def test_a_sampler_that_hands_no_attributes_on_takes_none_of_ours(tmp_path: Path) -> None:
    source = (
        PROGRAM
        + """
    from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult

    class Bare(Sampler):
        def should_sample(self, *arguments, **named):
            return SamplingResult(Decision.RECORD_AND_SAMPLE)

        def get_description(self):
            return "bare"

    exporter = set_provider(Bare())
    inner(TEXT)
    (span,) = exporter.get_finished_spans()
    assert {"tracetape.schema.version", "tracetape.boundary.name", "tracetape.seq"} <= set(span.attributes)
    """
    )
    run_program(tmp_path, source, tmp_path / "run.jsonl")
