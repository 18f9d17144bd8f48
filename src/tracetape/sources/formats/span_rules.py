"""What holds for an OTLP span in any encoding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracetape.errors import FormatError
from tracetape.model.span import Event, Gap, Link, Scope, SpanRecord, Status
from tracetape.sources.ids import BAD_SPAN_ID, BAD_TRACE_ID

__all__ = ["KINDS", "NAN", "STATUS_CODES", "add_attribute", "finished_span", "too_deep"]

# By number (opentelemetry/proto/trace/v1/trace.proto, Span.SpanKind, Status.StatusCode).
KINDS = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
STATUS_CODES = ("UNSET", "OK", "ERROR")

# One object, so that a span read twice equals itself: containers compare by identity first.
NAN = float("nan")

_NO_SPAN, _NO_TRACE = "0" * 16, "0" * 32


def finished_span(
    *,
    trace_id: str,
    span_id: str,
    parent_id: str,
    name: str,
    kind: str,
    start_ns: int,
    end_ns: int | None,
    status: Status,
    attributes: Mapping[str, Any],
    events: tuple[Event, ...],
    links: tuple[Link, ...],
    resource: Mapping[str, Any],
    scope: Scope,
    dropped_attributes: int,
    gaps: tuple[Gap, ...],
    where: str,
) -> SpanRecord:
    """The record, once its ids are valid: neither empty nor all zeros (trace.proto). A parent that is
    either is no parent.

    Raises FormatError BAD_TRACE_ID or BAD_SPAN_ID.
    """
    if not trace_id or trace_id == _NO_TRACE:
        raise _no_id("trace", trace_id, name, where, BAD_TRACE_ID)
    if not span_id or span_id == _NO_SPAN:
        raise _no_id("span", span_id, name, where, BAD_SPAN_ID)
    return SpanRecord(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=None if not parent_id or parent_id == _NO_SPAN else parent_id,
        name=name,
        kind=kind,
        start_ns=start_ns,
        end_ns=end_ns,
        status=status,
        attributes=attributes,
        events=events,
        links=links,
        resource=resource,
        scope=scope,
        dropped_attributes=dropped_attributes,
        gaps=gaps,
        where=where,
    )


def add_attribute(attributes: dict[str, Any], key: str, value: Any, what: str, gaps: list[Gap]) -> None:
    """Keep the first value of a key. Keys must be unique (common.proto), and what a receiver does with
    others is undefined: Collectors keep the first, some backends the last."""
    if key not in attributes:
        attributes[key] = value
        return
    gaps.append(
        Gap(
            "DUPLICATE_ATTRIBUTE",
            f"attribute {key!r} is there twice, as {repr(attributes[key])[:60]} and as {repr(value)[:60]}; "
            "the first is kept",
            what,
        )
    )


def too_deep(what: str) -> FormatError:
    return FormatError(
        f"{what}: an attribute is nested more than 200 levels deep, which is the most", code="TOO_DEEP"
    )


def _no_id(kind: str, found: str, name: str, where: str, code: str) -> FormatError:
    state = "all zeros" if found else "empty"
    return FormatError(
        f"span {name[:80]!r} ({where}): its {kind} id is {state}, which the OTLP specification forbids. "
        "Is it an export of traces? If so, it is damaged: export it again.",
        code=code,
    )
