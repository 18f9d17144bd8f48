"""Several traces are one run where all are of one conversation, and never else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tracetape.errors import TraceSelectionError
from tracetape.model.span import SpanRecord
from tracetape.sources.assemble import assemble
from tracetape.sources.conversations import _MOST

ONE, TWO = "01" * 16, "02" * 16


def span(trace_id: str, number: int, **attributes: str) -> SpanRecord:
    named = {key.replace("__", "."): value for key, value in attributes.items()}
    return SpanRecord(
        trace_id=trace_id,
        span_id=f"{number:016x}",
        parent_id=None,
        name="chat",
        start_ns=number,
        end_ns=number + 1,
        attributes=named,
    )


@pytest.mark.parametrize(
    "key", ["gen_ai__conversation__id", "session__id", "traceloop__association__properties__thread_id"]
)
def test_traces_of_one_conversation_are_one_run(key: str) -> None:
    spans = [span(TWO, 3, **{key: "c"}), span(ONE, 1, **{key: "c"}), span(ONE, 2)]
    recording = assemble(spans, source="x")
    assert recording.trace_id == ONE
    assert [one.start_ns for one in recording.spans] == [1, 2, 3]


@pytest.mark.parametrize(
    "spans",
    [
        [span(ONE, 1, session__id="a"), span(TWO, 2, session__id="b")],
        [span(ONE, 1, session__id="a"), span(TWO, 2)],
        [span(ONE, 1), span(TWO, 2)],
        [span(ONE, 1, session__id="a"), span(ONE, 3, session__id="b"), span(TWO, 2, session__id="a")],
    ],
    ids=["of two", "of one alone", "of none", "of several"],
)
def test_others_have_to_be_chosen_from(spans: list[SpanRecord]) -> None:
    with pytest.raises(TraceSelectionError) as caught:
        assemble(spans, source="x")
    assert caught.value.code == "AMBIGUOUS_TRACE"


def test_a_trace_that_is_asked_for_is_that_trace() -> None:
    spans = [span(ONE, 1, session__id="a"), span(TWO, 2, session__id="a")]
    assert len(assemble(spans, source="x", trace_id=TWO).spans) == 1


def test_of_a_file_of_thousands_of_traces_no_more_is_held_than_tells() -> None:
    first = span(ONE, 1, session__id="a")
    spans = [
        first,
        *(replace(span(TWO, 2 + n, session__id="a"), trace_id=f"{n + 9:032x}") for n in range(_MOST + 1)),
    ]
    with pytest.raises(TraceSelectionError):
        assemble(spans, source="x")
