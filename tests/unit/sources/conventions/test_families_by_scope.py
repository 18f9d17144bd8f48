"""A span is its scope's family's, whatever attributes others have added; attributes tell where no scope does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.sources.conventions.spans import codes, read, span, value_of

from tracetape.sources.conventions import (
    anthropic_sdk,
    genai,
    logfire,
    mcp_sdk,
    openinference,
    pydantic_ai,
    traceloop,
)
from tracetape.sources.conventions.foreign import FAMILIES, Family, is_foreign

SCOPES: list[tuple[str, Family]] = [
    ("openinference.instrumentation.openai", openinference),
    ("openinference.instrumentation.langchain", openinference),
    ("openinference.instrumentation.google_genai", openinference),
    ("logfire.openai", logfire),
    ("logfire.anthropic", logfire),
    ("pydantic-ai", pydantic_ai),
    ("com.anthropic.sdk.python", anthropic_sdk),
    ("mcp-python-sdk", mcp_sdk),
    ("traceloop.tracer", traceloop),
    ("opentelemetry.instrumentation.openai", traceloop),
    ("opentelemetry.instrumentation.openai.v1", traceloop),
    ("opentelemetry.instrumentation.anthropic", traceloop),
    ("opentelemetry.instrumentation.langchain", traceloop),
    ("opentelemetry.instrumentation.google_generativeai", traceloop),
    ("opentelemetry.instrumentation.mcp", traceloop),
    ("opentelemetry.instrumentation.openai_v2", genai),
    ("opentelemetry.instrumentation.google_genai", genai),
    ("opentelemetry.instrumentation.genai.openai", genai),
    ("opentelemetry.instrumentation.genai.langchain", genai),
]


@pytest.mark.parametrize(("scope", "family"), SCOPES)
def test_a_well_known_scope_is_of_exactly_one_family(scope: str, family: Family) -> None:
    assert [one.name for one in FAMILIES if one.owns(scope)] == [family.name]


@pytest.mark.parametrize("scope", ["", "app", "my.openinference", "logfire", "pydantic-ai-mine", "opentelemetry"])
def test_a_scope_of_others_is_nobody_s(scope: str) -> None:
    assert [one.name for one in FAMILIES if one.owns(scope)] == []


def test_each_family_has_a_name_of_its_own() -> None:
    assert len({one.name for one in FAMILIES}) == len(FAMILIES) == 7


ADDED: dict[str, str] = {
    "logfire.msg_template": "Chat with {model}",
    "mcp.method.name": "tools/call",
    "anthropic.request.id": "req_1",
    "model_request_parameters": "{}",
    "traceloop.association.properties.user": "u",
    "gen_ai.operation.name": "chat",
}
REQUEST: dict[str, Any] = {"model": "gpt-5-mini", "messages": [{"role": "user", "content": "hi"}]}
RESPONSE: dict[str, Any] = {
    "object": "chat.completion",
    "id": "r",
    "model": "gpt-5-mini",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ho"}}],
}
OPENINFERENCE = {
    "openinference.span.kind": "LLM",
    "input.value": json.dumps(REQUEST),
    "output.value": json.dumps(RESPONSE),
}


@pytest.mark.parametrize("key", ADDED)
def test_attributes_that_others_have_added_change_no_family(key: str) -> None:
    attributes = {**OPENINFERENCE, key: ADDED[key]}
    [crossing] = read(span(1, 1, 2, attributes, scope="openinference.instrumentation.openai")).crossings
    assert (crossing.grade, value_of(crossing.output)) == ("exact", RESPONSE)


def test_all_attributes_that_others_have_added_change_no_family() -> None:
    attributes = {**ADDED, **OPENINFERENCE}
    [crossing] = read(span(1, 1, 2, attributes, scope="openinference.instrumentation.openai")).crossings
    assert (crossing.grade, value_of(crossing.output)) == ("exact", RESPONSE)


BARE = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}


@pytest.mark.parametrize(
    ("attributes", "family"),
    [
        ({"openinference.span.kind": "LLM"}, openinference),
        (BARE, genai),
        ({**BARE, "logfire.msg_template": "x"}, logfire),
        ({**BARE, "anthropic.request.id": "req_1"}, anthropic_sdk),
        ({**BARE, "model_request_parameters": "{}"}, pydantic_ai),
        ({**BARE, "traceloop.workflow.name": "w"}, traceloop),
        ({"mcp.method.name": "tools/call", "gen_ai.tool.name": "roll"}, mcp_sdk),
    ],
)
def test_of_a_scope_that_nobody_knows_the_attributes_tell(attributes: dict[str, Any], family: Family) -> None:
    [crossing] = read(span(1, 1, 2, attributes, scope="my.app")).crossings
    assert crossing.grade == "unusable"
    assert "CONTENT_OFF" in codes(crossing)
    assert all(family.name in gap.text for gap in crossing.gaps if gap.code == "CONTENT_OFF")


def test_a_span_that_neither_scope_nor_attributes_tell_is_nobody_s() -> None:
    bare = span(1, 1, 2, {"model": "m", "http.request.method": "POST"}, scope="my.app")
    assert not is_foreign(bare)
    assert list(read(bare).crossings) == []
