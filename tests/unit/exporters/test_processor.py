"""The processor that sees the spans of others: a provider that has it is as good as before."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.optional


def test_it_does_not_make_the_providers_flush_fail() -> None:
    from opentelemetry.sdk.trace import TracerProvider

    from tracetape.exporters.processor import ForeignSpans

    provider = TracerProvider()
    provider.add_span_processor(ForeignSpans(lambda trace_id: []))
    assert provider.force_flush() is True
    provider.shutdown()
