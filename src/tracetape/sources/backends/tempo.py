"""Grafana Tempo, by itself or behind Grafana."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import SplitResult, parse_qs, quote, urlencode

import orjson

from tracetape.errors import SourceError, TraceSelectionError
from tracetape.sources.backends import Address, Document, Found, Get, Wanted
from tracetape.sources.backends.traces import refuse_status
from tracetape.sources.formats.otlp_span import text_of

__all__ = ["documents", "find", "name", "pasted", "spelling"]

name = "tempo"
spelling = "tempo+http://HOST:3200/TRACE_ID"

_PROTOBUF = "application/protobuf"
_TRACE = re.compile(r"[0-9A-Fa-f]{1,32}")
# An attribute's name, as TraceQL takes it without quotes.
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-/]*")


def pasted(parts: SplitResult) -> Address | None:
    """Grafana's page of a trace in Explore: the trace is asked for through Grafana, at the data source that the
    page names."""
    prefix, explore, _ = parts.path.partition("/explore")
    if not explore:
        return None
    for told in _told(parse_qs(parts.query)):
        source, trace_id = _source_in(told), _trace_in(told)
        if source and trace_id:
            base = f"{parts.scheme}://{parts.netloc}{prefix}/api/datasources/proxy/uid/{quote(source, safe='')}"
            return Address(name, base, trace_id.lower().zfill(32))
    return None


def _told(query: dict[str, list[str]]) -> Iterator[Any]:
    """The panes of the page (Grafana 10 and newer: `panes`; before: `left`)."""
    for key in ("panes", "left", "right"):
        for text in query.get(key, ()):
            try:
                found = orjson.loads(text)
            except orjson.JSONDecodeError:
                continue
            yield from found.values() if key == "panes" and isinstance(found, dict) else (found,)


def _source_in(pane: Any) -> str:
    if not isinstance(pane, dict):
        return ""
    queries = pane.get("queries")
    for query in queries if isinstance(queries, list) else ():
        source = query.get("datasource") if isinstance(query, dict) else None
        if isinstance(source, dict) and source.get("type") == "tempo":
            return str(source.get("uid") or "")
    return ""


def _trace_in(pane: Any) -> str:
    for query in pane["queries"]:
        text = query.get("query") if isinstance(query, dict) else None
        if isinstance(text, str) and _TRACE.fullmatch(text.strip()):
            return text.strip()
    return ""


def documents(address: Address, get: Get) -> Iterator[Document]:
    """By API v2 in protobuf, which has exact types and says when a trace is partial; else by v1."""
    answer = get(f"{address.base}/api/v2/traces/{address.trace_id}", _PROTOBUF)
    if answer.status == 404 and b"trace" not in answer.body.lower():  # no such path: Tempo before 2.6
        answer = get(f"{address.base}/api/traces/{address.trace_id}", _PROTOBUF)
    if answer.status == 404:
        raise TraceSelectionError(
            f"{address}: Tempo has no such trace. A fresh one takes some seconds; is the id right, has its "
            "retention passed, and is it this tenant's (TRACETAPE_TEMPO_TENANT)?",
            code="TRACE_NOT_FOUND",
        )
    if answer.status == 422:
        raise SourceError(
            f"{address}: Tempo refuses to give the trace, for it is larger than its limit. Raise "
            "max_bytes_per_trace (overrides.defaults.global), or ask a Tempo of 2.7 or newer, which gives a part.",
            code="TOO_LARGE",
        )
    refuse_status(answer, "Tempo", address)
    if not answer.body:
        raise TraceSelectionError(f"{address}: Tempo has answered with an empty trace", code="TRACE_NOT_FOUND")
    yield Document(answer.url, answer.body)


def find(address: Address, wanted: Wanted, get: Get) -> list[Found]:
    """By TraceQL."""
    conditions = [f"span.{_name(key)} = {_text(value)}" for key, value in wanted.attributes.items()]
    if wanted.errors:
        conditions.append("status = error")
    if wanted.service:
        conditions.append(f"resource.service.name = {_text(wanted.service)}")
    query = urlencode(
        {
            "q": "{ " + " && ".join(conditions) + " }",
            "start": wanted.since // 10**9,
            "end": -(-wanted.until // 10**9),
            "limit": wanted.limit,
        }
    )
    answer = get(f"{address.base}/api/search?{query}", "application/json")
    refuse_status(answer, "Tempo", address)
    try:
        found = orjson.loads(answer.body)
        traces = found.get("traces") or []
        return [_found(one, wanted) for one in traces]
    except (orjson.JSONDecodeError, AttributeError, TypeError, ValueError, KeyError):
        raise SourceError(f"{answer.url}: is not what Tempo's search answers", code="BACKEND_ERROR") from None


def _found(trace: dict[str, Any], wanted: Wanted) -> Found:
    started = trace.get("startTimeUnixNano")
    return Found(
        trace_id=str(trace["traceID"]).lower().zfill(32),
        name=str(trace.get("rootTraceName") or ""),
        service=text_of(trace.get("rootServiceName")) or None,
        started=int(started) if started else None,
        duration=int(trace["durationMs"]) * 10**6 if "durationMs" in trace else None,
        failed=True if wanted.errors else None,
    )


def _name(key: str) -> str:
    return key if _PLAIN.fullmatch(key) else _text(key)


def _text(value: str) -> str:
    """A string of TraceQL."""
    return orjson.dumps(value).decode()
