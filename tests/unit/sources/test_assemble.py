"""Spans become crossings in order, numbered, hung into a tree."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tracetape.errors import TraceStructureError
from tracetape.model.payload import Payload
from tracetape.model.span import Gap, Scope, SpanRecord
from tracetape.semconv import names
from tracetape.sources.assemble import assemble

TRACE = "0a" * 16


def span(number: int, parent: int | None = None, *, start: int | None = None, **changes: Any) -> SpanRecord:
    """A structure span; ids are small numbers."""
    at = 1_000_000 * (number if start is None else start)
    return SpanRecord(
        **{
            "trace_id": TRACE,
            "span_id": f"{number:016x}",
            "parent_id": None if parent is None else f"{parent:016x}",
            "name": f"s{number}",
            "start_ns": at,
            "end_ns": at + 10_000_000_000,
            **changes,
        }
    )


def crossing(
    number: int,
    parent: int | None = None,
    *,
    name: str = "tool",
    seq: int | None = None,
    process: str = "p",
    **changes: Any,
) -> SpanRecord:
    """A span of ours."""
    payload = Payload.of("{}")
    attributes = {
        names.SCHEMA_VERSION: 1,
        names.BOUNDARY_NAME: name,
        names.OUTCOME_TYPE: "returned",
        names.PROCESS_ID: process,
        names.INPUT_VALUE: payload.text,
        names.OUTPUT_VALUE: payload.text,
        **({} if seq is None else {names.SEQ: seq}),
    }
    return span(number, parent, attributes=attributes, scope=Scope("tracetape", "1"), **changes)


def codes(recording) -> list[str]:
    return [gap.code for gap in recording.gaps]


def read(*items: SpanRecord | Gap, **options: Any):
    return assemble(items, source="x", **options)


def test_a_crossing_hangs_under_the_nearest_crossing_through_structure():
    recording = read(
        crossing(1, name="agent"), span(2, 1), span(3, 2), crossing(4, 3, name="plan"), crossing(5, 4, name="llm")
    )
    agent, plan, llm = recording.crossings

    assert recording.roots == (agent,)
    assert plan.parent is agent
    assert llm.parent is plan
    assert agent.children == (plan,)
    assert len(recording.spans) == 5
    assert codes(recording) == []


def test_occurrences_count_in_start_order_whatever_the_order_of_the_file():
    spans = [crossing(1, name="agent", seq=0), *(crossing(n, 1, seq=n) for n in range(2, 12))]
    for seed in range(5):
        recording = read(*random.Random(seed).sample(spans, len(spans)))
        tools = recording.roots[0].children
        assert [one.span_ids[0] for one in tools] == [f"{n:016x}" for n in range(2, 12)]
        assert [one.occurrence for one in tools] == list(range(1, 11))
        assert [one.name for one in tools[:2]] == ["tool@1", "tool@2"]


def test_within_a_process_the_sequence_wins_over_the_clock():
    recording = read(
        crossing(1, name="agent", seq=0, start=1), crossing(2, 1, seq=2, start=5), crossing(3, 1, seq=1, start=9)
    )

    assert [one.span_ids[0][-1] for one in recording.crossings] == ["1", "3", "2"]


def test_across_processes_the_clock_decides():
    recording = read(
        crossing(1, name="agent", seq=0, start=1),
        crossing(2, 1, seq=7, start=3, process="child"),
        crossing(3, 1, seq=1, start=2),
        crossing(4, 1, seq=2, start=4),
    )

    assert [one.span_ids[0][-1] for one in recording.crossings] == ["1", "3", "2", "4"]


def test_numbers_that_repeat_are_no_sequence():
    spans = [span(n, None if n == 1 else 1, start=n, attributes={"batch.seq": 9 - n // 2}) for n in (1, 2, 3, 4)]

    assert [one.name for one in read(*spans).spans] == ["s1", "s2", "s3", "s4"]


def test_values_are_given_to_every_crossing():
    values = object()

    assert read(crossing(1), values=values).crossings[0].values is values


def test_a_root_of_ours_that_never_ended_is_one_gap():
    recording = read(crossing(2, 1), crossing(3, 1), span(4, 2))

    assert [str(gap) for gap in recording.gaps] == [
        "MISSING_ROOT: the root 0000000000000001 never ended: the process was killed, or is still running (x)"
    ]
    assert len(recording.roots) == 2


def test_other_absent_parents_beside_it_are_said():
    assert codes(read(crossing(2, 1), crossing(3, 9))) == ["MISSING_ROOT", "MISSING_PARENT", "MISSING_PARENT"]


def test_a_parent_in_no_trace_is_said_once_for_its_children():
    recording = read(span(1), span(2, 9), span(3, 9))

    assert [str(gap) for gap in recording.gaps] == [
        "MISSING_PARENT: span 0000000000000009 is absent, the parent of 2 (of 's2' 0000000000000002, "
        "'s3' 0000000000000003): not exported, dropped by a sampler, or in another file (x)"
    ]


def test_joined_traces_have_a_root_each():
    other = span(5, trace_id="0b" * 16)

    assert codes(read(span(1), other, everything=True)) == []
    assert codes(read(span(1), span(2), other, everything=True)) == ["MULTIPLE_ROOTS"]


def test_crossings_of_joined_traces_are_numbered_through():
    recording = read(crossing(1), crossing(2, trace_id="0b" * 16), everything=True)

    assert recording.trace_id == TRACE
    assert [one.name for one in recording.crossings] == ["tool@1", "tool@2"]


def test_what_the_reader_noticed_comes_first():
    gap = Gap("SKIPPED_LINE", "noise", "x:1")

    assert read(gap, span(1), span(2, 9)).gaps[0] is gap


def test_a_span_that_is_its_own_parent_is_refused():
    with pytest.raises(TraceStructureError) as caught:
        read(span(1), span(2, 2, where="x:2"))

    assert (caught.value.code, str(caught.value)) == (
        "SPAN_CYCLE",
        "x:2: 1 spans are each other's parents ('s2' 0000000000000002 → 's2' 0000000000000002). The file was "
        "edited, or span ids were used twice: export it again.",
    )


def test_a_conflict_names_what_differs():
    with pytest.raises(TraceStructureError) as caught:
        read(
            span(1, attributes={"a": 1}, where="x:1"), span(1, attributes={"a": 2, "b": 1}, end_ns=5, where="x:2")
        )

    assert (caught.value.code, str(caught.value)) == (
        "CONFLICTING_SPAN",
        "span 0000000000000001 's1' is there twice with different content (x:1, then x:2): end_ns, attribute 'a', "
        "attribute 'b'. A replay must not pick one: remove the wrong one.",
    )


def test_a_span_with_nan_read_twice_is_a_duplicate():
    from tracetape.sources.formats.span_rules import NAN

    assert codes(read(span(1, attributes={"x": [NAN]}), span(1, attributes={"x": [NAN]}))) == ["DUPLICATE_SPAN"]


def test_clocks_that_differ_by_less_than_backends_keep_do_not_disagree():
    assert codes(read(span(1), span(2, 1, start_ns=1_000_000 - 900))) == []
    assert codes(read(span(1), span(2, 1, start_ns=1_000_000 - 1_100))) == ["CLOCK_SKEW"]


def test_a_span_that_ends_before_it_starts_is_said():
    assert codes(read(span(1, end_ns=500))) == ["CLOCK_SKEW"]


def test_a_deep_tree_and_a_long_row_take_no_recursion_and_no_square():
    deep = [crossing(n, n - 1 if n > 1 else None, seq=n) for n in range(1, 5_001)]
    recording = read(*deep)

    assert recording.crossings[-1].parent is recording.crossings[-2]
    assert recording.crossings[-1].occurrence == 5_000


def test_lost_content_is_a_gap_of_the_recording_and_of_the_crossing():
    lossy = crossing(1, dropped_attributes=3)
    recording = read(lossy)

    assert codes(recording) == ["ATTRIBUTES_DROPPED"]
    assert [gap.code for gap in recording.crossings[0].gaps] == ["ATTRIBUTES_DROPPED"]
