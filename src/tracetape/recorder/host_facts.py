"""Says once for each provider what its settings will lose of our spans."""

from __future__ import annotations

import logging
from typing import Any

from tracetape.config import said_in_environment, settings
from tracetape.recorder.losses import Facts, losses
from tracetape.recorder.storing import guard

__all__ = ["facts_of", "say_losses"]

_log = logging.getLogger("tracetape")

_GRPC = "opentelemetry.exporter.otlp.proto.grpc"


def say_losses(owner: Any) -> None:
    """One line of the logger `tracetape`, a warning; none where nothing is lost."""
    found = guard("what the host's settings lose", lambda: losses(facts_of(owner)))
    if found:
        _log.warning(
            "tracetape: by the program's OpenTelemetry settings not all of what is recorded will be exported: %s. "
            "(A file of tracetape.record has everything.)",
            "; ".join(found),
        )


def facts_of(owner: Any) -> Facts:
    """What a provider tells of itself. Its limits and processors are private in the SDK: where they are not under
    the names that are known, nothing is said of them."""
    told = settings()
    known: dict[str, Any] = {
        "content": told.host_content,
        "export_limit": told.export_limit,
        "piece_limit": told.piece_limit,
        "mirror": bool(told.mirror),
        "disabled": getattr(owner, "_disabled", False) is True,
        "grpc_batch": _grpc_batch(owner),
    }
    describe = getattr(getattr(owner, "sampler", None), "get_description", None)
    if callable(describe):
        known["sampler"] = str(describe())
    limits = getattr(owner, "_span_limits", None)
    known["most_attributes"] = _number(getattr(limits, "max_span_attributes", None))
    known["longest_value"] = _number(getattr(limits, "max_span_attribute_length", None))
    for fact, value, names in _SAID:
        said = said_in_environment(*names)
        # An argument in the program wins over the variable, which then is not the one to change.
        if said is not None and value(said[1], known.get(fact)):
            known[f"{fact}_said_by"] = "=".join(said)
    return Facts(**known)


def _is_that(said: str, found: Any) -> bool:
    return said == str(found)


def _is_any(said: str, found: Any) -> bool:
    return True


_SAID = (
    ("sampler", _is_any, ("OTEL_TRACES_SAMPLER",)),
    ("most_attributes", _is_that, ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT")),
    (
        "longest_value",
        _is_that,
        ("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"),
    ),
    ("content", _is_any, ("TRACETAPE_CONTENT", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")),
)


def _grpc_batch(owner: Any) -> int | None:
    """The largest batch of the processors whose exporter is OTLP's over gRPC."""
    found = []
    for processor in getattr(getattr(owner, "_active_span_processor", None), "_span_processors", ()):
        exporter = getattr(processor, "span_exporter", None)
        if not type(exporter).__module__.startswith(_GRPC):
            continue
        batch = _number(getattr(processor, "max_export_batch_size", None))
        if batch is None:
            batch = _number(getattr(getattr(processor, "_batch_processor", None), "_max_export_batch_size", None))
        if batch is not None:
            found.append(batch)
    return max(found, default=None)


def _number(value: Any) -> int | None:
    return value if type(value) is int else None
