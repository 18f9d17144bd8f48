"""Calls that left no span: which family left them out."""

from __future__ import annotations

from collections.abc import Sequence

from tracetape.model.span import Gap, SpanRecord
from tracetape.sources.conventions import names
from tracetape.sources.conventions.observed import Observed

__all__ = ["silences"]

# By the scope of a family whose agents' spans come without spans of model calls.
_NO_MODELS = {
    "openinference.instrumentation.crewai": "openinference-instrumentation-openai (or of the model's library)",
    "openinference.instrumentation.autogen_agentchat": "openinference-instrumentation-openai",
    "opentelemetry.instrumentation.genai.openai_agents": "opentelemetry-instrumentation-genai-openai",
    "opentelemetry.instrumentation.genai.smolagents": (
        "opentelemetry-instrumentation-genai-openai, or openinference-instrumentation-smolagents for all"
    ),
}
_AGENTS = ("invoke_agent", "invoke_workflow", "handle_conversation_turn")


def silences(spans: Sequence[SpanRecord], calls: Sequence[Observed]) -> list[Gap]:
    """A gap for each family with agents and without a model call beside them, and for MCP calls of which only the
    method is known."""
    gaps = _nameless_tools(spans)
    if any(one.kind == "llm" for one in calls):
        return gaps
    return gaps + _no_models(spans)


def _nameless_tools(spans: Sequence[SpanRecord]) -> list[Gap]:
    found = [
        span
        for span in spans
        if span.attributes.get("mcp.method.name") == "tools/call" and names.TOOL_NAME not in span.attributes
    ]
    if not found:
        return []
    text = (
        f"{len(found):,} MCP calls are known by their method alone ({found[0].name[:80]!r}): the MCP SDK emits no "
        'arguments and results. Mark the function that calls it with @tracetape.boundary(kind="tool"), or add '
        "Traceloop's opentelemetry-instrumentation-mcp"
    )
    return [Gap("NO_TOOL_SPANS", text, f"span {found[0].span_id} {found[0].name[:80]!r}")]


def _no_models(spans: Sequence[SpanRecord]) -> list[Gap]:
    gaps: dict[str, Gap] = {}
    for span in spans:
        scope = span.scope.name
        cure = _NO_MODELS.get(scope)
        attributes = span.attributes
        is_agent = attributes.get(names.OPERATION_NAME) in _AGENTS or (
            attributes.get("openinference.span.kind") == "AGENT"
        )
        if scope in gaps or not (cure or is_agent):
            continue
        add = f"add {cure}" if cure else "add the instrumentation of the model's client library"
        gaps[scope] = Gap(
            "NO_MODEL_SPANS",
            f"{scope or 'the instrumentation'} has spans of an agent and none of model calls: it emits no model "
            f"spans, or not for this client; {add} beside it. What left no span cannot be mended later",
            f"span {span.span_id} {span.name[:80]!r}",
        )
    return list(gaps.values())
