"""The size of a span in a request: never below the true one, not far above it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.trace import Link, Status, StatusCode

from tracetape.exporters.queueing import Waiting, bytes_of
from tracetape.exporters.sizes import size_of, size_of_origin

pytestmark = pytest.mark.optional  # the encoder of the OTLP exporters

texts = st.text(st.characters(codec="utf-8"), max_size=300)
values = st.one_of(
    texts,
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.lists(texts, max_size=20),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20),
)
attributes = st.dictionaries(texts.filter(bool), values, max_size=20)


def true_size(*spans: ReadableSpan) -> int:
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    return int(encode_spans(spans).ByteSize())


def counted(*spans: ReadableSpan) -> int:
    waiting = [Waiting(span) for span in spans]
    for one in waiting:
        one.origin_size = size_of_origin(one.span)
    return bytes_of(waiting)


def span(name: str = "s", kept: Any = None, resource: Any = None, events: Any = (), **more: Any) -> ReadableSpan:
    provider = TracerProvider(resource=Resource(resource or {}), shutdown_on_exit=False)
    started: Any = provider.get_tracer("scope", "1.2.3").start_span(name, attributes=kept, **more)
    for text, about in events:
        started.add_event(text, about)
    started.set_status(Status(StatusCode.ERROR, name))
    started.end()
    found: ReadableSpan = started._readable_span()
    return found


@given(texts, attributes, attributes, st.lists(st.tuples(texts, attributes), max_size=3))
def test_it_is_never_below_the_true_size(name: str, kept: Any, resource: Any, events: Any) -> None:
    one = span(name, kept, resource, events)
    linked = span(name, kept, links=[Link(one.context, kept)] if one.context else [])
    assert counted(one) >= true_size(one)
    assert counted(linked) >= true_size(linked)
    assert counted(one, linked, one) >= true_size(one, linked, one)


@pytest.mark.parametrize("text", ["x" * 4_000, "é" * 2_000, ["x" * 2_000] * 20, ["漢" * 600] * 20])
def test_it_is_not_far_above_it(text: Any) -> None:
    one = span("execute_tool place_order", {"tracetape.input.value": text, "tracetape.seq": 1})
    assert counted(one) <= 1.15 * true_size(one) + 200


def test_spans_of_one_resource_share_it() -> None:
    several = [span("s")] * 10
    assert counted(*several) == 10 * size_of(several[0]) + size_of_origin(several[0])
