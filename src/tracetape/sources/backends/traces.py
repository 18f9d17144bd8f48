"""What is common to the answers of backends."""

from __future__ import annotations

from typing import NoReturn

import orjson

from tracetape.errors import SourceError
from tracetape.model.span import SpanRecord
from tracetape.sources.backends import Address, Answer, Found
from tracetape.sources.formats import jaeger_v3
from tracetape.sources.records import Record, quoted

__all__ = ["found_in", "refuse_status"]


def refuse_status(answer: Answer, program: str, address: Address) -> None:
    """Raise SourceError BACKEND_ERROR for an answer that is none."""
    if answer.status != 200:
        _refuse(answer, program, address)


def _refuse(answer: Answer, program: str, address: Address) -> NoReturn:
    said = f": {quoted(answer.body)}" if answer.body else ""
    cause = (
        "its log says why" if answer.status >= 500 else "is it this backend, and of a version that has this API?"
    )
    if answer.status < 400:
        cause = "that leads nowhere: give the address that it redirects to"
    raise SourceError(
        f"{address}: {program} answers {answer.status} to {answer.url}{said}; {cause}", code="BACKEND_ERROR"
    )


def found_in(answer: Answer) -> list[Found]:
    """The traces of an answer that has their spans (Jaeger's API v3)."""
    traces: dict[str, list[SpanRecord]] = {}
    for number, line in enumerate(answer.body.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            content = orjson.loads(line)
        except orjson.JSONDecodeError:
            content = None
        if not isinstance(content, dict) or not jaeger_v3.claims(content):
            raise SourceError(f"{answer.url}: is not what Jaeger's API v3 answers", code="BACKEND_ERROR")
        for item in jaeger_v3.read(Record(content, f"{answer.url}:{number}")):
            if isinstance(item, SpanRecord):
                traces.setdefault(item.trace_id, []).append(item)
    return [_summary(trace_id, spans) for trace_id, spans in traces.items()]


def _summary(trace_id: str, spans: list[SpanRecord]) -> Found:
    root = next((one for one in spans if one.parent_id is None), min(spans, key=lambda one: one.start_ns))
    started = min(one.start_ns for one in spans)
    service = root.resource.get("service.name")
    return Found(
        trace_id,
        root.name,
        service=service if isinstance(service, str) else None,
        started=started,
        duration=max(one.end_ns or one.start_ns for one in spans) - started,
        spans=len(spans),
        failed=any(one.status.code == "ERROR" for one in spans),
    )
