"""Boundaries on a host's own provider: what its stock exporter sends is a recording, within the host's limits."""

from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tracetape
from tests.acceptance.broker_story import BROKER, assert_repaired_tool_blocks, payloads, shown_tree, story
from tests.acceptance.otlp_host import LONG_TEXTS, OVER_THE_LIMIT, keep_text, run_host
from tests.acceptance.otlp_receivers import PROTOCOLS, Receiver, receiving
from tracetape.errors import NotReplayable, TraceSelectionError
from tracetape.model.payload import Payload

BROKER_TREE = [
    ("agent@1", None),
    ("call_model@1", "agent@1"),
    ("place_order@1", None),
    ("agent@2", None),
    ("call_model@2", "agent@2"),
]
# What the broker's run says, none of which is a name, a model, a count or a size.
SAID = (b"ACME", b"1,000", b"Sell", b"sold", b"filled", b"broker's assistant", b"no market")


@dataclass(frozen=True)
class Sent:
    """A run of a host: what its receiver got, the file that it recorded (if it did), its own facts."""

    receiver: Receiver
    file: Path
    facts: dict[str, Any]

    @property
    def exported(self) -> Path:
        return self.receiver.file

    def span(self, name: str) -> Any:
        (found,) = [span for span in self.receiver.spans if span.name == name]
        return found


def send(folder: Path, scenario: str, protocol: str = "http", *, record: bool = False, **env: str) -> Sent:
    """Run the host's scenario under `env` to its end, with a receiver of that protocol."""
    file = folder / "run.otlp.jsonl"
    with receiving(protocol, folder) as receiver:
        facts = run_host(protocol, scenario, receiver.endpoint, file if record else None, env)
    return Sent(receiver, file, facts)


@pytest.fixture(autouse=True)
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens there: a model call that got through would fail."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> tracetape.Recording:
    """The broker's run in a file, recorded as the example does: by `record`, with no provider."""
    file = tmp_path_factory.mktemp("reference") / "incident.otlp.jsonl"
    subprocess.run(
        [sys.executable, str(BROKER / "record_incident.py"), str(file)], check=True, capture_output=True
    )
    return tracetape.load(file)


@pytest.fixture(scope="module", params=PROTOCOLS)
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sent:
    """The broker's run on a host, without `record`: only spans on the host's provider."""
    return send(tmp_path_factory.mktemp(request.param), "broker", request.param)


@pytest.fixture(scope="module", params=["proto", "json"])
def collected(request: pytest.FixtureRequest, broker: Sent) -> Path:
    """The file that a Collector's file exporter would have written of it."""
    if request.param == "proto":
        return broker.exported
    return broker.receiver.write_json_lines(broker.exported.with_suffix(".jsonl"))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Sent:
    """The broker's run on a host, recorded in a file too."""
    return send(tmp_path_factory.mktemp("both"), "broker", "grpc", record=True)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Sent:
    """Boundaries among the spans of the host's own, recorded in a file too."""
    return send(tmp_path_factory.mktemp("foreign"), "foreign_spans", "grpc", record=True)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Sent:
    return send(tmp_path_factory.mktemp("long"), "long_texts", "grpc", record=True)


@pytest.fixture(scope="module", params=["default", "lowered"])
def over_limit(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sent:
    """280,000 bytes in one span, over the default of 262,144; and over a limit of a user's own."""
    env = {"TRACETAPE_EXPORT_LIMIT": "1000"} if request.param == "lowered" else {}
    return send(tmp_path_factory.mktemp(request.param), "over_the_limit", "grpc", record=True, **env)


@pytest.fixture(
    scope="module",
    params=[
        {"TRACETAPE_CONTENT": "off"},
        {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "NO_CONTENT"},
    ],
    ids=lambda env: next(iter(env)),
)
def off(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sent:
    folder = tmp_path_factory.mktemp("off")
    return send(folder, "broker_and_failure", record=True, **request.param)


class TestHostsProviderAlone:
    def test_the_exported_run_has_the_crossings_of_the_file_recording(self, collected, reference):
        recording = tracetape.load(collected)
        assert shown_tree(recording) == BROKER_TREE
        assert story(recording) == story(reference)
        assert payloads(recording) == payloads(reference)
        assert (recording.grade, recording.gaps) == ("exact", ())

    def test_the_exported_run_replays_with_the_repaired_tool_live(self, collected):
        assert_repaired_tool_blocks(collected)

    def test_the_host_program_itself_notices_nothing(self, broker):
        assert broker.facts["answer"] == "Done: sold 1,000 shares of ACME for $190,000.00."
        assert broker.facts["model_requests"] == 2

    def test_all_spans_are_in_the_trace_of_the_hosts_request(self, broker):
        assert len({span.trace_id for span in broker.receiver.spans}) == 1
        request = broker.span("POST /chat")
        outermost = [span for span in broker.receiver.spans if span.parent_span_id == request.span_id]
        assert sorted(span.name for span in outermost) == [
            "execute_tool place_order",
            "invoke_agent agent",
            "invoke_agent agent",
        ]

    def test_without_a_request_the_traces_together_are_the_run(self, tmp_path, reference):
        """Each outermost call is a trace of its own then, which is OpenTelemetry's rule."""
        sent = send(tmp_path, "broker", HOST_WITHOUT_REQUEST="1")
        with pytest.raises(TraceSelectionError) as ambiguous:
            tracetape.load(sent.exported)
        assert ambiguous.value.code == "AMBIGUOUS_TRACE"
        assert story(tracetape.load(sent.exported, traces="all")) == story(reference)


class TestLongPayloads:
    def test_over_2000_bytes_a_payload_is_exported_in_pieces_of_whole_characters(self, long):
        recorded = tracetape.load(long.file)
        cuts_moved = 0
        for span, crossing in zip(spans_of(long, "execute_tool keep_text"), recorded.crossings, strict=True):
            value = attribute(span, "tracetape.input.value")
            if stored(crossing.input).size <= 2000:
                assert value.string_value == stored(crossing.input).text
                continue
            pieces = [one.string_value for one in value.array_value.values]
            sizes = [len(piece.encode()) for piece in pieces]
            assert "".join(pieces) == stored(crossing.input).text
            assert max(sizes) <= 2000
            assert min(sizes[:-1]) > 1996, "a piece is as long as its characters allow"
            cuts_moved += sum(size < 2000 for size in sizes[:-1])
        assert cuts_moved, "no character lay across a cut: the texts test nothing"

    def test_a_payload_of_exactly_2000_bytes_is_one_string(self, long):
        at_the_limit, over_it = spans_of(long, "execute_tool keep_text")[:2]
        assert len(attribute(at_the_limit, "tracetape.input.value").string_value) == 2000
        pieces = attribute(over_it, "tracetape.input.value").array_value.values
        assert [len(one.string_value) for one in pieces] == [2000, 1]

    @pytest.mark.parametrize("form", ["proto", "json"])
    def test_pieces_come_back_as_the_value_that_they_were(self, long, form, tmp_path):
        source = long.exported
        if form == "json":
            source = long.receiver.write_json_lines(tmp_path / "long.jsonl")
        recording = tracetape.load(source)
        assert [one.inputs["text"] for one in recording.crossings] == list(LONG_TEXTS)
        assert [one.result for one in recording.crossings] == list(LONG_TEXTS)
        assert payloads(recording) == payloads(tracetape.load(long.file))
        assert (recording.grade, recording.gaps) == ("exact", ())

    def test_pieces_replay(self, long):
        with tracetape.replay(long.exported) as tape:
            assert [keep_text(text) for text in LONG_TEXTS] == list(LONG_TEXTS)
        assert [step.mode for step in tape.report.steps] == ["stub"] * len(LONG_TEXTS)
        assert tape.report.verdict == "same"

    def test_the_recordings_file_has_each_payload_as_one_string(self, long):
        values = [
            value
            for span in tracetape.read_spans(long.file)
            for key, value in span.attributes.items()
            if key in ("tracetape.input.value", "tracetape.output.value")
        ]
        assert len(values) == 2 * len(LONG_TEXTS)
        assert all(isinstance(value, str) for value in values)


class TestExportLimit:
    def test_a_payload_over_the_limit_is_left_out_and_the_crossing_says_so(self, over_limit):
        recording = tracetape.load(over_limit.exported)
        before, omitted, after = recording.crossings
        assert (before.grade, omitted.grade, after.grade) == ("exact", "unusable", "exact")
        assert {gap.code for gap in omitted.gaps} == {"PAYLOAD_OMITTED"}
        assert all("TRACETAPE_EXPORT_LIMIT" in gap.text for gap in omitted.gaps)
        assert recording.grade == "unusable"

    def test_size_and_digest_are_exported_all_the_same(self, over_limit):
        span = spans_of(over_limit, "execute_tool keep_text")[1]
        whole = tracetape.load(over_limit.file)["keep_text", 2]
        assert attribute(span, "tracetape.output.size").int_value == stored(whole.output).size
        assert attribute(span, "tracetape.output.digest").string_value == stored(whole.output).digest
        assert attribute(span, "tracetape.content").string_value == "omitted"
        assert OVER_THE_LIMIT[:50].encode() not in over_limit.exported.read_bytes()

    def test_a_replay_is_refused_by_name_and_the_switch_is_named(self, over_limit):
        with pytest.raises(NotReplayable) as refused:
            tracetape.replay(over_limit.exported)
        assert "keep_text@2" in str(refused.value)
        assert "TRACETAPE_EXPORT_LIMIT" in str(refused.value)
        assert "keep_text@1" not in str(refused.value)

    def test_a_replay_that_runs_that_call_live_is_not_refused(self, over_limit):
        with tracetape.replay(over_limit.exported, live=["keep_text@2"]) as tape:
            kept = [keep_text(text) for text in ("before", OVER_THE_LIMIT, "after")]
        assert kept == ["before", OVER_THE_LIMIT, "after"]
        assert [step.mode for step in tape.report.steps] == ["stub", "live", "stub"]
        assert tape.report.verdict == "same"

    def test_the_recordings_file_has_it_whole(self, over_limit):
        recording = tracetape.load(over_limit.file)
        assert recording["keep_text", 2].result == OVER_THE_LIMIT
        assert recording.grade == "exact"


class TestContentOff:
    def test_no_value_of_the_run_is_anywhere_in_what_the_receiver_got(self, off):
        got, kept = off.exported.read_bytes(), off.file.read_bytes()
        assert [said for said in SAID if said not in kept] == [], "the run did not say it"
        assert [said for said in SAID if said in got] == []

    def test_each_crossing_is_unusable_and_its_gap_names_the_switch(self, off):
        recording = tracetape.load(off.exported)
        assert [one.grade for one in recording.crossings] == ["unusable"] * 6
        assert {gap.code for one in recording.crossings for gap in one.gaps} == {"CONTENT_OFF"}
        with pytest.raises(NotReplayable, match="TRACETAPE_CONTENT=off"):
            tracetape.replay(off.exported)

    def test_names_models_usage_outcomes_and_sizes_stay(self, off):
        exported, whole = tracetape.load(off.exported), tracetape.load(off.file)
        stay = ("name", "kind", "version", "model", "usage", "outcome", "parent", "children", "seq")
        assert [{key: one[key] for key in stay} for one in story(exported)] == [
            {key: one[key] for key in stay} for one in story(whole)
        ]
        assert exported["refuse", 1].error_type == "ValueError"
        span = off.span("execute_tool place_order")
        assert attribute(span, "tracetape.input.size").int_value == stored(whole["place_order", 1].input).size

    def test_the_digest_of_a_payload_that_could_be_guessed_stays_away(self, off):
        keys = {one.key for one in off.span("execute_tool place_order").attributes}
        assert "tracetape.input.size" in keys
        assert "tracetape.input.digest" not in keys

    def test_the_file_that_was_asked_for_has_everything(self, off, reference):
        recording = tracetape.load(off.file)
        assert story(recording)[:5] == story(reference)
        assert str(recording["refuse", 1].error) == "no market for ACME"
        assert recording.grade == "exact"

    def test_content_said_in_full_wins_over_the_general_switch(self, tmp_path, reference):
        sent = send(
            tmp_path,
            "broker",
            TRACETAPE_CONTENT="full",
            OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="NO_CONTENT",
        )
        assert story(tracetape.load(sent.exported)) == story(reference)


class TestFileAndHostTogether:
    def test_both_views_have_one_trace_id_and_the_same_span_ids(self, both):
        exported, recorded = tracetape.load(both.exported), tracetape.load(both.file)
        assert exported.trace_id == recorded.trace_id == both.facts["trace_id"]
        assert [one.span_ids for one in exported.crossings] == [one.span_ids for one in recorded.crossings]
        assert ids_by_name(tracetape.read_spans(both.file)) == {
            name: ids for name, ids in exported_ids(both).items() if name != "POST /chat"
        }

    def test_both_views_tell_the_same_at_the_same_times(self, both, reference):
        exported, recorded = tracetape.load(both.exported), tracetape.load(both.file)
        assert story(exported) == story(recorded) == story(reference)
        assert payloads(exported) == payloads(recorded) == payloads(reference)
        assert [(one.started, one.duration) for one in exported.crossings] == [
            (one.started, one.duration) for one in recorded.crossings
        ]

    def test_a_recording_inside_a_hosts_request_lacks_nothing(self, both):
        """Its root's parent is the request, which is not the recording's and is in no file of it."""
        assert tracetape.load(both.file).gaps == ()

    def test_both_views_replay(self, both):
        assert_repaired_tool_blocks(both.exported)
        assert_repaired_tool_blocks(both.file)

    @pytest.mark.parametrize(
        "env",
        [
            {"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "100"},
            {"OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT": "10"},
            {"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "4"},
            {"OTEL_TRACES_SAMPLER": "always_off"},
            {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0"},
            {"OTEL_SDK_DISABLED": "true"},
        ],
        ids=lambda env: " ".join(f"{name}={value}" for name, value in env.items()),
    )
    def test_no_limit_or_sampler_of_the_host_touches_the_file(self, env, tmp_path, reference):
        recording = tracetape.load(send(tmp_path, "broker", record=True, **env).file)
        assert story(recording) == story(reference)
        assert payloads(recording) == payloads(reference)

    def test_what_the_host_does_not_sample_is_not_exported(self, tmp_path):
        sent = send(tmp_path, "broker", record=True, OTEL_TRACES_SAMPLER="always_off")
        assert sent.receiver.requests == []

    def test_under_a_hosts_length_limit_pieces_are_as_short_as_it_wants_them(self, tmp_path, reference):
        sent = send(tmp_path, "broker", OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT="100")
        exported = tracetape.load(sent.exported)
        assert story(exported) == story(reference)
        assert exported.grade == "exact"

    def test_a_length_limit_that_cuts_the_digest_does_not_make_a_whole_payload_look_cut(self, tmp_path, reference):
        """A digest is 71 characters; the pieces fit under any limit."""
        sent = send(tmp_path, "broker", OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT="64")
        assert story(tracetape.load(sent.exported)) == story(reference)


class TestSpansOfOthers:
    """handle > value_positions > SELECT positions > look_up_price > GET /price, inside POST /chat."""

    def test_boundaries_and_spans_of_others_nest_in_one_trace(self, foreign):
        spans = {span.name: span for span in foreign.receiver.spans}
        nested = [
            "POST /chat",
            "broker",
            "handle",
            "invoke_agent value_positions",
            "SELECT positions",
            "execute_tool look_up_price",
            "GET /price",
        ]
        assert sorted(spans) == sorted(nested)
        assert len({span.trace_id for span in spans.values()}) == 1
        assert spans["POST /chat"].parent_span_id == b""
        for outer, inner in itertools.pairwise(nested):
            assert spans[inner].parent_span_id == spans[outer].span_id, f"{inner} is not right under {outer}"

    def test_spans_of_others_are_in_the_file_as_they_were_exported(self, foreign):
        exported = {span.span_id: span for span in tracetape.read_spans(foreign.exported)}
        in_file = {span.span_id: span for span in tracetape.read_spans(foreign.file)}
        missing = [span.name for span_id, span in exported.items() if span_id not in in_file]
        assert missing == ["POST /chat"], "it began before the recording and ended after it"
        others = [span for span in in_file.values() if span.scope.name == "a.host.of.its.own"]
        assert sorted(span.name for span in others) == ["GET /price", "SELECT positions", "handle"]
        for span in others:
            sent = exported[span.span_id]
            assert (span.parent_id, span.kind, span.start_ns, span.end_ns, span.status) == (
                sent.parent_id,
                sent.kind,
                sent.start_ns,
                sent.end_ns,
                sent.status,
            )
            assert dict(span.attributes) == dict(sent.attributes)
            assert span.events == sent.events
            assert dict(span.resource) == dict(sent.resource)

    @pytest.mark.parametrize("view", ["exported", "file"])
    def test_the_crossing_over_a_boundary_is_found_through_the_spans_of_others(self, foreign, view):
        recording = tracetape.load(getattr(foreign, view))
        assert shown_tree(recording) == [("value_positions@1", None), ("look_up_price@1", "value_positions@1")]
        assert recording.grade == "exact"

    def test_the_file_has_the_tree_although_the_host_sampled_no_span_between(self, tmp_path):
        sent = send(tmp_path, "foreign_spans", record=True, OTEL_TRACES_SAMPLER="always_off")
        recording = tracetape.load(sent.file)
        assert shown_tree(recording) == [("value_positions@1", None), ("look_up_price@1", "value_positions@1")]


def spans_of(sent: Sent, name: str) -> list[Any]:
    """The receiver's spans of that name, in start order."""
    return sorted(
        (span for span in sent.receiver.spans if span.name == name), key=lambda span: span.start_time_unix_nano
    )


def attribute(span: Any, key: str) -> Any:
    """The attribute's AnyValue message."""
    (found,) = [one.value for one in span.attributes if one.key == key]
    return found


def stored(payload: Payload | None) -> Payload:
    assert payload is not None
    return payload


def exported_ids(sent: Sent) -> dict[str, list[str]]:
    return ids_by_name(tracetape.read_spans(sent.exported))


def ids_by_name(spans: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for span in spans:
        found.setdefault(span.name, []).append(span.span_id)
    return {name: sorted(ids) for name, ids in sorted(found.items())}
