"""Content that was kept out is told with its switch, once; it is never taken for a value."""

from __future__ import annotations

import pytest
from tests.unit.sources.conventions.spans import (
    GENAI,
    OPENINFERENCE,
    TRACELOOP,
    assistant,
    codes,
    llm,
    read,
    tool,
    user,
    value_of,
)


@pytest.mark.parametrize("mask", ["__REDACTED__", "[REDACTED]"])
@pytest.mark.parametrize("scope", [OPENINFERENCE, GENAI, TRACELOOP])
def test_a_masked_result_is_none(scope: str, mask: str) -> None:
    [crossing] = read(tool(1, 10, 20, "roll", {"dice": 1}, mask, scope=scope)).crossings
    assert (crossing.grade, codes(crossing), crossing.output) == ("unusable", {"CONTENT_OFF"}, None)


def test_what_one_switch_kept_out_is_one_gap() -> None:
    [crossing] = read(llm(1, 10, 20, scope=GENAI)).crossings
    [gap] = crossing.gaps
    assert "has not recorded the input and the output: set OTEL_INSTRUMENTATION_GENAI" in gap.text
    [crossing] = read(llm(1, 10, 20, [user("hi")], scope=GENAI)).crossings
    [gap] = crossing.gaps
    assert "has not recorded the output: set" in gap.text


def test_a_masked_parameter_is_the_mask() -> None:
    more = {"gen_ai.request.stop_sequences": "[REDACTED]"}
    [crossing] = read(llm(1, 10, 20, [user("hi")], assistant("yes"), scope=GENAI, more=more)).crossings
    assert value_of(crossing.input)["stop_sequences"] == "[REDACTED]"
