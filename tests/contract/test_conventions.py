"""Every convention: it claims what it knows, says which spans, and leaves the rest to others."""

from __future__ import annotations

import random

import pytest

from tracetape.model.payload import Payload
from tracetape.model.span import Scope, SpanRecord
from tracetape.semconv import names
from tracetape.sources.conventions.registry import CONVENTIONS
from tracetape.sources.formats.chronicle_json import ENVELOPE

TRACE = "0a" * 16


def native_span(number: int) -> SpanRecord:
    payload = Payload.of(f'{{"n":{number}}}')
    return SpanRecord(
        trace_id=TRACE,
        span_id=f"{number:016x}",
        parent_id=None if number == 1 else f"{number - 1:016x}",
        name="execute_tool place_order",
        start_ns=1_000 + number,
        end_ns=2_000 - number,
        scope=Scope(names.SCOPE_NAME, "1"),
        attributes={
            names.SCHEMA_VERSION: names.SCHEMA_VERSION_NOW,
            names.BOUNDARY_NAME: "place_order",
            names.BOUNDARY_KIND: "tool",
            names.SEQ: number,
            names.PROCESS_ID: "p",
            names.OUTCOME_TYPE: "returned",
            names.INPUT_VALUE: payload.text,
            names.INPUT_SIZE: payload.size,
            names.INPUT_DIGEST: payload.digest,
            names.OUTPUT_VALUE: payload.text,
            names.OUTPUT_SIZE: payload.size,
            names.OUTPUT_DIGEST: payload.digest,
        },
    )


def envelope_span(number: int) -> SpanRecord:
    result = '{"completion":"x","error":null}' if number != 2 else '{"error":"no","error_type":"ValueError"}'
    return SpanRecord(
        trace_id=TRACE,
        span_id=f"{number:016x}",
        parent_id="e" * 16,
        name="place_order",
        start_ns=1_000 + number,
        end_ns=1_000 + number,
        scope=Scope("chronicle", "1.0"),
        attributes={
            f"{ENVELOPE}node_id": "place_order",
            f"{ENVELOPE}boundary_kind": "tool",
            f"{ENVELOPE}sequence": number,
            f"{ENVELOPE}input_state": '{"graph_state":{"n":1}}',
            f"{ENVELOPE}action_result": result,
        },
    )


# By convention, the spans of a trace of three crossings.
SPECIMENS = {
    "tracetape": [native_span(number) for number in (1, 2, 3)],
    "Chronicle": [envelope_span(number) for number in (1, 2, 3)],
}

STRANGERS = [
    SpanRecord(trace_id=TRACE, span_id="f" * 16, parent_id=None, name="GET /", kind="SERVER"),
    SpanRecord(trace_id=TRACE, span_id="e" * 16, parent_id="f" * 16, name="", attributes={"": None, "x": [{}]}),
]


def test_every_convention_has_a_specimen():
    assert [one.name for one in CONVENTIONS] == list(SPECIMENS)


@pytest.mark.parametrize("convention", CONVENTIONS, ids=lambda one: one.name)
class TestConvention:
    def test_it_claims_its_spans_and_says_which(self, convention):
        spans = SPECIMENS[convention.name]
        crossings = list(convention.crossings([*spans, *STRANGERS]))

        assert len(crossings) == 3
        for crossing in crossings:
            assert crossing.boundary
            assert crossing.trace_id == TRACE
            assert set(crossing.span_ids) <= {span.span_id for span in spans}
        mains = [crossing.span_ids[0] for crossing in crossings]
        assert len(set(mains)) == 3

    def test_it_leaves_numbers_kin_and_values_to_assembly(self, convention):
        for crossing in convention.crossings(SPECIMENS[convention.name]):
            assert crossing.occurrence == 0
            assert crossing.parent is None
            assert crossing.children == ()
            assert crossing.values is None

    def test_it_claims_nothing_of_strangers(self, convention):
        assert list(convention.crossings(STRANGERS)) == []
        assert list(convention.crossings([])) == []

    def test_the_order_of_the_spans_does_not_matter(self, convention):
        spans = SPECIMENS[convention.name] + STRANGERS
        shuffled = random.Random(1).sample(spans, len(spans))

        def told(found):
            return sorted((crossing.span_ids, crossing.boundary, crossing.started) for crossing in found)

        assert told(convention.crossings(shuffled)) == told(convention.crossings(spans))
