"""Names the layouts that are not read, so that an error can say what a file is."""

from __future__ import annotations

from typing import Any

__all__ = ["WRONG_SIGNAL", "unread_layout"]

WRONG_SIGNAL = "WRONG_SIGNAL"
UNKNOWN_FORMAT = "UNKNOWN_FORMAT"

_SIGNALS = {
    "resourceLogs": "logs",
    "resource_logs": "logs",
    "resourceMetrics": "metrics",
    "resource_metrics": "metrics",
    "resourceProfiles": "profiles",
    "resource_profiles": "profiles",
}


def unread_layout(content: dict[str, Any] | bytes) -> tuple[str, str]:
    """An error code and what the record looks like: `UNKNOWN_FORMAT`, or `WRONG_SIGNAL` for telemetry that
    is no traces."""
    if isinstance(content, bytes):
        return UNKNOWN_FORMAT, "a binary message"
    for key, signal in _SIGNALS.items():
        if key in content:
            return WRONG_SIGNAL, f"an OTLP export of {signal}"
    return UNKNOWN_FORMAT, _backend(content) or f"a JSON object with the keys {_keys(content)}"


def _backend(content: dict[str, Any]) -> str:
    data = content.get("data")
    first = data[0] if isinstance(data, list) and data else data
    first = first if isinstance(first, dict) else {}
    trace = content.get("trace")
    if "traceID" in content and "spans" in content:
        return "a trace as Jaeger's UI has it (legacy Jaeger JSON)"
    if "traceID" in first or ("errors" in content and "data" in content):
        return "an answer of Jaeger's /api/traces (legacy Jaeger JSON)"
    if "result" in content or "httpCode" in _dict(content.get("error")):
        return "an answer of Jaeger's /api/v3/traces"
    if "batches" in content:
        return "an answer of Tempo's /api/traces, or Grafana's export of one"
    if isinstance(trace, dict) and "trace_info" in trace:
        return "an answer of MLflow's traces/get"
    if isinstance(trace, dict):
        return "an answer of Tempo's /api/v2/traces"
    if "trace_id" in _dict(content.get("info")):
        return "a trace of MLflow's client"
    if isinstance(content.get("traces"), list):
        return "an answer of Tempo's search, which has no spans"
    if "localEndpoint" in content or ("traceId" in content and "id" in content):
        return "a span of Zipkin v2"
    if str(_dict(content.get("context")).get("trace_id", "")).startswith("0x"):
        return "a span as the OpenTelemetry SDK's console exporter prints it"
    if "context" in content or "context.trace_id" in content:
        return "a span of Phoenix"
    if "trace_id" in first or "context" in first or "getTraceByOtelId" in first:
        return "an answer of Phoenix"
    return ""


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _keys(content: dict[str, Any]) -> str:
    shown = [repr(key[:40]) for key in list(content)[:5]]
    return ", ".join(shown) + (", …" if len(content) > 5 else "")
