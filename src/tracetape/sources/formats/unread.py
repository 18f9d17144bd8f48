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
    return UNKNOWN_FORMAT, f"a JSON object with the keys {_keys(content)}"


def _keys(content: dict[str, Any]) -> str:
    shown = [repr(key[:40]) for key in list(content)[:5]]
    return ", ".join(shown) + (", …" if len(content) > 5 else "")
