"""What a host's settings take from our spans: decided from facts, gathered from a provider that may hide them."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from opentelemetry.sdk.trace import SpanLimits, TracerProvider, sampling

from tracetape.model.call import BoundarySpec
from tracetape.model.payload import Payload
from tracetape.recorder.host_facts import facts_of, say_losses
from tracetape.recorder.losses import Facts, losses
from tracetape.semconv import mirror, names, write
from tracetape.semconv.mirror import mirrored

EVERYTHING_SAMPLED = sampling.DEFAULT_ON.get_description()
REPLAY_ATTRIBUTES = 1  # tracetape.replay.mode


def test_at_the_sdk_s_defaults_nothing_is_lost() -> None:
    assert losses(Facts()) == []
    stock = Facts(sampler=EVERYTHING_SAMPLED, most_attributes=128, longest_value=None, grpc_batch=512)
    assert losses(stock) == []


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (
            Facts(most_attributes=20, most_attributes_said_by="OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=20"),
            "a span keeps 20 attributes and one of ours has up to 40, so the oldest go: set "
            "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=128",
        ),
        (
            Facts(most_attributes=20),
            "a span keeps 20 attributes and one of ours has up to 40, so the oldest go: set max_span_attributes "
            "of its SpanLimits to 128",
        ),
        (
            Facts(longest_value=500),
            "values are cut at 500 characters, and payloads with them: set max_span_attribute_length of its "
            "SpanLimits to None, or set OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT=500 as well, so that they go in "
            "pieces of that length",
        ),
        (
            Facts(
                longest_value=50, piece_limit=50, longest_value_said_by="OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT=50"
            ),
            "values are cut at 50 characters, digests and long names with them: set no "
            "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT",
        ),
        (
            Facts(longest_value=5_000, mirror=True),
            "values are cut at 5,000 characters, those of TRACETAPE_MIRROR with them: set "
            "max_span_attribute_length of its SpanLimits to None",
        ),
        (
            Facts(
                sampler=sampling.TraceIdRatioBased(0.1).get_description(),
                sampler_said_by="OTEL_TRACES_SAMPLER=traceidratio",
            ),
            "the sampler is TraceIdRatioBased{0.1}, so about 0.1 of the runs are exported: set "
            "OTEL_TRACES_SAMPLER=always_on",
        ),
        (
            Facts(sampler=sampling.DEFAULT_OFF.get_description()),
            "the sampler is AlwaysOffSampler, so no run is exported: set sampler=… of the TracerProvider to "
            "ALWAYS_ON",
        ),
        (
            Facts(sampler="OfOurCompany"),
            "the sampler is OfOurCompany, so not every run is exported: set sampler=… of the TracerProvider to "
            "ALWAYS_ON",
        ),
        (
            Facts(content=False, content_said_by="TRACETAPE_CONTENT=off"),
            "TRACETAPE_CONTENT=off keeps inputs and outcomes off them, and what is exported cannot be replayed: "
            "set TRACETAPE_CONTENT=full",
        ),
        (
            Facts(grpc_batch=512, export_limit=1_000_000),
            "gRPC sends 512 spans of up to 1,000,000 bytes each in one request, and receivers refuse one over "
            "4 MiB with all that is in it: set OTEL_BSP_MAX_EXPORT_BATCH_SIZE=3, or use "
            "tracetape.exporters.provider()",
        ),
        (
            Facts(grpc_batch=1, export_limit=5_000_000),
            "gRPC sends 1 span of up to 5,000,000 bytes each in one request, and receivers refuse one over 4 MiB "
            "with all that is in it: set TRACETAPE_EXPORT_LIMIT=262144, or use tracetape.exporters.provider()",
        ),
        (Facts(disabled=True, content=False), "OTEL_SDK_DISABLED=true: there are no spans at all; unset it"),
    ],
)
def test_each_loss_is_said_with_what_to_set(facts: Facts, said: str) -> None:
    assert losses(facts) == [said]


@pytest.mark.parametrize(
    "facts",
    [
        Facts(most_attributes=write.MOST_ATTRIBUTES),
        # Payloads go in pieces of that length, and lose nothing.
        Facts(longest_value=100, piece_limit=100),
        Facts(longest_value=2_000),
        Facts(sampler=sampling.ALWAYS_ON.get_description()),
        Facts(sampler=sampling.TraceIdRatioBased(1.0).get_description()),
        Facts(grpc_batch=512, export_limit=100_000),
        Facts(grpc_batch=100, export_limit=1_000_000),
        Facts(export_limit=10_000_000),
    ],
)
def test_what_loses_nothing_is_not_said(facts: Facts) -> None:
    assert losses(facts) == []


def test_several_losses_are_all_said() -> None:
    assert len(losses(Facts(most_attributes=1, longest_value=1, content=False, sampler="other"))) == 4


def test_no_span_of_ours_has_more_attributes_than_is_said() -> None:
    def text(**arguments: Any) -> str:
        return "text"

    spec = BoundarySpec(name="b", kind="llm", version=text, model=text, code="a.b")
    arguments = dict.fromkeys(names.SAMPLING, 1)
    payload = Payload.of('{"a":1}')
    usage = {"input_tokens": 1, "output_tokens": 2, "cached_tokens": 3}
    known = {
        **write.boundary(spec),
        **write.call(
            spec,
            arguments,
            seq=1,
            process_id="p",
            seq_before=0,
            detached=True,
            version="1",
            model="m",
            build_id="b",
        ),
        **write.outcome(
            "streamed",
            "generator",
            stream_end="raised",
            item_count=1,
            error_type="E",
            response_model="m",
            usage=usage,
        ),
    }
    ours = {**known, **write.content(payload, payload, failed=True)}
    assert len(ours) + REPLAY_ATTRIBUTES <= write.MOST_ATTRIBUTES
    settings = both_mirrors()
    most = 0
    for kind in names.KINDS:
        other = BoundarySpec(name="b", kind=kind)
        most = max(most, len(mirrored(other, known, ours, payload, payload, settings)))
    assert most < mirror.MOST_ATTRIBUTES


def both_mirrors() -> Any:
    from tracetape.config import settings

    return settings({"TRACETAPE_MIRROR": "openinference,gen_ai"})


class TestFactsOfAProvider:
    def test_of_the_sdk_s_provider(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "20")
        monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
        facts = facts_of(TracerProvider(shutdown_on_exit=False))
        assert (facts.most_attributes, facts.most_attributes_said_by) == (20, "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=20")
        assert (facts.sampler, facts.sampler_said_by) == ("AlwaysOffSampler", "OTEL_TRACES_SAMPLER=always_off")
        assert facts.longest_value is None

    def test_a_limit_of_the_program_is_not_blamed_on_a_variable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "30")
        limits = SpanLimits(max_span_attributes=20, max_span_attribute_length=500)
        facts = facts_of(TracerProvider(shutdown_on_exit=False, span_limits=limits))
        assert facts.most_attributes == 20
        assert facts.most_attributes_said_by == "max_span_attributes of its SpanLimits"
        assert facts.longest_value == 500

    def test_of_a_provider_that_is_not_the_sdk_s_nothing_is_known(self) -> None:
        assert facts_of(object()) == Facts()
        assert losses(facts_of(object())) == []

    def test_a_provider_whose_attributes_raise_does_no_harm(self, caplog: pytest.LogCaptureFixture) -> None:
        class Raising:
            def __getattr__(self, name: str) -> Any:
                raise RuntimeError(name)

        with caplog.at_level(logging.WARNING):
            say_losses(Raising())
        assert all("not all of what is recorded" not in record.getMessage() for record in caplog.records)

    def test_nothing_lost_is_not_said(self, caplog: pytest.LogCaptureFixture) -> None:
        say_losses(TracerProvider(shutdown_on_exit=False))
        assert caplog.records == []
