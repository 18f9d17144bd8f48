"""Chronicle's trace folders: `graph.json` beside an envelope in JSON for each crossing."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from tracetape.model.span import NOTHING, Gap, Scope, SpanRecord, Status
from tracetape.sources.formats.json_fields import compact, plain, time_of
from tracetape.sources.formats.otlp_span import list_of, map_of, number_of, refuse, text_of
from tracetape.sources.formats.span_rules import finished_span
from tracetape.sources.records import Record

__all__ = ["ENVELOPE", "NODES", "claims", "name", "read"]

name = "Chronicle JSON"

ENVELOPE = "chronicle.envelope."
"""Before the fields of an envelope, as attributes: texts and numbers as they are, objects as JSON text."""

NODES = "chronicle.graph.nodes"
"""Of the root that is made of `graph.json`: how many envelopes it names."""

_SCOPE = Scope("chronicle", "1.0")
_READ = ("1.0",)


def claims(content: dict[str, Any] | bytes) -> bool:
    if type(content) is not dict or "trace_id" not in content:
        return False
    return ("envelope_id" in content and "node_id" in content) or ("nodes" in content and "edges" in content)


def read(record: Record) -> Iterator[SpanRecord | Gap]:
    """The span of an envelope (agent-chronicle 0.1 to 0.4, envelope schema 1.0), or the root of its run.

    An envelope names the one that was written before it, not its caller, and has one time, that of its end: all
    hang right under the root.

    Raises FormatError BAD_FIELD for another schema, or a field that is not what it should be.
    """
    where = record.where
    content = map_of(record.content, "the record", where)
    trace = text_of(content["trace_id"]) or refuse("trace_id", "a text", content["trace_id"], where)
    if "nodes" in content:
        nodes = len(list_of(content["nodes"], "nodes", where))
        yield _span(
            trace, _root(trace), "", "chronicle trace", 0, {NODES: nodes, f"{ENVELOPE}trace_id": trace}, where
        )
        return
    version = content.get("schema_version", "1.0")
    if version not in _READ:
        refuse("schema_version", f"one of {', '.join(_READ)}", version, where)
    told = {
        f"{ENVELOPE}{key}": value if type(value) in (str, int) else compact(plain(value, where))
        for key, value in content.items()
        if value is not None
    }
    number_of(content.get("sequence"), "sequence", where)
    ended = time_of(content.get("timestamp"), "timestamp", where) or 0
    node = text_of(content.get("node_id")) or refuse("node_id", "a text", content.get("node_id"), where)
    yield _span(trace, _hex(text_of(content.get("envelope_id")), 16), _root(trace), node, ended, told, where)


def _span(
    trace: str, span_id: str, parent_id: str, title: str, ended: int, attributes: dict[str, Any], where: str
) -> SpanRecord:
    return finished_span(
        trace_id=_hex(trace, 32),
        span_id=span_id,
        parent_id=parent_id,
        name=title,
        kind="INTERNAL",
        start_ns=ended,
        end_ns=ended or 1,  # graph.json has no time, and what has no end is unfinished
        status=Status(),
        attributes=attributes,
        events=(),
        links=(),
        resource=NOTHING,
        scope=_SCOPE,
        dropped_attributes=0,
        gaps=(),
        where=where,
    )


def _root(trace: str) -> str:
    return _hex(f"root of {trace}", 16)


def _hex(text: str, digits: int) -> str:
    """An id of OTLP for a name: a UUID's own digits, where it is a whole one; else of its SHA-256."""
    if digits == 32:
        try:
            return uuid.UUID(text).hex
        except ValueError:
            pass
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:digits]
