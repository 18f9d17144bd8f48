"""The spans that the MCP SDK writes itself, since 2.0."""

from __future__ import annotations

from tracetape.model.span import SpanRecord
from tracetape.sources.conventions import names
from tracetape.sources.conventions.contents import strings
from tracetape.sources.conventions.genai_attributes import Around, tool_run
from tracetape.sources.conventions.observed import Observed, json_value

__all__ = ["claims", "name", "observe", "owns"]

name = "the MCP SDK"

_SCOPE = "mcp-python-sdk"
_CURE = (
    'mark the function that calls the tool with @tracetape.boundary(kind="tool"), or add Traceloop\'s '
    "opentelemetry-instrumentation-mcp, which records arguments and results"
)


def owns(scope: str) -> bool:
    return scope == _SCOPE


def claims(span: SpanRecord) -> bool:
    return "mcp.method.name" in span.attributes


def observe(span: SpanRecord, around: Around) -> Observed | None:
    """A `tools/call`, as its client or its server sees it; other methods are structure, and so is a call that
    does not say of which tool."""
    attributes = span.attributes
    called = strings(attributes, names.TOOL_NAME)
    if called is None or strings(attributes, "mcp.method.name") != "tools/call":
        return None
    made = tool_run(
        span,
        source=name,
        switch=_CURE,
        name=called,
        arguments=json_value(attributes, names.TOOL_CALL_ARGUMENTS),
    )
    if span.kind == "SERVER":
        made.rank -= 1  # the client's is the call that the agent made
    return made
